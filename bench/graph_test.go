package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/engines"
)

// The random graph has the peer's sizes, training reduces the loss, and a measurement has both times.
func TestGraphRun(t *testing.T) {
	e := must.Get(engines.Open(engines.Native, engines.Options{}))(t)
	r := must.Get(newGraphRun(e, 16, 4000))(t)
	for k, want := range []int{125, 31, 344} {
		if got := r.batch.Nodes[k].Rows(); got != want {
			t.Errorf("%d nodes of kind %d, want %d", got, k, want)
		}
	}
	for k := range r.batch.Edges {
		if got := len(r.batch.Edges[k].From); got != 1000 {
			t.Errorf("%d edges of kind %d, want 1000", got, k)
		}
	}
	value := func() float64 {
		must.Do(t, r.infer())
		return float64(r.v[0])
	}
	before := value()
	for range 30 {
		must.Do(t, r.step())
	}
	if after := value(); (after-1)*(after-1) >= (before-1)*(before-1) {
		t.Errorf("the value went from %g to %g, want it nearer to 1", before, after)
	}
	got, err := Options{Time: time.Millisecond}.graph(e, 1000, 16)
	if err != nil || got.Edges != 1000 || got.Hidden != 16 || !(got.InferenceSeconds > 0) || !(got.StepSeconds > 0) {
		t.Errorf("measured %+v, %v", got, err)
	}
}

// Every engine of this build is measured by name; for one that is missing, the error says how to build it.
func TestGraphEngines(t *testing.T) {
	for _, name := range []string{engines.Native, engines.Gorgonia, engines.Torch} {
		var got []Result
		err := runGraph(Options{Engine: name, Device: "cpu", Edges: []int{200}, Hidden: 8, Time: time.Millisecond},
			func(r Result) { got = append(got, r) })
		if err != nil {
			advice := map[string]string{engines.Torch: "make cuda", engines.Gorgonia: "go build -tags gorgonia"}[name]
			if advice == "" || !strings.Contains(err.Error(), advice) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if len(got) != 1 || got[0].Engine != name || !(got[0].StepSeconds > 0) {
			t.Errorf("%s: measured %+v", name, got)
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	e := must.Get(engines.Open(engines.Native, engines.Options{}))(b)
	for _, edges := range []int{1_000, 10_000, 100_000, 1_000_000} {
		r := must.Get(newGraphRun(e, 64, edges))(b)
		for _, f := range []struct {
			name string
			do   func() error
		}{{"infer", r.infer}, {"step", r.step}} {
			b.Run(fmt.Sprintf("%d/%s", edges, f.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must.Do(b, f.do())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(edges), "ns/edge")
			})
		}
	}
}
