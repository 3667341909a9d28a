package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// assemblies are the assembly sets that this CPU can run.
func assemblies(t testing.TB) []*Set {
	var sets []*Set
	for _, name := range offered() {
		s := must.Get(Named(name))(t)
		sets = append(sets, s)
	}
	if len(sets) == 0 {
		t.Skip("no assembly for this CPU")
	}
	return sets
}

// draws makes reproducible inputs with odd sizes and special values.
type draws struct {
	*rand.Rand
	t testing.TB
	// special is the probability that a value is NaN, infinite, denormal or zero.
	special float64
	// compared counts the values for which two assemblies gave the same bits.
	compared int
}

func newDraws(t testing.TB, seed uint64) *draws {
	return &draws{Rand: rand.New(rand.NewPCG(seed, 1)), t: t}
}

// between is a whole number from a to b.
func (d *draws) between(a, b int) int { return a + d.IntN(b-a+1) }

func (d *draws) value() float32 {
	if d.special > 0 && d.Float64() < d.special {
		odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-40, -1e-42, 0,
			float32(math.Copysign(0, -1))}
		return odd[d.IntN(len(odd))]
	}
	return 2*d.Float32() - 1
}

// slice is n values that end where a page without access begins.
func (d *draws) slice(n int) []float32 {
	s := guarded[float32](d.t, n)
	for i := range s {
		s[i] = d.value()
	}
	return s
}

// outputs holds a kernel's output for each set of kernels: copies with the same initial values, margin included.
type outputs struct {
	d *draws
	s [][]float32
}

const margin = 40

func (d *draws) output(n int) *outputs { return d.outputOf(d.slice(n)) }

func (d *draws) outputOf(x []float32) *outputs {
	o := outputs{d: d}
	for range 3 {
		c := guarded[float32](d.t, margin+len(x))
		for i := range margin {
			c[i] = float32(i) + 0.5
		}
		copy(c[margin:], x)
		o.s = append(o.s, c)
	}
	return &o
}

// of is the i-th set's copy.
func (o *outputs) of(i int) []float32 { return o.s[i][margin:] }

// check compares the outputs of all sets: with set 0, the reference, within tolerance (relative to values above 1),
// and between assemblies bit for bit. The margin before the outputs must be unchanged.
func (o *outputs) check(t *testing.T, what string, sets []*Set, tolerance float64) {
	t.Helper()
	for i := range sets {
		for j, v := range o.s[i] {
			if j < margin && v != float32(j)+0.5 {
				t.Fatalf("%s of %s: wrote %g %d before its output", what, sets[i].Name, v, margin-j)
			}
			want := o.s[0][j]
			if i > 0 && !near(v, want, tolerance) {
				t.Fatalf("%s of %s: [%d] = %g, want %g within %g", what, sets[i].Name, j-margin, v, want, tolerance)
			}
			if i > 1 && !same(v, o.s[1][j]) {
				t.Fatalf("%s: [%d] = %g (%x) of %s, want the bits of %s, %g (%x)", what, j-margin, v,
					math.Float32bits(v), sets[i].Name, sets[1].Name, o.s[1][j], math.Float32bits(o.s[1][j]))
			}
			if i > 1 && j >= margin {
				o.d.compared++
			}
		}
	}
}

func near(x, want float32, tolerance float64) bool {
	if x == want || x != x && want != want {
		return true
	}
	return math.Abs(float64(x)-float64(want)) <= tolerance*max(1, math.Abs(float64(want)))
}

// same compares bits; all NaN are equal.
func same(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// withReference puts the reference before the assemblies.
func withReference(t testing.TB) []*Set { return append([]*Set{Reference()}, assemblies(t)...) }

// measure runs a benchmark and returns ns per call of its fastest batch of about 20 µs: other work on the machine
// distorts the mean.
func measure(b *testing.B, f func()) float64 {
	b.Helper()
	f()
	start := b.Elapsed()
	f()
	batch := max(1, int(20*time.Microsecond/max(1, b.Elapsed()-start)))
	best := math.Inf(1)
	b.ReportAllocs()
	for b.Loop() {
		start := b.Elapsed()
		for range batch {
			f()
		}
		best = min(best, float64((b.Elapsed()-start).Nanoseconds())/float64(batch))
	}
	return best
}

// claim records that the assemblies agreed.
func (d *draws) claim(kernels string) {
	if d.compared > 0 {
		proof.Claim(d.t, proof.Row{Topic: "numerics",
			Claim: kernels + ": AVX-512 and AVX2 give the same bits, odd sizes, NaN, infinities and denormals among them",
			Bound: "equal", Measured: fmt.Sprintf("%d of %d float32 equal", d.compared, d.compared), Holds: true})
	}
}
