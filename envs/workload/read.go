package workload

import (
	"bufio"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ReadOptions select what [ReadTrace] returns. The whole trace is gigabytes of text; a selection needs little memory.
type ReadOptions struct {
	// Sample and Days are as in [Config].
	Sample int
	Days   []int
	// Functions selects functions; the others are dropped.
	Functions Filter
	// Total replaces the selected functions by one, their sum, without durations and memory.
	Total bool

	// Progress, where set, is told by [ReadContents] after every day how many of how many are read.
	Progress func(done, all int)

	only string // the file of invocations to read, where not the whole folder is meant
}

// ReadTrace reads a trace: a folder in the publisher's format (the original files, whose days are joined, or one of
// In-Vitro's samples), or a single file: of invocations, or in the long form (timestamp, function, count). Files of
// durations and of memory may be absent; the trace's report then says so.
func ReadTrace(path string, o ReadOptions) (*Trace, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		o.only = filepath.Base(path)
		return readTrace(os.DirFS(filepath.Dir(path)), filepath.Dir(path), o)
	}
	return readTrace(os.DirFS(path), path, o)
}

//go:embed data/*.csv.gz
var embedded embed.FS

const embeddedName = "Azure Functions 2019 (embedded sample of 50)"

var readEmbedded = sync.OnceValues(func() (*Trace, error) {
	data, err := fs.Sub(embedded, "data")
	if err != nil {
		return nil, err
	}
	return readTrace(data, embeddedName, ReadOptions{})
})

// Embedded returns the trace that is part of the program: In-Vitro's 50-function sample of Azure Functions 2019, one
// day, 179,342 invocations. data/ATTRIBUTION names its author.
func Embedded() (*Trace, error) { return readEmbedded() }

// key identifies a function across files.
type key struct{ owner, app, name string }

// loader reads the files of a trace and builds it.
type loader struct {
	fsys  fs.FS
	dir   string
	o     ReadOptions
	t     *Trace
	index map[key]int // function -> index in the trace, -1 if it is not selected
	sum   []uint64    // invocations per minute of all selected functions, with Total
	apps  map[key][]int
}

func readTrace(fsys fs.FS, dir string, o ReadOptions) (*Trace, error) {
	days, err := findFiles(fsys, dir, o)
	if err != nil {
		return nil, err
	}
	l := &loader{fsys: fsys, dir: dir, o: o, t: &Trace{Name: filepath.Join(dir, o.only)}, index: map[key]int{}}
	l.t.Report.Missing = missing(fsys, days)
	if o.Functions.Top > 0 {
		if err := l.rank(days); err != nil {
			return nil, err
		}
	}
	for _, d := range days {
		if err := l.invocations(d.inv); err != nil {
			return nil, err
		}
	}
	for i := range l.t.Functions {
		f := &l.t.Functions[i]
		f.Counts = append(f.Counts, make([]uint32, l.t.Minutes-len(f.Counts))...)
	}
	if !o.Total && len(l.t.Functions) == 0 || o.Total && l.sum == nil {
		return nil, wrong("functions", o.Functions.String(),
			fmt.Sprintf("a filter that keeps some of the functions of %s", dir))
	}
	if o.Total {
		return l.total()
	}
	l.apps = map[key][]int{}
	for i := range l.t.Functions {
		f := &l.t.Functions[i]
		k := key{f.Owner, f.App, ""}
		l.apps[k] = append(l.apps[k], i)
	}
	if err := l.statistics(days); err != nil {
		return nil, err
	}
	return l.t, nil
}

// open opens a file of the trace, gzip-compressed or plain, and calls read on it.
func (l *loader) open(name string, read func(r io.Reader, file string) error) (err error) {
	file := l.dir + "/" + name
	f, err := l.fsys.Open(name)
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l.t.Report.Files = append(l.t.Report.Files, name)
	if !strings.HasSuffix(name, ".gz") {
		return read(f, file)
	}
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return read(z, file)
}

// each calls do with every row that next reads.
func each[R any](next, do func(row *R) error) error {
	var row R
	for {
		if err := next(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := do(&row); err != nil {
			return err
		}
	}
}

// scan calls fn for every row of an invocations file, or for every function of a file in the long form. A function may
// have one row only.
func (l *loader) scan(name string, fn func(k key, row *Invocations) error) (minutes int, err error) {
	err = l.open(name, func(r io.Reader, file string) error {
		b := bufio.NewReader(r)
		if isLong(b) {
			minutes, err = readLong(b, file, fn)
			return err
		}
		ir, err := NewInvocationReader(b, file)
		if err != nil {
			return err
		}
		minutes = ir.Minutes()
		lines := map[key]int{}
		err = each(ir.Next, func(row *Invocations) error {
			k := key{row.Owner, row.App, row.Name}
			if first, ok := lines[k]; ok {
				return &ParseError{File: file, Line: row.Line,
					What: fmt.Sprintf("function %.12s… has a row already, in line %d", row.Name, first),
					Want: "one row for each function"}
			}
			lines[k] = row.Line
			return fn(k, row)
		})
		if err == nil && len(lines) == 0 {
			return &ParseError{File: file, What: "there is no row below the header", Want: "a row for each function"}
		}
		return err
	})
	return minutes, err
}

// rank finds the functions with the most invocations. It reads all invocations files once more for that.
func (l *loader) rank(days []dayFiles) error {
	var keys []key
	var totals []uint64
	at := map[key]int{}
	for _, d := range days {
		_, err := l.scan(d.inv, func(k key, row *Invocations) error {
			i, ok := at[k]
			if !ok {
				if !l.o.Functions.matches(row.Name, row.Trigger) {
					return nil
				}
				i = len(keys)
				at[k] = i
				keys, totals = append(keys, k), append(totals, 0)
			}
			for _, c := range row.Counts {
				totals[i] += uint64(c)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, k := range keys {
		l.index[k] = -1
	}
	for _, i := range topOf(totals, l.o.Functions.Top) {
		delete(l.index, keys[i])
	}
	l.t.Report.Files = nil
	return nil
}

// invocations appends the counts of a day.
func (l *loader) invocations(name string) error {
	before, busy := l.t.Minutes, false
	minutes, err := l.scan(name, func(k key, row *Invocations) error {
		i, ok := l.index[k]
		if !ok {
			if !l.o.Functions.matches(row.Name, row.Trigger) {
				return nil
			}
			i = len(l.t.Functions)
			l.index[k] = i
			if !l.o.Total {
				l.t.Functions = append(l.t.Functions, Function{Owner: row.Owner, App: row.App, Name: row.Name,
					Trigger: row.Trigger})
			}
		}
		busy = busy || i >= 0 && slices.ContainsFunc(row.Counts, func(n uint32) bool { return n > 0 })
		switch {
		case i < 0:
		case l.o.Total:
			if n := before + len(row.Counts); len(l.sum) < n {
				l.sum = append(l.sum, make([]uint64, n-len(l.sum))...)
			}
			for m, c := range row.Counts {
				l.sum[before+m] += uint64(c)
			}
		default:
			f := &l.t.Functions[i]
			f.Counts = append(f.Counts, make([]uint32, before-len(f.Counts))...) // zeros for the days without this function
			f.Counts = append(f.Counts, row.Counts...)
		}
		return nil
	})
	if err == nil && !busy {
		l.t.Report.Missing = append(l.t.Report.Missing, name+" (no invocation in it)")
	}
	l.t.Minutes += minutes
	return err
}

// total returns a trace whose only function is the sum of those selected.
func (l *loader) total() (*Trace, error) {
	counts := make([]uint32, l.t.Minutes)
	for m, n := range l.sum {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("workload: %s has %d invocations in minute %d, want at most %d", l.dir, n, m,
				uint32(math.MaxUint32))
		}
		counts[m] = uint32(n)
	}
	l.t.Functions = []Function{{Name: "total", Counts: counts}}
	return l.t, nil
}

// statistics reads the durations and the memory of all days. Averages and percentiles of several days are averaged,
// weighted by their numbers of samples; for percentiles this is an approximation.
func (l *loader) statistics(days []dayFiles) error {
	fs := l.t.Functions
	for _, d := range days {
		if err := ofDay(d.run, l.durations, func(i int, x Duration) { fs[i].Duration.add(x) }); err != nil {
			return err
		}
		if err := ofDay(d.mem, l.memories, func(i int, x Memory) { fs[i].Memory.add(x) }); err != nil {
			return err
		}
	}
	r := &l.t.Report
	for i := range fs {
		if fs[i].Duration.Samples == 0 {
			r.MissingDurations++
			r.note("function %.12s… has no durations", fs[i].Name)
		}
		if fs[i].Memory.Samples == 0 {
			r.MissingMemory++
			r.note("function %.12s… has no memory: nothing is known of its application %.12s…", fs[i].Name, fs[i].App)
		}
	}
	return nil
}

// ofDay adds what a file of a day has of each function, by number; a day without the file has none.
func ofDay[T any](name string, read func(name string, day map[int]T) error, add func(i int, x T)) error {
	if name == "" {
		return nil
	}
	day := map[int]T{}
	if err := read(name, day); err != nil {
		return err
	}
	for i, x := range day {
		add(i, x)
	}
	return nil
}

func (l *loader) durations(name string, day map[int]Duration) error {
	r := &l.t.Report
	return l.open(name, func(rd io.Reader, file string) error {
		dr, err := NewDurationReader(rd, file)
		if err != nil {
			return err
		}
		return each(dr.Next, func(row *Durations) error {
			i, ok := l.index[key{row.Owner, row.App, row.Name}]
			if !ok || i < 0 {
				return nil
			}
			if row.Negative {
				r.NegativeDurations++
				r.note("%s:%d: negative durations of function %.12s… were corrected", file, row.Line, row.Name)
			}
			old, again := day[i]
			if again {
				r.RepeatedDurations++
				r.note("%s:%d: durations of function %.12s… again; the row with more samples is kept", file, row.Line, row.Name)
			}
			if !again || row.Duration.Samples > old.Samples {
				day[i] = row.Duration
			}
			return nil
		})
	})
}

func (l *loader) memories(name string, day map[int]Memory) error {
	r := &l.t.Report
	return l.open(name, func(rd io.Reader, file string) error {
		mr, err := NewMemoryReader(rd, file)
		if err != nil {
			return err
		}
		return each(mr.Next, func(row *Memories) error {
			of := l.apps[key{row.Owner, row.App, ""}]
			if len(of) == 0 {
				return nil
			}
			old, again := day[of[0]]
			if again {
				r.RepeatedMemory++
				r.note("%s:%d: memory of application %.12s… again; the row with more samples is kept", file, row.Line, row.App)
			}
			if !again || row.Memory.Samples > old.Samples {
				for _, i := range of {
					day[i] = row.Memory
				}
			}
			return nil
		})
	})
}
