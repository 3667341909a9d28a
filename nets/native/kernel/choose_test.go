package kernel

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	s, err := Named("go")
	if err != nil || s.Name != "go" {
		t.Errorf(`Named("go") = %v, %v`, s, err)
	}
	for _, name := range offered() {
		s, err := Named(name)
		if err != nil || s.Name != name {
			t.Errorf("Named(%q) = %v, %v", name, s, err)
		}
	}
	if _, err := Named("sse"); err == nil || !strings.Contains(err.Error(),
		`"sse"`) || !strings.Contains(err.Error(), "go") {
		t.Errorf(`Named("sse"): %v, want an error that says what there is`, err)
	}
	if best := Best(); best == nil != (len(offered()) == 0) || best != nil && best.Name != offered()[0] {
		t.Errorf("Best() = %v, offered %v", best, offered())
	}
	if runtime.GOARCH != "amd64" && Best() != nil {
		t.Errorf("assembly on %s", runtime.GOARCH)
	}
}

func ExampleNamed() {
	_, err := Named("neon")
	fmt.Println(strings.HasPrefix(err.Error(), `kernel: kernels are "neon", want one of those that this CPU offers: `))
	// Output: true
}

// No kernel allocates.
func TestAllocations(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	p := &Product{M: 7, N: 20, K: 3, AK: 7, AM: 1, A: f(21), B: f(60), LDB: 20, C: f(140), LDC: 20}
	big := &Product{M: 200, N: 300, K: 100, AK: 200, AM: 1, A: f(20000), B: f(30000), LDB: 300, C: f(60000), LDC: 300}
	x, y, z, u, at, shards, adam := f(40000), f(40000), f(40000), f(40000), []int32{0, 16, 0},
		[][]float32{f(40000), f(40000)}, &Adam{}
	words := make([]uint32, 40000)
	for _, s := range withReference(t) {
		for what, run := range map[string]func(){
			"Product":   func() { s.Product(p); s.Product(big) },
			"Vector":    func() { s.Vector(y[:100], x[:9], x[:900], z[:100], true) },
			"Transpose": func() { s.Transpose(y, 20, x, 17, 17, 9) }, "Dots": func() { s.Dots(y, 1, x, 17, z[:32]) },
			"RowDots": func() { s.RowDots(y[:17], x, z, 32) },
			"Scores":  func() { s.Scores(y, x, z, at, 3, 16, 1) }, "Mix": func() { s.Mix(y, x, z, at, 3, 16) },
			"Pack":    func() { s.Pack(y, x, 100, 4, 3, 16) },
			"Scatter": func() { s.Scatter(z, at, x, y, 3, 16) },
			"Softmax": func() { s.Softmax(x, 3, 16) }, "SoftmaxBack": func() { s.SoftmaxBack(x, y, 3, 16, 1) },
			"Sigmoid": func() { s.Sigmoid(x[:17]) }, "Tanh": func() { s.Tanh(x[:17]) },
			"ReLUBack": func() { s.ReLUBack(x, y, z[:17]) },
			"OneHot":   func() { s.OneHot(y, x, 3, 16) }, "Gumbel": func() { s.Gumbel(x, words) },
			"Norm": func() { s.Norm(x, y, z, x, u[:3], u, 16, 1) }, "NormBack": func() { s.NormBack(x, y, z, u[:3], 16) },
			"Axpy": func() { s.Axpy(1, x, y) }, "Lerp": func() { s.Lerp(0.5, x, y) }, "SumSquares": func() { s.SumSquares(x) },
			"Adam":   func() { s.Adam(adam, x, y, z, u) },
			"Update": func() { s.Update(adam, x, y, z, u, shards, 0.1, true) },
		} {
			if n := testing.AllocsPerRun(3, run); n != 0 {
				t.Errorf("%s of %s allocates %g times", what, s.Name, n)
			}
		}
	}
}

func TestPeak(t *testing.T) {
	for _, s := range withReference(t) {
		for _, n := range []int{0, 1, 1000, 3 * pieceProduct} {
			if done := s.Peak(n); done < n || done > n+1000 {
				t.Errorf("%s: %d multiply-adds, asked for %d", s.Name, done, n)
			}
		}
	}
}
