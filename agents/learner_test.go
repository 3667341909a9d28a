package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// hostTensor is a tensor without an engine.
type hostTensor struct {
	shape []int
	data  []float32
}

func (t *hostTensor) Shape() []int      { return t.shape }
func (t *hostTensor) Set(src []float32) { copy(t.data, src) }
func (t *hostTensor) Get(dst []float32) { copy(dst, t.data) }
func (t *hostTensor) Set64(src []float64) {
	for i, x := range src {
		t.data[i] = float32(x)
	}
}
func (t *hostTensor) Get64(dst []float64) {
	for i, x := range t.data {
		dst[i] = float64(x)
	}
}

func TestTensorsInAState(t *testing.T) {
	s := NewState()
	a := &hostTensor{[]int{2, 2}, []float32{1, 2, 3, 4}}
	PutTensor(s.Weights, "w", a)
	a.Set(make([]float32, 4))
	must.Do(t, GetTensor(s.Weights, "w", a))
	if want := []float32{1, 2, 3, 4}; !slices.Equal(a.data, want) {
		t.Errorf("restored %v, want %v", a.data, want)
	}
	for name, c := range map[string]struct {
		key  string
		to   *hostTensor
		want string
	}{
		"missing":       {"v", a, `no array "v"`},
		"another shape": {"w", &hostTensor{[]int{4}, make([]float32, 4)}, `array "w" has shape [2 2], want [4]`},
	} {
		if err := GetTensor(s.Weights, c.key, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	s.Weights["w"] = Array{Shape: []int{2, 2}, Data: make([]float32, 3)}
	if GetTensor(s.Weights, "w", a) == nil {
		t.Error("an array cut short was accepted")
	}
	if _, err := s.GetBlob("stream"); err == nil || !strings.Contains(err.Error(), `"stream"`) {
		t.Errorf("a missing blob gave %v", err)
	}
}
