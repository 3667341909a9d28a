package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// scanner reads comma-separated values field by field, in the format of RFC 4180, with LF or CRLF line ends; it skips
// blank lines. Its buffer does not grow, since a row of a trace has thousands of short fields and a file gigabytes. A
// field is valid until the next call.
type scanner struct {
	r        io.Reader
	file     string
	buf      []byte
	pos, end int
	eof      bool
	line     int // line number of the next byte
	rowLine  int // line number of the current row's beginning
	column   int // number of the last field, from 1
	names    []string
	rowOver  bool
}

// maxField is the size of the buffer, and so the most bytes of a field.
const maxField = 64 << 10

func newScanner(r io.Reader, file string) *scanner {
	return &scanner{r: r, file: file, buf: make([]byte, maxField), line: 1, rowOver: true}
}

// fail describes what is wrong with the last field.
func (s *scanner) fail(what, want string) error {
	e := &ParseError{File: s.file, Line: s.rowLine, Column: s.column, What: what, Want: want}
	if s.column > 0 && s.column <= len(s.names) {
		e.Name = s.names[s.column-1]
	}
	return e
}

// failRow describes what is wrong with the whole row.
func (s *scanner) failRow(what, want string) error {
	return &ParseError{File: s.file, Line: s.rowLine, What: what, Want: want}
}

// fill reads more bytes and appends them to those not yet consumed. It reports whether there were any.
func (s *scanner) fill() (bool, error) {
	if s.eof {
		return false, nil
	}
	if s.pos > 0 {
		copy(s.buf, s.buf[s.pos:s.end])
		s.end -= s.pos
		s.pos = 0
	}
	if s.end == len(s.buf) {
		s.column++
		return false, s.fail(fmt.Sprintf("a field is longer than %d bytes", maxField), "an identifier or a number")
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if err == io.EOF {
			s.eof = true
			return n > 0, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s:%d: %w", s.file, s.line, err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, fmt.Errorf("%s:%d: %w", s.file, s.line, io.ErrNoProgress)
}

// row moves to the next row that is not blank, and reports whether there is one.
func (s *scanner) row() (bool, error) {
	for !s.rowOver {
		if _, _, err := s.field(); err != nil {
			return false, err
		}
	}
	for {
		if s.pos == s.end {
			if more, err := s.fill(); !more {
				return false, err
			}
		}
		switch s.buf[s.pos] {
		case '\n':
			s.line++
			s.pos++
			continue
		case '\r':
			if s.pos+1 == s.end && !s.eof {
				if _, err := s.fill(); err != nil {
					return false, err
				}
			}
			if s.pos+1 < s.end && s.buf[s.pos+1] == '\n' || s.pos+1 == s.end {
				s.pos++
				continue
			}
		}
		s.rowLine, s.column, s.rowOver = s.line, 0, false
		return true, nil
	}
}

// field returns the row's next field, and false after the last.
func (s *scanner) field() ([]byte, bool, error) {
	if s.rowOver {
		return nil, false, nil
	}
	for i := s.pos; ; i++ {
		if i == s.end {
			i -= s.pos
			more, err := s.fill()
			if err != nil {
				return nil, false, err
			}
			i += s.pos
			if !more {
				s.column++
				f := s.buf[s.pos:i]
				s.pos, s.rowOver = i, true
				return bytes.TrimSuffix(f, []byte{'\r'}), true, nil
			}
		}
		switch s.buf[i] {
		case ',':
			s.column++
			f := s.buf[s.pos:i]
			s.pos = i + 1
			return f, true, nil
		case '\n':
			s.column++
			f := s.buf[s.pos:i]
			s.pos, s.rowOver = i+1, true
			s.line++
			return bytes.TrimSuffix(f, []byte{'\r'}), true, nil
		case '"':
			if i != s.pos {
				s.column++
				return nil, false, s.fail("a quote is inside a field that does not begin with a quote", "the whole field in quotes")
			}
			return s.quoted()
		}
	}
}

// quoted reads a field that begins with a quote at pos. It replaces each doubled quote by one, in place.
func (s *scanner) quoted() ([]byte, bool, error) {
	at := func(i int) (byte, error) { // the i-th byte from pos, 0 at the end of the file
		for s.pos+i >= s.end {
			if more, err := s.fill(); !more {
				return 0, err
			}
		}
		return s.buf[s.pos+i], nil
	}
	n := 0 // length of the field, which is stored from pos+1 on
	for i := 1; ; i++ {
		c, err := at(i)
		if err != nil {
			return nil, false, err
		}
		if s.pos+i >= s.end {
			s.column++
			return nil, false, s.fail("the file ends inside quotes", "a closing quote")
		}
		if c == '\n' {
			s.line++
		}
		if c != '"' {
			s.buf[s.pos+1+n] = c
			n++
			continue
		}
		next, err := at(i + 1)
		if err != nil {
			return nil, false, err
		}
		if next == '"' && s.pos+i+1 < s.end {
			s.buf[s.pos+1+n] = '"'
			n++
			i++
			continue
		}
		if next == '\r' {
			i++
			if next, err = at(i + 1); err != nil {
				return nil, false, err
			}
		}
		s.column++
		f := s.buf[s.pos+1:][:n]
		switch {
		case s.pos+i+1 >= s.end:
			s.pos, s.rowOver = s.end, true
		case next == ',':
			s.pos += i + 2
		case next == '\n':
			s.pos, s.rowOver = s.pos+i+2, true
			s.line++
		default:
			return nil, false, s.fail("text follows a closing quote", "a comma or the end of the line")
		}
		return f, true, nil
	}
}

// show quotes a field for an error message, at most its first 40 bytes.
func show(f []byte) string {
	if len(f) > 40 {
		return strconv.Quote(string(f[:40])) + "…"
	}
	return strconv.Quote(string(f))
}

// count reads a whole number of invocations.
func (s *scanner) count(f []byte) (uint32, error) {
	var n uint64
	for _, c := range f {
		if c < '0' || c > '9' || n > math.MaxUint32 {
			return 0, s.fail("the count is "+show(f), "a whole number from 0 to 4294967295")
		}
		n = n*10 + uint64(c-'0')
	}
	if len(f) == 0 || n > math.MaxUint32 {
		return 0, s.fail("the count is "+show(f), "a whole number from 0 to 4294967295")
	}
	return uint32(n), nil
}

// number reads a finite number.
func (s *scanner) number(f []byte, want string) (float64, error) {
	x, err := strconv.ParseFloat(string(f), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, s.fail("it is "+show(f), want)
	}
	return x, nil
}

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

// row reads the next row and calls set for each of its fields, and then writes its line. After the last row it returns
// io.EOF.
func (t *table) row(line *int, set func(role int, f []byte) error) error {
	if more, err := t.s.row(); !more {
		return cmp.Or(err, io.EOF)
	}
	n := 0
	for {
		f, more, err := t.s.field()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if n < len(t.roles) && t.roles[n] != ignored {
			if err := set(t.roles[n], f); err != nil {
				return err
			}
		}
		n++
	}
	if n != len(t.roles) {
		return t.s.failRow(fmt.Sprintf("the row has %d fields", n), fmt.Sprintf("%d, as the header", len(t.roles)))
	}
	*line = t.s.rowLine
	return nil
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
