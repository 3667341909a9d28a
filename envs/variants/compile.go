package variants

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
)

// profiles are the files of measured runs that were read so far.
type profiles map[string]*profile

type profile struct {
	functions []string
	samples   map[string][]memory.Sample
}

func (p profiles) read(file, key string) (*profile, error) {
	if got := p[file]; got != nil {
		return got, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, bounds.Errorf(key+".profiles", "cannot be read: %v", err)
	}
	defer f.Close()
	got := &profile{}
	if got.functions, got.samples, err = memory.Read(f); err != nil {
		return nil, bounds.Errorf(key+".profiles", "%s: %s", file, strings.TrimPrefix(err.Error(), "memory: "))
	}
	p[file] = got
	return got, nil
}

// fit fits a variant's law to its measured runs. The coefficient of variation is the root of the mean of its squares
// over the sizes, unless the variant gives one.
func (p profiles) fit(v Variant, fn *Function, key string) (memory.Law, float64, []float64, error) {
	got, err := p.read(v.Profiles, key)
	if err != nil {
		return nil, 0, nil, err
	}
	name := v.Profile
	for _, n := range []string{v.Name, fn.Name} {
		if name == "" && got.samples[n] != nil {
			name = n
		}
	}
	samples := got.samples[name]
	if samples == nil {
		if name == "" {
			name = fn.Name
		}
		return nil, 0, nil, bounds.Errorf(key+".profile", "is %q, of which %s has no runs: it has %s", name, v.Profiles,
			strings.Join(got.functions, ", "))
	}
	wrong := func(err error) (memory.Law, float64, []float64, error) {
		return nil, 0, nil, bounds.Errorf(key+".profiles", "%s, function %s: %s", v.Profiles, name,
			strings.TrimPrefix(err.Error(), "memory: "))
	}
	sizes, err := memory.Sizes(samples)
	if err != nil {
		return wrong(err)
	}
	var forms []memory.Form
	if v.Law.Form != "" {
		forms = []memory.Form{v.Law.Form}
	}
	laws, err := memory.Choose(sizes, memory.Options{SingleCore: v.Law.M, Cores: v.Law.Q}, forms...)
	if err != nil {
		return wrong(err)
	}
	cv := v.CV
	if cv == 0 {
		cv = variation(sizes)
	}
	mb := make([]float64, len(sizes))
	for i, s := range sizes {
		mb[i] = s.MB
	}
	return laws[0].Law, cv, slices.Clip(mb), nil
}

// variation returns the coefficient of variation over sizes that have more than one run, 0 where none has.
func variation(sizes []memory.Size) float64 {
	var sum, runs float64
	for _, s := range sizes {
		if s.Runs > 1 {
			n := float64(s.Runs - 1)
			sum += float64(n * float64(float64(s.SD/s.Mean)*float64(s.SD/s.Mean)))
			runs += n
		}
	}
	if runs == 0 {
		return 0
	}
	return math.Sqrt(sum / runs)
}

// maxOptions bounds a function's options.
const maxOptions = 1 << 16

// maxSeconds bounds the mean time of a run.
const maxSeconds = 1e6

// Compile checks the application and works it out. An error names the key that is wrong, such as
// functions[1].variants[0].law.k. Files of profiles are read relative to the working folder.
func (a App) Compile() (*Model, error) {
	if err := bounds.Check(&a); err != nil {
		return nil, err
	}
	m := &Model{App: &a, Delays: a.Delays, Tariff: a.tariff(), Orchestration: a.Orchestration,
		fronts: &fronts{by: map[string][]Plan{}}}
	if m.Orchestration == "" {
		m.Orchestration = bill.None
	}
	if a.Tariff == Own {
		if err := a.Prices.Validate(); err != nil {
			key, rest, _ := strings.Cut(err.Error(), " ")
			return nil, bounds.Errorf("prices."+key, "%s", rest)
		}
		if a.Prices == (bill.Tariff{}) {
			return nil, bounds.Errorf("prices", "are missing: the tariff own wants gb_second, request and step")
		}
	}
	if a.Workflow.Name == "" {
		a.Workflow.Name = a.Name
	}
	var err error
	if m.Flow, err = a.Workflow.Compile(); err != nil {
		return nil, bounds.Errorf("workflow", "%s", strings.TrimPrefix(err.Error(), "workflow "))
	}
	m.Runs = m.Flow.FunctionExecutions()
	for _, n := range m.Flow.Executions() {
		m.Transitions += n
	}
	if a.Transitions > 0 {
		m.Transitions = a.Transitions
	}
	if m.Orchestration == bill.Standard {
		m.Fixed = m.Orchestration.Request(m.Transitions, 0, bill.Always(0))
	}
	at, err := a.find(m.Flow.Functions())
	if err != nil {
		return nil, err
	}
	profiles := profiles{}
	accuracy := make([][]float64, len(at))
	for f, i := range at {
		key := fmt.Sprintf("functions[%d]", i)
		fn := &a.Functions[i]
		if accuracy[f], err = fn.accuracies(key); err != nil {
			return nil, err
		}
		options, err := m.options(fn, key, profiles)
		if err != nil {
			return nil, err
		}
		m.Options = append(m.Options, options)
		var first []int
		for o := range options {
			if options[o].Step == 0 {
				first = append(first, o)
			}
		}
		m.first = append(m.first, first)
		var info []VariantInfo
		for v := range fn.variants() {
			x := VariantInfo{Name: fn.variantName(v)}
			if accuracy[f] != nil {
				x.Accuracy = accuracy[f][v]
			}
			info = append(info, x)
		}
		m.Variants = append(m.Variants, info)
	}
	if m.score, err = newScore(&a, m.Flow.Functions(), accuracy); err != nil {
		return nil, err
	}
	return m, nil
}

// find returns for each function of the workflow its index in the list.
func (a *App) find(names []string) ([]int, error) {
	if len(a.Functions) == 0 {
		return nil, bounds.Errorf("functions", "is empty, want %s", strings.Join(names, ", "))
	}
	at := slices.Repeat([]int{-1}, len(names))
	for i, fn := range a.Functions {
		key := fmt.Sprintf("functions[%d].name", i)
		f := slices.Index(names, fn.Name)
		if f < 0 {
			return nil, bounds.Errorf(key, "is %q, which the workflow does not run: want one of %s", fn.Name,
				strings.Join(names, ", "))
		}
		if at[f] >= 0 {
			return nil, bounds.Errorf(key, "is %q, which is there twice", fn.Name)
		}
		at[f] = i
	}
	for f, i := range at {
		if i < 0 {
			return nil, bounds.Errorf("functions", "has no %q, which the workflow runs", names[f])
		}
	}
	return at, nil
}

// variants returns the function's variants; one that lists none has one of its own name.
func (fn *Function) variants() []Variant {
	if len(fn.Variants) == 0 {
		return []Variant{{}}
	}
	return fn.Variants
}

func (fn *Function) variantName(v int) string {
	if name := fn.variants()[v].Name; name != "" {
		return name
	}
	return fn.Name
}

// accuracies returns those of the variants, nil for a function that has none: the i-th of N variants without accuracies
// has i/N.
func (fn *Function) accuracies(key string) ([]float64, error) {
	vs := fn.variants()
	given := 0
	for i, v := range vs {
		k := fmt.Sprintf("%s.variants[%d]", key, i)
		if v.Name == "" && len(vs) > 1 {
			return nil, bounds.Errorf(k, "has no name, want one for each of the function's %d variants", len(vs))
		}
		if slices.IndexFunc(vs, func(o Variant) bool { return o.Name == v.Name }) < i {
			return nil, bounds.Errorf(k+".name", "is %q, which is there twice", v.Name)
		}
		if v.Accuracy != nil {
			given++
			if x := *v.Accuracy; !(x >= 0 && x <= 1) {
				return nil, bounds.Errorf(k+".accuracy", "is %g, want a number in [0, 1]", x)
			}
		} else if given > 0 {
			return nil, bounds.Errorf(k, "has no accuracy, but other variants of the function have: want one for each or for none")
		}
	}
	if given > 0 && given < len(vs) {
		return nil, bounds.Errorf(key+".variants", "have %d accuracies for %d variants: want one for each or for none", given, len(vs))
	}
	if given == 0 && len(vs) == 1 {
		return nil, nil
	}
	out := make([]float64, len(vs))
	for i, v := range vs {
		out[i] = float64(i+1) / float64(len(vs))
		if v.Accuracy != nil {
			out[i] = *v.Accuracy
		}
	}
	return out, nil
}

// options returns the choices of a function.
func (m *Model) options(fn *Function, key string, p profiles) ([]Option, error) {
	if fn.Fixed {
		if len(fn.Variants) > 0 || !fn.Memory.empty() {
			return nil, bounds.Errorf(key+".fixed", "is true, so that nothing is to choose: want no variants and no memory beside it")
		}
		return []Option{{Seconds: fn.Seconds}}, nil
	}
	if fn.Seconds != 0 {
		return nil, bounds.Errorf(key+".seconds", "is read with fixed: true; a function's times are its variants' law or profiles")
	}
	var out []Option
	for v, variant := range fn.variants() {
		k := fmt.Sprintf("%s.variants[%d]", key, v)
		if len(fn.Variants) == 0 {
			k = key
		}
		law, cv, measured, err := variant.law(fn, k, m.App.Profiles, p)
		if err != nil {
			return nil, err
		}
		grid, gridKey := variant.Memory, k+".memory"
		if grid.empty() {
			grid, gridKey = fn.Memory, key+".memory"
		}
		if grid.empty() {
			grid = Sizes(measured...)
		}
		if grid.empty() {
			return nil, bounds.Errorf(key+".memory", "is missing, want the sizes in MB, such as {from: 128, to: 3008, step: 192}")
		}
		sizes, err := grid.list(gridKey)
		if err != nil {
			return nil, err
		}
		if len(out)+len(sizes) > maxOptions {
			return nil, bounds.Errorf(key, "has more than %d choices of variant and memory size", maxOptions)
		}
		for i, mb := range sizes {
			o := Option{Variant: v, Step: i, MB: mb, Seconds: law.Seconds(mb), CV: cv}
			if !(o.Seconds > 0) || o.Seconds > maxSeconds {
				return nil, bounds.Errorf(k+".law", "gives %g s with %g MB, want a positive time of at most %g s", o.Seconds, mb,
					maxSeconds)
			}
			if m.App.Tariff == Table && (mb < 128 || mb > 3008 || mb != 64*math.Round(mb/64)) {
				return nil, bounds.Errorf(gridKey, "has %g MB, for which the tariff table has no price: it has 128 to 3008 MB in steps "+
					"of 64 (tariff: lambda100 has a price for every size)", mb)
			}
			m.price(&o)
			out = append(out, o)
		}
		if first, last := out[len(out)-len(sizes)], out[len(out)-1]; last.Seconds > first.Seconds*(1+slack) {
			return nil, bounds.Errorf(k+".law", "gives times that rise with memory: %.4g s with %g MB, %.4g s with %g MB", first.Seconds,
				first.MB, last.Seconds, last.MB)
		}
	}
	return out, nil
}

// price sets an option's price of a run and the part of it that rounding adds.
func (m *Model) price(o *Option) {
	exact := m.Tariff
	exact.Step, exact.Digits = 0, 0
	if m.App.Billing == OfMean || o.CV == 0 {
		o.USD = m.Tariff.OfMean(o.MB, o.Seconds)
	} else {
		o.USD = m.Tariff.Expected(o.MB, bill.Lognormal{M: o.Seconds, CV: o.CV})
	}
	o.Rounded = o.USD - exact.Run(o.MB, o.Seconds)
}

// law returns a variant's law, the coefficient of variation of its times, and the sizes that were measured. common is the
// application's file of profiles.
func (v Variant) law(fn *Function, key, common string, p profiles) (memory.Law, float64, []float64, error) {
	if v.Profiles == "" && !v.Law.numbers() {
		v.Profiles = common
	}
	if v.Profiles != "" {
		if v.Law.numbers() {
			return nil, 0, nil, bounds.Errorf(key+".law", "has numbers beside profiles: want one of both")
		}
		return p.fit(v, fn, key)
	}
	if !v.Law.numbers() && v.Law.Form == "" {
		return nil, 0, nil, bounds.Errorf(key+".law", "is missing: want a law with its numbers, such as {form: exponential, a: 0.5, b: 6.5, "+
			"c: 0.0007}, or a file of measured runs in profiles")
	}
	law, err := v.Law.law(key + ".law")
	return law, v.CV, nil, err
}
