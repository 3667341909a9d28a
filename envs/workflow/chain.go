package workflow

// chain is a walk of one request over states 0 to n-1 that leaves by one of several exits: what a cyclic part of a
// workflow is as long as nothing runs in parallel.
//
// It is solved by the state reduction of Grassmann, Taksar and Heyman, which takes no differences: results are exact to
// about n roundings even where the walk hardly ever leaves, as in SLApp's worst case. Eliminating state k from states
// 0…k gives, with s_k = Σ_{j<k} p_kj + Σ_x p_kx,
//
//	p_ij += p_ik·p_kj / s_k   and   p_ix += p_ik·p_kx / s_k   for i, j < k and exits x,
//
// the walk as seen by somebody who looks away while it is in k. O(n³ + n²·exits).
type chain struct {
	n, exits int
	p        []float64 // row i: to states 0 to n-1, then to exits; column k as it is when k is eliminated
	sum      []float64 // s_k
}

func newChain(n, exits int) *chain {
	return &chain{n: n, exits: exits, p: make([]float64, n*(n+exits)), sum: make([]float64, n)}
}

func (c *chain) row(i int) []float64 { return c.p[i*(c.n+c.exits):][:c.n+c.exits] }

// solve eliminates the states. It returns a state from which the walk never leaves, or -1.
func (c *chain) solve() int {
	for k := c.n - 1; k >= 0; k-- {
		row := c.row(k)
		for j, p := range row {
			if j < k || j >= c.n {
				c.sum[k] += p
			}
		}
		if c.sum[k] <= 0 {
			return k
		}
		for i := range k {
			to := c.row(i)
			if to[k] == 0 {
				continue
			}
			f := to[k] / c.sum[k]
			for j := range k {
				to[j] += float64(f * row[j])
			}
			for x := c.n; x < len(row); x++ {
				to[x] += float64(f * row[x])
			}
		}
	}
	return -1
}

// visits returns the expected visits of each state by a walk that starts in state e.
func (c *chain) visits(e int) []float64 {
	v := make([]float64, c.n)
	v[e] = 1
	for k := c.n - 1; k > 0; k-- {
		if v[k] == 0 {
			continue
		}
		for j := range k {
			v[j] += float64(v[k] * (c.row(k)[j] / c.sum[k]))
		}
	}
	for k := range c.n {
		for j := range k {
			v[k] += float64(v[j] * c.row(j)[k])
		}
		v[k] /= c.sum[k]
	}
	return v
}

// leaves returns for each state the probability that a walk from there leaves by exit x.
func (c *chain) leaves(x int) []float64 {
	b := make([]float64, c.n)
	for k := range c.n {
		b[k] = c.row(k)[c.n+x]
		for j := range k {
			b[k] += float64(c.row(k)[j] * b[j])
		}
		b[k] /= c.sum[k]
	}
	return b
}
