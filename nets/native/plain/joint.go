package plain

import "github.com/stoker-rl/stoker/nets/native/core"

// jointMix is what each agent sees of all, where it sees itself and the others by different ports:
//
//	m_i = [x̃_1, …, x_i, …, x̃_n],  ∂L/∂x_i = (∂L/∂m_i)_i,  ∂L/∂x̃_j = Σ_i≠j (∂L/∂m_i)_j
type jointMix[T core.Number] struct{ agents, batch, own int }

func (m *jointMix[T]) learns() bool { return false }

func (m *jointMix[T]) forward(s scene[T], mixture view[T]) {
	for i := range m.agents {
		for b := range m.batch {
			out := mixture.at(i, b, m.agents*m.own)
			for j := range m.agents {
				copy(out[j*m.own:], s.of(i, j, b, m.own))
			}
		}
	}
}

func (m *jointMix[T]) backward(_ scene[T], dmixture view[T], d scene[T], _, _ bool) {
	for i := range m.agents {
		for b := range m.batch {
			g := dmixture.at(i, b, m.agents*m.own)
			for j := range m.agents {
				axpy(1, g[j*m.own:][:m.own], d.of(i, j, b, m.own))
			}
		}
	}
}
