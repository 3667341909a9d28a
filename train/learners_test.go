package train

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
)

var only = flag.String("only", "", "kill the runs of learners of these names alone, as in firm,simppo")

// A combination is a form of a learner in an environment.
type combination struct {
	name, env, agent string
	row              catalog.Learner
}

// combinations are every form of every learner of the catalog in its environments.
func combinations() (out []combination) {
	names := catalog.Default()
	for _, e := range names.Envs {
		for _, l := range names.Learners {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), l.Name) {
				continue
			}
			for _, f := range l.Forms {
				if e.Short != "" && slices.Contains(f.Envs, e.ID) {
					out = append(out, combination{f.Name + " on " + e.ID, e.Short, "{name: " + l.Name + ", " + f.Keys + ", %s}", l})
				}
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
	return c.experiment(c.row.Brief,
		"{steps: 16, copies: 2, log_every: 5, evaluate: {every: 7, episodes: 1}, checkpoint: {every: 6, keep: 1}}")
}

// longer is a run that lasts long enough to be killed a few times.
func (c combination) longer() string {
	return c.experiment(c.row.Longer,
		"{steps: 400, copies: 4, log_every: 20, evaluate: {every: 90, episodes: 2}, checkpoint: {every: 50, keep: 2}}")
}

// Every form of every learner of the catalog learns in the runs that are killed and resumed.
func TestEveryLearnerIsResumed(t *testing.T) {
	all := combinations()
	for _, l := range catalog.Default().Learners {
		in := 0
		for _, f := range l.Forms {
			in += len(f.Envs)
		}
		met := 0
		for _, c := range all {
			if c.row.Name == l.Name {
				met++
			}
		}
		if *only == "" && (met == 0 || met != in) {
			t.Errorf("learner %s has forms in %d environments, of which %d have a Short; want some, and all", l.Name, in, met)
		}
	}
	for _, c := range all {
		x := parse(t, c.longer(), "train.steps=80") // each learns by then
		metrics := finished(t, x)["metrics.jsonl"]
		if !strings.Contains(metrics, `"`+c.row.Metric+`":`) || strings.Contains(metrics, `null`) {
			t.Errorf("%s: it does not learn: %s", c.name, metrics)
		}
		if strings.HasPrefix(c.name, "safe") && !strings.Contains(metrics, `"train/safe_replaced":0.`) {
			t.Errorf("%s: no action was ever replaced: %s", c.name, metrics)
		}
	}
}
