package workload

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Contents is what a trace's files of invocations hold, by minute and by function. It is small, however many minutes
// and functions there are.
type Contents struct {
	// Name says where the trace comes from.
	Name string
	// PerMinute holds the invocations of all functions in each minute, and Functions those of each in all minutes, in the
	// order of the files.
	PerMinute []uint64
	Functions []FunctionTotal
	// Report lists files read and missing.
	Report Report
}

// FunctionTotal is a function's invocations.
type FunctionTotal struct {
	Name  string `json:"function"`
	Total uint64 `json:"requests"`
}

// ReadContents reads the invocations of a trace as [ReadTrace] does, day by day. An empty path is the embedded sample.
func ReadContents(path string, o ReadOptions) (*Contents, error) {
	if path == "" {
		data, err := fs.Sub(embedded, "data")
		if err != nil {
			return nil, err
		}
		return readContents(data, embeddedName, o)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		o.only = filepath.Base(path)
		return readContents(os.DirFS(filepath.Dir(path)), filepath.Dir(path), o)
	}
	return readContents(os.DirFS(path), path, o)
}

func readContents(fsys fs.FS, dir string, o ReadOptions) (*Contents, error) {
	days, err := findFiles(fsys, dir, o)
	if err != nil {
		return nil, err
	}
	l := &loader{fsys: fsys, dir: dir, o: o, t: &Trace{}}
	c := &Contents{Name: filepath.Join(dir, o.only)}
	at := map[key]int{}
	for i, d := range days {
		from, busy := len(c.PerMinute), false
		_, err := l.scan(d.inv, func(k key, row *Invocations) error {
			if !o.Functions.matches(row.Name, row.Trigger) {
				return nil
			}
			i, ok := at[k]
			if !ok {
				i = len(c.Functions)
				at[k] = i
				c.Functions = append(c.Functions, FunctionTotal{Name: row.Name})
			}
			if n := from + len(row.Counts) - len(c.PerMinute); n > 0 {
				c.PerMinute = append(c.PerMinute, make([]uint64, n)...)
			}
			for m, x := range row.Counts {
				c.PerMinute[from+m] += uint64(x)
				c.Functions[i].Total += uint64(x)
				busy = busy || x > 0
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(i+1, len(days))
		}
		if !busy {
			l.t.Report.Missing = append(l.t.Report.Missing, d.inv+" (no invocation in it)")
		}
	}
	c.Report = l.t.Report
	c.Report.Missing = append(missing(fsys, days), c.Report.Missing...)
	return c, nil
}
