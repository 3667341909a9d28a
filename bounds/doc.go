// Package bounds reads what a configuration's values may be from the tags of its fields, and checks values against
// them. Validation, the configuration schema and completion read the same tags, so that a bound is written once, beside
// the field:
//
//	Gamma float64   `yaml:"gamma" range:"[0,1]"`           // 0 ≤ gamma ≤ 1
//	Tau   float64   `yaml:"tau" range:"(0,1]"`             // 0 < tau ≤ 1
//	Batch int       `yaml:"batch" range:"[1,2^24]"`        // powers are written as such
//	Steps int       `yaml:"steps" range:"[1,]"`            // no upper end; infinity and NaN are still wrong
//	Loss  string    `yaml:"loss" oneof:"squared|huber"`    // a trailing | also allows the empty text
//	Start []float64 `yaml:"start" range:"[0,1]"`           // each element
//
//	Short Between   `yaml:"short" range:"[1,4096]"`        // each number of the struct that has no tag of its own
//
// Structs, and structs in lists, are checked field by field. What depends on several fields is checked by the
// configuration's own Validate method, which begins with [Check] and reports the rest with [Errorf], so that every
// error names its key.
//
// Not here: reading files (configs) and what a configuration means.
package bounds
