package workload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
