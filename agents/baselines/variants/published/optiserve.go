package published

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	rules "github.com/stoker-rl/stoker/agents/baselines/variants"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Small returns the application with which OptiServe's authors test their program: functions of three variants, whose
// v-th takes base + 200·v - 0.05·(v+1)·MB milliseconds, with four sizes. cyclic has three functions, a cycle and a
// self-loop; the other is a chain of two.
func Small(cyclic bool) variants.App {
	app := variants.App{Name: "acyclic", About: "OptiServe's test application",
		Workflow: workflow.New("acyclic", workflow.Chain("1", "2")), Tariff: variants.Own, Billing: variants.OfMean,
		Prices: bill.Tariff{GBSecond: 1e-5, Request: 2e-7, Step: 0.001}, Accuracy: variants.Mean}
	bases := []float64{800, 600}
	if cyclic {
		app.Name = "cyclic"
		app.Workflow = workflow.New("cyclic", workflow.Chain("1", "2"), workflow.Choice("2", workflow.To("3", 0.7)),
			workflow.Repeat("2", "1", 0.3), workflow.Repeat("3", "3", 0.2), workflow.Choice("3", workflow.To(workflow.End, 0.8)))
		bases = []float64{800, 700, 600}
	}
	sizes := []float64{128, 256, 512, 1024}
	for i, base := range bases {
		f := variants.Function{Name: strconv.Itoa(i + 1), Memory: variants.Sizes(sizes...)}
		for v := range 3 {
			law := variants.Law{Form: memory.Table, MB: sizes}
			for _, mb := range sizes {
				law.Seconds = append(law.Seconds, (base+float64(200*v)-0.05*float64(v+1)*mb)/1000)
			}
			f.Variants = append(f.Variants, variants.Variant{Name: fmt.Sprintf("v%d", v), Law: law})
		}
		app.Functions = append(app.Functions, f)
	}
	return app
}

// Golden are results of OptiServe's program: by preset, then by application and search.
type Golden map[string]map[string]Result

// Result is one of them, times in milliseconds.
type Result struct {
	Milliseconds float64   `json:"rt"`
	USD          float64   `json:"cost"`
	Accuracy     float64   `json:"accuracy"`
	MB           []float64 `json:"mem"`
	Variants     []int     `json:"variant"`
	Iterations   int       `json:"iterations"`
}

// ReadGolden reads golden_figures.json.
func ReadGolden(r io.Reader) (Golden, error) {
	var file struct {
		Published map[string]Result `json:"published_preset"`
		Corrected map[string]Result `json:"corrected_preset_differs_only_in"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, err
	}
	if len(file.Published) == 0 {
		return nil, fmt.Errorf("no published_preset in the file")
	}
	g := Golden{"published": file.Published, "corrected": {}}
	for name, p := range file.Published {
		if c, ok := file.Corrected[name]; ok {
			p = c
		}
		g["corrected"][name] = p
	}
	return g, nil
}

// Row is a configuration of the acyclic application with what it gives.
type Row struct {
	MB       [2]float64
	Variants [2]int
	Accuracy [2]float64
	USD      float64 // per million executions
	Seconds  float64
}

// SmallProblem returns the problem that OptiServe's tests set on [Small]: BPBA (the least time), BCPA (the least cost)
// or BAPB (the greatest accuracy), each bound in the middle of its range and an accuracy of one half.
func SmallProblem(m *variants.Model, search string) variants.Problem {
	ends := func(variant, size func(from, to int) int) variants.Outcome {
		choice := make([]int, m.NumFunctions())
		for f := range choice {
			choice[f] = size(m.VariantOptions(f, variant(0, m.NumVariants(f))))
		}
		return m.Evaluate(choice)
	}
	low := func(from, _ int) int { return from }
	high := func(_, to int) int { return to - 1 }
	budget := (ends(low, low).USD + ends(high, high).USD) / 2
	latency := (ends(low, high).Seconds + ends(high, low).Seconds) / 2
	switch search {
	case "BPBA":
		return variants.Problem{Objective: variants.Time, Budget: budget, Accuracy: 0.5}
	case "BCPA":
		return variants.Problem{Objective: variants.Cost, Latency: latency, Accuracy: 0.5}
	}
	return variants.Problem{Objective: variants.Accuracy, Latency: latency, Budget: budget}
}

// Equal reports whether an answer is the result, to the digits printed.
func (r Result) Equal(m *variants.Model, a rules.Answer) bool {
	same := near(1000*a.Seconds, r.Milliseconds) && near(a.USD, r.USD) && near(a.Accuracy, r.Accuracy) &&
		a.Steps == r.Iterations && len(r.MB) == len(a.Choice) && len(r.Variants) == len(a.Choice)
	for f := 0; same && f < len(a.Choice); f++ {
		o := m.Options[f][a.Choice[f]]
		same = o.MB == r.MB[f] && o.Variant == r.Variants[f]
	}
	return same
}

// near reports whether a number prints as the one of four decimals.
func near(x, printed float64) bool { return math.Abs(x-printed) <= 0.5001e-4 }

// searches reads a key of the figures, such as acyclic:BPBA(none|RT/M|MAX).
func searches(key string) (app, search string, strategies []rules.Strategy, err error) {
	app, rest, _ := strings.Cut(key, ":")
	search, list, ok := strings.Cut(strings.TrimSuffix(rest, ")"), "(")
	for part := range strings.SplitSeq(list, "|") {
		s, known := map[string]rules.Strategy{"none": rules.Disabled, "RT/M": rules.Slope, "MAX": rules.Max, "ERT/C": rules.Last}[part]
		if !ok || !known {
			return "", "", nil, fmt.Errorf("%q is no search such as acyclic:BPBA(none|RT/M|MAX)", key)
		}
		strategies = append(strategies, s)
	}
	return app, search, strategies, nil
}

// Compare runs the searches of a preset with options. It returns their number and how many end elsewhere.
func (g Golden) Compare(preset string, o rules.Options) (n, different int, err error) {
	for key, want := range g[preset] {
		app, search, strategies, err := searches(key)
		if err != nil {
			return n, different, err
		}
		small := Small(app == "cyclic")
		m, err := small.Compile()
		if err != nil {
			return n, different, err
		}
		for _, o.Strategy = range strategies {
			n++
			a, err := rules.NewPlanner(m).Solve(SmallProblem(m, search), o)
			if err != nil && !errors.Is(err, rules.ErrMissed) {
				return n, different, err
			}
			if !want.Equal(m, a) {
				different++
			}
		}
	}
	return n, different, nil
}
