package actor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// AdoptPolicy lets a learner take over what a policy's file has: put changes the learner's own state by the parameters of
// a kind of agents. A policy of other networks or heads is an error that names the difference; nothing has changed then.
func AdoptPolicy(l agents.Learner, f *agents.PolicyFile, spec *envs.Spec,
	put func(kind int, params, logStd agents.Array, s *agents.State) error) error {
	s := agents.NewState()
	d, err := alike(f, l, spec)
	if err == nil {
		err = l.Save(s)
	}
	for i := 0; err == nil && i < len(d.Kinds); i++ {
		k := &d.Kinds[i]
		err = put(i, f.Arrays[k.Array(network)], f.Arrays[k.Array(logStd)], s)
	}
	if err != nil {
		return err
	}
	return l.Adopt(s)
}

// alike returns a file's description where it has the networks and heads of a learner's policy.
func alike(f *agents.PolicyFile, l agents.Learner, spec *envs.Spec) (*Description, error) {
	own, err := l.Policy()
	if err != nil {
		return nil, err
	}
	mine, err := own.Export()
	if err != nil {
		return nil, err
	}
	want, err := Read(mine, spec)
	if err != nil {
		return nil, err
	}
	d, err := Read(f, spec)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Arrays)) {
		if _, ok := mine.Arrays[name]; !ok {
			return nil, fmt.Errorf("it has numbers %q, this run's policy has none: see wrappers.normalize_observation", name)
		}
	}
	for i := range d.Kinds {
		is, wants := map[string]any{}, map[string]any{}
		if err := errors.Join(d.Kinds[i].learned(is), want.Kinds[i].learned(wants)); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Kinds[i].Name, err)
		}
		all := maps.Clone(is)
		maps.Copy(all, wants)
		for _, what := range slices.Sorted(maps.Keys(all)) {
			if is[what] != wants[what] {
				return nil, fmt.Errorf("%s: its %s is %v, want %v", d.Kinds[i].Name, what, is[what], wants[what])
			}
		}
	}
	return d, nil
}

// learned lists what the weights of a kind depend on.
func (k *Kind) learned(to map[string]any) error {
	text, err := nets.EncodeArch(k.Network.Arch)
	if err != nil {
		return err
	}
	var arch any
	if err := json.Unmarshal(text, &arch); err != nil {
		return err
	}
	to["head"], to["mix"], to["joint"], to["bounds"] = k.Head, k.Mix, k.Joint, k.Bounds
	leaves("network", arch, to)
	return nil
}

// leaves lists the values of a JSON document by their paths, without those that say how weights were drawn at first.
func leaves(path string, v any, to map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if key != "final_bound" && key != "orthogonal_gain" {
				leaves(path+"."+key, x, to)
			}
		}
	case []any:
		for i, x := range v {
			leaves(fmt.Sprintf("%s[%d]", path, i), x, to)
		}
	default:
		to[path] = v
	}
}
