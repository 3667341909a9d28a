package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Report lists what is missing in a trace and what its reader corrected. Nothing of it stops a run: the publisher's own
// files have all these defects (Azure/AzurePublicDataset issues 13, 23 and 40).
type Report struct {
	// Files read, in order.
	Files []string `json:"files"`
	// Missing names files that the folder lacks, and files or days without data in them.
	Missing []string `json:"missing"`
	// MissingDurations and MissingMemory count the selected functions without such data.
	MissingDurations int `json:"missing_durations"`
	MissingMemory    int `json:"missing_memory"`
	// RepeatedDurations and RepeatedMemory count second rows of a function or application on the same day. The reader
	// takes the row with more samples.
	RepeatedDurations int `json:"repeated_durations"`
	RepeatedMemory    int `json:"repeated_memory"`
	// NegativeDurations counts rows with negative times, which are corrected as [Durations] says.
	NegativeDurations int `json:"negative_durations"`
	// Notes describes the first defects, with file and line.
	Notes []string `json:"notes"`
}

// maxNotes is the most notes in a Report.
const maxNotes = 20

func (r *Report) note(format string, a ...any) {
	if len(r.Notes) < maxNotes {
		r.Notes = append(r.Notes, fmt.Sprintf(format, a...))
	}
}

// String lists the defects in one line. It is empty if there are none.
func (r *Report) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{r.MissingDurations, "functions without durations"},
		{r.MissingMemory, "functions without memory"},
		{r.RepeatedDurations, "repeated rows of durations"},
		{r.RepeatedMemory, "repeated rows of memory"},
		{r.NegativeDurations, "rows with negative durations"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// dayFiles are the files of one day of a trace. run and mem are empty where the folder has none.
type dayFiles struct {
	inv, run, mem string
	wanted        [3]string // the names that they would have, for messages
}

// missing lists the files that a trace's days or sample lack, and those that are empty.
func missing(fsys fs.FS, days []dayFiles) []string {
	var out []string
	for _, d := range days {
		for i, have := range [...]string{d.inv, d.run, d.mem} {
			if have == "" && d.wanted[i] != "" {
				out = append(out, d.wanted[i])
			} else if info, err := fs.Stat(fsys, cmp.Or(have, ".")); err == nil && have != "" && info.Size() == 0 {
				out = append(out, have+" (empty)")
			}
		}
	}
	return out
}

var (
	originalFile = regexp.MustCompile(`^(invocations_per_function_md|function_durations_percentiles|` +
		`app_memory_percentiles)\.anon\.d(\d\d)\.csv(\.gz)?$`)
	sampleFile = regexp.MustCompile(`^(\d+)_(inv|run|mem)\.csv(\.gz)?$`)
	plainFile  = regexp.MustCompile(`^(invocations|durations|memory)\.csv(\.gz)?$`)
)

const folderFormat = "a folder with the publisher's files (invocations_per_function_md.anon.d01.csv, " +
	"function_durations_percentiles.anon.d01.csv, app_memory_percentiles.anon.d01.csv, …) or one of In-Vitro's " +
	"samples of them (50_inv.csv, 50_run.csv, 50_mem.csv), or one file: of invocations, or with the columns timestamp, " +
	"function, count"

// findFiles finds the trace in a folder: the publisher's days, or one of In-Vitro's samples (N_inv.csv and its
// companion files, or invocations.csv, durations.csv and memory.csv, the names in In-Vitro's own folders).
func findFiles(fsys fs.FS, dir string, o ReadOptions) ([]dayFiles, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, wrong("path", dir, folderFormat+"; there is no such folder or file")
		}
		return nil, wrong("path", dir, fmt.Sprintf("%s; %v", folderFormat, err))
	}
	days, samples := map[int]*dayFiles{}, map[int]*dayFiles{}
	set := func(in map[int]*dayFiles, key int, kind, name string) {
		d := in[key]
		if d == nil {
			d = &dayFiles{wanted: names(kind, key)}
			in[key] = d
		}
		at := &d.inv
		switch kind[0] {
		case 'f', 'r', 'd':
			at = &d.run
		case 'a', 'm':
			at = &d.mem
		}
		if *at == "" || len(name) < len(*at) { // prefer the plain file to its compressed copy
			*at = name
		}
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if m := originalFile.FindStringSubmatch(e.Name()); m != nil {
			day, _ := strconv.Atoi(m[2])
			set(days, day, m[1], e.Name())
		} else if m := sampleFile.FindStringSubmatch(e.Name()); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				set(samples, n, m[2], e.Name())
			}
		} else if m := plainFile.FindStringSubmatch(e.Name()); m != nil {
			set(samples, 0, m[1], e.Name())
		}
	}
	if o.only != "" {
		return onlyFile(o.only, days, samples)
	}
	for _, in := range []map[int]*dayFiles{days, samples} {
		for _, at := range slices.Sorted(maps.Keys(in)) {
			if in[at].inv == "" && (len(o.Days) == 0 || slices.Contains(o.Days, at)) && (o.Sample == 0 || o.Sample == at) {
				return nil, wrong("path", dir, fmt.Sprintf("%s beside %s, or that file removed", in[at].wanted[0],
					cmp.Or(in[at].run, in[at].mem)))
			}
		}
	}
	maps.DeleteFunc(days, func(_ int, d *dayFiles) bool { return d.inv == "" })
	maps.DeleteFunc(samples, func(_ int, d *dayFiles) bool { return d.inv == "" })
	switch {
	case len(days) == 0 && len(samples) == 0:
		return nil, wrong("path", dir, folderFormat+"; no file of invocations is there")
	case len(days) > 0 && (o.Sample == 0 || len(samples) == 0):
		if o.Sample != 0 {
			return nil, wrong("sample", o.Sample, fmt.Sprintf("0, since %s holds the publisher's own files", dir))
		}
		return chooseDays(days, dir, o.Days)
	}
	if len(o.Days) > 0 {
		return nil, wrong("days", o.Days, fmt.Sprintf("none, since %s holds In-Vitro's samples, which are of one day", dir))
	}
	have := slices.Sorted(maps.Keys(samples))
	if o.Sample == 0 && len(have) == 1 {
		return []dayFiles{*samples[have[0]]}, nil
	}
	d, ok := samples[o.Sample]
	if !ok || o.Sample == 0 && len(have) > 1 {
		return nil, wrong("sample", o.Sample, fmt.Sprintf("one of those in %s: %s", dir, join(have)))
	}
	return []dayFiles{*d}, nil
}

// names are those of the three files beside one of a kind, of a day or a sample.
func names(kind string, at int) [3]string {
	switch kind {
	case "inv", "run", "mem":
		return [3]string{fmt.Sprintf("%d_inv.csv", at), fmt.Sprintf("%d_run.csv", at), fmt.Sprintf("%d_mem.csv", at)}
	case "invocations", "durations", "memory":
		return [3]string{"invocations.csv", "durations.csv", "memory.csv"}
	}
	var out [3]string
	for i, part := range [...]string{"invocations_per_function_md", "function_durations_percentiles",
		"app_memory_percentiles"} {
		out[i] = fmt.Sprintf("%s.anon.d%02d.csv", part, at)
	}
	return out
}

// onlyFile returns the day or the sample to which a file of invocations belongs; one of any other name stands alone.
func onlyFile(name string, groups ...map[int]*dayFiles) ([]dayFiles, error) {
	for _, in := range groups {
		for _, at := range slices.Sorted(maps.Keys(in)) {
			switch d := in[at]; name {
			case d.inv:
				return []dayFiles{*d}, nil
			case d.run, d.mem:
				return nil, wrong("path", name, fmt.Sprintf("the file of invocations beside it, %s", cmp.Or(d.inv, d.wanted[0])))
			}
		}
	}
	return []dayFiles{{inv: name}}, nil
}

// chooseDays returns the days of want in that order. An empty want means all days of the folder, which must then be
// consecutive.
func chooseDays(have map[int]*dayFiles, dir string, want []int) ([]dayFiles, error) {
	there := slices.Sorted(maps.Keys(have))
	if len(want) == 0 {
		for i, d := range there {
			if i > 0 && d != there[i-1]+1 {
				return nil, wrong("days", want, fmt.Sprintf("the days named, since %s holds day %d and day %d but not day %d", dir,
					there[i-1], d, there[i-1]+1))
			}
		}
		want = there
	}
	var out []dayFiles
	for _, d := range want {
		f, ok := have[d]
		if !ok {
			return nil, wrong("days", d, fmt.Sprintf("one of those in %s: %s", dir, join(there)))
		}
		out = append(out, *f)
	}
	return out, nil
}

func join(ns []int) string {
	s := make([]string, 0, len(ns))
	for _, n := range ns {
		s = append(s, strconv.Itoa(n))
	}
	return strings.Join(s, ", ")
}

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
