package plain

import "github.com/stoker-rl/stoker/nets/native/core"

// linear is a fully connected layer per agent, y = xW + b with W [in, out]; with no bias it is a projection.
// Where all agents share W and their inputs lie one after the other, agents and batch are one long batch.
type linear[T core.Number] struct {
	mul             product[T]
	agents, in, out int
	weight, bias    param[T]
	biased          bool
}

// forward sets y [agents, batch, out].
func (l *linear[T]) forward(batch int, x view[T], y []T) {
	if l.biased {
		for i := range l.agents {
			b := l.bias.value(i)
			for r := range batch {
				copy(y[(i*batch+r)*l.out:], b)
			}
		}
	} else {
		clear(y)
	}
	agents, rows := l.stacks(batch, x)
	for i := range agents {
		l.mul(false, false, rows, l.out, l.in, x.data[i*x.agent:], x.row, l.weight.value(i), l.out, y[i*rows*l.out:], l.out)
	}
}

// addParamGrads takes g = ∂L/∂y [agents, batch, out]:
//
//	∂L/∂W += xᵀg,  ∂L/∂b += Σ g over the batch
func (l *linear[T]) addParamGrads(batch int, x view[T], g []T) {
	agents, rows := l.stacks(batch, x)
	for i := range agents {
		l.mul(true, false, l.in, l.out, rows, x.data[i*x.agent:], x.row, g[i*rows*l.out:], l.out, l.weight.grad(i), l.out)
	}
	if !l.biased {
		return
	}
	for i := range l.agents {
		db := l.bias.grad(i)
		for r := range batch {
			for j, v := range g[(i*batch+r)*l.out:][:l.out] {
				db[j] += v
			}
		}
	}
}

// addInputGrads does ∂L/∂x += gWᵀ. Where all agents see one x, that sums over them.
func (l *linear[T]) addInputGrads(batch int, g []T, gx view[T]) {
	agents, rows := l.stacks(batch, gx)
	for i := range agents {
		l.mul(false, true, rows, l.in, l.out, g[i*rows*l.out:], l.out, l.weight.value(i), l.out, gx.data[i*gx.agent:], gx.row)
	}
}

// stacks says how many products of how many rows do the work.
func (l *linear[T]) stacks(batch int, x view[T]) (agents, rows int) {
	if l.weight.net.v.Groups == 1 && x.agent == batch*x.row {
		return 1, l.agents * batch
	}
	return l.agents, batch
}
