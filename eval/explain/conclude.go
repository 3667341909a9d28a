package explain

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Explanation is what a policy's decisions depend on.
type Explanation struct {
	Env      string `json:"env"`
	Policy   string `json:"policy"`
	Source   string `json:"source,omitempty"`
	Agent    string `json:"agents_called"`
	Agents   int    `json:"agents"`
	Episodes int    `json:"episodes"`
	States   int    `json:"states"`
	Steps    int    `json:"integration_steps"`
	// Unexplained is the part of decisions' distance from those in the mean state that integrated gradients leave out:
	// what the integral's steps are too coarse for.
	Unexplained float64 `json:"unexplained"`
	// Agreement is Spearman's correlation of the features' shares with how far decisions move where they are shuffled.
	Agreement float64 `json:"rank_agreement"`
	// Features are ranked over all decisions, the weightiest first.
	Features  []Feature  `json:"features"`
	Decisions []Decision `json:"decisions"`
	// Attention is empty for policies without.
	Attention []Link `json:"attention,omitempty"`
	// Return is the mean return of the episodes.
	Return float64 `json:"return"`
}

// Interval is an estimate and where it may lie.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"lo"`
	High  float64 `json:"hi"`
}

// Feature is a component of observations, over all decisions.
type Feature struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Own and Others are its shares of what decisions are attributed to: as the deciding agent sees it of itself, and
	// as it sees it of others; means over decisions.
	Own    Interval `json:"own"`
	Others Interval `json:"others"`
	// Moved is how far decisions move where it is shuffled, in their own standard deviations, the mean over decisions.
	Moved float64 `json:"decision_moved"`
	// Lost is the return lost where it is shuffled while playing, the mean over paired episodes; nil where that was
	// not tried.
	Lost *Interval `json:"return_lost,omitempty"`

	index int
}

// share is of both, by which features are ranked.
func (f *Feature) share() float64 { return f.Own.Value + f.Others.Value }

// Decision is a component of one agent's action.
type Decision struct {
	Agent     int    `json:"agent"`
	Component string `json:"component"`
	Unit      string `json:"unit,omitempty"`
	// Choice marks choices: what is explained is the logit of the chosen one less the mean of all.
	Choice bool `json:"choice,omitempty"`
	// Deviation is its standard deviation over states.
	Deviation float64 `json:"deviation"`
	// By lists what it is attributed to, the weightiest first; what has no weight is left out.
	By []Attribution `json:"by"`
}

// Attribution is how much of a decision follows from one number seen.
type Attribution struct {
	// Of is the agent about which the number is.
	Of      int    `json:"of"`
	Feature string `json:"feature"`
	Unit    string `json:"unit,omitempty"`
	// Effect is the mean size of the integrated gradient, in the decision's unit.
	Effect Interval `json:"effect"`
	// Share is its part of all effects on the decision.
	Share Interval `json:"share"`
	// Slope is the mean derivative, in the decision's unit per the feature's. Of choices it is the chosen one's,
	// whichever it was.
	Slope float64 `json:"slope"`
}

// Link is how much an agent attends to another.
type Link struct {
	Agent  int      `json:"agent"`
	To     int      `json:"to"`
	Weight Interval `json:"weight"`
}

// ratio is Σ num / Σ den over episodes with its linearised interval; zero where there is nothing.
func ratio(num, den []float64) Interval {
	var top, bottom, squares, n float64
	for i, d := range den {
		if d != 0 {
			top, bottom, n = top+num[i], bottom+d, n+1
		}
	}
	if bottom == 0 {
		return Interval{}
	}
	r := top / bottom
	for i, d := range den {
		squares += (num[i] - r*d) * (num[i] - r*d)
	}
	return Interval{r, r - spread(squares, n)/bottom, r + spread(squares, n)/bottom}
}

// spread is half the interval of a sum of n independent numbers with that sum of squares about their expectation.
func spread(squares, n float64) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return student(n-1) * math.Sqrt(squares*n/(n-1))
}

func student(freedom float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.975) }

func deviation(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(max(len(x), 1))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(max(len(x), 1)))
}

// named returns entry i of names, or a number.
func named(names []string, i int, otherwise string) string {
	if i < len(names) {
		return names[i]
	}
	return otherwise
}

// conclude makes up the explanation of what was gathered.
func (w *work) conclude() *Explanation {
	e := &Explanation{
		Env: w.r.Env.Spec().ID, Policy: w.r.Policy.Name(), Agent: w.kind.Name, Agents: w.agents, Episodes: len(w.r.Seeds),
		States: w.rec.states(), Steps: w.r.Steps, Features: w.features(),
	}
	for _, r := range w.rec.returns {
		e.Return += r / float64(len(w.rec.returns))
	}
	if w.span > 0 {
		e.Unexplained = w.gap / w.span
	}
	for k, d := range w.decisions {
		e.Decisions = append(e.Decisions, w.decision(k, d))
	}
	for k, sums := range w.looked {
		if l := (Link{k / w.agents, k % w.agents, ratio(sums, w.here[k/w.agents])}); l.Weight.Value > 0 {
			e.Attention = append(e.Attention, l)
		}
	}
	shares, moved := make([]float64, len(e.Features)), make([]float64, len(e.Features))
	for i := range e.Features {
		shares[i], moved[i] = e.Features[i].share(), e.Features[i].Moved
	}
	e.Agreement = spearman(shares, moved)
	slices.SortStableFunc(e.Features, func(a, b Feature) int { return descending(a.share(), b.share()) })
	return e
}

func descending(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// total is all that a decision is attributed to, by episode.
func (d *decision) total() []float64 {
	sum := make([]float64, len(d.n))
	for _, s := range d.size {
		for ep, v := range s {
			sum[ep] += v
		}
	}
	return sum
}

func (w *work) decision(k int, d *decision) Decision {
	c := k % w.components
	out := Decision{
		Agent: k / w.components, Component: named(w.kind.Actions, c, "component "+itoa(c)),
		Unit:      named(w.kind.ActionUnits, c, ""),
		Deviation: deviation(d.value), By: []Attribution{},
	}
	for _, o := range w.outs {
		if o.Component == c && o.Choice >= 0 {
			out.Choice, out.Unit = true, "logit"
		}
	}
	states, total := 0.0, d.total()
	for _, n := range d.n {
		states += n
	}
	for s, sums := range d.size {
		effect := ratio(sums, d.n)
		if effect.Value == 0 {
			continue
		}
		f := s % w.width
		out.By = append(out.By, Attribution{
			Of: s / w.width, Feature: w.feature(f), Unit: named(w.kind.FeatureUnits, f, ""), Effect: effect,
			Share: ratio(sums, total),
			Slope: d.slope[s] / states,
		})
	}
	slices.SortStableFunc(out.By, func(a, b Attribution) int { return descending(a.Effect.Value, b.Effect.Value) })
	return out
}

func (w *work) feature(f int) string { return named(w.kind.Features, f, "feature "+itoa(f)) }

// features are the shares of each over all decisions that vary at all. A decision's effects count in units of its
// total, so that decisions of any unit weigh alike.
func (w *work) features() []Feature {
	out := make([]Feature, w.width)
	episodes := len(w.r.Seeds)
	all := make([]float64, episodes)
	own, others := make([][]float64, w.width), make([][]float64, w.width)
	for f := range w.width {
		own[f], others[f] = make([]float64, episodes), make([]float64, episodes)
	}
	varied := 0
	for k, d := range w.decisions {
		sum := 0.0
		for _, v := range d.total() {
			sum += v
		}
		if sum == 0 {
			continue
		}
		for s, sums := range d.size {
			to := others
			if s/w.width == k/w.components {
				to = own
			}
			for ep, v := range sums {
				to[s%w.width][ep] += v / sum
				all[ep] += v / sum
			}
		}
		if sd := deviation(d.value); sd > 0 {
			varied++
			for f := range w.width {
				out[f].Moved += w.moved[f][k] / float64(len(d.value)) / sd
			}
		}
	}
	for f := range out {
		out[f].Name, out[f].Unit, out[f].index = w.feature(f), named(w.kind.FeatureUnits, f, ""), f
		out[f].Own, out[f].Others = ratio(own[f], all), ratio(others[f], all)
		out[f].Moved /= float64(max(varied, 1))
	}
	return out
}

// spearman is the correlation of ranks, ties sharing theirs; 0 where there is no order.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	mean := float64(len(x)-1) / 2
	var xy, xx, yy float64
	for i := range a {
		xy += (a[i] - mean) * (b[i] - mean)
		xx += (a[i] - mean) * (a[i] - mean)
		yy += (b[i] - mean) * (b[i] - mean)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}

func ranks(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		for _, u := range x {
			if u < v {
				out[i]++
			} else if u == v {
				out[i] += 0.5
			}
		}
		out[i] -= 0.5
	}
	return out
}
