package workload

import (
	_ "embed"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// Invocations and the coefficient of variation of their total per minute, as the data's description gives them.
func TestEmbedded(t *testing.T) {
	tr := must.Get(Embedded())(t)
	s := tr.Stats()
	if len(tr.Functions) != 50 || tr.Minutes != 1440 || s.Total != 179342 || math.Abs(s.CV-1.06) > 0.005 ||
		s.Peak != 2667 {
		t.Errorf("the embedded trace has %d functions and %s", len(tr.Functions), s)
	}
	if r := tr.Report; r.String() != "" || len(r.Files) != 3 {
		t.Errorf("its report is %+v", r)
	}
	f := tr.Functions[1]
	if f.Duration.Samples != 312 || f.Duration.Average != 8951 || f.Duration.P99 != 45177 || f.Memory.Samples == 0 {
		t.Errorf("its second function is %+v", f.Duration)
	}
	for _, want := range []string{"CC-BY 4.0", "Shahrad", "In-Vitro", "Azure Functions Trace 2019"} {
		if !strings.Contains(Attribution(), want) {
			t.Errorf("the attribution does not name %s", want)
		}
	}
}

func data(t *testing.T) string {
	t.Helper()
	return filepath.Join(realdata.Dir(t), "azure2019")
}

func TestRealSamples(t *testing.T) {
	dir := data(t)
	for sample, total := range map[int]uint64{50: 179342, 100: 513418} {
		tr := must.Get(ReadTrace(dir, ReadOptions{Sample: sample}))(t)
		if len(tr.Functions) != sample || tr.Total() != total || tr.Minutes != 1440 || tr.Report.String() != "" {
			t.Errorf("sample %d: %d functions, %d invocations, %s; want %d invocations", sample, len(tr.Functions), tr.Total(),
				tr.Report.String(), total)
		}
		if sample == 50 {
			embedded, err := Embedded()
			if err != nil || !reflect.DeepEqual(embedded.Functions, tr.Functions) {
				t.Errorf("the embedded trace differs from the folder's (%v)", err)
			}
		}
		sum, err := ReadTrace(dir, ReadOptions{Sample: sample, Total: true})
		if err != nil || sum.Total() != total {
			t.Errorf("sample %d in total: %v", sample, err)
		}
	}
	if _, err := ReadTrace(dir, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "50, 100") {
		t.Errorf("a folder with two samples: %v", err)
	}
	c := Default()
	c.Path, c.Sample, c.Factor = dir, 100, 2
	s := must.Get(Open(c))(t)
	var n int
	a := must.Get(s.Arrivals(1))(t)
	for _, ok := a.Next(); ok; _, ok = a.Next() {
		n++
	}
	if n != 2*513418 {
		t.Errorf("%d arrivals at factor 2, want %d", n, 2*513418)
	}
}

// Attribution returns the author and the licence of the embedded trace, as that licence requires.
func Attribution() string { return attribution }

//go:embed data/ATTRIBUTION
var attribution string
