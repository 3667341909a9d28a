package table

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
)

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
