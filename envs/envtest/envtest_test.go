package envtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/tools/proof"
)

// defects lists every defect that a specimen can have and the check that must find it.
var defects = []struct{ defect, check string }{
	{"id", "spec"},
	{"neighbour out of range", "spec"},
	{"an agent after itself", "spec"}, {"agent names", "spec"},
	{"feature names", "spec"},
	{"empty box", "spec"},
	{"info twice", "spec"},
	{"points at no kind", "spec"},
	{"points of too few components", "spec"},
	{"points without a graph", "spec"},
	{"points at more nodes than choices", "spec"},
	{"reduction", "spec"},
	{"bounds the wrong way", "spec"},
	{"constraint without a direction", "spec"},
	{"another spec each time", "spec"},
	{"observation outside", "observation"},
	{"observation NaN", "observation"},
	{"observation buffer replaced", "observation"},
	{"inactive rows not zero", "observation"},
	{"inactive mask stays", "observation"},
	{"no legal choice", "observation"},
	{"mask points at no node", "observation"},
	{"graph dangles", "observation"},
	{"graph not finite", "observation"},
	{"graph not cleared", "observation"},
	{"reward not finite", "outcome"},
	{"reward buffer replaced", "outcome"},
	{"info not finite", "outcome"},
	{"info outside its bounds", "outcome"},
	{"info buffer replaced", "outcome"},
	{"inactive earns", "outcome"},
	{"elapsed differs", "outcome"},
	{"observation not written", "buffers"},
	{"inactive rows stay", "buffers"},
	{"info not written", "buffers"},
	{"ends not written", "buffers"},
	{"observation read", "buffers"},
	{"first observation kept", "buffers"},
	{"action kept", "buffers"},
	{"outcome kept", "buffers"},
	{"Reset keeps state", "seeding"},
	{"seed ignored", "seeding"},
	{"seed of 32 bits", "seeding"},
	{"seed's lower bits ignored", "seeding"},
	{"nondeterministic", "determinism"},
	{"each is another world", "determinism"},
	{"seed 0 is any", "determinism"},
	{"shared state", "independence"},
	{"step after end", "end"},
	{"too long", "truncation"},
	{"limit terminates", "truncation"},
	{"actions unchecked", "action"},
	{"sizes unchecked", "action"},
	{"refusal changes state", "action"},
	{"refusal writes", "action"},
	{"action changed", "action"},
	{"mask written in part", "mask"},
	{"mask written at steps only", "mask"},
	{"mask not enforced", "mask"},
	{"dependent mask not enforced", "mask"},
	{"dependent mask allows more", "mask"},
	{"dependent mask not written", "mask"},
	{"dependent mask of first component", "mask"},
	{"dependent mask changes observation", "mask"},
	{"inactive actions read", "inactive"},
	{"unknown option accepted", "option"},
	{"samples overwrite", "samples"},
	{"samples not finite", "samples"},
	{"copy forgets", "copy"},
	{"copy forgets the end", "copy"},
	{"copy shares", "copy"},
	{"copy changes the source", "copy"},
	{"foreign copy accepted", "copy"},
	{"save overwrites", "save"},
	{"saving changes the world", "save"},
	{"restore keeps the bytes", "save"},
	{"restore forgets", "save"},
	{"restore forgets the end", "save"},
	{"cuts accepted", "save"},
	{"damage accepted", "save"},
	{"damage panics", "save"},
	{"draws consumed", "draws"},
	{"draws named by policy", "draws"},
	{"tracing never stops", "draws"},
	{"tracing changes the world", "draws"},
	{"Reset allocates", "allocation"},
	{"Step allocates", "allocation"},
	{"CopyFrom allocates", "allocation"},
	{"panics", "observation"},
}

func TestSoundSpecimenPasses(t *testing.T) { envtest.Run(t, build(""), envtest.Options{}) }

// An environment that never writes the masks of a kind allows all choices, of agents that are absent too.
func TestMasksThatAreNeverWritten(t *testing.T) {
	envtest.Run(t, build("masks never written"), envtest.Options{})
}

func TestEveryDefectIsFound(t *testing.T) {
	found, caught, missed := map[string]bool{}, 0, 0
	for _, d := range defects {
		problems := envtest.Check(build(d.defect), envtest.Options{})
		i := slices.IndexFunc(problems, func(p envtest.Problem) bool { return p.Check == d.check })
		if i < 0 {
			t.Errorf("%s: the check %q does not find it; problems: %v", d.defect, d.check, problems)
			missed++
			continue
		}
		caught++
		found[d.check] = true
	}
	for _, name := range envtest.Checks() {
		if !found[name] {
			t.Errorf("no defect is planted for the check %q", name)
		}
	}
	sound := envtest.Check(build(""), envtest.Options{})
	proof.Claim(t, proof.Row{
		Topic: "environments",
		Claim: fmt.Sprintf("envtest's %d checks: each finds the defects planted for it, %d in all, and nothing in a sound "+
			"environment", len(envtest.Checks()), len(defects)),
		Bound: "none missed, no check without a defect, no false alarm",
		Measured: fmt.Sprintf("%d found, %d missed, %d of %d checks proven, %d false alarms", caught, missed, len(found),
			len(envtest.Checks()), len(sound)),
		Holds: missed == 0 && len(found) == len(envtest.Checks()) && len(sound) == 0,
	})
}

// concerns maps each part of the contract to the checks that cover it.
var concerns = map[string][]string{
	"spaces":                {"spec", "observation", "outcome", "buffers", "samples"},
	"seeding":               {"seeding", "option"},
	"determinism":           {"determinism", "independence"},
	"terminated, truncated": {"end", "truncation", "buffers"},
	"allocation":            {"allocation"},
	"copy and save":         {"copy", "save"},
	"actions":               {"action", "mask"},
	"several agents":        {"inactive", "observation", "outcome", "mask"},
	"draws keyed":           {"draws"},
}

// Every check belongs to a part of the contract, and every part has checks that exist.
func TestConcernsAreCovered(t *testing.T) {
	var covered []string
	for concern, names := range concerns {
		for _, n := range names {
			if !slices.Contains(envtest.Checks(), n) {
				t.Errorf("%s: there is no check %q", concern, n)
			}
		}
		covered = append(covered, names...)
	}
	for _, n := range envtest.Checks() {
		if !slices.Contains(covered, n) {
			t.Errorf("the check %q stands for nothing", n)
		}
	}
}

// A check that is skipped finds nothing, and a failing build is a problem, not a panic.
func TestOptionsAndBuild(t *testing.T) {
	if p := envtest.Check(build("unknown option accepted"), envtest.Options{Skip: []string{"option"}}); len(p) != 0 {
		t.Errorf("with the check skipped there are problems: %v", p)
	}
	p := envtest.Check(func() (envs.Env, error) { return nil, errors.New("no trace") }, envtest.Options{})
	if len(p) != 1 || p[0].Check != "spec" || !strings.Contains(p[0].Detail, "no trace") {
		t.Errorf("a failing build gives %v", p)
	}
	if p := envtest.Check(build("seed ignored"), envtest.Options{Fixed: true}); len(p) != 0 {
		t.Errorf("a world that does not depend on the seed, and says so, gives %v", p)
	}
}

type recorder struct{ lines []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func TestRunReports(t *testing.T) {
	var r recorder
	envtest.Run(&r, build("elapsed differs"), envtest.Options{})
	if len(r.lines) == 0 || !strings.HasPrefix(r.lines[0], "outcome: seed 1, step 1: elapsed time is 1000001 µs") {
		t.Errorf("reported %q", r.lines)
	}
}
