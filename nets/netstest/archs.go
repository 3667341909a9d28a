package netstest

import "github.com/stoker-rl/stoker/nets"

// Archs are networks of every kind in all their forms, for three agents and odd in their sizes, by name. Their
// activations are smooth but for "mlp relu".
func Archs() map[string]nets.Arch {
	ports := []nets.Port{{Name: "state", Width: 2}, {Name: "action", Width: 1}}
	mlp := func(change func(*nets.MLP)) nets.MLP {
		m := nets.MLP{Agents: 3, In: ports, Hidden: []int{5, 4}, Out: 2, Activation: nets.Tanh}
		if change != nil {
			change(&m)
		}
		return m
	}
	shared := func(m *nets.MLP) { m.Shared = true }
	norm := func(m *nets.MLP) { m.Norm, m.Shared = nets.LayerNorm, true }
	out := map[string]nets.Arch{
		"mlp tanh":          mlp(nil),
		"mlp relu":          mlp(func(m *nets.MLP) { m.Activation = nets.ReLU }),
		"mlp shared":        mlp(shared),
		"mlp one port":      mlp(func(m *nets.MLP) { m.In = ports[:1] }),
		"mlp no hidden":     mlp(func(m *nets.MLP) { m.Hidden = nil }),
		"mlp sigmoid":       mlp(func(m *nets.MLP) { m.Final = nets.Sigmoid }),
		"mlp final tanh":    mlp(func(m *nets.MLP) { m.Final = nets.Tanh }),
		"mlp norm":          mlp(func(m *nets.MLP) { m.Norm = nets.LayerNorm }),
		"mlp norm shared":   mlp(norm),
		"mlp one agent":     mlp(func(m *nets.MLP) { m.Agents, m.Shared = 1, true }),
		"gumbel":            nets.GumbelSoftmax{Agents: 3, Segments: []int{3, 1, 2}, Temperature: 0.7},
		"squashed action":   nets.SquashedGaussian{Agents: 3, Actions: 2},
		"squashed log-prob": nets.SquashedGaussian{Agents: 3, Actions: 2, LogProb: true},
		"soft value":        nets.SoftValue{Agents: 3},
	}
	for name, f := range fields() { // one hidden layer is enough here
		f.MLP = mlp(func(m *nets.MLP) { m.Hidden = []int{4} })
		out[name] = f
		f.Shared = true
		out[name+" shared"] = f
	}
	f := fields()["attention self exp"]
	f.MLP = mlp(norm)
	out["attention norm"] = f
	f = fields()["joint others"]
	f.MLP = mlp(norm)
	f.Shared = true
	out["joint others shared norm"] = f
	return out
}

// fields are the ways in which agents see each other: with an agent that sees nobody, or with agents that see
// themselves (self); with a port for the others' actions (others).
func fields() map[string]nets.MeanField {
	out := map[string]nets.MeanField{}
	for _, others := range []string{"", " others"} {
		joint := nets.MeanField{Mix: nets.Joint, Others: others != ""}
		out["joint"+others] = joint
		for self, list := range map[string][][]int{"": {{1}, {0, 2}, {}}, " self": {{0, 1}, {2, 0, 1}, {1}}} {
			mean := nets.MeanField{Mix: nets.Mean, Others: others != "", Neighbours: list}
			out["mean"+others+self] = mean
			for _, score := range []string{nets.Exp, nets.Squared} {
				attention := mean
				attention.Mix, attention.Score, attention.Keys = nets.Attention, score, 4
				out["attention"+others+self+" "+score] = attention
			}
		}
	}
	return out
}
