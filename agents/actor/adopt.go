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
		if err := d.Kinds[i].differs(&want.Kinds[i], nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// differs names a part of a kind that weights depend on and that another kind has otherwise, among some parts; nil for all.
func (k *Kind) differs(want *Kind, parts []string) error {
	is, wants := map[string]any{}, map[string]any{}
	if err := errors.Join(k.learned(is), want.learned(wants)); err != nil {
		return fmt.Errorf("%s: %w", k.Name, err)
	}
	if parts == nil {
		all := maps.Clone(is)
		maps.Copy(all, wants)
		parts = slices.Sorted(maps.Keys(all))
	}
	for _, what := range parts {
		if is[what] != wants[what] {
			return fmt.Errorf("%s: its %s is %v, want %v", k.Name, what, is[what], wants[what])
		}
	}
	return nil
}

// hidden are the parts of a description that weights depend on and whose sizes do not show it.
var hidden = []string{"head", "mix", "joint", "bounds", "network.kind", "network.arch.activation", "network.arch.final",
	"network.arch.mix", "network.arch.score", "network.arch.skip"}

// CheckAdopted says where a learner's networks compute something else of a policy's weights than the policy does, although
// they may have as many: by another activation, for instance. A description of another package is taken as it is.
func CheckAdopted(l agents.Learner, f *agents.PolicyFile) error {
	p, err := l.Policy()
	if err != nil {
		return err
	}
	own, err := p.Export()
	if err != nil || !Describes(f.Description) || !Describes(own.Description) {
		return err
	}
	var its, mine Description
	if err := errors.Join(json.Unmarshal(f.Description, &its), json.Unmarshal(own.Description, &mine)); err != nil {
		return err
	}
	for i := range min(len(its.Kinds), len(mine.Kinds)) {
		k, want := &its.Kinds[i], &mine.Kinds[i]
		if k.Network.Arch == nil || want.Network.Arch == nil { // a held action
			continue
		}
		if err := k.differs(want, hidden); err != nil {
			return err
		}
	}
	return nil
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
