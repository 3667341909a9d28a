package train

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// faulty is an environment that breaks the contract in its third step: no choice is legal where there are choices,
// else a feature is no number.
type faulty struct {
	envs.Env
	steps int
}

func (f *faulty) Unwrap() envs.Env { return f.Env }

func (f *faulty) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	err := f.Env.Step(act, obs, out)
	if f.steps++; f.steps < 3 {
		return err
	}
	k := &obs.Kinds[0]
	switch {
	case len(k.Mask) > 0:
		clear(k.Mask)
	case len(k.Values) > 0:
		k.Values[0] = float32(math.NaN())
	}
	return err
}

// Where an environment breaks the contract, every form of every learner stops at that step and names the field in the
// same words.
func TestEveryLearnerRefusesAlike(t *testing.T) {
	names := catalog.Default()
	for i, e := range names.Envs {
		names.Envs[i].New = func(config any, w workload.Config) (envs.Env, error) {
			env, err := e.New(config, w)
			return &faulty{Env: env}, err
		}
	}
	said := map[string]map[string]bool{} // what was said, by environment
	for _, c := range combinations() {
		x := parse(t, c.brief())
		x.Catalog = names
		_, err := Start(context.Background(), x, newLab(t).options())
		if err == nil {
			t.Errorf("%s: training goes on", c.name)
			continue
		}
		if !errors.Is(err, ErrStep) {
			t.Errorf("%s: not marked as the failure of a step: %v", c.name, err)
		}
		at := strings.Index(err.Error(), x.Env.Name+": obs.")
		if at < 0 || strings.Count(err.Error(), "obs.Kinds[0]") != 1 {
			t.Errorf("%s: the error does not name the field once: %v", c.name, err)
			continue
		}
		if said[x.Env.Name] == nil {
			said[x.Env.Name] = map[string]bool{}
		}
		said[x.Env.Name][err.Error()[at:]] = true
	}
	for id, texts := range said {
		if len(texts) != 1 {
			t.Errorf("%s: learners refuse in different words: %v", id, texts)
		}
	}
	if len(said) < 3 {
		t.Errorf("only %d environments were tried: %v", len(said), said)
	}
}
