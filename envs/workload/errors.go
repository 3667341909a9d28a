package workload

import "github.com/stoker-rl/stoker/bounds"

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
	// Text follows it: "is 0.5, want at least 1".
	Text string
}

func (e *FieldError) Error() string { return "workload." + e.Field + " " + e.Text }

// Unwrap lets a reader of configurations find the field.
func (e *FieldError) Unwrap() error { return &bounds.Error{Key: e.Field, Text: e.Text} }

func wrong(field string, got any, want string) *FieldError {
	if s, ok := got.(string); ok {
		return &FieldError{field, fmt.Sprintf("is %q, want %s", s, want)}
	}
	return &FieldError{field, fmt.Sprintf("is %v, want %s", got, want)}
}
