package workload

import (
	"fmt"
	"io"
	"strings"
)

// Roles of a column. Columns of minutes and of numbers have the roles 0, 1, …
const (
	ignored = -1 - iota
	owner
	app
	function
	trigger
)

// table reads a file whose header names its columns, in any order.
type table struct {
	s     *scanner
	roles []int
	known map[string]string // identifiers seen so far, so that each is stored once
}

// newTable reads the header. role gives a column's role by its name; required are the names that must be there.
func newTable(r io.Reader, file string, role func(name string) (int, error), required ...string) (*table, error) {
	t := &table{s: newScanner(r, file), known: map[string]string{}}
	more, err := t.s.row()
	if err != nil {
		return nil, err
	}
	if !more {
		return nil, &ParseError{File: file, What: "the file is empty",
			Want: "a header with the columns " + strings.Join(required, ", ")}
	}
	at := map[string]int{}
	for {
		f, more, err := t.s.field()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		name := string(f)
		if len(t.roles) == 0 {
			name = strings.TrimPrefix(name, "\ufeff") // a byte-order mark
		}
		if len(t.roles) == maxColumns {
			return nil, t.s.fail("there are too many columns", fmt.Sprintf("at most %d", maxColumns))
		}
		if first, ok := at[name]; ok && name != "" {
			return nil, t.s.fail(fmt.Sprintf("the header names %q again, first in column %d", name, first), "each column once")
		}
		at[name] = t.s.column
		k, err := role(name)
		if err != nil {
			return nil, t.s.fail(fmt.Sprintf("the header has %q", name), err.Error())
		}
		t.roles = append(t.roles, k)
		t.s.names = append(t.s.names, name)
	}
	for _, name := range required {
		if _, ok := at[name]; !ok {
			want := "the columns " + strings.Join(required, ", ")
			if required[0] == "HashOwner" {
				want += ", or " + longForm
			}
			return nil, t.s.failRow(fmt.Sprintf("the header has no column %q", name), want)
		}
	}
	return t, nil
}

// maxColumns is far more than the widest known file has, which is a day of minutes.
const maxColumns = 1 << 17

// row reads the next row and calls set for each of its fields. It reports whether there was a row.
func (t *table) row(set func(role int, f []byte) error) (bool, error) {
	more, err := t.s.row()
	if !more {
		return false, err
	}
	n := 0
	for {
		f, more, err := t.s.field()
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
		if n < len(t.roles) && t.roles[n] != ignored {
			if err := set(t.roles[n], f); err != nil {
				return false, err
			}
		}
		n++
	}
	if n != len(t.roles) {
		return false, t.s.failRow(fmt.Sprintf("the row has %d fields", n), fmt.Sprintf("%d, as the header", len(t.roles)))
	}
	return true, nil
}

// id returns the string of an identifier.
func (t *table) id(f []byte) (string, error) {
	if len(f) == 0 {
		return "", t.s.fail("it is empty", "an identifier")
	}
	return t.intern(f), nil
}

func (t *table) intern(f []byte) string {
	if s, ok := t.known[string(f)]; ok {
		return s
	}
	s := string(f)
	t.known[s] = s
	return s
}
