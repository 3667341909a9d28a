package workload

import "fmt"

// ParseError says what is wrong in a file, where, and what would be right.
type ParseError struct {
	File string
	Line int
	// Column counts fields from 1; 0 means the whole row. Name is the column's header.
	Column int
	Name   string
	// What is wrong, and what was wanted.
	What, Want string
}

func (e *ParseError) Error() string {
	where := fmt.Sprintf("%s:%d", e.File, e.Line)
	if e.Line == 0 {
		where = e.File
	}
	if e.Column > 0 {
		where += fmt.Sprintf(": column %d", e.Column)
		if e.Name != "" {
			where += fmt.Sprintf(" (%s)", e.Name)
		}
	}
	return fmt.Sprintf("%s: %s, want %s", where, e.What, e.Want)
}

// FieldError says which field of a [Config] is wrong and what would be right.
type FieldError struct {
	// Field is the field's path as a configuration file spells it, for example "burst.factor".
	Field string
	Got   any
	Want  string
}

func (e *FieldError) Error() string {
	if s, ok := e.Got.(string); ok {
		return fmt.Sprintf("workload.%s is %q, want %s", e.Field, s, e.Want)
	}
	return fmt.Sprintf("workload.%s is %v, want %s", e.Field, e.Got, e.Want)
}
