package maddpg

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// regulator is the control −gain·x, clipped to the bound.
type regulator struct {
	agents.Policy
	gain, bound float32
}

func (r regulator) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-r.gain*obs.Kinds[0].Values[0], -r.bound), r.bound)
	return nil
}

// shippedLQR is configs/classic/lqr.yaml, with the change that -set asks for.
func shippedLQR(t *testing.T) (classic.LQRConfig, Config, configs.Train) {
	t.Helper()
	problem, c := classic.DefaultLQR(), Default()
	var sets []string
	if *change != "" {
		sets = []string{*change}
	}
	x := must.Get(configs.Load("../../configs/classic/lqr.yaml", sets, configs.Tables{
		Env: func(string) (any, error) { return &problem, nil }, Agent: func(string) (any, error) { return &c, nil },
		Baseline: func(string) (any, error) { return &struct{}{}, nil }, // those of its evaluation do not play here
	}))(t)
	return problem, c, x.Train
}

// lqrEvaluations is the number of evaluations during training, lqrEpisodes the number of episodes in each. The episodes
// are always the same, and Riccati's control plays them too, so that the luck of the draws cancels.
const (
	lqrEvaluations = 20
	lqrEpisodes    = 400
)

// TestDDPGOnLQR compares DDPG, with its shipped configuration, with the best control: −k·x with k from Riccati's
// equation. The points of its curves are costs divided by that control's.
func TestDDPGOnLQR(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	problem, c, train := shippedLQR(t)
	_, gain := problem.Riccati(1)
	n := max(*seeds, 5)
	var curves []curve
	for seed := uint64(1); seed <= n; seed++ {
		s := newTrainer(t, func() (envs.Env, error) { return classic.NewLQR(problem) }, train.Envs, c, seed, train.Steps)
		best, _ := s.evaluate(regulator{s.policy(), float32(gain), float32(problem.Bound)}, lqrEpisodes, false)
		l, rounds, done := curve{seed: seed}, int(train.Steps)/train.Envs, 0
		for i := range lqrEvaluations + 1 {
			s.steps(rounds*i/lqrEvaluations - done)
			done = rounds * i / lqrEvaluations
			cost, half := s.evaluate(s.policy(), lqrEpisodes, false)
			l.points = append(l.points, point{episode: done * train.Envs, greedy: cost / best, greedyHalf: half / -best,
				mean: -cost, half: half})
		}
		if *change == "" {
			l.write(t, "lqr")
		}
		t.Logf("seed %d: cost %.4f, Riccati's control %.4f (%.4f in expectation): %.4f of it", seed, l.last().mean, -best,
			problem.Cost(gain), l.last().greedy)
		curves = append(curves, l)
	}
	if *change != "" {
		return // a changed configuration makes no claim
	}
	drawLogarithmic(t, "lqr", fmt.Sprintf("DDPG on LQR, episodes of %d steps: cost over Riccati's", problem.Steps),
		"environment steps", "excess cost",
		curves, func(p point) float64 { return math.Abs(p.greedy - 1) }, mark{"2 %", 0.02})
	within, worst := 0, 0.0
	for _, l := range curves {
		excess := l.last().greedy - 1
		worst = max(worst, excess)
		if excess <= 0.02 {
			within++
		}
	}
	mean, half := overSeeds(values(curves, func(l curve) float64 { return 100 * (l.last().greedy - 1) }))
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: fmt.Sprintf("DDPG on 1-D LQR, episodes of %d steps, configs/classic/lqr.yaml: cost above the Riccati control's", problem.Steps),
		Bound: fmt.Sprintf("2 %% on at least %d of %d seeds", n*4/5, n),
		Measured: fmt.Sprintf("%.2f ± %.2f %% (95 %% over %d seeds), worst %.2f %%: %d of %d seeds", mean, half, n, 100*worst,
			within, n),
		Holds: uint64(within) >= n*4/5, Command: "go test ./agents/maddpg -run LQR -long -v -timeout 0",
	})
}
