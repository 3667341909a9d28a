package deeprm

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/train"
)

// moves counts decisions in which a job fits, those among them that move on all the same, and those in which only long
// jobs fit.
type moves struct{ fits, moved, onlyLong, movedLong int }

// held plays the first version of a contestant at load 1.85.
func held(t *testing.T, env envs.Env, c *eval.Contestant) (m moves) {
	t.Helper()
	config := env.(interface{ Config() deeprm.Config }).Config()
	layout := deeprm.NewLayout(&config)
	r := rollout.NewRunner(env)
	r.Stochastic = true
	r.OnStep = func(s rollout.Step) {
		o := &s.Seen.Kinds[0]
		fits, long := false, true
		for place := range layout.Visible {
			if o.Mask[place] {
				fits = true
				long = long && layout.Length(o.Values, place) >= config.Long.Low
			}
		}
		if !fits {
			return
		}
		m.fits++
		on := int(s.Action.Kinds[0][0]) == layout.Visible
		if on {
			m.moved++
		}
		if long {
			m.onlyLong++
			if on {
				m.movedLong++
			}
		}
	}
	actor := must.Get(c.Versions[0].New(env))(t)
	for seed := range uint64(200) {
		must.Get(r.Episode(actor, firstSeed+seed))(t)
	}
	return m
}

// Where a job fits, the learned policy moves on now and then, and above all where only long jobs fit: the paper says
// that this is what its policy has learned. Of the rules only FCFS moves on, behind the oldest job.
func TestHeldBack(t *testing.T) {
	if *runs == "" {
		t.Skip("-runs FOLDER names the trained runs")
	}
	f := forms[0]
	choice := choose(t, f, 1)
	env := must.Get(train.NewEnv(choice.Experiment, choice.Experiment.Eval.Split))(t)
	for i := range choice.Contestants {
		c := &choice.Contestants[i]
		m := held(t, env, c)
		share := func(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }
		t.Logf("%s: moves on in %.1f %% of %d decisions in which a job fits; in %.1f %% of the %d in which only long jobs fit, in %.1f %% of the others",
			c.Name, share(m.moved, m.fits), m.fits, share(m.movedLong,
				m.onlyLong), m.onlyLong, share(m.moved-m.movedLong, m.fits-m.onlyLong))
		if c.Name == f.learned[0] {
			proof.Claim(t, proof.Row{
				Topic: "agents", Claim: "DeepRM's policy at load 1.85 has learned to hold long jobs back, which leaves room for short ones",
				Bound: "where a job fits it moves on more often if only long jobs do",
				Measured: fmt.Sprintf("in %.1f %% of the decisions in which only long jobs fit and %.1f %% of the others, %.1f %% of all in which a job fits; the paper's moves on in 23.4 %% of all at load 1.1",
					share(m.movedLong, m.onlyLong), share(m.moved-m.movedLong, m.fits-m.onlyLong), share(m.moved,
						m.fits)),
				Holds: share(m.movedLong, m.onlyLong) > share(m.moved-m.movedLong, m.fits-m.onlyLong), Command: command,
			})
		}
	}
}
