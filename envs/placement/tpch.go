package placement

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
)

// TPCHConfig selects the jobs of the tpch workload.
type TPCHConfig struct {
	// Path is a JSON file of stages, tasks and durations as derived from Decima's recordings.
	Path string `yaml:"path" json:"path"`
	// Sizes of the data, such as 2g. Empty means all.
	Sizes []string `yaml:"sizes" json:"sizes"`
	// Executors is the number of executors whose recorded task durations are taken.
	Executors int `yaml:"executors" json:"executors" range:"[1,2^20]"`
	// Scale multiplies the stages' work: the sum of their tasks' durations.
	Scale float64 `yaml:"scale" json:"scale" range:"[1e-6,1e6]"`
}

// tpchFile is the file of TPC-H's jobs: a DAG of stages for each query and size of data. A stage has tasks, whose mean
// durations in ms depend on the number of executors. Durations are recorded apart for an executor's first task of the
// stage, and for its later ones.
type tpchFile struct {
	Note string    `json:"note"`
	DAGs []tpchDAG `json:"dags"`
}

type tpchDAG struct {
	Query  int         `json:"query"`
	Size   string      `json:"size"`
	Edges  [][]int     `json:"edges"`
	Stages []tpchStage `json:"stages"`
}

type tpchStage struct {
	Tasks int                `json:"tasks"`
	Fresh map[string]float64 `json:"fresh_ms"`
	First map[string]float64 `json:"first_wave_ms"`
	Rest  map[string]float64 `json:"rest_wave_ms"`
}

// The functions that TPC-H's stages invoke: stages that read tables, stages that join and sort, and the last ones. The
// recordings say nothing of demands; these are our choice.
var tpchFunctions = []Function{
	{Name: "scan", CPU: 1000, Memory: 1024, Network: 200, Image: 400, Parallel: 0.95},
	{Name: "shuffle", CPU: 1000, Memory: 2048, Network: 200, Image: 400, Parallel: 0.9},
	{Name: "result", CPU: 500, Memory: 512, Network: 50, Image: 400, Parallel: 0.5},
}

// tpchOutput is the MB that a stage passes on for each second of its work, also our choice.
const tpchOutput = 5

// fromTPCH takes the jobs of the file that the configuration names, all with equal probability.
func (s *System) fromTPCH() (shares []float64, err error) {
	c := &s.config.TPCH
	dags, err := readTPCH(c.Path)
	if err != nil {
		return nil, err
	}
	for _, f := range tpchFunctions {
		if err := s.addFunction(f, 0); err != nil {
			return nil, err
		}
	}
	for i := range dags {
		d := &dags[i]
		if len(c.Sizes) > 0 && !slices.Contains(c.Sizes, d.Size) {
			continue
		}
		at := fmt.Sprintf("%s: dags[%d]", c.Path, i)
		steps, err := d.steps(at, c, leastWork/s.config.Size.Low)
		if err != nil {
			return nil, err
		}
		if err := s.addWorkflow(at, fmt.Sprintf("query-%d-%s", d.Query, d.Size), steps,
			func(j int32) string { return fmt.Sprintf("stages[%d]", j) }); err != nil {
			return nil, err
		}
		shares = append(shares, 1)
	}
	if len(shares) == 0 {
		return nil, fmt.Errorf("tpch.sizes is %v, but %s has no job of such a size", c.Sizes, c.Path)
	}
	return shares, nil
}

func readTPCH(path string) ([]tpchDAG, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tpch.path: %w", err)
	}
	var f tpchFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("tpch.path: %s: %w", path, err)
	}
	if len(f.DAGs) == 0 {
		return nil, fmt.Errorf("tpch.path: %s: dags is empty, want TPC-H's jobs", path)
	}
	return f.DAGs, nil
}

// steps turns a job's stages into steps of a workflow, none with less work than least; at names the job in errors.
func (d *tpchDAG) steps(at string, c *TPCHConfig, least float64) ([]step, error) {
	steps := make([]step, len(d.Stages))
	last := make([]bool, len(d.Stages))
	for i := range last {
		last[i] = true
	}
	for i, e := range d.Edges {
		if len(e) != 2 {
			return nil, fmt.Errorf("%s.edges[%d] has %d ends, want 2", at, i, len(e))
		}
		for _, n := range e {
			if n < 0 || n >= len(steps) {
				return nil, fmt.Errorf("%s.edges[%d] names stage %d, want 0 to %d: it dangles", at, i, n, len(steps)-1)
			}
		}
		steps[e[1]].after = append(steps[e[1]].after, int32(e[0]))
		last[e[0]] = false
	}
	for i := range d.Stages {
		work, err := d.Stages[i].work(fmt.Sprintf("%s.stages[%d]", at, i), c.Executors)
		if err != nil {
			return nil, err
		}
		st := &steps[i]
		st.work = max(float64(work*c.Scale), least)
		st.output = float64(tpchOutput * st.work)
		switch {
		case last[i]:
			st.function = 2
		case len(st.after) > 0:
			st.function = 1
		}
	}
	return steps, nil
}

// work is the sum of a stage's task durations in seconds with a number of executors: the first task of each executor
// takes the recorded first duration, the others the later one.
func (s *tpchStage) work(at string, executors int) (float64, error) {
	if s.Tasks < 1 || s.Tasks > 1<<24 {
		return 0, fmt.Errorf("%s.tasks is %d, want 1 to %d", at, s.Tasks, 1<<24)
	}
	early, err := recorded(at+".first_wave_ms", s.First, executors)
	if err != nil {
		return 0, err
	}
	if early == 0 {
		if early, err = recorded(at+".fresh_ms", s.Fresh, executors); err != nil {
			return 0, err
		}
	}
	if early == 0 {
		return 0, fmt.Errorf("%s has neither first_wave_ms nor fresh_ms, want the mean duration of its tasks", at)
	}
	late, err := recorded(at+".rest_wave_ms", s.Rest, executors)
	if err != nil {
		return 0, err
	}
	if late == 0 {
		late = early
	}
	n := min(s.Tasks, executors)
	return (float64(float64(n)*early) + float64(float64(s.Tasks-n)*late)) / 1000, nil
}

// recorded is the duration for the nearest recorded number of executors, the smaller of two that are equally near; 0
// where there is none.
func recorded(at string, by map[string]float64, executors int) (float64, error) {
	best, of := 0.0, 0
	for _, key := range slices.Sorted(maps.Keys(by)) { // in a fixed order, so that the same fault is always named first
		ms := by[key]
		n, err := strconv.Atoi(key)
		if err != nil || n < 1 || strconv.Itoa(n) != key { // 05 beside 5 would be ambiguous
			return 0, fmt.Errorf("%s has the key %q, want a number of executors, as in 5", at, key)
		}
		if !(ms >= 0 && ms <= 1e9) {
			return 0, fmt.Errorf("%s[%q] is %g ms, want 0 to 1e9", at, key, ms)
		}
		gap, least := distance(n, executors), distance(of, executors)
		if of == 0 || gap < least || gap == least && n < of {
			best, of = ms, n
		}
	}
	return best, nil
}

func distance(a, b int) int { return max(a-b, b-a) }
