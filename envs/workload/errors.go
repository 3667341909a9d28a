package workload

import "github.com/stoker-rl/stoker/bounds"

import "fmt"

// ParseError describes an error in a file: where it is, what is wrong and what is expected.
type ParseError struct {
	File string
	Line int
	// Column counts fields from 1; 0 means the whole row. Name is the column's header.
	Column int
	Name   string
	// What says what is wrong, Want what is expected.
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

// FieldError names a wrong field of a [Config] and says what is expected.
type FieldError struct {
	// Field is the field's path in a configuration file, for example "burst.factor".
	Field string
	// Text says what is wrong: "is 0.5, want at least 1".
	Text string
}

func (e *FieldError) Error() string { return "workload." + e.Field + " " + e.Text }

// Unwrap returns the error as package bounds reports it, so that a caller can find the field.
func (e *FieldError) Unwrap() error { return &bounds.Error{Key: e.Field, Text: e.Text} }

// wrong returns the error of a field whose value is got.
func wrong(field string, got any, want string) *FieldError {
	if s, ok := got.(string); ok {
		return &FieldError{field, fmt.Sprintf("is %q, want %s", s, want)}
	}
	return &FieldError{field, fmt.Sprintf("is %v, want %s", got, want)}
}
