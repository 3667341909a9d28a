package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/train"
)

// NoFallback in place of a heuristic's name leaves the bundle without one.
const NoFallback = "none"

// fallback is the rule of a name, or the first that acts in the environment, with the configuration that the
// experiment's evaluation gives it, else with its defaults. It is nil where there is none.
func fallback(x *configs.Experiment, name string, env envs.Env) (*bundle.Fallback, error) {
	var rows, able []string
	for _, f := range policy.FallbacksOf(x.Env.Name) {
		rows = append(rows, f.Name)
		if _, err := f.New(nil, env); err == nil {
			able = append(able, f.Name)
		}
	}
	switch {
	case name == NoFallback, name == "" && len(able) == 0:
		return nil, nil //nolint:nilnil // a bundle need not have one
	case name == "":
		name = able[0]
	case len(rows) == 0:
		return nil, train.Usage("--fallback: no rule can act in a policy's place in %s; want %s", x.Env.Name, NoFallback)
	case !slices.Contains(rows, name):
		return nil, train.Usage("--fallback is %q, want one for %s: %s, or %s", name, x.Env.Name, strings.Join(rows, ", "),
			NoFallback)
	}
	r, err := catalog.Of(x).Rival(name)
	if err != nil {
		return nil, err
	}
	config := r.Config()
	if i := slices.IndexFunc(x.Eval.Rivals, func(c configs.Choice) bool { return c.Name == name }); i >= 0 {
		config = x.Eval.Rivals[i].Config
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &bundle.Fallback{Name: name, Config: text}, nil
}

// Fallbacks are the names of the rules that can be named for any environment, for completion.
func Fallbacks() []string {
	out := []string{NoFallback}
	for _, f := range policy.Fallbacks() {
		out = append(out, f.Name)
	}
	return out
}
