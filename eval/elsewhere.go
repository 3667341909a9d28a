package eval

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/train"
)

// Elsewhere is a policy that was trained elsewhere, as the caller names it.
type Elsewhere struct {
	// Name is the contestant's; policies of one name are training seeds of one method.
	Name string
	// What is a bundle's file or what [foreign.Open] takes, and Open opens the latter.
	What string
	Open func(spec *envs.Spec) (*foreign.Policy, error)
}

// addElsewhere opens policies and adds them.
func (c *Choice) addElsewhere(all []Elsewhere) error {
	if len(all) == 0 {
		return nil
	}
	probe, err := train.NewEnv(c.Experiment, c.Experiment.Eval.Split)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, e := range all {
		v, what, err := c.elsewhere(e, probe.Spec())
		if err != nil {
			return train.Usage("policy %s: %w", e.Name, err)
		}
		i, ok := at[e.Name]
		if !ok {
			i = len(c.Contestants)
			at[e.Name] = i
			c.chosen = append(c.chosen, configs.Choice{})
			c.called = append(c.called, named{base: e.Name, folder: e.Name})
			c.Contestants = append(c.Contestants, Contestant{Name: e.Name, Kind: catalog.Learned, Foreign: true})
		}
		con := &c.Contestants[i]
		v.TrainingSeed, v.Source = uint64(len(con.Versions)+1), e.What
		con.Versions = append(con.Versions, v)
		c.note(i, what)
	}
	return nil
}

// elsewhere opens a policy, and says what it is: a file by its content, all else as the caller names it.
func (c *Choice) elsewhere(e Elsewhere, spec *envs.Spec) (v Version, what string, err error) {
	if form := foreign.FormOf(e.What); form != foreign.Bundle {
		p, err := e.Open(spec)
		if err != nil {
			return v, "", err
		}
		c.opened = append(c.opened, p)
		if what = e.What; form == foreign.Model {
			var b []byte
			b, err = os.ReadFile(what)
			what = fmt.Sprintf("onnx %x", sha256.Sum256(b))
		}
		return Version{Together: p}, what, err
	}
	f, digest, open, err := foreign.OpenBundle(c.names, e.What)
	if err == nil && f.Agent.Env != c.Experiment.Env.Name {
		err = fmt.Errorf("%s acts in %s, the comparison is in %s", e.What, f.Agent.Env, c.Experiment.Env.Name)
	}
	if err == nil {
		_, err = open(spec)
	}
	return Version{New: func(env envs.Env) (rollout.Actor, error) {
		p, err := open(env.Spec())
		return rollout.Actor{Policy: p}, err
	}}, "bundle " + digest, err
}

// Close ends what policies from elsewhere were opened with.
func (c *Choice) Close() {
	for _, p := range c.opened {
		_ = p.Close() // it has answered all that was asked
	}
}
