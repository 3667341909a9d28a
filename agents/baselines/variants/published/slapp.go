package published

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Profile has the mean seconds of functions f1 to f6 by memory size in MB.
type Profile map[string]map[float64]float64

// ReadProfile reads function_profiles.csv: runs by function, memory size and milliseconds.
func ReadProfile(r io.Reader) (Profile, error) {
	names, samples, err := memory.Read(r)
	if err != nil {
		return nil, err
	}
	p := Profile{}
	for _, name := range names {
		sizes, err := memory.Sizes(samples[name])
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
		p[name] = map[float64]float64{}
		for _, s := range sizes {
			p[name][s.MB] = s.Mean
		}
	}
	return p, nil
}

// NumSLApp is the number of PRCP's applications.
const NumSLApp = 6

// SLApp returns PRCP's application of a number from 1, with functions that take the profile's mean times, sizes from
// 128 to 3008 MB in steps of 192, and prices of the printed table for the mean time rounded up to 100 ms.
func SLApp(number int, p Profile) (variants.App, error) {
	leave := workflow.To(workflow.End, 0.9)
	var g workflow.Graph
	name := fmt.Sprintf("App%d", number)
	fork := workflow.Fork("f1", "f3", "f2")
	switch number {
	case 1:
		g = workflow.New(name, workflow.Repeat("f2", "f2", 0.1), workflow.Choice("f2", leave))
	case 2:
		g = workflow.New(name, workflow.Chain("f1", "f2"), workflow.Repeat("f2", "f1", 0.1), workflow.Choice("f2", leave))
	case 3:
		g = workflow.New(name, workflow.Chain("f1", "f2", "f4"), workflow.Repeat("f4", "f1", 0.1),
			workflow.Choice("f4", leave))
	case 4:
		g = workflow.New(name, fork, workflow.Join("f4", "f3", "f2"), workflow.Repeat("f4", "f1", 0.1),
			workflow.Choice("f4", leave))
	case 5:
		g = workflow.New(name, fork, workflow.Join("f4", "f3", "f2"), workflow.Choice("f4", workflow.To("f6", 0.7)),
			workflow.Repeat("f4", "f4", 0.2), workflow.Repeat("f4", "f1", 0.1))
	case 6:
		g = workflow.New(name, workflow.Fork("f1", "f2"),
			workflow.Choice("f1", workflow.To("f5", 0.2), workflow.To("f3", 0.8)), workflow.Join("f4", "f2", "f5", "f3"),
			workflow.Choice("f4", workflow.To("f6", 0.7)), workflow.Repeat("f4", "f4", 0.2),
			workflow.Repeat("f4", "f1", 0.1))
	default:
		return variants.App{}, fmt.Errorf("PRCP has no application %d, want 1 to %d", number, NumSLApp)
	}
	for i := range g.Nodes {
		g.Functions = append(g.Functions, g.Nodes[i].Name)
	}
	slices.Sort(g.Functions)
	app := variants.App{Name: name, About: "published with PRCP (SLApp, evaluations/alg)", Workflow: g, Delays: workflow.StepFunctions(workflow.Published),
		Tariff: variants.Table, Billing: variants.OfMean}
	for _, f := range g.Functions {
		times, ok := p[f]
		if !ok {
			return variants.App{}, fmt.Errorf("the profile has no function %q, it has %v", f, slices.Sorted(maps.Keys(p)))
		}
		law := variants.Law{Form: memory.Table}
		for mb := 128.0; mb <= 3008; mb += 192 {
			s, ok := times[mb]
			if !ok || math.IsNaN(s) {
				return variants.App{}, fmt.Errorf("the profile of %s has no size of %g MB", f, mb)
			}
			law.MB, law.Seconds = append(law.MB, mb), append(law.Seconds, s)
		}
		app.Functions = append(app.Functions, variants.Function{Name: f, Memory: variants.General(),
			Variants: []variants.Variant{{Law: law}}})
	}
	return app, nil
}
