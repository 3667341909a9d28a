package foreign

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
)

// OpenBundle reads a bundle and returns what makes its policy, without guard and fallback: it scores as the checkpoint
// that it was exported from.
func OpenBundle(names *catalog.Catalog, file string) (f *bundle.File, digest string,
	open func(*envs.Spec) (envs.Policy, error), err error) {
	f, digest, err = bundle.Open(file, bundle.Limits{})
	if err != nil {
		return nil, "", nil, err
	}
	l, err := names.Learner(f.Agent.Name)
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %w", file, err)
	}
	stored := &agents.PolicyFile{Agent: f.Agent.Name, EnvID: f.Agent.Env, Description: f.Agent.Description,
		Arrays: map[string]agents.Array{}}
	for name, a := range f.Arrays {
		stored.Arrays[name] = agents.Array(a)
	}
	return f, digest, func(spec *envs.Spec) (envs.Policy, error) {
		cpu, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
		if err != nil {
			return nil, err
		}
		p, err := l.Open(stored, spec, cpu)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err) // not p: an interface around a nil pointer would not be nil
		}
		return p, nil
	}, nil
}
