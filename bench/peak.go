package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
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

// peakOf is GFLOP/s of multiply-adds in registers.
func peakOf(set *kernel.Set, wanted time.Duration) float64 {
	const chunk = 1 << 17
	done, start := 0, time.Now()
	for done == 0 || time.Since(start) < wanted {
		done += set.Peak(chunk)
	}
	return 2 * float64(done) / float64(time.Since(start))
}

// Widths of the network whose update is held against the peak: those of a sizing function's observation and action.
const (
	stepInputs  = 24
	stepOutputs = 4
)

// runStep measures a training step of a network with two hidden layers, by width and batch: forward pass, squared
// error, gradients of the parameters, Adam. Its operations are the multiply-adds of the layers alone, against the peak of
// these kernels on as many cores as there are threads.
func runStep(o Options, emit func(Result)) error {
	if o.engine() != engines.Native {
		return nil // the peak is a core's
	}
	widths := []int{64, 128, 256}
	if o.Hidden > 0 {
		widths = []int{o.Hidden}
	}
	for _, h := range widths {
		for _, b := range orDefault(o.Batch, 64, 256, 1024) {
			err := o.each(func(e nets.Engine, i nets.Info) error {
				run, err := newStep(e, h, b)
				if err != nil {
					return err
				}
				set, err := kernel.Named(i.Kernels)
				if err != nil {
					return err
				}
				before := peakOf(set, o.time()/4)
				s, err := o.measure(run)
				if err != nil {
					return err
				}
				peak := max(before, peakOf(set, o.time()/4)) * float64(max(i.Threads, 1))
				forward, inputs := stepInputs*h+h*h+h*stepOutputs, h*h+h*stepOutputs
				r := Result{Bench: "step", What: fmt.Sprintf("width %d, batch %d", h, b), Hidden: h, Batch: b, UpdatesPerSecond: s.perSecond(),
					GFLOPS: float64(2*b*(2*forward+inputs)) / s.Nanoseconds, Peak: peak}.of(i)
				r.PartOfPeak = r.GFLOPS / peak
				emit(o.fill(r, s))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// newStep returns a training step on a fixed batch.
func newStep(e nets.Engine, hidden, batch int) (func() error, error) {
	a := nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: stepInputs}}, Hidden: []int{hidden, hidden},
		Out: stepOutputs, Activation: nets.ReLU}
	net, err := e.NewNet(a)
	if err != nil {
		return nil, err
	}
	adam, err := e.NewAdam(net, nets.Adam{Rate: 1e-4})
	if err != nil {
		return nil, err
	}
	net.Params().Set(nets.InitialParams(a, rng.New(1, "bench")))
	in, want := []nets.Tensor{e.NewTensor(1, batch, stepInputs)}, e.NewTensor(1, batch, stepOutputs)
	in[0].Set(numbers(batch * stepInputs))
	want.Set(numbers(batch * stepOutputs))
	w, slope, value, terms := net.NewWork(batch), e.NewTensor(1, batch, stepOutputs), e.NewTensor(1), []nets.Tensor{nil, want}
	step := e.Record("bench step", func() {
		terms[0] = net.Forward(w, in...)
		e.Loss(nets.SquaredError{}, value, slope, terms...)
		net.ZeroGrads()
		net.Backward(w, slope, nets.Params)
		adam.Step()
	})
	return func() error {
		adam.Advance()
		return errors.Join(step.Run(), e.Err())
	}, nil
}
