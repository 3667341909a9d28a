// Package dags reads jobs of dependent stages with measured task times, such as Decima's TPC-H queries on Spark, as
// workflows whose stages run many tasks in parallel.
package dags

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// Job is a directed acyclic graph of stages.
type Job struct {
	// Name is tpch-QUERY-SIZE.
	Name string
	// Query is the number of the query, Size that of the data, such as 2g.
	Query int
	Size  string
	// Stages are the graph's nodes; Edges lead from the stage with the first number to that with the second, which starts
	// when all stages before it have ended.
	Stages []Stage
	Edges  [][2]int
}

// Stage runs Tasks tasks of the same kind, as many at once as there are executors.
type Stage struct {
	Tasks int
	// Fresh, First and Rest are the mean time of a task by the number of executors, ascending: of those that an executor
	// runs first when it is new to the job, first in this stage, and after another one of this stage. Any may be empty, but
	// not all.
	Fresh, First, Rest []Duration
}

// Duration is a task's mean time where the job had so many executors.
type Duration struct {
	Executors int
	Seconds   float64
}

// bounds of a file.
const (
	maxFile   = 64 << 20
	maxStages = 10000
	maxTasks  = 1 << 24
)

// Read reads jobs from JSON: {"dags": [{"query": 1, "size": "2g", "edges": [[0, 1]], "stages": [{"tasks": 12, "fresh_ms":
// {"5": 4583.6}, "first_wave_ms": {…}, "rest_wave_ms": {…}}, …]}, …]}. Times are in milliseconds by number of executors.
// Errors name job, stage and field. Every job's graph is checked.
func Read(r io.Reader) ([]Job, error) {
	var file struct {
		Dags []struct {
			Query  int
			Size   string
			Edges  [][]int
			Stages []struct {
				Tasks int
				Fresh map[string]float64 `json:"fresh_ms"`
				First map[string]float64 `json:"first_wave_ms"`
				Rest  map[string]float64 `json:"rest_wave_ms"`
			}
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("dags: the file has more than %d MB", maxFile>>20)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("dags: %w", err)
	}
	if len(file.Dags) == 0 {
		return nil, fmt.Errorf("dags: the file has no jobs: want an object with a list dags")
	}
	var jobs []Job
	for i, d := range file.Dags {
		j := Job{Name: fmt.Sprintf("tpch-%d-%s", d.Query, d.Size), Query: d.Query, Size: d.Size}
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("dags: job %d (%s): %w", i+1, j.Name, fmt.Errorf(format, args...))
		}
		if n := len(d.Stages); n == 0 || n > maxStages {
			return nil, wrong("it has %d stages, want 1 to %d", n, maxStages)
		}
		for k, s := range d.Stages {
			if s.Tasks < 1 || s.Tasks > maxTasks {
				return nil, wrong("stage %d: tasks is %d, want 1 to %d", k, s.Tasks, maxTasks)
			}
			out := Stage{Tasks: s.Tasks}
			for _, f := range []struct {
				name string
				from map[string]float64
				to   *[]Duration
			}{{"fresh_ms", s.Fresh, &out.Fresh}, {"first_wave_ms", s.First, &out.First}, {"rest_wave_ms", s.Rest, &out.Rest}} {
				var err error
				if *f.to, err = durations(f.from); err != nil {
					return nil, wrong("stage %d: %s: %w", k, f.name, err)
				}
			}
			if len(out.Fresh)+len(out.First)+len(out.Rest) == 0 {
				return nil, wrong("stage %d: it has no times, want fresh_ms, first_wave_ms or rest_wave_ms", k)
			}
			j.Stages = append(j.Stages, out)
		}
		for k, e := range d.Edges {
			if len(e) != 2 || min(e[0], e[1]) < 0 || max(e[0], e[1]) >= len(j.Stages) {
				return nil, wrong("edges[%d] is %v, want the numbers of two stages, 0 to %d", k, e, len(j.Stages)-1)
			}
			j.Edges = append(j.Edges, [2]int{e[0], e[1]})
		}
		if err := j.Graph().Validate(); err != nil {
			return nil, wrong("%w", err)
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func durations(by map[string]float64) ([]Duration, error) {
	var out []Duration
	for n, ms := range by {
		k, err := strconv.Atoi(n)
		if err != nil || k < 1 {
			return nil, fmt.Errorf("%q is no number of executors", n)
		}
		if !(ms > 0) || math.IsInf(ms, 0) {
			return nil, fmt.Errorf("%g ms with %d executors, want a positive number", ms, k)
		}
		out = append(out, Duration{k, ms / 1000})
	}
	slices.SortFunc(out, func(a, b Duration) int { return a.Executors - b.Executors })
	for i := 1; i < len(out); i++ {
		if out[i].Executors == out[i-1].Executors {
			return nil, fmt.Errorf("%d executors are there twice", out[i].Executors)
		}
	}
	return out, nil
}

// Start is the node before the stages of a job of which several wait for no other. It runs no tasks.
const Start = "start"

// Graph returns the job as a workflow: node k, of the name sK+1, is stage k. Where several stages wait for no other, one
// more node, [Start], is the last in the list and leads to them.
func (j *Job) Graph() workflow.Graph {
	name := func(k int) string { return fmt.Sprintf("s%d", k+1) }
	g := workflow.Graph{Name: j.Name}
	waits := make([]bool, len(j.Stages))
	for k := range j.Stages {
		g.Nodes = append(g.Nodes, workflow.Node{Name: name(k)})
	}
	for _, e := range j.Edges {
		waits[e[1]] = true
		g.Edges = append(g.Edges, workflow.Edge{From: name(e[0]), To: name(e[1]), Kind: workflow.Next})
	}
	var first []string
	for k, w := range waits {
		if !w {
			first = append(first, name(k))
		}
	}
	switch len(first) {
	case 0: // a cycle, which Compile names
	case 1:
		g.Entry = first[0]
	default:
		g.Entry = Start
		g.Nodes = append(g.Nodes, workflow.Node{Name: Start})
		g.Edges = append(g.Edges, workflow.Fork(Start, first...)...)
	}
	return g
}

// Seconds returns the expected time of the stage with so many executors, at least 1, which are new to the job or not:
// its tasks run in waves, as many at once as there are executors.
func (s *Stage) Seconds(executors int, fresh bool) float64 {
	executors = max(1, executors)
	waves := (s.Tasks + executors - 1) / executors
	first := choose(s.First, s.Fresh, s.Rest)
	if fresh {
		first = choose(s.Fresh, s.First, s.Rest)
	}
	return at(first, executors) + float64(float64(waves-1)*at(choose(s.Rest, s.First, s.Fresh), executors))
}

// choose returns the first of the lists that is not empty.
func choose(lists ...[]Duration) []Duration {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// at returns the time with so many executors: straight lines between the measured numbers, the ends beyond them.
func at(d []Duration, executors int) float64 {
	if len(d) == 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(d, executors, func(a Duration, n int) int { return a.Executors - n })
	switch {
	case found:
		return d[i].Seconds
	case i == 0:
		return d[0].Seconds
	case i == len(d):
		return d[i-1].Seconds
	}
	a, b := d[i-1], d[i]
	return a.Seconds + float64((b.Seconds-a.Seconds)*(float64(executors-a.Executors)/float64(b.Executors-a.Executors)))
}
