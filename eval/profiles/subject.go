package profiles

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workflow/asl"
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
	for name := range choices {
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
			return nil, fmt.Errorf("function %s has %d options, say which one ran: %s", names[f], len(options), listOptions(m, f))
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
			var names []string
			for _, d := range deployed {
				names = append(names, d.Name)
			}
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
	function, err := t.want("function", "function", "name")
	if err != nil {
		return nil, err
	}
	mb, err := t.want("memory size", "memory", "memory size", "memory_mb", "mb")
	if err != nil {
		return nil, err
	}
	type knot struct {
		p  float64
		at int
	}
	var knots []knot
	for i, name := range t {
		if p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64); err == nil && name[0] == 'p' {
			knots = append(knots, knot{p / 100, i})
		}
	}
	sort.Slice(knots, func(i, j int) bool { return knots[i].p < knots[j].p })
	seconds, scale, err := t.duration()
	if err != nil && len(knots) == 0 {
		return nil, fmt.Errorf("%w, or quantiles p0 to p100", err)
	}
	if len(knots) > 0 && (knots[0].p != 0 || knots[len(knots)-1].p != 1) {
		return nil, errors.New("line 1: the quantiles go from p0 to p100: one of them is missing")
	}
	mean := t.find("mean")
	var out []Deployed
	runs := map[string][]float64{}
	err = rows(c, func(row []string, number func(column int) (float64, error)) error {
		d := Deployed{Name: row[function]}
		var err error
		if d.MB, err = number(mb); err != nil {
			return err
		}
		if !(d.MB > 0) {
			return fmt.Errorf("a memory size of %g MB, want a positive number", d.MB)
		}
		i := slices.IndexFunc(out, func(o Deployed) bool { return o.Name == d.Name })
		if i >= 0 && len(knots) > 0 {
			return fmt.Errorf("function %s is there twice", d.Name)
		}
		if len(knots) > 0 {
			q := bill.Quantiles{}
			for _, k := range knots {
				ms, err := number(k.at)
				if err != nil {
					return err
				}
				q.P, q.Seconds = append(q.P, k.p), append(q.Seconds, ms/1000)
			}
			if q.Seconds[0] < 0 {
				return fmt.Errorf("column %d: a time of %g s, want a number from 0", knots[0].at+1, q.Seconds[0])
			}
			if err := q.Validate(); err != nil {
				return trim(err)
			}
			if mean >= 0 {
				m, err := number(mean)
				if err != nil {
					return err
				}
				if q, err = q.WithMean(m / 1000); err != nil {
					return trim(err)
				}
			}
			d.Law = q
			out = append(out, d)
			return nil
		}
		x, err := number(seconds)
		if err != nil {
			return err
		}
		switch {
		case i < 0:
			out = append(out, d)
		case out[i].MB != d.MB:
			return fmt.Errorf("function %s has %g MB here and %g MB before: want the one size that it has", d.Name, d.MB, out[i].MB)
		}
		runs[d.Name] = append(runs[d.Name], x*scale)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Law == nil {
			if out[i].Law, err = bill.NewRuns(runs[out[i].Name]); err != nil {
				return nil, fmt.Errorf("function %s: %w", out[i].Name, trim(err))
			}
		}
	}
	return out, nil
}

func trim(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "bill: ")) }
