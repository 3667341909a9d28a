package eval

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// leave plays a choice as stoker eval does and leaves its files in dir.
func leave(t *testing.T, c *Choice, dir string, more ...func(r *Request)) *Summary {
	t.Helper()
	x := c.Experiment
	seeds := must.Get(configs.ParseSeeds(x.Eval.Seeds))(t)
	r := Request{NewEnv: func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }, Contestants: c.Contestants, Seeds: seeds,
		Workers: 2, Traced: 1}
	for _, change := range more {
		change(&r)
	}
	p := must.Get(Run(t.Context(), r))(t)
	by := must.Get(NewCriteria(p.Spec, "", "", 0.1))(t)
	plots := must.Get(NewPlots(p.Spec, x.Eval.Scatter, x.Eval.Series))(t)
	s := must.Get(Summarise(p, Analysis{Criteria: by, Plots: plots, Resamples: 200, Seed: 1}))(t)
	must.Do(t, c.Frontiers(t.Context(), r, p, s))
	must.Do(t, Write(dir, p, s, nil))
	return s
}

// Policies that are settings of one method are one frontier, with the values of its dial that were not listed; a bound
// stands last, and the first sentence says what is had at equal violations.
func TestFrontiers(t *testing.T) {
	c := must.Get(Choose(catalog.Default(), nil, "sizing/attmf", []string{"env.windows=6", "eval.seeds=1-6",
		"eval.baselines=[rule, {name: oracle, horizon: 1, budget: 50}, autoscaler, {name: autoscaler, cpu: 0.4}, fixed]"}))(t)
	dir := t.TempDir()
	s := leave(t, c, dir)
	if got := s.Frontier.Families(); !slices.Equal(got, []string{"rule", "autoscaler", "fixed", "oracle"}) {
		t.Errorf("methods are %q", got)
	}
	var settings []string
	for _, p := range s.Frontier.Points {
		if p.Family == "autoscaler" {
			settings = append(settings, p.Setting)
		}
	}
	if want := []string{"cpu 0.8", "cpu 0.4", "cpu 0.2", "cpu 0.3", "cpu 0.6"}; !slices.Equal(settings, want) {
		t.Errorf("settings of the autoscaler are %q, want %q", settings, want)
	}
	if m := s.method("autoscaler"); !slices.Equal(m.Policies, []string{"autoscaler cpu=0.8", "autoscaler cpu=0.4"}) {
		t.Errorf("policies of the autoscaler are %q", m.Policies)
	}
	if last := s.Policies[len(s.Policies)-1]; last.Kind != catalog.Oracle {
		t.Errorf("last stands %s", last.Name)
	}
	said, bound, ok := strings.Cut(s.Summary, "; the bound, oracle, keeps ")
	if !ok || strings.Contains(said, "oracle") || !strings.HasPrefix(said, "rule keeps ") || strings.Contains(bound, "rule") {
		t.Errorf("it says %q", s.Summary)
	}
	for _, f := range []string{"frontier.png", "frontier.svg", "frontier.pdf"} {
		if !slices.Contains(s.Figures, f) {
			t.Errorf("there is no %s in %q", f, s.Figures)
		}
	}
	if !strings.Contains(Text(s), "oracle (bound)") || !strings.Contains(Markdown(s), "## At equal violations") {
		t.Errorf("the tables lack it:\n%s", Text(s))
	}
	for _, line := range strings.Split(strings.SplitN(Text(s), "\n\n", 2)[0], "\n") {
		if len([]rune(line)) > TextWidth {
			t.Errorf("not wrapped: %s", line)
		}
	}
	if again, err := Replot(dir); err != nil || again.Figures[0] != "frontier.png" {
		t.Errorf("drawn again: %v, %v", again, err)
	}
}

// A baseline that cannot play is refused by its key.
func TestFit(t *testing.T) {
	x := must.Get(configs.Load("sizing/attmf", []string{"env.workflow=tcktapp", "eval.baselines=[fixed, rule]"}, catalog.Default()))(t)
	env := must.Get(train.NewEnv(x, x.Eval.Split))(t)
	if err := Fit(catalog.Default(), x, env); err == nil || !strings.Contains(err.Error(), "eval.baselines[1]: rule: no numbers come with") {
		t.Errorf("rule without numbers: %v", err)
	}
	x.Eval.Baselines = x.Eval.Baselines[:1]
	if err := Fit(catalog.Default(), x, env); err != nil {
		t.Error(err)
	}
}
