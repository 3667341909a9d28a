package native

// param is one parameter of every group within the net's flat vectors.
type param[T number] struct {
	net          *net[T]
	offset, size int
}

// value returns the parameter of an agent's group.
func (p param[T]) value(agent int) []T { return p.net.params.data[p.start(agent):][:p.size] }

// grad returns the parameter's gradient of an agent's group.
func (p param[T]) grad(agent int) []T { return p.net.grads.data[p.start(agent):][:p.size] }

func (p param[T]) start(agent int) int {
	if p.net.groups == 1 {
		agent = 0
	}
	return agent*p.net.size + p.offset
}

// in returns the parameter's part, for an agent's group, of another vector laid out like the net's parameters.
func (p param[T]) in(v []T, agent int) []T { return v[p.start(agent):][:p.size] }
