// Package safe is FaaSConf's safe exploration strategy: a configuration whose price lies outside the range of past good
// ones is replaced by a good one with noise (SES, §4.3, eq. 10).
//
// A [Guard] remembers feasible configurations. For each class of loads it has a [Band]: mean ± N standard deviations of
// the prices of the cheapest fifth of the feasible ones (the set τ). A load without a band of its own has that of the
// nearest load. After a number of violations a band is made again from the latest history. Bands are kept as JSON.
//
// Not here: who proposes configurations (packages maddpg and online).
package safe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Band is the range of prices [lb, ub] within which an application's configurations are left alone under a load.
type Band struct {
	// Application is the workflow's name.
	Application string `json:"application"`
	// Load is in the environment's unit: closed-loop users, or requests per second.
	Load float64 `json:"workload"`
	// Low and High are in the unit of the price, USD/h.
	Low  float64 `json:"lb"`
	High float64 `json:"ub"`
	// Rows is the number of feasible configurations of which it was made, Remade how often that was done again.
	Rows   int `json:"rows"`
	Remade int `json:"remade"`
}

// Bands is the content of a file of bands.
type Bands struct {
	Bands []Band `json:"bands"`
}

// Encode writes bands as JSON, in the order of applications and loads.
func (b Bands) Encode() ([]byte, error) {
	out := Bands{slices.Clone(b.Bands)}
	slices.SortFunc(out.Bands, func(x, y Band) int {
		if c := strings.Compare(x.Application, y.Application); c != 0 {
			return c
		}
		return int(math.Copysign(1, x.Load-y.Load))
	})
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

// Decode reads what Encode wrote. name is the file's, for errors.
func Decode(name string, text []byte) (Bands, error) {
	var b Bands
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return b, fmt.Errorf("%s: %w; want {\"bands\": [{\"application\", \"workload\", \"lb\", \"ub\", …}]}", name, err)
	}
	for i, x := range b.Bands {
		switch {
		case x.Application == "":
			return b, fmt.Errorf("%s: bands[%d].application is missing", name, i)
		case !(x.Load >= 0) || math.IsInf(x.Load, 0):
			return b, fmt.Errorf("%s: bands[%d].workload is %g, want 0 or more", name, i, x.Load)
		case !(x.Low <= x.High) || math.IsInf(x.Low, 0) || math.IsInf(x.High, 0):
			return b, fmt.Errorf("%s: bands[%d]: lb is %g and ub %g, want two numbers, the smaller first", name, i, x.Low,
				x.High)
		}
	}
	return b, nil
}

// For returns the bands of an application, none where there are none.
func (b Bands) For(application string) []Band {
	return slices.DeleteFunc(slices.Clone(b.Bands), func(x Band) bool { return x.Application != application })
}

// Of returns the bands of an application. A file that has bands of others only is an error: prices of another workflow
// say nothing. name is the file's.
func (b Bands) Of(application, name string) ([]Band, error) {
	out := b.For(application)
	if len(out) > 0 || len(b.Bands) == 0 {
		return out, nil
	}
	var others []string
	for _, x := range b.Bands {
		if !slices.Contains(others, x.Application) {
			others = append(others, x.Application)
		}
	}
	return nil, fmt.Errorf("%s: the bands are of %s, want those of %s", name, strings.Join(others, ", "), application)
}

// With returns the bands with those of an application replaced.
func (b Bands) With(application string, of []Band) Bands {
	out := slices.DeleteFunc(slices.Clone(b.Bands), func(x Band) bool { return x.Application == application })
	return Bands{append(out, of...)}
}

// Rule is how bands are made and used.
type Rule struct {
	// Cheapest is the size of τ as a share of the feasible history, Deviations is N in mean ± N standard deviations.
	Cheapest, Deviations float64
	// Noise is the standard deviation of the noise added to a safe action; Low and High bound the result.
	Noise, Low, High float64
	// History is the number of feasible steps remembered, MinHistory the number of a class of loads that its band needs.
	History, MinHistory int
	// Violations is the number of missed steps of a class after which its band is made again.
	Violations int
	// LoadStep is the width of a class of loads; 0 puts all loads into one.
	LoadStep float64
}

// Default returns the paper's numbers (N = 2, the cheapest 20 %, three violations) and those of FaaSConf's code.
func Default() Rule {
	return Rule{Cheapest: 0.2, Deviations: 2, Noise: 0.05, Low: 0.1, High: 0.9, History: 1_000, MinHistory: 50,
		Violations: 3}
}

// Pricer is implemented (see envs.As) by environments that know the price of an action before it is used (eq. 2).
type Pricer interface {
	PriceOf(a *envs.Action) (float64, error)
}

// Loader is implemented (see envs.As) by environments that know the load that agents see now.
type Loader interface{ LoadNow() float64 }

// Guard remembers good configurations and replaces those whose price is out of range. A configuration is width numbers
// in [0, 1].
type Guard struct {
	rule   Rule
	width  int
	stream *rng.Stream

	// The feasible history: a ring of prices, classes of loads and configurations.
	prices  []float64
	classes []int64
	actions []float32
	n       int64 // steps ever added

	bands []band // by class, ascending
	order []int32
}

// band is the range of a class of loads.
type band struct {
	class      int64
	lo, hi     float64
	made       bool
	rows       int64
	remade     int64
	violations int64     // since it was made
	safe       []float32 // the configurations of τ
}

// New returns a guard without history.
func New(r Rule, width int, stream *rng.Stream) *Guard {
	return &Guard{rule: r, width: width, stream: stream, prices: make([]float64, r.History),
		classes: make([]int64, r.History), actions: make([]float32, r.History*width), order: make([]int32, 0, r.History)}
}

func (g *Guard) class(load float64) int64 {
	if g.rule.LoadStep <= 0 {
		return 0
	}
	return int64(math.Round(load / g.rule.LoadStep))
}

// at is the band of a class; it is made, without a range, where there is none.
func (g *Guard) at(class int64) *band {
	i, ok := slices.BinarySearchFunc(g.bands, class, func(b band, c int64) int { return cmp.Compare(b.class, c) })
	if !ok {
		g.bands = slices.Insert(g.bands, i, band{class: class})
	}
	return &g.bands[i]
}

// nearest is the band for a load: that of its class where it is made and fits, else that of the nearest class. Of two
// at the same distance it is that of the larger load, the safer one; nil where there is none.
func (g *Guard) nearest(class int64, fits func(*band) bool) *band {
	var best *band
	for i := range g.bands {
		b := &g.bands[i]
		if !fits(b) {
			continue
		}
		if best == nil || distance(b.class, class) <= distance(best.class, class) {
			best = b
		}
	}
	return best
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// Observe adds a step to the history or, where it missed its objectives, counts it.
func (g *Guard) Observe(load, price float64, violated bool, u []float32) {
	class := g.class(load)
	b := g.at(class)
	if violated {
		b.violations++
	} else {
		i := g.n % int64(len(g.prices))
		g.prices[i], g.classes[i] = price, class
		copy(g.actions[int(i)*g.width:], u[:g.width])
		g.n++
		b.rows++
	}
	if b.rows >= int64(g.rule.MinHistory) && (!b.made || b.violations >= int64(g.rule.Violations)) {
		g.remake(b)
	}
}

// remake makes a band from the cheapest feasible steps of its class in the history, where that has enough of them.
func (g *Guard) remake(b *band) {
	order := g.order[:0]
	for i := range min(g.n, int64(len(g.prices))) {
		if g.classes[i] == b.class {
			order = append(order, int32(i))
		}
	}
	if len(order) < g.rule.MinHistory {
		return // later steps of other classes have pushed some out, or a file counted them
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		switch p, q := g.prices[x], g.prices[y]; {
		case p < q:
			return -1
		case p > q:
			return 1
		}
		return 0
	})
	order = order[:max(1, int(math.Round(g.rule.Cheapest*float64(len(order)))))]
	var mean, m2 float64
	for _, i := range order {
		mean += g.prices[i] / float64(len(order))
	}
	b.safe = b.safe[:0]
	for _, i := range order {
		d := g.prices[i] - mean
		m2 += float64(d*d) / float64(len(order))
		b.safe = append(b.safe, g.actions[int(i)*g.width:(int(i)+1)*g.width]...)
	}
	reach := g.rule.Deviations * math.Sqrt(m2)
	if b.made {
		b.remade++
	}
	b.lo, b.hi, b.made, b.violations = mean-reach, mean+reach, true, 0
}

// Settle makes every band that has enough history from all of it: after a library has been observed, whose violations say
// nothing about the bands.
func (g *Guard) Settle() {
	for i := range g.bands {
		b := &g.bands[i]
		if b.rows >= int64(g.rule.MinHistory) {
			b.made = false
			g.remake(b)
		}
		b.violations, b.remade = 0, 0
	}
}

// Range returns the range of prices for a load: its own, or that of the nearest load that has one. ok is false where no
// load has one.
func (g *Guard) Range(load float64) (lo, hi float64, ok bool) {
	b := g.nearest(g.class(load), func(b *band) bool { return b.made })
	if b == nil {
		return 0, 0, false
	}
	return b.lo, b.hi, true
}

// Filter is eq. 10: where the price lies outside the range for the load it replaces u by a configuration of τ with noise,
// and reports that it did.
func (g *Guard) Filter(load, price float64, u []float32) bool {
	lo, hi, ok := g.Range(load)
	if !ok || price >= lo && price <= hi {
		return false
	}
	b := g.nearest(g.class(load), func(b *band) bool { return len(b.safe) > 0 })
	if b == nil {
		return false
	}
	k := g.stream.IntN(len(b.safe) / g.width)
	for i, x := range b.safe[k*g.width : (k+1)*g.width] {
		u[i] = min(max(x+float32(float64(g.rule.Noise*g.stream.Norm())), float32(g.rule.Low)), float32(g.rule.High))
	}
	return true
}

// Take sets the ranges of some loads, as a file has them. They stay until there are violations.
func (g *Guard) Take(bands []Band) {
	for _, x := range bands {
		b := g.at(g.class(x.Load))
		b.lo, b.hi, b.made, b.remade = x.Low, x.High, true, int64(x.Remade)
		b.rows = max(b.rows, int64(x.Rows))
	}
}

// Bands lists the bands of an application.
func (g *Guard) Bands(application string) []Band {
	var out []Band
	for _, b := range g.bands {
		if b.made {
			out = append(out, Band{application, float64(b.class) * g.rule.LoadStep, b.lo, b.hi, int(b.rows), int(b.remade)})
		}
	}
	return out
}

// State implements [state.Stater].
func (g *Guard) State(c *state.Codec) {
	state.Value(c, g.stream)
	state.Value(c, &g.n)
	state.Fixed(c, g.prices)
	state.Fixed(c, g.classes)
	state.Fixed(c, g.actions)
	state.Parts(c, &g.bands)
	if c.Loaded() {
		c.Fail(g.check())
	}
}

// State implements [state.Stater].
func (b *band) State(c *state.Codec) {
	state.Value(c, &b.class)
	state.Value(c, &b.lo)
	state.Value(c, &b.hi)
	state.Value(c, &b.made)
	state.Value(c, &b.rows)
	state.Value(c, &b.remade)
	state.Value(c, &b.violations)
	state.Slice(c, &b.safe)
}

// check reports what is wrong with a loaded guard.
func (g *Guard) check() error {
	count := func(what string, n int64) error {
		if n < 0 || n > saved.MaxCount {
			return fmt.Errorf("safe exploration: %d %s, want 0 to %d", n, what, int64(saved.MaxCount))
		}
		return nil
	}
	if err := count("feasible steps", g.n); err != nil {
		return err
	}
	for i, b := range g.bands {
		for _, k := range []struct {
			what string
			n    int64
		}{{"rows of a band", b.rows}, {"remakes", b.remade}, {"violations", b.violations}} {
			if err := count(k.what, k.n); err != nil {
				return err
			}
		}
		if len(b.safe)%g.width != 0 {
			return fmt.Errorf("safe exploration: band %d has %d numbers, want configurations of %d", i, len(b.safe), g.width)
		}
		if i > 0 && g.bands[i-1].class >= b.class {
			return fmt.Errorf("safe exploration: the bands' loads do not ascend")
		}
	}
	return nil
}
