package plain

import "github.com/stoker-rl/stoker/nets/native/core"

// meanMix is the mean field (Yang et al., 2018), with d_i the number of agent i's neighbours:
//
//	m_i = Σ_j x_j/d_i,  ∂L/∂x_j += ∂L/∂m_i/d_i
//
// An agent without neighbours sees zeros.
type meanMix[T core.Number] struct {
	neighbours [][]int
	batch, own int
}

func (m *meanMix[T]) learns() bool { return false }

func (m *meanMix[T]) forward(s scene[T], mixture view[T]) {
	for i, list := range m.neighbours {
		for b := range m.batch {
			out := mixture.at(i, b, m.own)
			clear(out)
			for _, j := range list {
				axpy(1/T(len(list)), s.of(i, j, b, m.own), out)
			}
		}
	}
}

func (m *meanMix[T]) backward(_ scene[T], dmixture view[T], d scene[T], _, _ bool) {
	for i, list := range m.neighbours {
		for b := range m.batch {
			g := dmixture.at(i, b, m.own)
			for _, j := range list {
				axpy(1/T(len(list)), g, d.of(i, j, b, m.own))
			}
		}
	}
}
