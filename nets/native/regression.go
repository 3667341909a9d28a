package native

// part is agent i's part of an operand that has the shape of arg 0.
func (c *lossCall[T]) part(t *tensor[T], i int) []T { return t.data[i*c.per:][:c.per] }

// squaredError is L = mean(d²), ∂L/∂x = 2d/n, d = x − y, over an agent's n values. Sums are taken in float64.
func (c *lossCall[T]) squaredError() {
	scale := 2 / T(c.per)
	for i := range c.agents {
		x, y, g := c.part(c.args[0], i), c.part(c.args[1], i), c.part(c.grad, i)
		sum := 0.0
		for j, v := range x {
			d := v - y[j]
			sum += float64(d) * float64(d)
			g[j] = scale * d
		}
		c.value.data[i] = T(sum / float64(c.per))
	}
}

// huber is the mean of ½d² where |d| ≤ δ and δ(|d| − ½δ) elsewhere; ∂L/∂x = d/n there and ±δ/n here (Huber, 1964).
func (c *lossCall[T]) huber(delta T) {
	scale := 1 / T(c.per)
	for i := range c.agents {
		x, y, g := c.part(c.args[0], i), c.part(c.args[1], i), c.part(c.grad, i)
		sum := 0.0
		for j, v := range x {
			d := v - y[j]
			switch {
			case d > delta:
				sum += float64(delta) * (float64(d) - float64(delta)/2)
				g[j] = scale * delta
			case d < -delta:
				sum += float64(delta) * (-float64(d) - float64(delta)/2)
				g[j] = -scale * delta
			default:
				sum += float64(d) * float64(d) / 2
				g[j] = scale * d
			}
		}
		c.value.data[i] = T(sum / float64(c.per))
	}
}

// ascent is L = −mean(x), ∂L/∂x = −1/n.
func (c *lossCall[T]) ascent() {
	slope := -1 / T(c.per)
	for i := range c.agents {
		g := c.part(c.grad, i)
		sum := 0.0
		for j, v := range c.part(c.args[0], i) {
			sum -= float64(v)
			g[j] = slope
		}
		c.value.data[i] = T(sum / float64(c.per))
	}
}

// penalty is L = coef·mean(x²), ∂L/∂x = 2coef·x/n.
func (c *lossCall[T]) penalty(coef T) {
	scale := 2 * coef / T(c.per)
	for i := range c.agents {
		g := c.part(c.grad, i)
		sum := 0.0
		for j, v := range c.part(c.args[0], i) {
			sum += float64(v) * float64(v)
			g[j] = scale * v
		}
		c.value.data[i] = T(float64(coef) * sum / float64(c.per))
	}
}
