package simppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

var _ agents.Transparent = (*TrainedPolicy)(nil)

// Insight implements [agents.Transparent]: that of the policy inside.
func (p *TrainedPolicy) Insight(act nets.Engine, rows int) (agents.Insight, error) {
	in, ok := p.Policy.(agents.Transparent)
	if !ok {
		return nil, fmt.Errorf("simppo: insight: a %T gives no gradients of its decisions", p.Policy)
	}
	return in.Insight(act, rows)
}
