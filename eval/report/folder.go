package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
)

// Folder is where the files of a result go. After an error nothing more is written; [Folder.Files] returns it.
type Folder struct {
	dir   string
	names []string
	err   error
}

// Into opens a folder, which is made where it is missing.
func Into(dir string) *Folder { return &Folder{dir: dir, err: os.MkdirAll(dir, 0o777)} }

// Write writes a file in one step. The text may come with the error of what made it.
func (f *Folder) Write(name string, text []byte, err error) {
	if f.err == nil {
		f.err = err
	}
	if f.err == nil {
		f.err = durable.WriteFile(durable.OS{}, filepath.Join(f.dir, name), text)
		f.names = append(f.names, name)
	}
}

// JSON writes a value.
func (f *Folder) JSON(name string, v any) {
	text, err := JSON(v)
	f.Write(name, text, err)
}

// CSV writes rows, the first of them the head; without another there is no file, see [WriteFile].
func (f *Folder) CSV(name string, rows [][]string) {
	if f.err == nil {
		f.err = WriteFile(f.dir, name, rows)
		if len(rows) > 1 {
			f.names = append(f.names, name)
		}
	}
}

// Draw writes a figure as PNG, SVG and PDF.
func (f *Folder) Draw(name string, c *chart.Figure) {
	if f.err == nil {
		var names []string
		names, f.err = c.Save(f.dir, name)
		f.names = append(f.names, names...)
	}
}

// Files are the names of the files in the order in which they were written, and the first error.
func (f *Folder) Files() ([]string, error) { return f.names, f.err }

// Paths are the files with the folder before their names, and the first error.
func (f *Folder) Paths() ([]string, error) {
	return lists.From(f.names, func(name string) string { return filepath.Join(f.dir, name) }), f.err
}

// WriteFile writes a CSV file, the first row of which is its head. With no other row there is nothing to write, and an
// older file is removed.
func WriteFile(dir, name string, rows [][]string) error {
	path := filepath.Join(dir, name)
	if len(rows) < 2 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	b, err := CSV(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return durable.WriteFile(durable.OS{}, path, b)
}

// File is a CSV file read back: its columns by name.
type File struct {
	head map[string]int
	Rows [][]string
}

// ReadFile reads a CSV file of a folder; nil without an error where there is no such file.
func ReadFile(dir, name string) (*File, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no file is no error: what it holds was not measured
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := &File{head: map[string]int{}}
	for i, h := range head {
		t.head[h] = i
	}
	if t.Rows, err = r.ReadAll(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Text is a row's field, empty where there is no such column.
func (t *File) Text(row []string, column string) string {
	if i, ok := t.head[column]; ok {
		return row[i]
	}
	return ""
}

// Number is a row's field as a number, NaN where it is none.
func (t *File) Number(row []string, column string) float64 {
	x, err := strconv.ParseFloat(t.Text(row, column), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// Cells are values as a row for programs: numbers with all their digits, a [Number] that is missing empty, an [Estimate] as
// three cells.
func Cells(values ...any) []string {
	var out []string
	for _, v := range values {
		switch x := v.(type) {
		case []string:
			out = append(out, x...)
		case Number:
			out = append(out, fields(float64(x))...)
		case float64:
			out = append(out, Exact(x))
		case Estimate:
			out = append(out, Exact(x.At), Exact(x.Low), Exact(x.High))
		default:
			out = append(out, fmt.Sprint(x))
		}
	}
	return out
}
