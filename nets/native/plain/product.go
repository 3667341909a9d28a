package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets/native/core"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// product does c += op(a)·op(b), where op transposes on request, c is [m, n] and k is the common dimension.
// Rows of a matrix start lda, ldb, ldc values apart. A factor of exactly 0 in a may be skipped: 0·NaN and 0·Inf
// can count as 0.
type product[T core.Number] func(ta, tb bool, m, n, k int, a []T, lda int, b []T, ldb int, c []T, ldc int)

// Below gonum's products go parallel at four blocks of 64×64, which allocates. Tiles of three stay on this
// goroutine, and the order of the sums is the same.
const block, serial = 64, 3

func mul32(ta, tb bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	tm, tn := tile(n)
	for i := 0; i < m; i += tm {
		for j := 0; j < n; j += tn {
			gonum.Implementation{}.Sgemm(trans(ta), trans(tb), min(tm, m-i), min(tn, n-j), k,
				1, a[offset(ta, i, lda):], lda, b[offset(!tb, j, ldb):], ldb, 1, c[i*ldc+j:], ldc)
		}
	}
}

func mul64(ta, tb bool, m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	tm, tn := tile(n)
	for i := 0; i < m; i += tm {
		for j := 0; j < n; j += tn {
			gonum.Implementation{}.Dgemm(trans(ta), trans(tb), min(tm, m-i), min(tn, n-j), k,
				1, a[offset(ta, i, lda):], lda, b[offset(!tb, j, ldb):], ldb, 1, c[i*ldc+j:], ldc)
		}
	}
}

// tile is the size of a tile of c.
func tile(n int) (rows, cols int) {
	if n <= block {
		return serial * block, block
	}
	return block, serial * block
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// offset is where line i of a matrix starts: a column, or a row of ld values.
func offset(column bool, i, ld int) int {
	if column {
		return i
	}
	return i * ld
}

// dot is Σ xᵢyᵢ, in four interleaved sums.
func dot[T core.Number](x, y []T) T {
	var s0, s1, s2, s3 T
	y = y[:len(x)]
	for len(x) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += v * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// axpy does y += a·x.
func axpy[T core.Number](a T, x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func exp[T core.Number](x T) T  { return T(math.Exp(float64(x))) }
func sqrt[T core.Number](x T) T { return T(math.Sqrt(float64(x))) }

// lerp does dst += t(src − dst).
func lerp[T core.Number](dst, src []T, t T) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] += t * (v - dst[i])
	}
}
