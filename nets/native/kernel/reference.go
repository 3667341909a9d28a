package kernel

import "math"

// Reference returns the kernels in plain Go. They run on every architecture, and the assembly is tested against them.
func Reference() *Set {
	return &Set{
		Name: "go", Product: product, Vector: vector, Transpose: transpose, Dots: dots, RowDots: rowDots,
		Scores: scores, Mix: mix, Scatter: scatter, Pack: pack, ScoresTogether: scoresTogether,
		MixTogether: mixTogether, Softmax: softmax, SoftmaxBack: softmaxBack,
		Sigmoid: sigmoid, Tanh: tanh, SigmoidBack: sigmoidBack, TanhBack: tanhBack, ReLUBack: reluBack,
		Gumbel: gumbel, OneHot: oneHot,
		Norm: norm, NormBack: normBack, Axpy: axpy, Lerp: lerp, SumSquares: sumSquares, Adam: adam, Update: update,
		Peak: peak,
	}
}

func product(p *Product) {
	for m := range p.M {
		c := p.C[m*p.LDC:][:p.N]
		switch p.Start {
		case Zero:
			clear(c)
		case Bias:
			for n := range c {
				c[n] = p.Bias[m]
			}
		}
		for k := range p.K {
			a, b := p.A[k*p.AK+m*p.AM], p.B[k*p.LDB:][:p.N]
			for n := range c {
				c[n] += a * b[n]
			}
		}
		switch p.Finish {
		case ReLU:
			for n := range c {
				c[n] = max(c[n], 0)
			}
		case Mask:
			mask := p.Mask[m*p.LDM:][:p.N]
			for n := range c {
				if mask[n] <= 0 {
					c[n] = 0
				}
			}
		}
	}
}

func vector(y, x, w, bias []float32, relu bool) {
	n := len(y)
	clear(y)
	if bias != nil {
		copy(y, bias[:n])
	}
	for k, v := range x {
		axpy(v, w[k*n:][:n], y)
	}
	if relu {
		for i, v := range y {
			y[i] = max(v, 0)
		}
	}
}

func transpose(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	for c := range cols {
		row := dst[c*ldd:][:ldd]
		for r := range rows {
			row[r] = src[r*lds+c]
		}
		clear(row[rows:])
	}
}

func dots(out []float32, stride int, x []float32, rows int, d []float32) {
	for i := range rows {
		out[i*stride] += dot(x[i*len(d):], d)
	}
}

func rowDots(out, x, y []float32, t int) {
	for i := range out {
		out[i] += dot(x[i*t:], y[i*t:][:t])
	}
}

// dot is Σ xy over y's length: [Lanes] partial sums, added by tree.
func dot(x, y []float32) float32 {
	var s [Lanes]float32
	for i, v := range y {
		s[i%Lanes] += x[i] * v
	}
	return tree(&s)
}

func scores(out, q, base []float32, at []int32, rows, t int, scale float32) {
	for e, from := range at {
		o := out[e*t:][:t]
		clear(o)
		for u := range rows {
			x, y := q[u*t:][:t], base[int(from)+u*t:][:t]
			for l := range o {
				o[l] += x[l] * y[l]
			}
		}
		for l := range o {
			o[l] *= scale
		}
	}
}

func mix(out, w, base []float32, at []int32, rows, t int) {
	clear(out[:rows*t])
	for g := range rows {
		o := out[g*t:][:t]
		for e, from := range at {
			x, y := w[e*t:][:t], base[int(from)+g*t:][:t]
			for l := range o {
				o[l] += x[l] * y[l]
			}
		}
	}
}

func pack(dst, src []float32, stride, agents, rows, t int) {
	for v := 0; v < t; v += Lanes {
		for u := range rows {
			for i := range agents {
				copy(dst[:Lanes], src[i*stride+u*t+v:])
				dst = dst[Lanes:]
			}
		}
	}
}

func scoresTogether(out []float32, stride int, q, base []float32, at []int32, agents, rows, t int, scale float32) {
	for i := range agents {
		scores(out[i*stride:], unpack(q, i, agents, rows, t), base, at, rows, t, scale)
	}
}

func mixTogether(out []float32, stride int, w, base []float32, at []int32, agents, rows, t int) {
	for i := range agents {
		own := unpack(w, i, agents, len(at), t)
		for g := range rows {
			o := out[i*stride+g*t:][:t]
			for e, from := range at {
				x, y := own[e*t:][:t], base[int(from)+g*t:][:t]
				for l := range o {
					o[l] += x[l] * y[l]
				}
			}
		}
	}
}

// unpack returns agent i's rows of a packed slice.
func unpack(packed []float32, i, agents, rows, t int) []float32 {
	out := make([]float32, rows*t)
	for v := range t / Lanes {
		for u := range rows {
			copy(out[u*t+v*Lanes:][:Lanes], packed[((v*rows+u)*agents+i)*Lanes:])
		}
	}
	return out
}

func scatter(base []float32, at []int32, w, x []float32, rows, t int) {
	for e, from := range at {
		for g := range rows {
			o, a, b := base[int(from)+g*t:][:t], w[e*t:][:t], x[g*t:][:t]
			for l := range o {
				o[l] += a[l] * b[l]
			}
		}
	}
}

func softmax(w []float32, n, t int) {
	for l := range t {
		top := float32(math.Inf(-1))
		for e := range n {
			top = max(top, w[e*t+l])
		}
		var sum float32
		for e := range n {
			v := exp(w[e*t+l] - top)
			w[e*t+l] = v
			sum += v
		}
		for e := range n {
			w[e*t+l] /= sum
		}
	}
}

func softmaxBack(g, w []float32, n, t int, scale float32) {
	for l := range t {
		var sum float32
		for e := range n {
			sum += w[e*t+l] * g[e*t+l]
		}
		for e := range n {
			g[e*t+l] = scale * w[e*t+l] * (g[e*t+l] - sum)
		}
	}
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

func sigmoid(y []float32) {
	for i, v := range y {
		y[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func tanh(y []float32) {
	for i, v := range y {
		y[i] = float32(math.Tanh(float64(v)))
	}
}

func sigmoidBack(dst, y, g []float32) {
	for i, v := range g {
		dst[i] = v * (y[i] * (1 - y[i]))
	}
}

func tanhBack(dst, y, g []float32) {
	for i, v := range g {
		dst[i] = v * (1 - y[i]*y[i])
	}
}

func reluBack(dst, y, g []float32) {
	for i, v := range g {
		if y[i] <= 0 {
			v = 0
		}
		dst[i] = v
	}
}

func oneHot(out, y []float32, n, t int) {
	for l := range t {
		best := 0
		for e := range n {
			if y[e*t+l] > y[best*t+l] {
				best = e
			}
		}
		for e := range n {
			out[e*t+l] = y[l] - y[l] // 0, or NaN
		}
		out[best*t+l]++
	}
}

func gumbel(dst []float32, words []uint32) {
	for i, w := range words[:len(dst)] {
		u := (float64(w>>9) + 0.5) * 0x1p-23
		dst[i] = float32(-math.Log(-math.Log(u)))
	}
}

func norm(y, hat, scale, x, gain, offset []float32, t int, epsilon float32) {
	n := float32(len(gain))
	for l := range t {
		var sum, square float32
		for r := range gain {
			sum += x[r*t+l]
		}
		mean := sum / n
		for r := range gain {
			d := x[r*t+l] - mean
			square += d * d
		}
		s := 1 / float32(math.Sqrt(float64(square/n+epsilon)))
		scale[l] = s
		for r := range gain {
			h := (x[r*t+l] - mean) * s
			hat[r*t+l] = h
			y[r*t+l] = gain[r]*h + offset[r]
		}
	}
}

func normBack(g, hat, scale, gain []float32, t int) {
	n := float32(len(gain))
	for l := range t {
		var sum, along float32
		for r := range gain {
			v := gain[r] * g[r*t+l]
			sum += v
			along += v * hat[r*t+l]
		}
		for r := range gain {
			v := gain[r] * g[r*t+l]
			g[r*t+l] = (v - sum/n - hat[r*t+l]*(along/n)) * scale[l]
		}
	}
}

func axpy(a float32, x, y []float32) {
	for i, v := range x {
		y[i] += a * v
	}
}

func lerp(t float32, x, y []float32) {
	for i, v := range x {
		y[i] += t * (v - y[i])
	}
}

func sumSquares(x []float32) float64 {
	var s [Lanes]float64
	for i, v := range x {
		s[i%Lanes] += float64(v) * float64(v)
	}
	return tree(&s)
}

// tree adds partial sums as a binary tree: the upper half to the lower half, until one is left.
func tree[T float32 | float64](s *[Lanes]T) T {
	for n := Lanes / 2; n > 0; n /= 2 {
		for i := range n {
			s[i] += s[i+n]
		}
	}
	return s[0]
}

func adam(c *Adam, p, g, m, v []float32) {
	for i := range p {
		gc := c.Clip * g[i]
		m[i] = c.Beta1*m[i] + c.Rest1*gc
		v[i] = c.Beta2*v[i] + c.Rest2*gc*gc
		p[i] -= c.Rate * m[i] / (float32(math.Sqrt(float64(v[i])))*c.Scale + c.Epsilon)
	}
}

func update(c *Adam, p, m, v, target []float32, shards [][]float32, tau float32, clear bool) {
	for i := range p {
		sum := shards[0][i]
		for _, s := range shards[1:] {
			sum += s[i]
		}
		if clear {
			for _, s := range shards {
				s[i] = 0
			}
		}
		adam(c, p[i:i+1], []float32{sum}, m[i:i+1], v[i:i+1])
		if target != nil {
			target[i] += tau * (p[i] - target[i])
		}
	}
}

// peak does multiply-adds on eight independent sums.
func peak(n int) int {
	var s [8]float32
	done := 0
	for ; done < n; done += len(s) {
		for i := range s {
			s[i] += s[i] * 0.5
		}
	}
	if s[0] != 0 {
		return 0
	}
	return done
}
