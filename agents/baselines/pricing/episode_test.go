package pricing

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// contest is the environment in which a scheduler acts, and the scheduler's constructor.
type contest struct {
	change func(*pricing.Config)
	build  func(envs.Env) (envs.Policy, error)
}

func contests() map[string]contest {
	return map[string]contest{
		"arms": {func(*pricing.Config) {}, func(e envs.Env) (envs.Policy,
			error) {
			return NewARMS(pricing.DefaultARMS(), e)
		}},
		"torpor": {func(c *pricing.Config) { c.Pool, c.Load = pricing.Fixed, 0.5 },
			func(e envs.Env) (envs.Policy, error) { return NewTorpor(DefaultTorpor(), e) }},
		"has-gpu": {elastic, func(e envs.Env) (envs.Policy, error) { return NewHAS(DefaultHAS(), e) }},
		"mqfq-sticky": {func(c *pricing.Config) { c.Pool, c.Patience = pricing.Fixed, 4 },
			func(e envs.Env) (envs.Policy, error) { return NewMQFQ(DefaultMQFQ(), e) }},
	}
}

// rig is an environment with a scheduler.
type rig struct {
	*pricing.Slots
	envs.Policy
	obs *envs.Observation
	act *envs.Action
	out *envs.Outcome
}

func newRig(t testing.TB, c contest, windows int) *rig {
	t.Helper()
	cfg := pricing.Default()
	cfg.Windows, cfg.Demand.Source, cfg.Demand.Start = windows, pricing.Generated, 0
	c.change(&cfg)
	e := must.Get(pricing.NewSlots(cfg, workload.Default(), nil))(t)
	p := must.Get(c.build(e))(t)
	s := e.Spec()
	return &rig{e, p, envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)}
}

func (r *rig) begin(t testing.TB, seed uint64) {
	t.Helper()
	must.Do(t, r.Slots.Reset(seed, nil, r.obs))
	must.Do(t, r.Policy.Reset(seed))
}

func (r *rig) slot(t testing.TB) {
	t.Helper()
	must.Do(t, r.Act(r.obs, r.act, true))
	must.Do(t, r.Step(r.act, r.obs, r.out))
}

// Every scheduler copies and saves everything that its decisions depend on, refuses damaged or foreign states, and does
// not allocate.
func TestSchedulers(t *testing.T) {
	for name, c := range contests() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c, 3)
			if r.Name() != name {
				t.Errorf("its name is %q", r.Name())
			}
			r.begin(t, 1)
			for range 70 {
				r.slot(t)
			}
			saved := must.Get(r.Policy.AppendBinary(nil))(t)
			restored, copied := newRig(t, c, 3), newRig(t, c, 3)
			must.Do(t, restored.Policy.UnmarshalBinary(saved))
			must.Do(t, copied.Policy.CopyFrom(r.Policy))
			for range 100 {
				for what, o := range map[string]*rig{"restored": restored, "copied": copied} {
					must.Do(t, o.Act(r.obs, o.act, true))
					must.Do(t, r.Act(r.obs, r.act, true))
					if !slices.Equal(o.act.Kinds[0], r.act.Kinds[0]) {
						t.Fatalf("%s, its action differs", what)
					}
					// Both have read the observation once; the third must too.
					other := map[string]*rig{"restored": copied, "copied": restored}[what]
					must.Do(t, other.Act(r.obs, other.act, true))
				}
				must.Do(t, r.Step(r.act, r.obs, r.out))
			}
			if err := r.Policy.UnmarshalBinary(saved[:len(saved)-1]); err == nil {
				t.Error("a state cut short was accepted")
			}
			if err := r.Policy.CopyFrom(&SPSS{}); err == nil {
				t.Error("it was copied from another policy")
			}
			if n := testing.AllocsPerRun(20, func() { _ = r.Act(r.obs, r.act, true) }); n != 0 {
				t.Errorf("acting allocates %g times", n)
			}
		})
	}
}

// Over 40 windows each of them serves most jobs, most in time, on most of the vGPUs. The bounds are wide; the published
// order is not asserted.
func TestServiceIsKeptUp(t *testing.T) {
	for name, c := range contests() {
		r := newRig(t, c, 40)
		r.begin(t, 101)
		stats := envs.NewEpisodeStatistics(r.Spec())
		for r.out.Truncated = false; !r.out.Truncated; {
			r.slot(t)
			stats.Add(r.out)
		}
		e := envs.Episode{Info: make([]float64, len(r.Spec().Info))}
		stats.Fill(&e)
		got := map[string]float64{}
		for i, q := range r.Spec().Info {
			got[q.Name] = e.Info[i]
		}
		t.Logf("%-12s profit %.4g, violations %.3f, utilisation %.3f, switches %.0f, redeployments %.0f, loads %.0f, gpu %.4g, sla %.4g", name, got["profit"],
			got["violation_rate"], got["utilisation"], got["switches"], got["redeployments"], got["loads"], got["gpu"],
			got["sla"])
		if served := got["served"] / got["arrived"]; served < 0.7 || got["violation_rate"] > 0.4 || got["utilisation"] < 0.5 {
			t.Errorf("%s: %.2f of the jobs served, %.2f violated, utilisation %.2f", name, served, got["violation_rate"],
				got["utilisation"])
		}
	}
}

func BenchmarkAct(b *testing.B) {
	for name, c := range contests() {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, c, 1000)
			r.begin(b, 1)
			for range 100 {
				r.slot(b)
			}
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, r.Act(r.obs, r.act, true))
			}
		})
	}
}
