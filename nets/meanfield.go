package nets

import (
	"fmt"
	"slices"
)

// Ways in which an agent sees the others.
const (
	// Attention mixes the neighbours' features by learned weights (FaaSConf eqs. 8–10).
	Attention = "attention"
	// Mean mixes them uniformly (mean-field).
	Mean = "mean"
	// Joint concatenates all agents' features in agent order (plain MADDPG's central critic).
	Joint = "joint"
)

// Attention scores before normalisation, with q = x_i·W_q of the agent and k = x_j·W_k of a neighbour. With
// weights per agent each agent turns its own features into its query and its key: W_q is of agent i's group,
// W_k of agent j's.
const (
	// Exp is exp(q·k/√d), normalised by its sum: softmax (the paper's eq. 9, with the usual 1/√d).
	Exp = "exp"
	// Squared is (q·k)², normalised by its sum + 0.001: what FaaSConf's code does.
	Squared = "squared"
)

// SquaredOffset makes the normalisation of Squared scores finite (FaaSConf's code).
const SquaredOffset = 0.001

// MeanField is an MLP over an agent's own features x_i and what it sees of the others:
//
//	Attention, Mean:  MLP([x_i, Σ_j w_ij x_j]),  j over Neighbours[i]; an agent without neighbours sees zeros
//	Joint:            MLP([x_1, …, x_n]), the same input for every agent
//
// where x is the concatenation of the input ports. Source: FaaSConf, eqs. 8–12; mean-field as Yang et al. (2018).
type MeanField struct {
	MLP `yaml:",inline"`
	// Mix is Attention, Mean or Joint.
	Mix string `json:"mix" yaml:"mix"`
	// Score is Exp or Squared, for Attention.
	Score string `json:"score,omitempty" yaml:"score,omitempty"`
	// Keys is the width of queries and keys, for Attention.
	Keys int `json:"keys,omitempty" yaml:"keys,omitempty"`
	// Neighbours lists, for each agent, those whose features it mixes; an agent may list itself. Not used by Joint.
	Neighbours [][]int `json:"neighbours,omitempty" yaml:"neighbours,omitempty"`
	// Others adds one input port after the others: the last port as the agents' neighbours are seen with it. In
	// an actor step where every agent varies its own action only, Forward(w, s, π(s), a) mixes neighbours j ≠ i
	// with a_j. An agent always sees itself (its own place in Joint, or listed among its neighbours) with π(s).
	Others bool `json:"others,omitempty" yaml:"others,omitempty"`
}

// Kind implements [Arch].
func (MeanField) Kind() string { return "mean-field" }

// Inputs implements [Arch]. With Others, a port of the last one's width follows.
func (m MeanField) Inputs() []Port {
	if !m.Others {
		return m.In
	}
	last := m.In[len(m.In)-1]
	return append(m.In[:len(m.In):len(m.In)], Port{"others'-" + last.Name, last.Width})
}

// OwnWidth is the number of one agent's own features.
func (m MeanField) OwnWidth() int { return width(m.In) }

// SeenWidth is the width of the MLP's input.
func (m MeanField) SeenWidth() int {
	if m.Mix == Joint {
		return m.Agents * m.OwnWidth()
	}
	return 2 * m.OwnWidth()
}

// SeesSelf says whether an agent lists itself among its neighbours.
func (m MeanField) SeesSelf() bool {
	for i, list := range m.Neighbours {
		if slices.Contains(list, i) {
			return true
		}
	}
	return false
}

// Parameters implements [Arch]: the MLP's, then for Attention query.weight and key.weight, each [own, Keys].
func (m MeanField) Parameters() []Param {
	ps := m.layers(m.SeenWidth())
	if m.Mix == Attention {
		own := m.OwnWidth()
		ps = append(ps,
			Param{"query.weight", []int{own, m.Keys}, fanIn(own)},
			Param{"key.weight", []int{own, m.Keys}, fanIn(own)})
	}
	return ps
}

// Validate implements [Arch].
func (m MeanField) Validate() error {
	if err := m.validate("mean-field"); err != nil {
		return err
	}
	if err := oneOf("mean-field", "mix", m.Mix, Attention, Mean, Joint); err != nil {
		return err
	}
	if m.Mix == Attention {
		if err := oneOf("mean-field", "score", m.Score, Exp, Squared); err != nil {
			return err
		}
		if err := validateWidth("mean-field", "keys", m.Keys); err != nil {
			return err
		}
	}
	if err := validateSize("mean-field", m.Groups(), m.Parameters()); err != nil {
		return err
	}
	if m.Mix == Joint {
		return nil
	}
	if len(m.Neighbours) != m.Agents {
		return fmt.Errorf("nets: mean-field: neighbours lists %d agents, want %d", len(m.Neighbours), m.Agents)
	}
	for i, list := range m.Neighbours {
		seen := map[int]bool{}
		for _, j := range list {
			if j < 0 || j >= m.Agents || seen[j] {
				return fmt.Errorf("nets: mean-field: neighbours[%d] has %d, want distinct agents in [0, %d)", i, j, m.Agents)
			}
			seen[j] = true
		}
	}
	return nil
}
