package reinforce

import (
	"errors"
	"math"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// lift goes up and down a storey by chance. Choosing 1 costs 0.3 and moves it up with probability 0.6; choosing 0 lets
// it fall with probability 0.5. A step pays the storey in which it ends, 0 to 2, and takes a second, so all values are
// known. It is never saved: its Moment does not write the storey.
type lift struct {
	choicetest.Moment
	spec   *envs.Spec
	storey int
}

const (
	liftSteps, liftCost = 8, 0.3
	up, down            = 0.6, 0.5
)

func newLift() *lift {
	return &lift{spec: &envs.Spec{
		ID: "test/Lift-v1", Doc: "Up or not.", MaxSteps: liftSteps,
		Kinds: []envs.Kind{{Name: "driver", Agents: 1, Observation: envs.NewBox(1, 0, 2), Action: envs.Discrete{N: 2}}},
	}}
}

func (l *lift) Spec() *envs.Spec { return l.spec }

func (l *lift) Reset(seed uint64, _ envs.Options, obs *envs.Observation) error {
	l.Moment, l.storey = choicetest.Moment{Seed: seed}, 1
	l.see(obs)
	return nil
}

func (l *lift) see(obs *envs.Observation) {
	o := &obs.Kinds[0]
	o.Active[0], o.Values[0] = true, float32(l.storey)
	for i := range o.Mask {
		o.Mask[i] = true
	}
}

func (l *lift) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if l.At == liftSteps {
		return errors.New("lift: the episode has ended")
	}
	u, cost := rng.New(l.Seed, "lift").With(uint64(l.At)).Float64(), 0.0
	if act.Kinds[0][0] == 1 {
		cost = liftCost
		if u < up {
			l.storey = min(2, l.storey+1)
		}
	} else if u < down {
		l.storey = max(0, l.storey-1)
	}
	l.At++
	out.Rewards[0][0] = float32(float64(l.storey) - cost)
	out.Terminated, out.Truncated, out.Elapsed = l.At == liftSteps, false, 1_000_000
	l.see(obs)
	return nil
}

func (l *lift) CopyFrom(src envs.Env) error {
	s := src.(*lift)
	l.Moment, l.storey = s.Moment, s.storey
	return nil
}

// expected is what a first choice and the rule 0 after it are worth in storey s with so many steps to look at, by
// dynamic programming.
func expected(s, first, left int, gamma float64) float64 {
	if left == 0 {
		return 0
	}
	p, to, cost := down, max(0, s-1), 0.0
	if first == 1 {
		p, to, cost = up, min(2, s+1), liftCost
	}
	worth := func(at int) float64 { return float64(at) - cost + gamma*expected(at, 0, left-1, gamma) }
	return p*worth(to) + (1-p)*worth(s)
}

// stay never goes up.
type stay struct{ contrary }

func (s *stay) Act(_ *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = 0
	return nil
}

func (s *stay) Show(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return s.Act(obs, act, true)
}

func counterfactualConfig() Config {
	c := quick()
	c.Baseline, c.Lambda, c.Twin = Counterfactual, 1, Rule{Policy: "stay", Seconds: 5}
	return c
}

// liftLearner learns in the lift, compared with the rule that never goes up.
func liftLearner(t *testing.T, c Config, copies int, steps int64) *Learner {
	t.Helper()
	build := func() (envs.Env, error) { return newLift(), nil }
	_, l := choicetest.Train(t, 1, copies, steps, 1, build, func(ctx agents.Context) (agents.Learner, error) {
		ctx.NewEnv, ctx.Teacher = build, func(string) (agents.Teacher, error) { return &stay{}, nil }
		return New(c, ctx)
	})
	return l.(*Learner)
}

// The mean counterfactual advantage of a choice is its exact advantage under the rule, and that of the rule's own
// choice is 0.
func TestCounterfactualExpectAdvantage(t *testing.T) {
	const copies, gamma = 50, 0.9
	c := counterfactualConfig()
	c.Gamma, c.RewardScale = gamma, 2
	l := liftLearner(t, c, copies, 0)
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return newLift(), nil },
		envs.VectorOptions{NumEnvs: copies, Seed: 3}))(t)
	var sum, square, n float64
	for range 80 {
		must.Do(t, v.Reset())
		for i := range copies {
			v.Act.Env(i).Kinds[0][0] = float32(i % 2)
		}
		must.Do(t, l.counterfactual.judge(v, []uint64{0}, 0, nil))
		for i := range copies {
			x := float64(l.counterfactual.of(i))
			if i%2 == 0 {
				if x != 0 {
					t.Fatalf("the rule's own choice gains %g", x)
				}
				continue
			}
			sum, square, n = sum+x, square+x*x, n+1
		}
	}
	want := 2 * (expected(1, 1, 5, gamma) - expected(1, 0, 5, gamma))
	mean := sum / n
	half := 3.5 * math.Sqrt((square/n-mean*mean)/n)
	t.Logf("going up gains %.4f ± %.4f of %.4f", mean, half, want)
	if math.Abs(mean-want) > half || half > 0.1*want {
		t.Errorf("going up gains %.4f ± %.4f, want %.4f", mean, half, want)
	}
}

// With this baseline the learner finds the better choice although it pays later.
func TestCounterfactualTeach(t *testing.T) {
	l := liftLearner(t, counterfactualConfig(), 4, 8000)
	p := must.Get(l.Policy())(t)
	env := newLift()
	obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
	for storey := range 2 {
		must.Do(t, env.Reset(1, nil, obs))
		env.storey = storey
		env.see(obs)
		must.Do(t, p.Act(obs, act, true))
		if act.Kinds[0][0] != 1 {
			t.Errorf("in storey %d the policy stays, where going up is worth %.2f more", storey,
				expected(storey, 1, 5, 0.99)-expected(storey, 0, 5, 0.99))
		}
	}
}

// A copy that waits for its reset gets no advantage: it cannot be stepped.
func TestCounterfactualWaitForReset(t *testing.T) {
	l := liftLearner(t, counterfactualConfig(), 2, 0)
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return newLift(), nil },
		envs.VectorOptions{NumEnvs: 2, Seed: 3, Autoreset: envs.NextStep}))(t)
	must.Do(t, v.Reset())
	for range 3 * liftSteps {
		must.Do(t, errors.Join(l.Act(v), v.Step(), l.Observe(v), l.Update()))
	}
}

func TestCounterfactualRefuse(t *testing.T) {
	l := liftLearner(t, counterfactualConfig(), 1, 0)
	none := l.ctx
	none.Teacher = nil
	many := l.ctx
	spread := must.Get(classic.NewSpread(classic.DefaultSpread()))(t)
	many.Spec = spread.Spec()
	for want, ctx := range map[string]agents.Context{"needs a rule and copies": none,
		"needs an environment of one agent": many} {
		if _, err := newCounterfactual(&l.c, &ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	for want, change := range map[string]func(*Config){
		`twin.policy is "" with baseline: counter`: func(c *Config) { c.Twin.Policy = "" },
		`twin.policy is "stay" with baseline: val`: func(c *Config) { c.Baseline = Value },
		"twin.seconds is 0, want more than 0":      func(c *Config) { c.Twin.Seconds = 0 },
		"lambda is 0.9, want 1":                    func(c *Config) { c.Lambda = 0.9 },
	} {
		c := counterfactualConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// Configurations that spell it twin, as earlier versions did, are read as the same.
func TestOldSpelling(t *testing.T) {
	for _, name := range []string{"twin", "counterfactual"} {
		c := counterfactualConfig()
		if err := yaml.Unmarshal([]byte("baseline: "+name), &c); err != nil || c.Baseline != Counterfactual ||
			c.Validate() != nil {
			t.Errorf("%s is read as %q (%v, %v)", name, c.Baseline, err, c.Validate())
		}
	}
}
