package profiles

import (
	"errors"
	"fmt"
	"slices"
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

func trim(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "bill: ")) }
