package workload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// scanAll reads all rows.
func scanAll(r io.Reader) (rows [][]string, lines []int, err error) {
	s := newScanner(r, "f.csv")
	for {
		more, err := s.row()
		if err != nil || !more {
			return rows, lines, err
		}
		var row []string
		for {
			f, more, err := s.field()
			if err != nil {
				return rows, lines, err
			}
			if !more {
				break
			}
			row = append(row, string(f))
		}
		rows = append(rows, row)
		lines = append(lines, s.rowLine)
	}
}

func TestScanner(t *testing.T) {
	for in, want := range map[string][][]string{
		"":                                nil,
		"\n\r\n\n":                        nil,
		"a,b\n1,2\n":                      {{"a", "b"}, {"1", "2"}},
		"a,b\r\n1,2":                      {{"a", "b"}, {"1", "2"}},
		"a,b\r\n\r\n1,2\r\n\r\n":          {{"a", "b"}, {"1", "2"}},
		"a,\n,\n":                         {{"a", ""}, {"", ""}},
		"\"a,b\",\"c\"\"d\"\n":            {{"a,b", `c"d`}},
		"\"a\nb\",c\r\n\"x\"\r\n":         {{"a\nb", "c"}, {"x"}},
		"\"\",\"\"":                       {{"", ""}},
		"\"a\"":                           {{"a"}},
		"a,\"" + "":                       nil, // an error, below
		strings.Repeat("x", 50000) + ",y": {{strings.Repeat("x", 50000), "y"}},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
			rows, _, err := scanAll(r)
			if in == "a,\"" {
				if err == nil {
					t.Error("a file that ends inside quotes was read")
				}
				continue
			}
			if err != nil || !reflect.DeepEqual(rows, want) {
				t.Errorf("%.20q, %s: %.60q (%v), want %.60q", in, name, rows, err, want)
			}
		}
	}
	if _, lines, _ := scanAll(strings.NewReader("a\n\n\"b\nc\"\nd\n")); !reflect.DeepEqual(lines, []int{1, 3, 5}) {
		t.Errorf("rows begin in lines %v, want 1, 3 and 5", lines)
	}
}

func TestScannerRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a,b\"c\n":                        `f.csv:1: column 2: a quote is inside`,
		"x\n\"a\"b\n":                     `f.csv:2: column 1: text follows a closing quote`,
		"a\nb,\"c":                        `f.csv:2: column 2: the file ends inside quotes`,
		"a," + strings.Repeat("x", 70000): `f.csv:1: column 2: a field is longer than 65536 bytes`,
		"\"" + strings.Repeat("x", 70000): `f.csv:1: column 1: a field is longer than 65536 bytes`,
	} {
		if _, _, err := scanAll(strings.NewReader(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: the error is %v, want %s", in, err, want)
		}
	}
	if _, _, err := scanAll(iotest.ErrReader(errors.New("the disk is gone"))); err == nil ||
		!strings.Contains(err.Error(), "f.csv:1: the disk is gone") {
		t.Errorf("a reading error came out as %v", err)
	}
	if _, _, err := scanAll(iotest.TimeoutReader(strings.NewReader("a,b"))); err == nil {
		t.Error("a timeout went unnoticed")
	}
}

// What encoding/csv reads is read the same, however it is cut into pieces.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("a,b\n\"c,\"\"d\"\"\n\",e\n\n"))
	f.Add([]byte("\"\"\"\"\n,\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rows, _, err := scanAll(bytes.NewReader(in))
		again, _, errAgain := scanAll(iotest.OneByteReader(bytes.NewReader(in)))
		if !reflect.DeepEqual(rows, again) || (err == nil) != (errAgain == nil) {
			t.Fatalf("read whole: %q (%v); byte by byte: %q (%v)", rows, err, again, errAgain)
		}
		if bytes.ContainsRune(in, '\r') {
			return // encoding/csv rewrites these inside quotes
		}
		r := csv.NewReader(bytes.NewReader(in))
		r.FieldsPerRecord = -1
		want, wantErr := r.ReadAll()
		if wantErr == nil && (err != nil || len(want)+len(rows) > 0 && !reflect.DeepEqual(rows, want)) {
			t.Fatalf("read %q (%v), encoding/csv %q", rows, err, want)
		}
	})
}
