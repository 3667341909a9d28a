package eval

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// Trained is a policy that was trained, with the experiment that it comes from.
type Trained struct {
	Checkpoint *checkpoints.Checkpoint
	Experiment *configs.Experiment
	File       *agents.PolicyFile
	// Source is zoo:NAME of a policy of the zoo.
	Source string
	// Threads is how many the policy acts with; 0 is the engine's default.
	Threads int
}

// OpenTrained reads the policy of a run (its best checkpoint), a checkpoint or the zoo (zoo:NAME), whose configuration
// names rows of a catalog. Settings such as eval.split=train are put over its configuration and over its eval.set.
func OpenTrained(names *catalog.Catalog, path string, sets []string) (*Trained, error) {
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return nil, err
	}
	t := &Trained{Checkpoint: ck}
	read := func(sets []string) (*configs.Experiment, error) { return train.ReadExperiment(ck, sets, names) }
	if t.Experiment, err = InEvaluation(read, sets); err != nil {
		return nil, err
	}
	t.File, err = train.ReadPolicy(ck)
	return t, err
}

// InEvaluation reads an experiment with its eval.set, and with the caller's settings over that. Generated applications of
// its test part are others than those of training.
func InEvaluation(read func(sets []string) (*configs.Experiment, error), sets []string) (*configs.Experiment, error) {
	x, err := read(sets)
	if err == nil && len(x.Eval.Set) > 0 {
		x, err = read(append(slices.Clone(x.Eval.Set), sets...))
	}
	if err != nil {
		return nil, err
	}
	if c, ok := x.Env.Config.(interface{ Unseen() any }); ok && x.Eval.Split == "test" {
		x.Env.Config = c.Unseen()
	}
	return x, nil
}

// ShippedLike opens the policies of the zoo whose names begin so.
func ShippedLike(prefix string) ([]*Trained, error) {
	other := func(name string) bool { return !strings.HasPrefix(name, prefix) }
	return lists.Try(slices.DeleteFunc(zoo.Names(), other), Shipped)
}

// Shipped opens the policy of the zoo of a name; nil without an error where this program's zoo has none. It acts with one
// thread: a suite's workers play side by side.
func Shipped(name string) (*Trained, error) {
	if !slices.Contains(zoo.Names(), name) {
		return nil, nil //nolint:nilnil // a suite says that the policy is missing and plays on
	}
	t, err := OpenTrained(catalog.Default(), zoo.Prefix+name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", zoo.Prefix, name, err)
	}
	t.Source, t.Threads = zoo.Prefix+name, 1
	return t, nil
}

// Steps is how many steps the policy was trained for.
func (t *Trained) Steps() int64 { return t.Checkpoint.Header().Counters["steps"] }

// Policy makes the policy for an environment's spec, acting on the CPU.
func (t *Trained) Policy(spec *envs.Spec) (envs.Policy, error) {
	a, err := catalog.Of(t.Experiment).Learner(t.File.Agent)
	if err != nil {
		return nil, err
	}
	cpu, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: t.Threads})
	if err != nil {
		return nil, err
	}
	return a.Open(t.File, spec, cpu)
}

// Version is the policy as a version of a contestant; source says where it was read from.
func (t *Trained) Version(source string) Version {
	return Version{TrainingSeed: t.Experiment.Seed, Source: source, away: &away{file: t.File}, New: func(env envs.Env) (rollout.Actor, error) {
		p, err := t.Policy(env.Spec())
		return rollout.Actor{Policy: p}, err
	}}
}

// In is the version with what workers of a farm need for it where its contestant has an environment of its own: the experiment
// that makes it.
func (v Version) In(x *configs.Experiment) Version {
	a := *v.away
	a.experiment, v.away = x, &a
	return v
}

// Contestant is a policy of the zoo in environments of its own.
func (t *Trained) Contestant(newEnv func() (envs.Env, error)) Contestant {
	return Contestant{Name: t.Source, Kind: catalog.Learned, Versions: []Version{t.Version(t.Source)}, NewEnv: newEnv}
}

// Misfit says why the policy can't act in an environment, empty where it can.
func (t *Trained) Misfit(newEnv func() (envs.Env, error)) string {
	env, err := newEnv()
	if err == nil {
		_, err = t.Policy(env.Spec())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

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

// TrainedLoads are the loads that the learned contestants were trained on, as far as they are known.
func (c *Choice) TrainedLoads() []envs.TrainedLoad {
	var out []envs.TrainedLoad
	for i, con := range c.Contestants {
		if l := c.loads[i]; l != nil {
			out = append(out, envs.TrainedLoad{Policy: con.Name, Load: *l})
		}
	}
	return out
}
