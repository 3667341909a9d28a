package profiles

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel"
)

// Kind is what the rows of a file of measurements are.
type Kind string

// The kinds of files.
const (
	RunRows     Kind = "runs"     // function, memory, ms: for [Fit]
	RequestRows Kind = "requests" // function, cpu, inside, ms: for [FitLaws]
	WindowRows  Kind = "windows"  // function, cpu, instances, rate, ms: for [FitLaws]
)

// wanted says which columns a file has that laws can be fitted to.
const wanted = `want the columns of one of these (function may be missing; seconds for ms, cores for cpu):
  function, memory, ms            a row per run: the time over the memory size (MB)
  function, cpu, inside, ms       a row per request: CPU limit (millicores), requests in the instance while it ran
  function, cpu, instances, rate, ms [, limit, memory_mb]
                                  a row per window: instances, requests a second of all of them, mean time;
                                  requests and window (seconds) for rate`

// names of columns that windows and requests have.
var (
	insideNames = []string{"inside", "in_flight", "in-flight", "inflight", "concurrency"}
	limitNames  = []string{"limit", "concurrency_limit", "concurrency"}
)

// KindOf returns the kind of a CSV file from its header, which stays to be read. An error says which columns are wanted.
func KindOf(r *bufio.Reader) (Kind, error) {
	line, _ := r.Peek(4096)
	first, _, _ := strings.Cut(string(line), "\n")
	head, err := csv.NewReader(strings.NewReader(first)).Read()
	if err != nil {
		return "", fmt.Errorf("line 1: no header, %s", wanted)
	}
	t := columns(head)
	_, _, noTime := t.duration()
	cpu := t.find("cpu", "cores") >= 0
	switch {
	case noTime != nil && cpu:
		return "", fmt.Errorf("line 1: no column for the time (ms or seconds) among %q, %s", head, wanted)
	case cpu && t.find("rate", "requests", "instances") >= 0:
		return WindowRows, nil
	case cpu && t.find(insideNames...) >= 0:
		return RequestRows, nil
	case cpu:
		return "", fmt.Errorf("line 1: no column for the load (inside, or instances and rate) among %q, %s", head, wanted)
	case t.find("memory size", "memory", "mb", "memory_mb") >= 0:
		return RunRows, nil
	}
	return "", fmt.Errorf("line 1: no law can be fitted to the columns %q, %s", head, wanted)
}

// observed is a function's settings.
type observed struct {
	name     string
	rows     int
	settings []perfmodel.Setting
	// memory is the mean of an instance's memory in MB, 0 where it is not known.
	memory, memoryRows float64
}

// readMeasured reads windows or requests, gathered into settings: rows of one CPU limit and about one load (10 %). idle is
// the number of windows without a request, which are left out.
func readMeasured(r io.Reader, kind Kind) (functions []*observed, idle int, err error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, 0, fmt.Errorf("reading the header: %w", err)
	}
	row, err := newRowReader(columns(head), kind)
	if err != nil {
		return nil, 0, fmt.Errorf("line 1: %w", err)
	}
	type key struct {
		function   string
		cpu        float64
		load, most int
	}
	type group struct {
		of    *observed
		times []float64
		perfmodel.Setting
	}
	of, at := map[string]*observed{}, map[key]*group{}
	var groups []*group
	err = rows(c, func(text []string, number func(int) (float64, error)) error {
		name := ""
		if row.function >= 0 {
			if name = strings.TrimSpace(text[row.function]); name == "" {
				return fmt.Errorf("column %d (function): it is empty, want a name", row.function+1)
			}
		}
		s, memory, err := row.read(text, number)
		if err != nil {
			return err
		}
		if s.Rows == 0 {
			idle++
			return nil
		}
		f := of[name]
		if f == nil {
			f = &observed{name: strings.Clone(name)}
			of[f.name], functions = f, append(functions, f)
		}
		f.rows++
		if memory > 0 {
			f.memory, f.memoryRows = f.memory+memory, f.memoryRows+1
		}
		k := key{f.name, s.CPU, int(math.Round(math.Log(s.Inside) / math.Log(1.1))), s.Limit}
		if s.Held && s.Inside == math.Trunc(s.Inside) {
			k.load = 1000 + int(s.Inside)
		}
		g := at[k]
		if g == nil {
			g = &group{of: f, Setting: s}
			g.Inside, g.Rows = 0, 0
			at[k], groups = g, append(groups, g)
		}
		g.times = append(g.times, s.Seconds)
		g.Inside += s.Inside
		g.Rows += s.Rows
		return nil
	})
	for _, g := range groups {
		n := float64(len(g.times))
		size := summary(g.times)
		g.Inside, g.Seconds, g.SD = g.Inside/n, size[0], size[1]
		g.of.settings = append(g.of.settings, g.Setting)
	}
	for _, f := range functions {
		slices.SortStableFunc(f.settings, func(a, b perfmodel.Setting) int {
			return cmp.Or(cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Inside, b.Inside))
		})
	}
	if err == nil && len(functions) == 0 {
		err = fmt.Errorf("all %d windows are without a request, want some with", idle)
	}
	return functions, idle, err
}

// summary returns mean and standard deviation.
func summary(x []float64) [2]float64 {
	var mean, squares float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return [2]float64{mean, math.Sqrt(squares / max(1, float64(len(x)-1)))}
}

// rowReader reads a row of windows or of requests as a setting.
type rowReader struct {
	kind                                        Kind
	function, cpu, inside, instances            int
	rate, requests, window, limit, memory, time int
	cores, seconds                              float64 // what makes millicores and seconds
}

func newRowReader(t columnNames, kind Kind) (*rowReader, error) {
	r := &rowReader{kind: kind, function: t.find("function", "name"), cpu: t.find("cpu"), cores: 1}
	if r.cpu < 0 {
		r.cpu, r.cores = t.find("cores"), 1000
	}
	var err error
	if r.time, r.seconds, err = t.duration(); err != nil {
		return nil, err
	}
	if kind == RequestRows {
		r.inside = t.find(insideNames...)
		return r, nil
	}
	r.rate, r.requests, r.window = t.find("rate"), t.find("requests"), t.find("window")
	r.limit, r.memory = t.find(limitNames...), t.find("memory_mb")
	if r.instances, err = t.want("number of instances", "instances", "replicas"); err != nil {
		return nil, err
	}
	if r.rate < 0 && (r.requests < 0 || r.window < 0) {
		return nil, fmt.Errorf("no column for the load among %q: want rate (requests a second of all instances), or requests "+
			"and window (seconds)", []string(t))
	}
	return r, nil
}

// defaultLimit is the requests that an instance takes at once where nothing says so: the most that stoker/Sizing-v3 gives
// it, or twice the mean number inside.
const defaultLimit = 10

// read returns a row's setting; its Rows are 0 in a window without a request. memory is that of an instance, in MB.
func (r *rowReader) read(text []string, number func(int) (float64, error)) (s perfmodel.Setting, memory float64, err error) {
	// at reads a number in a range.
	at := func(column int, name string, low, high float64, want string) float64 {
		if err != nil {
			return 0
		}
		var x float64
		if x, err = number(column); err != nil {
			err = fmt.Errorf("%w, want %s", err, want)
		} else if !(x >= low && x <= high) {
			err = fmt.Errorf("column %d (%s): %g, want %s", column+1, name, x, want)
		}
		return x
	}
	if milli, ok := strings.CutSuffix(strings.TrimSpace(text[r.cpu]), "m"); ok && r.cores == 1 {
		text[r.cpu] = milli // as Kubernetes writes it
	}
	if r.cores == 1 {
		s.CPU = at(r.cpu, "cpu", 10, 1e6, "a CPU limit in millicores, at least 10 (name the column cores where it is in cores)")
	} else {
		s.CPU = 1000 * at(r.cpu, "cores", 0.01, 1000, "a CPU limit in cores, at least 0.01")
	}
	s.Rows = 1
	if r.kind == RequestRows {
		s.Held = true
		s.Inside = at(r.inside, "inside", 1, 1e4, "the requests in the instance while this one ran, itself included: 1 or more")
		s.Seconds = r.seconds * at(r.time, "time", 1e-9, 1e12, "a time above 0")
		return s, 0, err
	}
	rate := 0.0
	if r.rate >= 0 {
		rate = at(r.rate, "rate", 0, 1e9, "requests a second, from 0")
	} else {
		rate = at(r.requests, "requests", 0, 1e12, "a number of requests, from 0") /
			at(r.window, "window", 1e-3, 1e9, "the window's length in seconds")
	}
	instances := at(r.instances, "instances", 1e-3, 1e6, "a number of instances above 0")
	if err != nil || rate == 0 {
		s.Rows = 0
		return s, 0, err
	}
	s.Seconds = r.seconds * at(r.time, "time", 1e-9, 1e12, "the mean time of the window's requests, above 0")
	s.Inside = rate * s.Seconds / instances
	if s.Limit = max(defaultLimit, int(math.Ceil(2*min(s.Inside, 1e4)))); r.limit >= 0 {
		s.Limit = int(at(r.limit, "limit", 1, 1e4, "the requests that an instance takes at once, 1 or more"))
	}
	if r.memory >= 0 {
		memory = at(r.memory, "memory_mb", 0, 1e7, "the memory of an instance in MB")
	}
	if err == nil && s.Inside > 1.5*float64(s.Limit) {
		err = fmt.Errorf("%s requests in an instance at a time (rate · time / instances), but it takes %d: want the time in the "+
			"instance, without waiting before it, and the rate of all instances", strconv.FormatFloat(s.Inside, 'g', 3, 64), s.Limit)
	}
	return s, memory, err
}
