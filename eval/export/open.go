package export

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/policy"
)

// Open opens a bundle as a serving program does. A policy that no description explains is opened by the catalog's learner.
func Open(names *catalog.Catalog, b []byte) (*policy.Policy, error) {
	f, err := bundle.Decode(b, bundle.Limits{})
	if err != nil {
		return nil, err
	}
	var more []policy.Agent
	for _, l := range names.Learners {
		if l.Name == f.Agent.Name && !actor.Describes(f.Agent.Description) {
			more = append(more, policy.Agent{Name: l.Name, Open: l.Open, State: true})
		}
	}
	return policy.OpenBytes(b, policy.Options{Agents: more})
}

// Check verifies a bundle: its digests, that the policy can be built and passes its self-test. The report says what is
// inside. It is nil where the file is no bundle that could be read.
func Check(names *catalog.Catalog, path string) (*checkpoints.Report, error) {
	f, digest, err := bundle.Open(path, bundle.Limits{})
	if err != nil {
		return nil, err
	}
	r := &checkpoints.Report{Path: path, Kind: "bundle", OK: true}
	add := func(status checkpoints.Status, what, format string, args ...any) {
		r.Findings = append(r.Findings, checkpoints.Finding{Status: status, What: what, Detail: fmt.Sprintf(format, args...)})
	}
	add(checkpoints.Good, "sha256", "%s, every digest agrees", digest)
	b, err := bundle.Encode(f)
	if err != nil {
		return nil, err
	}
	p, err := Open(names, b)
	if err != nil {
		add(checkpoints.Problem, "policy", "%v", err)
		r.OK = false
		return r, fmt.Errorf("%s: %w", path, err)
	}
	for _, k := range p.Spec().Kinds {
		add(checkpoints.Good, "spec", "%s: agents of kind %s: %d, each sees %v and does %v", p.Spec().ID, k.Name, k.Agents,
			k.Observation, k.Action)
	}
	numbers := 0
	for _, a := range f.Arrays {
		numbers += len(a.Data)
	}
	add(checkpoints.Good, "agent", "%s, %d arrays, %d numbers; %d observations of the self-test gave the recorded actions",
		f.Agent.Name, len(f.Arrays), numbers, len(f.SelfTest))
	v := f.Provenance
	add(checkpoints.Good, "provenance", "%s, seed %s, %d steps, made by %s, kernels %s", v.Name, list(v.Seeds), v.Steps,
		v.Revision, v.Kernels)
	r.Findings = append(r.Findings, evaluation(f))
	features := 0
	for _, s := range f.Seen {
		features += len(s.Features)
	}
	add(checkpoints.Good, "seen", "ranges of %d features", features)
	if f.Fallback == nil {
		add(checkpoints.Notice, "fallback", "there is none: where the policy must not decide, nothing decides")
	} else {
		add(checkpoints.Good, "fallback", "%s %s", f.Fallback.Name, f.Fallback.Config)
	}
	return r, nil
}

func list(seeds []uint64) string { return strings.Trim(fmt.Sprint(seeds), "[]") }

// evaluation says how the policy was judged.
func evaluation(f *bundle.File) checkpoints.Finding {
	out := checkpoints.Finding{Status: checkpoints.Notice, What: "evaluation", Detail: "it was never evaluated"}
	r, err := readBack(f)
	if err != nil || r == nil {
		return out
	}
	out.Status = checkpoints.Good
	out.Detail = fmt.Sprintf("%s under %d workload seeds, split %s, %d comparisons", r.Policy, len(r.Seeds), r.Split,
		len(r.Comparisons))
	if r.Summary != "" {
		out.Detail += ": " + r.Summary
	}
	return out
}

// Agreement is how a bundle, opened as a serving program does it, decides beside the policy that it was made from, in
// the evaluation's first episode.
type Agreement struct {
	// Observations is how many were shown to both, Unequal at how many an action differed by more than rounding.
	Observations int `json:"observations"`
	Unequal      int `json:"unequal"`
	// Largest is the largest difference of a component.
	Largest float64 `json:"largest_difference"`
	// Fallbacks is how often the bundle's guard would not let the policy decide.
	Fallbacks int `json:"fallbacks"`
}

// rounding is how far components of equal actions may be apart.
const rounding = 1e-5

// Agree opens a bundle of the policy and plays the evaluation's first episode with both.
func (c *Collected) Agree(ctx context.Context, b []byte) (*Agreement, error) {
	served, err := Open(catalog.Of(c.trained.Experiment), b)
	if err != nil {
		return nil, err
	}
	own, err := c.trained.Policy(c.world.spec)
	if err != nil {
		return nil, err
	}
	out, a := served.NewAction(), &Agreement{}
	var failed error
	run := rollout.NewRunner(c.world.env)
	run.OnStep = func(s rollout.Step) {
		if failed != nil {
			return
		}
		d, err := served.Decide(ctx, s.Seen, out)
		if err != nil {
			failed = fmt.Errorf("step %d: %w", s.Number, err)
			return
		}
		a.Observations++
		if d.By != policy.ByPolicy {
			a.Fallbacks++
			return
		}
		most := 0.0
		for k, row := range s.Action.Kinds {
			for i, x := range row {
				most = max(most, math.Abs(float64(x-out.Kinds[k][i])))
			}
		}
		if a.Largest = max(a.Largest, most); most > rounding {
			a.Unequal++
		}
	}
	_, err = run.Episode(rollout.Actor{Policy: eval.Stoppable(ctx, own)}, c.world.seeds[0])
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("the bundle, opened again: %w", err)
	}
	return a, nil
}
