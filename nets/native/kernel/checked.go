package kernel

import "fmt"

// unchecked is a set of assembly functions: they believe that their slices are long enough.
type unchecked struct {
	Set
	product func(p *Product, m, rows, n, cols int)
}

// A call of assembly cannot be interrupted, and a collection of garbage waits for it: calls are cut into pieces of some 20 to 50 µs.
const (
	pieceProduct = 1 << 21 // multiply-adds
	pieceColumns = 256
)

// checked puts before each function of u what finds slices that are too short, by indexing.
func checked(u *unchecked) *Set {
	s := *Reference()
	s.Name = u.Name
	s.Product = func(p *Product) {
		if p.M <= 0 || p.N <= 0 {
			return
		}
		p.check()
		if p.M*p.N*p.K <= pieceProduct {
			u.product(p, 0, p.M, 0, p.N)
			return
		}
		cols := min(p.N, pieceColumns)
		rows := max(48, pieceProduct/(cols*p.K)/48*48) // a multiple of every tile's rows
		for n := 0; n < p.N; n += cols {
			for m := 0; m < p.M; m += rows {
				u.product(p, m, min(rows, p.M-m), n, min(cols, p.N-n))
			}
		}
	}
	return &s
}

// check panics unless all that the product touches is there.
func (p *Product) check() {
	if p.K < 0 || p.AK < 0 || p.AM < 0 || p.LDB < 0 || p.LDC < 0 || p.LDM < 0 {
		panic(fmt.Sprintf("kernel: product with K, AK, AM, LDB, LDC, LDM = %d, %d, %d, %d, %d, %d, want none negative", p.K, p.AK, p.AM, p.LDB, p.LDC, p.LDM))
	}
	m, n, k := p.M-1, p.N-1, p.K-1
	if k >= 0 {
		_ = p.A[k*p.AK+m*p.AM]
		_ = p.B[k*p.LDB+n]
	}
	_ = p.C[m*p.LDC+n]
	if p.Start == Bias {
		_ = p.Bias[m]
	}
	if p.Finish == Mask {
		_ = p.Mask[m*p.LDM+n]
	}
}
