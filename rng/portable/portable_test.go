package portable

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"testing"
)

// points returns n+1 equally spaced numbers, their ends included.
func points(lo, hi float64, n int) []float64 {
	out := make([]float64, n+1)
	for i := range out {
		out[i] = lo + float64((hi-lo)*float64(i)/float64(n))
	}
	return out
}

// ulps is the distance between two numbers in units in the last place.
func ulps(a, b float64) float64 {
	if a == b || (a != a && b != b) {
		return 0
	}
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

// Package math is within one unit of the exact result, so two programs are within three of each other.
func TestAgreesWithMath(t *testing.T) {
	for _, c := range []struct {
		name     string
		got, ref func(float64) float64
		lo, hi   float64
		most     float64
	}{
		{"exp", Exp, math.Exp, -708, 709, 2},
		{"exp near 0", Exp, math.Exp, -1, 1, 2},
		{"exp subnormal", Exp, math.Exp, -745, -708.4, 2},
		{"log", Log, math.Log, 1e-3, 1e4, 2},
		{"log near 1", Log, math.Log, 0.6, 1.6, 2},
		{"log1p", Log1p, math.Log1p, -0.999, 100, 3},
		{"log1p near 0", Log1p, math.Log1p, -1e-6, 1e-6, 2},
		{"sin", Sin, math.Sin, -math.Pi / 4, math.Pi / 4, 2},
		{"cos", Cos, math.Cos, -math.Pi / 4, math.Pi / 4, 2},
	} {
		worst, at := 0.0, 0.0
		for _, x := range points(c.lo, c.hi, 100_003) {
			if d := ulps(c.got(x), c.ref(x)); d > worst || d != d {
				worst, at = d, x
			}
		}
		if !(worst <= c.most) {
			t.Errorf("%s differs by %g units in the last place at %g, want at most %g", c.name, worst, at, c.most)
		}
	}
}

// Where sine and cosine pass through zero only the absolute error is small.
func TestAnglesAbsolute(t *testing.T) {
	for _, x := range points(-1e4, 1e4, 100_003) {
		s, c := Sincos(x)
		if math.Abs(s-math.Sin(x)) > 3e-16 || math.Abs(c-math.Cos(x)) > 3e-16 {
			t.Fatalf("at %g: sin %g, cos %g, want %g, %g", x, s, c, math.Sin(x), math.Cos(x))
		}
	}
}

func TestNormQuantile(t *testing.T) {
	// Published with the algorithm, and symmetric counterparts.
	for p, want := range map[float64]float64{0.25: -0.6744897501960817, 0.001: -3.090232306167814,
		1e-20: -9.262340089798408, 0.75: 0.6744897501960817, 0.5: 0} {
		if got := NormQuantile(p); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("quantile of %g is %.17g, want %.17g", p, got, want)
		}
	}
	for _, p := range points(1e-6, 1-1e-6, 10_001) {
		// Φ(x) = erfc(−x/√2)/2 takes the quantile back; near 1 it loses the digits that p itself has lost.
		if back := math.Erfc(-NormQuantile(p)/math.Sqrt2) / 2; math.Abs(back-p) > 4e-16*(1+1/(1-p)*p) {
			t.Fatalf("Φ of the quantile of %g is %g", p, back)
		}
	}
}

// Against 200 bits: e = Σ 1/n! scaled to e^(1/8), and ln 2 from log's own double.
func TestAgainstBigNumbers(t *testing.T) {
	sum, term := big.NewFloat(1).SetPrec(200), big.NewFloat(1).SetPrec(200)
	for n := 1; n < 40; n++ {
		term.Quo(term, big.NewFloat(float64(8*n)).SetPrec(200))
		sum.Add(sum, term)
	}
	want, _ := sum.Float64()
	if got := Exp(0.125); ulps(got, want) > 1 {
		t.Errorf("exp(1/8) is %.17g, want %.17g", got, want)
	}
	if got := Log(2); got != math.Ln2 {
		t.Errorf("ln 2 is %.17g, want %.17g", got, math.Ln2)
	}
}

func TestEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"exp(-inf)", Exp(-inf), 0}, {"exp(inf)", Exp(inf), inf}, {"exp(nan)", Exp(nan), nan}, {"exp(0)", Exp(0), 1},
		{"exp(710)", Exp(710), inf}, {"exp(-746)", Exp(-746), 0},
		{"log(0)", Log(0), -inf}, {"log(-1)", Log(-1), nan}, {"log(inf)", Log(inf), inf}, {"log(1)", Log(1), 0}, {"log(nan)",
			Log(nan), nan},
		{"log1p(-1)", Log1p(-1), -inf}, {"log1p(-2)", Log1p(-2), nan}, {"log1p(inf)", Log1p(inf), inf}, {"log1p(nan)",
			Log1p(nan), nan},
		{"log1p(1e-300)", Log1p(1e-300), 1e-300},
		{"sin(0)", Sin(0), 0}, {"cos(0)", Cos(0), 1}, {"sin(inf)", Sin(inf), nan}, {"cos(nan)", Cos(nan), nan},
		{"pow(0,2)", Pow(0, 2), 0}, {"pow(0,-2)", Pow(0, -2), inf}, {"pow(2,0)", Pow(2, 0), 1}, {"pow(-1,2)", Pow(-1, 2),
			nan},
		{"pow(inf,2)", Pow(inf, 2), inf},
		{"quantile(0)", NormQuantile(0), -inf}, {"quantile(1)", NormQuantile(1), inf}, {"quantile(2)", NormQuantile(2), nan},
		{"quantile(nan)", NormQuantile(nan), nan},
	} {
		if c.got != c.want && !(c.got != c.got && c.want != c.want) {
			t.Errorf("%s is %g, want %g", c.name, c.got, c.want)
		}
	}
	if p := Pow(3, 2.5); math.Abs(p-15.588457268119896) > 1e-14 {
		t.Errorf("3^2.5 is %.17g", p)
	}
}

// The bits themselves, recorded on amd64. Another architecture, GOAMD64 level or processor must give the same; if this
// test fails there, a product somewhere is fused with a sum.
func TestBits(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      func(float64) float64
		lo, hi float64
		want   string
	}{
		{"exp", Exp, -20, 20, "dd876ce5a97de276"},
		{"log", Log, 1e-6, 50, "52876cbe96d98ead"},
		{"log1p", Log1p, -0.9, 9, "c19c640e8e77f1c1"},
		{"sin", Sin, -9, 9, "80ce27303b4ab189"},
		{"cos", Cos, -9, 9, "cf6d6e8e567f9e83"},
		{"quantile", NormQuantile, 1e-9, 1 - 1e-9, "92f40ba488417a98"},
	} {
		h := fnv.New64a()
		for _, x := range points(c.lo, c.hi, 20_000) {
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(c.f(x))))
		}
		if got := fmt.Sprintf("%016x", h.Sum64()); got != c.want {
			t.Errorf("%s: hash of the results is %s, was %s", c.name, got, c.want)
		}
	}
}

func BenchmarkExp(b *testing.B)    { benchmark(b, Exp) }
func BenchmarkLog(b *testing.B)    { benchmark(b, Log) }
func BenchmarkSin(b *testing.B)    { benchmark(b, Sin) }
func BenchmarkNormal(b *testing.B) { benchmark(b, NormQuantile) }

func benchmark(b *testing.B, f func(float64) float64) {
	b.ReportAllocs()
	sum := 0.0
	for i := range b.N {
		sum += f(float64(i&1023+1) / 1025)
	}
	_ = sum
}
