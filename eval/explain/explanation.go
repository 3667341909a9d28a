// Package explain computes what a learned policy's decisions depend on. For states from played episodes it attributes
// each component of each agent's action to the observed features, the agent's own and the other agents', by integrated
// gradients (Sundararajan, Taly and Yan, 2017): with x the state, x' the mean state and f the decision,
//
//	IG_k = (x_k − x'_k) ∫₀¹ ∂f/∂x_k (x' + α(x − x')) dα,  so that Σ_k IG_k = f(x) − f(x').
//
// The numerical error of that sum is reported. As a check without derivatives, each feature is shuffled: replaced, for
// all agents at once, by its value in another state. This is done in the recorded states (how far do decisions move?)
// and while episodes are played again (how much return is lost?). For policies with attention over neighbours the
// attention weights are reported too.
//
// A continuous decision is the action in the environment's units; a discrete one is the logit of the chosen option
// minus the mean logit of its component. Intervals are 95 % Student's t intervals of a ratio of sums over episodes
// (linearised): episodes are independent, states of one episode are not. An explanation is about the policy, not about
// the environment: where two features are correlated, one may get the credit of the other.
package explain

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
)

// Explanation is what a policy's decisions depend on.
type Explanation struct {
	Env    string `json:"env"`
	Policy string `json:"policy"`
	Source string `json:"source,omitempty"`
	Agent  string `json:"agents_called"`
	Agents int    `json:"agents"`
	// Names are the agents' names, such as those of a workflow's functions; empty where they have none.
	Names    []string `json:"names,omitempty"`
	Episodes int      `json:"episodes"`
	States   int      `json:"states"`
	Steps    int      `json:"integration_steps"`
	// Unexplained is the numerical error of the integral, Σ|f(x) − f(x') − Σ IG| over Σ|f(x) − f(x')|: more Steps make it
	// smaller.
	Unexplained float64 `json:"unexplained"`
	// Ranked is false where the episodes are too few to rank any two features: the intervals of all shares overlap.
	Ranked bool `json:"ranked"`
	// Agreement is Spearman's rank correlation, over features, of the share with how far shuffling moves decisions.
	Agreement float64 `json:"rank_agreement"`
	// Features are sorted by their share over all decisions, the largest first.
	Features  []Feature  `json:"features"`
	Decisions []Decision `json:"decisions"`
	// Attention is empty for policies without attention, and Attending nil.
	Attention []Link     `json:"attention,omitempty"`
	Attending *Attending `json:"attending,omitempty"`
	// Return is the mean return of the episodes.
	Return float64 `json:"return"`
}

// Interval is an estimate with the bounds of its interval. A bound is infinite, and null in JSON, where the states are all
// of one episode and nothing else bounds the estimate.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"lo"`
	High  float64 `json:"hi"`
}

// MarshalJSON implements [json.Marshaler].
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value report.Number `json:"value"`
		Low   report.Number `json:"lo"`
		High  report.Number `json:"hi"`
	}{report.Number(i.Value), report.Number(i.Low), report.Number(i.High)})
}

// Feature is a component of observations, over all decisions.
type Feature struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Own and Others are the feature's shares of all attributions, means over decisions: where the deciding agent observes
	// it of itself, and where it observes it of other agents.
	Own    Interval `json:"own"`
	Others Interval `json:"others"`
	// Share is the sum of both, Ranks the first and the last rank that a feature can have: of two features whose
	// intervals of Share overlap, neither is before the other.
	Share Interval `json:"share"`
	Ranks [2]int   `json:"ranks"`
	// Moved is how far decisions move when the feature is shuffled, in standard deviations of the decision, the mean over
	// decisions.
	Moved float64 `json:"decision_moved"`
	// Lost is the return lost when the feature is shuffled in played episodes, the mean over paired episodes; nil without
	// Request.Replay.
	Lost *Interval `json:"return_lost,omitempty"`

	index int
}

// Decision is a component of one agent's action.
type Decision struct {
	Agent     int    `json:"agent"`
	Component string `json:"component"`
	Unit      string `json:"unit,omitempty"`
	// Choice marks a discrete component: its logit of the chosen option minus the mean logit is explained.
	Choice bool `json:"choice,omitempty"`
	// Deviation is its standard deviation over states.
	Deviation float64 `json:"deviation"`
	// By lists the attributions, the largest first, without those that are zero.
	By []Attribution `json:"by"`
}

// Attribution is how much of a decision is attributed to one observed feature of one agent.
type Attribution struct {
	// Of is the agent whose feature it is.
	Of      int    `json:"of"`
	Feature string `json:"feature"`
	Unit    string `json:"unit,omitempty"`
	// Effect is the mean size of the integrated gradient, in the decision's unit.
	Effect Interval `json:"effect"`
	// Share is its fraction of the decision's summed effects.
	Share Interval `json:"share"`
	// Slope is the mean derivative, in the decision's unit per unit of the feature. For a discrete component it is that of
	// the chosen option, which differs between states.
	Slope float64 `json:"slope"`
}

// ratio is Σ num / Σ den over episodes with its linearised interval, within bounds; zero where Σ den is 0.
func ratio(num, den []float64, in envs.Bounds) Interval {
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
	low, high := stats.Around(r, halfWidth(squares, n)/bottom, in)
	return Interval{r, low, high}
}

// halfWidth is half the width of the interval of a sum of n independent numbers; squares is the sum of their squared
// deviations from the expectation.
func halfWidth(squares, n float64) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return student(n-1) * math.Sqrt(squares*n/(n-1))
}

// student is the 0.975 quantile of Student's t.
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

// nameOr returns entry i of names, or otherwise where names are too few.
func nameOr(names []string, i int, otherwise string) string {
	if i < len(names) {
		return names[i]
	}
	return otherwise
}

// explanation turns the accumulated sums into shares, effects and intervals.
func (w *work) explanation() *Explanation {
	e := &Explanation{
		Env: w.r.Env.Spec().ID, Policy: w.r.Policy.Name(), Agent: w.kind.Name, Agents: w.agents, Names: w.kind.Names, Episodes: len(w.r.Seeds),
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
	if w.attention != nil {
		e.Attention, e.Attending = w.attention.links(), w.attention.summary()
	}
	shares, moved := make([]float64, len(e.Features)), make([]float64, len(e.Features))
	for i := range e.Features {
		shares[i], moved[i] = e.Features[i].Share.Value, e.Features[i].Moved
	}
	e.Agreement = spearman(shares, moved)
	slices.SortStableFunc(e.Features, func(a, b Feature) int { return cmp.Compare(b.Share.Value, a.Share.Value) })
	e.rank()
	return e
}

// rank finds the ranks that each feature can have.
func (e *Explanation) rank() {
	for i := range e.Features {
		f := &e.Features[i]
		f.Ranks = [2]int{1, len(e.Features)}
		for _, o := range e.Features {
			switch {
			case o.Share.Low > f.Share.High:
				f.Ranks[0]++
			case o.Share.High < f.Share.Low:
				f.Ranks[1]--
			}
		}
		e.Ranked = e.Ranked || f.Ranks != [2]int{1, len(e.Features)}
	}
}

// total is the sum of a decision's attributions, per episode.
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
		Agent: k / w.components, Component: nameOr(w.kind.Actions, c, "component "+strconv.Itoa(c)),
		Unit:      nameOr(w.kind.ActionUnits, c, ""),
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
		effect := ratio(sums, d.n, envs.AtLeast(0))
		if effect.Value == 0 {
			continue
		}
		f := s % w.width
		out.By = append(out.By, Attribution{
			Of: s / w.width, Feature: w.feature(f), Unit: nameOr(w.kind.FeatureUnits, f, ""), Effect: effect,
			Share: ratio(sums, total, envs.Share()),
			Slope: d.slope[s] / states,
		})
	}
	slices.SortStableFunc(out.By, func(a, b Attribution) int { return cmp.Compare(b.Effect.Value, a.Effect.Value) })
	return out
}

func (w *work) feature(f int) string { return nameOr(w.kind.Features, f, "feature "+strconv.Itoa(f)) }

// features are the shares of each feature over all decisions that vary. A decision's effects are divided by their
// total, so that decisions of all units have the same weight.
func (w *work) features() []Feature {
	out := make([]Feature, w.width)
	episodes := len(w.r.Seeds)
	all := make([]float64, episodes)
	own, others := matrix(w.width, episodes), matrix(w.width, episodes)
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
		out[f].Name, out[f].Unit, out[f].index = w.feature(f), nameOr(w.kind.FeatureUnits, f, ""), f
		out[f].Own, out[f].Others = ratio(own[f], all, envs.Share()), ratio(others[f], all, envs.Share())
		both := slices.Clone(own[f])
		for ep, x := range others[f] {
			both[ep] += x
		}
		out[f].Share = ratio(both, all, envs.Share())
		out[f].Moved /= float64(max(varied, 1))
	}
	return out
}

// spearman is the rank correlation, with mean ranks for ties; 0 where all of x or all of y are equal.
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
