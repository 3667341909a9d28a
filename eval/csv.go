package eval

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
)

// writeCSV writes a file of rows, the first of them the head. Without others there is nothing to write, and a file that is there
// goes.
func writeCSV(dir, name string, rows [][]string) error {
	path := filepath.Join(dir, name)
	if len(rows) < 2 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = csv.NewWriter(f).WriteAll(rows)
	return errors.Join(err, f.Close())
}

// table is a CSV file read back: columns by name.
type table struct {
	head map[string]int
	rows [][]string
}

// readCSV reads a file of the folder; nil without an error where there is none.
func readCSV(dir, name string) (*table, error) {
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
	t := &table{head: map[string]int{}}
	for i, h := range head {
		t.head[h] = i
	}
	if t.rows, err = r.ReadAll(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// text returns a row's field, empty where there is no such column.
func (t *table) text(row []string, column string) string {
	if i, ok := t.head[column]; ok {
		return row[i]
	}
	return ""
}

// number returns a row's field as a number, NaN where it is none.
func (t *table) number(row []string, column string) float64 {
	x, err := strconv.ParseFloat(t.text(row, column), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
