package profiles

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
	"github.com/stoker-rl/stoker/internal/heap"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// Subject is an application as it is deployed: what [Check] predicts.
type Subject struct {
	Name          string
	Flow          *workflow.Workflow
	Delays        workflow.Delays
	Tariff        bill.Tariff
	Orchestration bill.Orchestration
	// Transitions is the expected number of states that a request enters.
	Transitions float64
	// Functions are those of Flow, in its order.
	Functions []Deployed
}

// Deployed is a function with the memory size that it has.
type Deployed struct {
	Name string
	MB   float64
	// Law is the law of its runs' times.
	Law bill.Invertible
	// Fixed says that it is a state of the workflow that runs no function.
	Fixed bool
}

// FromApp takes an application's functions as they are chosen. A choice is a memory size in MB, or a variant's name, "@"
// and the size; a function with one option needs none.
func FromApp(m *variants.Model, choices map[string]string) (*Subject, error) {
	s := &Subject{Name: m.App.Name, Flow: m.Flow, Delays: m.Delays, Tariff: m.Tariff, Orchestration: m.Orchestration,
		Transitions: m.Transitions}
	names := m.Flow.Functions()
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("choice %s=%s: the workflow runs no such function, it runs %s", name, choices[name],
				strings.Join(names, ", "))
		}
	}
	for f, options := range m.Options {
		i := 0
		if choice, ok := choices[names[f]]; ok {
			variant, size := "", choice
			if v, mb, found := strings.Cut(choice, "@"); found {
				variant, size = v, mb
			}
			mb, err := strconv.ParseFloat(size, 64)
			if err != nil {
				return nil, fmt.Errorf("choice %s=%s: %q is no memory size in MB", names[f], choice, size)
			}
			i = slices.IndexFunc(options, func(o variants.Option) bool {
				return o.MB == mb && (m.Variants[f][o.Variant].Name == variant || variant == "" && len(m.Variants[f]) == 1)
			})
			if i < 0 {
				return nil, fmt.Errorf("choice %s=%s: the function has no such option: %s", names[f], choice, listOptions(m, f))
			}
		} else if len(options) > 1 {
			return nil, fmt.Errorf("function %s has %d options: say which one ran (choice %[1]s=…): %[3]s", names[f], len(options),
				listOptions(m, f))
		}
		o := options[i]
		s.Functions = append(s.Functions, Deployed{Name: names[f], MB: o.MB, Law: bill.Lognormal{M: o.Seconds, CV: o.CV}})
	}
	return s, nil
}

// listOptions lists the first options of a function.
func listOptions(m *variants.Model, f int) string {
	var out []string
	for _, o := range m.Options[f] {
		if len(out) == 6 {
			out = append(out, "…")
			break
		}
		text := fmt.Sprintf("%g", o.MB)
		if len(m.Variants[f]) > 1 {
			text = m.Variants[f][o.Variant].Name + "@" + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// FromMachine takes a state machine's workflow, whose functions have the laws in deployed, by their own names, or those
// of their Lambda functions.
func FromMachine(flow *asl.Flow, deployed []Deployed) (*Subject, error) {
	s := &Subject{Name: flow.Graph.Name, Transitions: flow.Transitions}
	var err error
	if s.Flow, err = flow.Graph.Compile(); err != nil {
		return nil, err
	}
	for _, f := range flow.Functions {
		if f.Fixed {
			s.Functions = append(s.Functions, Deployed{Name: f.Name, Law: bill.Always(f.Seconds), Fixed: true})
			continue
		}
		i := slices.IndexFunc(deployed, func(d Deployed) bool { return d.Name == f.Name })
		if i < 0 && f.Lambda != "" {
			i = slices.IndexFunc(deployed, func(d Deployed) bool { return d.Name == f.Lambda })
		}
		if i < 0 {
			names := lists.From(deployed, func(d Deployed) string { return d.Name })
			return nil, fmt.Errorf("there are no runs of function %s (Lambda function %q), only of %s", f.Name, f.Lambda,
				strings.Join(names, ", "))
		}
		d := deployed[i]
		d.Name = f.Name
		s.Functions = append(s.Functions, d)
	}
	return s, nil
}

// ReadDeployed reads functions with the memory sizes that they have and the times of their runs from a CSV file with a
// header. It has the columns function and memory (MB), and either ms or seconds, one run a row, or quantiles in
// milliseconds, one function a row: p0, p50, p99.9, … with p0 and p100 among them, and perhaps mean. Other columns are not
// read. Errors name line and column.
func ReadDeployed(r io.Reader) ([]Deployed, error) {
	c := csv.NewReader(r)
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	t := columns(head)
	d := deployedReader{knots: t.knots(), mean: t.find("mean"), runs: map[string][]float64{}}
	if d.function, err = t.want("function", "function", "name"); err != nil {
		return nil, err
	}
	if d.mb, err = t.want("memory size", "memory", "memory size", "memory_mb", "mb"); err != nil {
		return nil, err
	}
	if n := len(d.knots); n == 0 {
		if d.seconds, d.scale, err = t.duration(); err != nil {
			return nil, fmt.Errorf("%w, or quantiles p0 to p100", err)
		}
	} else if d.knots[0].p != 0 || d.knots[n-1].p != 1 {
		return nil, errors.New("line 1: the quantiles go from p0 to p100: one of them is missing")
	}
	if err := rows(c, d.row); err != nil {
		return nil, err
	}
	for i := range d.out {
		if o := &d.out[i]; o.Law == nil {
			if o.Law, err = bill.NewRuns(d.runs[o.Name]); err != nil {
				return nil, fmt.Errorf("function %s: %w", o.Name, cut(err, "bill: "))
			}
		}
	}
	return d.out, nil
}

// deployedReader has the columns of a file of functions, and what was read.
type deployedReader struct {
	function, mb, seconds, mean int
	scale                       float64 // seconds in the unit of the column
	knots                       []knot
	out                         []Deployed
	runs                        map[string][]float64
}

// knot is a column of quantiles.
type knot struct {
	p      float64
	column int
}

// knots returns the columns of quantiles, ascending.
func (t columnNames) knots() []knot {
	var out []knot
	for i, name := range t {
		if !strings.HasPrefix(name, "p") {
			continue
		}
		if p, err := strconv.ParseFloat(name[1:], 64); err == nil {
			out = append(out, knot{p / 100, i})
		}
	}
	slices.SortFunc(out, func(a, b knot) int { return cmp.Compare(a.p, b.p) })
	return out
}

// row reads a row: of a function's quantiles, or of a run.
func (r *deployedReader) row(row []string, number func(column int) (float64, error)) error {
	d := Deployed{Name: row[r.function]}
	var err error
	if d.MB, err = number(r.mb); err != nil {
		return err
	}
	if !(d.MB > 0) {
		return fmt.Errorf("a memory size of %g MB, want a positive number", d.MB)
	}
	i := slices.IndexFunc(r.out, func(o Deployed) bool { return o.Name == d.Name })
	if len(r.knots) > 0 {
		if i >= 0 {
			return fmt.Errorf("function %s is there twice", d.Name)
		}
		if d.Law, err = r.quantiles(number); err != nil {
			return err
		}
		r.out = append(r.out, d)
		return nil
	}
	x, err := number(r.seconds)
	if err != nil {
		return err
	}
	switch {
	case i < 0:
		r.out = append(r.out, d)
	case r.out[i].MB != d.MB:
		return fmt.Errorf("function %s has %g MB here and %g MB before: want the one size that it has", d.Name, d.MB, r.out[i].MB)
	}
	r.runs[d.Name] = append(r.runs[d.Name], x*r.scale)
	return nil
}

func (r *deployedReader) quantiles(number func(column int) (float64, error)) (bill.Invertible, error) {
	var q bill.Quantiles
	for _, k := range r.knots {
		ms, err := number(k.column)
		if err != nil {
			return nil, err
		}
		if ms < 0 {
			return nil, fmt.Errorf("column %d: a time of %g ms, want a number from 0", k.column+1, ms)
		}
		q.P, q.Seconds = append(q.P, k.p), append(q.Seconds, ms/1000)
	}
	if err := q.Validate(); err != nil {
		return nil, cut(err, "bill: ")
	}
	if r.mean < 0 {
		return q, nil
	}
	mean, err := number(r.mean)
	if err != nil {
		return nil, err
	}
	if q, err = q.WithMean(mean / 1000); err != nil {
		return nil, cut(err, "bill: ")
	}
	return q, nil
}

// simulate draws response times in seconds of so many requests that wait in no queue, ascending. Draws are keyed by seed,
// request, node and number of the run, so that two subjects with one seed differ by their laws and delays alone.
func (s *Subject) simulate(requests int, seed uint64) ([]float64, error) {
	if err := s.Flow.Walkable(); err != nil {
		return nil, err
	}
	t := workflow.NewTracker(s.Flow, seed)
	key := rng.New(seed, "profiles/check")
	ends := make([]bool, s.Flow.NumNodes())
	g := s.Flow.Graph()
	for _, e := range g.Edges {
		if e.To == workflow.End {
			ends[slices.IndexFunc(g.Nodes, func(n workflow.Node) bool { return n.Name == e.From })] = true
		}
	}
	out := make([]float64, requests)
	var step workflow.Step
	var queue []event
	for r := range requests {
		draws := key.With(uint64(r))
		start := func(now float64) {
			for _, v := range step.Start {
				u := draws.With(uint64(v.Node)).With(uint64(v.Number)).Float64()
				f := &s.Functions[s.Flow.Function(int(v.Node))]
				heap.Push(&queue, event{now + f.Law.Quantile(u) + s.Delays.Node, v.Node})
			}
		}
		run := t.Begin(0, uint64(r), &step)
		queue = queue[:0]
		start(0)
		var last float64
		for len(queue) > 0 {
			e := heap.Pop(&queue)
			if err := t.Done(run, e.node, &step); err != nil {
				return nil, err
			}
			done := e.at
			if len(step.Start) == 0 && ends[e.node] {
				done += s.Delays.Edge
			}
			last = max(last, done)
			start(e.at + s.Delays.Edge)
		}
		out[r] = last
	}
	slices.Sort(out)
	return out, nil
}

// event is the end of a node's own work.
type event struct {
	at   float64
	node int32
}

// Before orders by time, then node.
func (e event) Before(o event) bool { return e.at < o.at || e.at == o.at && e.node < o.node }
