package bench

import (
	"time"

	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/rng"
)

// productSize is the number of rows, columns and terms of the product measured.
const productSize = 64

// runProduct measures the matrix product with bias and ReLU, for each set of kernels that this processor runs, against
// the core's peak: multiply-adds in registers alone.
func runProduct(o Options, emit func(Result)) error {
	names := o.Kernels
	if len(names) == 0 {
		names = kernelNames()
	}
	for _, name := range names {
		set, err := kernel.Named(name)
		if err != nil {
			return err
		}
		startMemory()
		const n = productSize
		p := &kernel.Product{
			M: n, N: n, K: n, A: numbers(n * n), AK: n, AM: 1, B: numbers(n * n), LDB: n, C: make([]float32, n*n), LDC: n,
			Start: kernel.Bias, Bias: numbers(n), Finish: kernel.ReLU,
		}
		top := set
		if best := kernel.Best(); name == "go" && best != nil {
			top = best // the peak is the core's, whatever kernels are measured
		}
		// The peak is measured before and after, in case the clock rate changes meanwhile.
		before := peakOf(top, o.time()/4)
		s, err := o.measure(func() error {
			set.Product(p)
			return nil
		})
		if err != nil {
			return err
		}
		peak := max(before, peakOf(top, o.time()/4))
		r := Result{Bench: "product", What: "64x64x64", Engine: "native", Device: "cpu", Kernels: name, Threads: 1,
			GFLOPS: 2 * n * n * n / s.Nanoseconds}
		r.Peak, r.PartOfPeak = peak, r.GFLOPS/peak
		emit(o.fill(r, s))
	}
	return nil
}

// kernelNames lists the kernels that this processor runs.
func kernelNames() []string {
	var out []string
	for _, n := range []string{"avx512", "avx2", "go"} {
		if _, err := kernel.Named(n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// peakOf is GFLOP/s of multiply-adds in registers.
func peakOf(set *kernel.Set, wanted time.Duration) float64 {
	const chunk = 1 << 17
	done, start := 0, time.Now()
	for done == 0 || time.Since(start) < wanted {
		done += set.Peak(chunk)
	}
	return 2 * float64(done) / float64(time.Since(start))
}

func numbers(n int) []float32 {
	s, out := rng.NewStream(1, "bench product"), make([]float32, n)
	for i := range out {
		out[i] = float32(s.Float64()) - 0.5
	}
	return out
}
