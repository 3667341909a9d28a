package kernel

import (
	"fmt"
	"testing"
	"unsafe"
)

// The fields of Product are at the offsets that the generator assumes.
func TestProductLayout(t *testing.T) {
	var p Product
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"K", unsafe.Offsetof(p.K), 16}, {"A", unsafe.Offsetof(p.A), 24}, {"AK", unsafe.Offsetof(p.AK), 48},
		{"AM", unsafe.Offsetof(p.AM), 56},
		{"B", unsafe.Offsetof(p.B), 64}, {"LDB", unsafe.Offsetof(p.LDB), 88}, {"C", unsafe.Offsetof(p.C), 96},
		{"LDC", unsafe.Offsetof(p.LDC), 120},
		{"Start", unsafe.Offsetof(p.Start), 128}, {"Bias", unsafe.Offsetof(p.Bias), 136},
		{"Finish", unsafe.Offsetof(p.Finish), 160},
		{"Mask", unsafe.Offsetof(p.Mask), 168}, {"LDM", unsafe.Offsetof(p.LDM), 192},
	} {
		if unsafe.Sizeof(int(0)) == 8 && c.got != c.want {
			t.Errorf("Product.%s is at byte %d, the assembly takes it from %d", c.name, c.got, c.want)
		}
	}
}

func TestProduct(t *testing.T) {
	sets := withReference(t)
	try := func(d *draws, m, n, k int) {
		p := Product{
			M: m, N: n, K: k, LDB: n + d.IntN(3), LDC: n + d.IntN(3), LDM: n + d.IntN(3),
			Start: Start(d.IntN(3)), Finish: Finish(d.IntN(3)), Bias: d.slice(m),
		}
		p.AK, p.AM = 1, k+d.IntN(3)
		if d.IntN(2) == 0 {
			p.AK, p.AM = m+d.IntN(3), 1
		}
		p.Mask = d.slice((m-1)*p.LDM + n)
		if k > 0 {
			p.A, p.B = d.slice((k-1)*p.AK+(m-1)*p.AM+1), d.slice((k-1)*p.LDB+n)
		}
		c := d.output((m-1)*p.LDC + n)
		for i, s := range sets {
			p.C = c.of(i)
			s.Product(&p)
		}
		c.check(t, fmt.Sprintf("product %d×%d×%d, start %d, finish %d", m, n, k, p.Start, p.Finish), sets, 3e-7*float64(k+4))
	}
	d := newDraws(t, 1)
	for m := 1; m <= 34; m++ {
		for n := 1; n <= 81; n += 1 + d.IntN(4) {
			try(d, m, n, d.IntN(9))
		}
	}
	for range 200 {
		try(d, d.between(1, 70), d.between(1, 140), d.between(0, 80))
	}
	d.special = 0.02
	for range 300 {
		try(d, d.between(1, 20), d.between(1, 70), d.between(0, 6))
	}
	d.special = 0
	try(d, 203, 301, 150) // more than one piece
	d.claim("Product")
}

// A layer of three inputs and two outputs on a tile of 16 samples, of which the second is (1, 2, 3).
func ExampleSet() {
	k := Best()
	if k == nil {
		k = Reference()
	}
	x, y := make([]float32, 3*Lanes), make([]float32, 2*Lanes)
	x[1], x[Lanes+1], x[2*Lanes+1] = 1, 2, 3
	k.Product(&Product{
		M: 2, N: Lanes, K: 3,
		A: []float32{1, -1, 0, -2, 2, -3}, AK: 2, AM: 1, // from input k to output m: A[2k + m]
		B: x, LDB: Lanes, C: y, LDC: Lanes,
		Start: Bias, Bias: []float32{0.5, 1}, Finish: ReLU,
	})
	fmt.Println(y[1], y[Lanes+1])
	// Output: 7.5 0
}
