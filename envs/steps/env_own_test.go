package steps

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// waiting is a workflow in which a state waits beside a step, on a platform where nothing varies.
func waiting() *App {
	p := Lambda()
	p.ColdStart, p.ColdCV, p.StartEvery, p.ComputeCV = 0, 0, 0, 0
	graph := workflow.New("waiting", workflow.Fork("a", "b", "pause"), workflow.Join("c", "b", "pause"))
	one := func(name string) StepConfig { return StepConfig{Name: name, Tasks: 1, Law: Law{A: 1}, MinMemory: 2048} }
	return &App{Name: "waiting", Workflow: graph, Platform: Own, Own: p, SLO: 40,
		Steps: []StepConfig{one("a"), one("b"), {Name: "pause", Wait: 30}, one("c")}}
}

// A workflow of one's own is played: its wait takes its time and costs nothing, and its SLO is the one that it has.
func TestOwnWorkflow(t *testing.T) {
	c := DefaultEnv()
	c.Workflow = "mine.yaml"
	e := must.Get(New(c, Given{Own: waiting()}))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	must.Do(t, e.Reset(1, nil, obs))
	if slo := e.Moment().SLO; slo != 40 {
		t.Errorf("the SLO is %g s, want 40", slo)
	}
	decided := 0
	for !out.Terminated {
		decided++
		must.Do(t, e.Step(act, obs, out))
	}
	at := e.Moment()
	if decided != 3 || math.Abs(at.Now-32) > 1e-6 || math.Abs(e.Model().Fastest-32) > 1e-6 {
		t.Errorf("%d decisions in %g s, fastest %g s, want 3 in 1 + 30 + 1", decided, at.Now, e.Model().Fastest)
	}
	if at.Done[2]-at.Begun[2] != 30 && at.Done[3]-at.Begun[3] != 30 {
		t.Errorf("no state took 30 s: begun %v, done %v", at.Begun, at.Done)
	}
	envtest.Run(t, func() (envs.Env, error) { return New(c, Given{Own: waiting()}) },
		envtest.Options{Seeds: []uint64{1}, Steps: 30})
}

func TestWorkflowErrors(t *testing.T) {
	large := must.Get(Generate(1, Generated{Steps: []int{20, 20}, Shape: AnyShape, Platform: AWS}))(t)
	for want, c := range map[string]struct {
		change func(*EnvConfig)
		own    *App
	}{
		"it has 20 steps, and env.steps has room for 16": {func(c *EnvConfig) { c.Workflow = "large.yaml" }, &large},
		"slo is [0.8 2]: 0.8 times the time of the fastest configurations, which take 25 % longer": {
			func(c *EnvConfig) { c.SLO = []float64{0.8, 2} }, nil},
		"STOKER_DATA": {func(c *EnvConfig) { c.Workflow = "tpch" }, nil},
		"prewarm is stepconf, and there is no decider": {func(c *EnvConfig) { c.Prewarm = ByStepConf }, nil},
		"want a workflow with a file's na":             {func(c *EnvConfig) { c.Workflow = "mine.yaml" }, nil},
	} {
		t.Setenv("STOKER_DATA", "")
		config := DefaultEnv()
		c.change(&config)
		if _, err := New(config, Given{Own: c.own}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is\n%v, want it to say\n%s", err, want)
		}
	}
}

func TestTPCHEnv(t *testing.T) {
	c := DefaultEnv()
	c.Data = realdata.Dir(t)
	c.Workflow = "tpch-9-20g"
	e, err := New(c, Given{})
	must.Do(t, err)
	if err := e.Reset(3, nil, envs.NewObservation(e.Spec())); err != nil || e.Model().App.Name != c.Workflow {
		t.Errorf("the workflow is %s: %v", e.Model().App.Name, err)
	}
	c.Workflow = AllTPCH
	if _, err := New(c, Given{}); err == nil || !strings.Contains(err.Error(), "want env.steps=[3, ") {
		t.Errorf("with room for 16 steps: %v", err)
	}
	c.Steps = []int{3, 24}
	if e, err = New(c, Given{}); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for seed := range uint64(3) {
		must.Do(t, e.Reset(seed, nil, envs.NewObservation(e.Spec())))
		names[e.Model().App.Name] = true
	}
	if len(names) != 3 {
		t.Errorf("three episodes are of %v", names)
	}
}
