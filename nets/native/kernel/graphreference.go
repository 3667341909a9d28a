package kernel

import "math"

func weigh(w, p, q, extra []float32, src, in []int32, slope float32) {
	for r, s := range q {
		edges := w[in[r]:in[r+1]]
		if len(edges) == 0 {
			continue
		}
		top := float32(math.Inf(-1))
		for i := range edges {
			e := int(in[r]) + i
			z := p[src[e]] + s
			if len(extra) > 0 {
				z += extra[e]
			}
			if low := slope * z; !(z > low) {
				z = low
			}
			edges[i] = z
			if z > top {
				top = z
			}
		}
		var lane [Lanes]float32
		for i, z := range edges {
			v := float32(math.Exp(float64(z - top)))
			lane[i%Lanes] += v
			if !(z > 0) {
				v = float32(math.Copysign(float64(v), -1))
			}
			edges[i] = v
		}
		scale := 1 / tree(&lane)
		for i := range edges {
			edges[i] *= scale
		}
	}
}

func gather(out, w, x []float32, src, in []int32, t int) {
	for r := range len(in) - 1 {
		o := out[r*t:][:t]
		clear(o)
		for e := in[r]; e < in[r+1]; e++ {
			axpy(float32(math.Abs(float64(w[e]))), x[int(src[e])*t:][:t], o)
		}
	}
}

func combine(out, w, x []float32, in []int32, t int) {
	for r := range len(in) - 1 {
		o := out[r*t:][:t]
		clear(o)
		for e := in[r]; e < in[r+1]; e++ {
			axpy(float32(math.Abs(float64(w[e]))), x[int(e)*t:][:t], o)
		}
	}
}

func sums(out, x []float32, in []int32, t int) {
	for r := range len(in) - 1 {
		o := out[r*t:][:t]
		clear(o)
		for e := in[r]; e < in[r+1]; e++ {
			axpy(1, x[int(e)*t:][:t], o)
		}
	}
}

func spread(gx, dp, x, y []float32, edges []Edge, out, starts []int32, t int, slope float32) {
	for r := range dp {
		dp[r] = 0
		for _, i := range out[starts[r]:starts[r+1]] {
			e := &edges[i]
			row, a := y[int(e.To)*t:][:t], float32(math.Abs(float64(e.W)))
			axpy(a, row, gx[r*t:][:t])
			e.DZ = a * (dot(x[r*t:], row) + e.C)
			if math.Signbit(float64(e.W)) {
				e.DZ *= slope
			}
			dp[r] += e.DZ
		}
	}
}

func normRows(out, hat, scale, y, x, bias, gain, offset, keep []float32, n, epsilon float32) {
	t := len(bias)
	for r := range scale {
		h, o := hat[r*t:][:t], out[r*t:][:t]
		var lane [Lanes]float32
		for i, b := range bias {
			v := y[r*t+i] + b
			if x != nil {
				v += x[r*t+i]
			}
			h[i] = v
			lane[i%Lanes] += v
		}
		mean := tree(&lane) / n
		lane = [Lanes]float32{}
		for i := range h {
			d := float32(0)
			if math.Float32bits(keep[i]) != 0 {
				d = h[i] - mean
			}
			h[i] = d
			lane[i%Lanes] += d * d
		}
		scale[r] = 1 / float32(math.Sqrt(float64(tree(&lane)/n+epsilon)))
		for i := range h {
			h[i] *= scale[r]
			o[i] = max(gain[i]*h[i]+offset[i], 0)
		}
	}
}

func normRowsBack(grad, out, hat, scale, gain, keep, dgain, doffset, dbias []float32, n float32) {
	t := len(gain)
	for r := range scale {
		g, h := grad[r*t:][:t], hat[r*t:][:t]
		var all, along [Lanes]float32
		for i := range g {
			if out[r*t+i] <= 0 {
				g[i] = 0
			}
			dgain[i] += g[i] * h[i]
			doffset[i] += g[i]
			g[i] *= gain[i]
			all[i%Lanes] += g[i]
			along[i%Lanes] += g[i] * h[i]
		}
		mean, a := tree(&all)/n, tree(&along)/n
		for i := range g {
			v := (g[i] - mean - h[i]*a) * scale[r]
			if math.Float32bits(keep[i]) == 0 {
				v = 0
			}
			g[i] = v
			dbias[i] += v
		}
	}
}

func biasRows(out, y, x, bias []float32, rows int) {
	t := len(bias)
	for r := range rows {
		for i, b := range bias {
			v := y[r*t+i] + b
			if x != nil {
				v += x[r*t+i]
			}
			out[r*t+i] = max(v, 0)
		}
	}
}

func biasRowsBack(grad, out, dbias []float32, rows int) {
	t := len(dbias)
	for r := range rows {
		for i := range dbias {
			if out[r*t+i] <= 0 {
				grad[r*t+i] = 0
			}
			dbias[i] += grad[r*t+i]
		}
	}
}
