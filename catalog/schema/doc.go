// Package schema makes the JSON Schema of configuration files, which editors complete and check by:
// configs/schema.json, embedded in package configs and printed by `stoker train --schema`. It is made from the code, so
// that nothing is said twice: keys from the structs, descriptions from their comments, choices from the tables of
// environments, agents and rivals, defaults from these tables too, and what values may be from asking the Validate
// methods. This package is a tool of the repository: nothing that serves or trains imports it. After a change of a
// configuration:
//
//	go test ./catalog/schema -update
package schema
