package actor

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/frozen"
	"github.com/stoker-rl/stoker/envs"
)

// heldPolicy does the same whatever it sees. Its changing state is that of a policy that never draws.
type heldPolicy struct {
	frozen.Policy
	action []float32 // [agents, components]
	width  int
}

var _ agents.Policy = (*heldPolicy)(nil)

func openHeld(base frozen.Policy, k *Kind, on *envs.Kind) (agents.Policy, error) {
	p := &heldPolicy{Policy: base, action: base.File.Arrays[k.Array(held)].Data, width: on.Action.Width()}
	if p.width == 0 || len(p.action) != on.Agents*p.width {
		return nil, fmt.Errorf("array %q has %d numbers, want %d", k.Array(held), len(p.action), on.Agents*p.width)
	}
	for i := range on.Agents {
		if err := on.Action.Contains(p.action[i*p.width : (i+1)*p.width]); err != nil {
			return nil, fmt.Errorf("action of %s %d: %w", on.Name, i, err)
		}
	}
	return p, nil
}

// Act implements [envs.Policy].
func (p *heldPolicy) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	for j, here := range obs.Kinds[0].Active {
		row := act.Kinds[0][j*p.width : (j+1)*p.width]
		if !here {
			clear(row)
			continue
		}
		copy(row, p.action[j*p.width:])
	}
	return nil
}
