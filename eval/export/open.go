package export

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/policy"
)

// Open opens a bundle as a serving program does, with the learners of a catalog beside those that package policy has.
func Open(names *catalog.Catalog, b []byte) (*policy.Policy, error) {
	var more []policy.Agent
	for _, l := range names.Learners {
		if policy.Opener(l.Name) == nil {
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
