package deeprm

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/train"
)

var runs = flag.String("runs", "", "folder of the trained runs, NAME-sSEED of each configs/placement/NAME.yaml: compare them with the rules (minutes)")

// command trains the runs and compares them.
const command = "make verify NAME=deeprmpolicy"

// rules are the policies to compare with.
var rules = []string{"sjf", "tetris-star", "packer", "fcfs", "random"}

// A form is the environment as one kind of runs sees it.
type form struct {
	name, text string   // of the contest; in files, and for people
	learned    []string // names of the configurations whose runs play, the one with claims first
	sets       []string // changes to the first one's configuration
}

var forms = []form{
	{"now", "jobs start now or not at all", []string{"deeprm-discount", "deeprm-reinforce", "deeprm-dqn"}, nil},
	{"book", "later starts can be booked", []string{"deeprm-book"}, nil},
	{"image", "jobs start now or not at all, the published image", []string{"deeprm-image"}, nil},
}

// Workload seeds of the comparison. Training never sees them: it has the hundred recurring sets of env.set_seed, and
// these sequences are drawn anew from each seed.
const (
	firstSeed, sequences = 10_001, 500
	resamples            = 2000
)

// result is a contestant's in one form at one rate.
type result struct {
	form     string
	rate     float64
	policy   string
	learned  bool
	versions int     // trained ones
	mean     float64 // over versions and sequences, of each sequence's mean slowdown
	half     float64 // of the 95 % interval of that mean: see [interval]
	each     []float64
	verdict  string // of the form's first learner against this one by the paired differences
	p        float64
}

// choose reads a form's runs and the rules.
func choose(t *testing.T, f form, rate float64) *eval.Choice {
	t.Helper()
	var paths []string
	for _, name := range f.learned {
		found := must.Get(filepath.Glob(filepath.Join(*runs, name+"-s[0-9]*")))(t)
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		t.Skipf("%s has no runs of %q", *runs, f.learned)
	}
	choice := must.Get(eval.Choose(catalog.Default(), append(paths, rules...), "",
		append([]string{fmt.Sprintf("env.rate=%g", rate), "env.sets=0"}, f.sets...)))(t)
	for i := range choice.Contestants { // a run is named by its folder, whatever its experiment is called
		c := &choice.Contestants[i]
		for _, name := range f.learned {
			if c.Kind == catalog.Learned && strings.Contains(c.Versions[0].Source,
				string(filepath.Separator)+name+"-s") {
				c.Name = name
			}
		}
	}
	return choice
}

// contest plays a form at a rate and with drawn or likeliest actions.
func contest(t *testing.T, f form, rate float64, drawn bool) []result {
	t.Helper()
	choice := choose(t, f, rate)
	var seeds []uint64
	for i := range sequences {
		seeds = append(seeds, uint64(firstSeed+i))
	}
	x := choice.Experiment
	p := must.Get(eval.Run(t.Context(), eval.Request{
		NewEnv:      func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) },
		Contestants: choice.Contestants, Seeds: seeds, Workers: 1, Stochastic: drawn,
	}))(t)
	metrics := must.Get(eval.Metrics(p.Spec, []string{"slowdown"}))(t)
	s := must.Get(eval.Summarise(p, eval.Analysis{Metrics: metrics, Resamples: resamples, Seed: 1}))(t)
	return results(f, rate, p, s)
}

// results are the contestants', the form's first learner first.
func results(f form, rate float64, p *eval.Played, s *eval.Summary) (out []result) {
	slowdown := slices.IndexFunc(p.Spec.Info, func(q envs.Quantity) bool { return q.Name == "slowdown" })
	for c, con := range p.Contestants {
		r := result{form: f.name, rate: rate, policy: con.Name, learned: con.Kind == catalog.Learned,
			versions: len(con.Versions)}
		var over []float64 // sequences with jobs
		for i := range p.Seeds {
			if p.Episodes[c][0][i].Info[slowdown] == 0 {
				continue // no job came
			}
			sum := 0.0
			for _, version := range p.Episodes[c] {
				sum += version[i].Info[slowdown]
			}
			over = append(over, sum/float64(len(con.Versions)))
		}
		for _, version := range p.Episodes[c] {
			sum := 0.0
			for _, e := range version {
				sum += e.Info[slowdown]
			}
			r.each = append(r.each, sum/float64(len(over)))
		}
		r.mean = stats.Mean(over)
		r.half = interval(over, r.each)
		for _, cmp := range s.Comparisons {
			if cmp.A == f.learned[0] && cmp.B == con.Name {
				r.verdict, r.p = cmp.Verdict, float64(cmp.PHolm)
			}
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b result) int {
		switch f.learned[0] {
		case a.policy:
			return -1
		case b.policy:
			return 1
		}
		return 0
	})
	return out
}

// interval is half of the 95 % interval of a mean over sequences, each the mean over versions. With several versions,
// half of the interval over their means (Student's) comes in at a right angle: what chance did in training has nothing
// to do with which sequences came.
func interval(over, each []float64) float64 {
	half := stats.MeanInterval(over).High - stats.Mean(over)
	if len(each) < 2 {
		return half
	}
	return math.Hypot(half, stats.MeanInterval(each).High-stats.Mean(each))
}

// The learned policies against the rules at the ten rates of the paper's figure, on sequences that nobody trained on.
func TestCompare(t *testing.T) {
	if *runs == "" {
		t.Skip("-runs FOLDER names the trained runs")
	}
	var all []result
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			for i := range 10 {
				rate := float64(i+1) / 10
				all = append(all, contest(t, f, rate, true)...)
			}
			top := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.form != f.name || r.rate != 1 })
			claim(t, f, top)
			greedy := contest(t, f, 1, false)
			t.Logf("%s with the likeliest actions at rate 1: %.2f ± %.2f", greedy[0].policy, greedy[0].mean,
				greedy[0].half)
		})
	}
	write(t, all)
	curves(t, all)
}

// claim holds the form's first learner at rate 1 against every rule, and against what the paper says of its own.
func claim(t *testing.T, f form, top []result) {
	t.Helper()
	x, below := top[0], 0
	text := make([]string, 0, len(top))
	for _, r := range top[1:] {
		if r.learned {
			text = append(text, fmt.Sprintf("%s %.2f ± %.2f", r.policy, r.mean, r.half))
			continue
		}
		if r.verdict == eval.Better {
			below++
		}
		text = append(text, fmt.Sprintf("%s %.2f ± %.2f (%s, p %.2g)", r.policy, r.mean, r.half, r.verdict, r.p))
	}
	each := make([]string, len(x.each))
	for i, m := range x.each {
		each[i] = fmt.Sprintf("%.2f", m)
	}
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: fmt.Sprintf("DeepRM's policy, configs/placement/%s.yaml (%s): mean slowdown at load 1.85 over %d unseen sequences", x.policy, f.text, sequences),
		Bound: "below every rule's: the verdict on the paired differences is better, Holm's p < 0.05",
		Measured: fmt.Sprintf("%.2f ± %.2f, training seeds %s; %s", x.mean, x.half, strings.Join(each, ", "),
			strings.Join(text, "; ")),
		Holds: below == len(rules), Command: command,
	})
	proof.Claim(t, proof.Row{
		Topic:    "agents",
		Claim:    fmt.Sprintf("DeepRM's policy, configs/placement/%s.yaml (%s), at load 1.85: under 5, as in its paper at 190 %%", x.policy, f.text),
		Bound:    "mean slowdown < 5",
		Measured: fmt.Sprintf("%.2f ± %.2f", x.mean, x.half),
		Holds:    x.mean < 5, Command: command,
	})
}
