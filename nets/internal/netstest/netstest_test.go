package netstest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
)

// defective is the native engine with one gradient a little wrong.
type defective struct {
	nets.Engine
	kind  string // of network, for defects in one
	loss  string
	where nets.Wrt
}

const defect = 1e-6

func (d defective) Loss(l nets.Loss, value, grad nets.Tensor, args ...nets.Tensor) {
	d.Engine.Loss(l, value, grad, args...)
	if l.LossName() == d.loss {
		d.Add(grad, defect, grad)
	}
}

func (d defective) NewNet(a nets.Arch) (nets.Net, error) {
	n, err := d.Engine.NewNet(a)
	if err == nil && a.Kind() == d.kind {
		n = defectiveNet{n, d}
	}
	return n, err
}

type defectiveNet struct {
	nets.Net
	d defective
}

func (n defectiveNet) Backward(w nets.Work, g nets.Tensor, wrt nets.Wrt) {
	n.Net.Backward(w, g, wrt)
	if n.d.where&nets.Params != 0 {
		n.d.Add(n.Grads(), defect, n.Grads())
	} else {
		n.d.Add(w.GradIn(1), defect, w.GradIn(1))
	}
}

func newNative(d nets.DType) nets.Engine { return native.New(native.Options{DType: d}) }

// A gradient wrong by a millionth is found where it is.
func TestDefectsAreFound(t *testing.T) {
	for _, d := range []defective{
		{kind: "mlp", where: nets.Params},
		{kind: "mean-field", where: nets.Inputs},
		{kind: "gumbel-softmax", where: nets.Inputs},
		{loss: "Huber"},
		{loss: "policy gradient"},
	} {
		d.Engine = newNative(nets.Float64)
		all := must.Get(netstest.Gradients(d, 1))(t)
		worst := netstest.Worst(all)
		if !(worst.Error > 0.9*defect && worst.Error < 1.1*defect) {
			t.Errorf("%+v: the worst is %v, want %g of the largest", d, worst, defect)
		}
		if d.where == nets.Params && worst.By != "parameters" || d.where == nets.Inputs && worst.By == "parameters" {
			t.Errorf("%+v: the worst is %v", d, worst)
		}
	}
}

func TestGradientsRefuses(t *testing.T) {
	if _, err := netstest.Gradients(newNative(nets.Float32), 1); err == nil || !strings.Contains(err.Error(), "want float64") {
		t.Errorf("float32: error %v", err)
	}
	if _, err := netstest.Gradients(failing{newNative(nets.Float64)}, 1); err == nil || !strings.Contains(err.Error(),
		"netstest: attention exp: ") {
		t.Errorf("error %v, want that of the first network", err)
	}
}

// failing is an engine whose copies fail.
type failing struct{ nets.Engine }

func (f failing) Copy(dst, _ nets.Tensor) { f.Engine.Copy(dst, nil) }

func TestWorst(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		errors []float64
		want   int
	}{{[]float64{1, 3, 2}, 1}, {[]float64{1, nan, 2}, 1}, {[]float64{nan, 3}, 0}} {
		var all []netstest.Gradient
		for i, e := range c.errors {
			all = append(all, netstest.Gradient{N: i, Error: e})
		}
		if got := netstest.Worst(all).N; got != c.want {
			t.Errorf("of %v the worst is number %d, want %d", c.errors, got, c.want)
		}
	}
}

func ExampleGradients() {
	all, err := netstest.Gradients(native.New(native.Options{DType: nets.Float64}), 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(netstest.Worst(all).Error < 1e-8)
	// Output: true
}
