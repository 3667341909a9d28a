package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
)

// learners are the ways of learning that the table of agents offers, by what they keep: who sees whom, weights of
// one's own or shared, and the history of safe exploration; replay or trajectories, targets or none.
var learners = []struct {
	agent, name, keys string
	envs              []string
}{
	{"maddpg", "attention", "mix: attention, keys: 2", both},
	{"maddpg", "attention, shared weights", "mix: attention, keys: 2, score: squared, shared: true, norm: layer", both},
	{"maddpg", "mean", "mix: mean", both},
	{"maddpg", "joint", "mix: joint", both},
	{"maddpg", "single", "mix: single, standardise: false", both},
	{"maddpg", "none", "mix: none", both},
	// It adds noise to actions, and those of simple_spread are choices.
	{"maddpg", "safe exploration",
		"mix: attention, keys: 2, noise: 0.3, noise_final: 0.01, safe: {on: true, min_history: 2, history: 6, " +
			"deviations: 0.1}", []string{sizing}},
	{"dqn", "deep Q", "target_every: 6, epsilon_share: 0.5", []string{cartpole, spread}},
	{"dqn", "double Q", "double: true, loss: huber, tau: 0.1, target_every: 6", []string{cartpole}},
	{"reinforce", "TD", "lambda: 0.5, target_tau: 0.1", []string{cartpole, spread}},
	{"reinforce", "replayed trajectories", "lambda: 1, standardise: true, replay: {trajectories: 5, draw: 2}",
		[]string{cartpole}},
	{"reinforce", "mean over a sequence", "lambda: 1, baseline: sequence", []string{cartpole}},
	{"reinforce", "graphs, taught at first",
		"cut: 3, graph: {hidden: 4, layers: 1, dropout: 0.1}, imitate: {policy: sjf-nodes, steps: 9}", []string{cluster}},
	{"spsa", "two-point search", "perturbation_decay: 0.101, adam: {on: true}, capacity: 40", []string{prices}},
	{"spsa", "two-point search without copies", "realised: perturbed", []string{prices}},
}

// Environments in which learners are killed and resumed.
const (
	sizing   = "sizing"
	cartpole = "cartpole"
	spread   = "simple_spread"
	prices   = "pricing"
	cluster  = "cluster"
)

var both = []string{sizing, spread}

// needs are the keys that an agent needs to do everything in a brief and in a longer run, and what it tells when it
// learns.
var needs = map[string]struct{ brief, longer, metric string }{
	"maddpg": {"hidden: [3], batch: 2, replay: 9, update_every: 4, random_steps: 3, learning_starts: 3",
		"hidden: [8], batch: 16, replay: 150, update_every: 4, random_steps: 20, learning_starts: 30", `"train/critic_loss":`},
	"dqn": {"hidden: [3], batch: 2, replay: 9, update_every: 4, learning_starts: 3",
		"hidden: [8], batch: 16, replay: 150, update_every: 4, learning_starts: 30", `"train/loss":`},
	"reinforce": {"hidden: [3], episodes: 2, rows: 4", "hidden: [8], episodes: 4, rows: 16", `"train/policy_loss":`},
	"spsa":      {"pairs: 1", "pairs: 2", `"train/gradient":`},
}

// A combination is a learner in an environment.
type combination struct{ name, env, agent, learner string }

// combinations are every learner in its environments.
func combinations() (out []combination) {
	for _, e := range []struct{ name, keys string }{
		// A load that the services can bear: safe exploration needs windows that keep the QoS.
		{sizing, "env: {id: stoker/Sizing-v2, windows: 3}\nworkload: {factor: 0.05}"},
		{prices, "env: {id: stoker/Pricing-v1, windows: 3, slots: 4, demand: {source: generated}}"},
		{cluster, "env: {id: stoker/Placement-v2, seconds: 1, load: 1.5, window: 3, running: 2, hold: false}"},
		{cartpole, "env: {id: stoker/CartPole-v1, max_steps: 3}"},
		{spread, "env: {id: stoker/SimpleSpread-v1, steps: 4}"},
	} {
		for _, l := range learners {
			if slices.Contains(l.envs, e.name) {
				out = append(out, combination{l.name + " on " + e.name, e.keys,
					"{name: " + l.agent + ", " + l.keys + ", %s}", l.agent})
			}
		}
	}
	return out
}

// experiment is a combination with a schedule: keys of the agent and of training.
func (c combination) experiment(agent, train string) string {
	return fmt.Sprintf("name: short\nseed: 3\n%s\nagent: %s\ntrain: %s\n", c.env, fmt.Sprintf(c.agent, agent), train)
}

// brief is a run that does everything once or twice: logs, evaluates, saves a scheduled and a best checkpoint, prunes.
func (c combination) brief() string {
	return c.experiment(needs[c.learner].brief,
		"{steps: 16, copies: 2, log_every: 5, evaluate: {every: 7, episodes: 1}, checkpoint: {every: 6, keep: 1}}")
}

// longer is a run that lasts long enough to be killed a few times.
func (c combination) longer() string {
	return c.experiment(needs[c.learner].longer,
		"{steps: 400, copies: 4, log_every: 20, evaluate: {every: 90, episodes: 2}, checkpoint: {every: 50, keep: 2}}")
}

// Every learner of the table is among those that are killed and resumed.
func TestEveryLearnerIsResumed(t *testing.T) {
	for _, a := range catalog.Default().Learners {
		found := false
		for _, l := range learners {
			found = found || l.agent == a.Name
		}
		if !found {
			t.Errorf("agent %s is not among the learners that the proofs of exact resume go over", a.Name)
		}
	}
	for _, c := range combinations() {
		x := parse(t, c.longer())
		metrics := finished(t, x)["metrics.jsonl"]
		if !strings.Contains(metrics, needs[c.learner].metric) || strings.Contains(metrics, `null`) {
			t.Errorf("%s: it does not learn: %s", c.name, metrics)
		}
		if strings.HasPrefix(c.name, "safe") && !strings.Contains(metrics, `"train/safe_replaced":0.`) {
			t.Errorf("%s: no action was ever replaced: %s", c.name, metrics)
		}
	}
}
