package report

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/chart"
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
