package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/eval/table"
)

// Names of the files of a result's folder.
const (
	ResultFile = "suite.json"
	PageFile   = "suite.md"
	rowsFile   = "rows.csv"
	// markFile stands in the folder while it is being written: what a crash leaves can be written again.
	markFile = durable.TempPrefix + "suite"
)

// dpi is the resolution of figures: sharp at the width of a README's column on a dense screen.
const dpi = 130

// Result is suite.json.
type Result struct {
	Suite string `json:"suite"`
	Doc   string `json:"doc"`
	Paper string `json:"paper"`
	Quick bool   `json:"quick"`
	// Seeds are the workload seeds that all policies faced.
	Seeds []uint64 `json:"seeds"`
	// Command makes the result again.
	Command  string `json:"command"`
	Version  string `json:"version"`
	Revision string `json:"revision"`

	Rows        []Row        `json:"rows"`
	Claims      []Claim      `json:"claims"`
	Comparisons []Comparison `json:"comparisons"`
	Notes       []string     `json:"notes"`
	// Tables and Figures are files, relative to the folder. Beside each figure lie its PDF and its
	// data as CSV, under the same name.
	Tables  []string `json:"tables"`
	Figures []string `json:"figures"`
}

// files are all that the result left.
func (r *Result) files() []string {
	out := []string{PageFile, rowsFile}
	out = append(out, r.Tables...)
	for _, f := range r.Figures {
		name := strings.TrimSuffix(f, filepath.Ext(f))
		out = append(out, f, name+".pdf", name+".csv")
	}
	return out
}

// Free reports whether a suite's result can be written to dir: it is missing, empty, or holds an earlier result of
// that suite. What else lies beside such a result is left alone.
func Free(dir, name string) error {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Usage("the folder of the result: %w", err)
	case len(list) == 0:
		return nil
	}
	if mark, err := os.ReadFile(filepath.Join(dir, markFile)); err == nil && string(mark) == name {
		return nil
	}
	old, err := Read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Usage("%s holds other things than a suite's result: name another folder, or an empty one", dir)
	case err != nil:
		return Usage("%w; name another folder", err)
	case old.Suite != name:
		return Usage("%s holds the result of suite %s, not of %s: name another folder", dir, old.Suite, name)
	}
	return nil
}

// Read reads a result's suite.json.
func Read(dir string) (*Result, error) {
	path := filepath.Join(dir, ResultFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is not a suite's result: %w", path, err)
	}
	if r.Suite == "" {
		return nil, fmt.Errorf("%s is not a suite's result: it names no suite", path)
	}
	return &r, nil
}

// write makes all files in memory, then writes each in one step, suite.json last. Files that only an earlier result had
// are removed.
func write(dir string, r *Report, res *Result) error {
	files := map[string][]byte{PageFile: []byte(Markdown(res, r.tables, r.figures))}
	all := append([]table.Table{rowTable(res.Rows)}, r.tables...)
	for _, f := range r.figures {
		image, err := drawn(f.Chart)
		if err != nil {
			return fmt.Errorf("%s.png: %w", f.Name, err)
		}
		var page bytes.Buffer
		if err := f.Chart.PDF(&page); err != nil {
			return fmt.Errorf("%s.pdf: %w", f.Name, err)
		}
		files[f.Name+".png"], files[f.Name+".pdf"] = image, page.Bytes()
		all = append(all, f.data())
	}
	for _, t := range all {
		b, err := t.CSV()
		if err != nil {
			return fmt.Errorf("%s.csv: %w", t.Name, err)
		}
		files[t.Name+".csv"] = b
	}
	text, err := table.JSON(res)
	if err != nil {
		return fmt.Errorf("%s: %w", ResultFile, err)
	}
	return replace(dir, res, files, text)
}

// replace puts the files in the place of an earlier result.
func replace(dir string, res *Result, files map[string][]byte, text []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	stale := []string{ResultFile}
	if old, err := Read(dir); err == nil {
		for _, f := range old.files() {
			if _, kept := files[f]; !kept && filepath.Base(f) == f {
				stale = append(stale, f)
			}
		}
	}
	put := func(name string, b []byte) error { return durable.WriteFile(durable.OS{}, filepath.Join(dir, name), b) }
	if err := put(markFile, []byte(res.Suite)); err != nil {
		return err
	}
	for _, f := range stale {
		if err := os.Remove(filepath.Join(dir, f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, name := range res.files() {
		if err := put(name, files[name]); err != nil {
			return err
		}
	}
	if err := put(ResultFile, text); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, markFile))
}

// rowTable is the rows as a table.
func rowTable(rows []Row) table.Table {
	t := table.Table{Name: "rows"}
	for _, name := range []string{"figure", "quantity", "unit", "paper", "ours", "ratio", "note"} {
		t.Columns = append(t.Columns, table.Column{Name: name})
	}
	for i := range rows {
		r := &rows[i]
		paper := any("")
		if r.Paper != nil {
			paper = *r.Paper
		}
		t.Rows = append(t.Rows, []any{r.Figure, r.Quantity, r.Unit, paper, r.estimate(), float64(r.Ratio), r.Note})
	}
	return t
}
