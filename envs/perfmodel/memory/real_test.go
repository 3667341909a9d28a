package memory_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
)

// Six functions on AWS Lambda, 46 sizes, 100 warm runs each (pacslab/SLApp-PerfCost-MdlOpt). OptiServe's Fig. 3.1 and
// Fig. 5.1 state about 10 % for its exponential law.
func TestMeasuredFunctions(t *testing.T) {
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "slapp", "function_profiles.csv")))(t)
	defer f.Close()
	functions, samples, err := memory.Read(f)
	must.Do(t, err)
	if len(functions) != 6 {
		t.Fatalf("the file has functions %q, want six", functions)
	}
	var total, published float64
	for _, name := range functions {
		sizes := must.Get(memory.Sizes(samples[name]))(t)
		if len(sizes) != 46 {
			t.Errorf("%s: %d sizes, want 46", name, len(sizes))
		}
		fits := must.Get(memory.Choose(sizes, memory.Options{}))(t)
		plain := must.Get(memory.Choose(sizes, memory.Options{Plain: true}, memory.Exponential))(t)
		few := must.Get(memory.Fit(memory.Knee, memory.Few(sizes, 12), memory.Options{}))(t)
		var twelve float64
		for _, s := range sizes {
			twelve += math.Abs(few.Seconds(s.MB)/s.Mean-1) / float64(len(sizes))
		}
		for _, x := range fits {
			t.Logf("%s %-12s MAPE %.3f left out %.3f: %v", name, x.Law.Form(), x.MAPE, x.LeftOut, x.Law)
		}
		t.Logf("%s published: exponential by plain least squares, MAPE %.3f; knee from 12 sizes %.3f", name, plain[0].MAPE,
			twelve)
		total += fits[0].LeftOut / 6
		published += plain[0].LeftOut / 6
		if best := fits[0]; best.LeftOut > 0.045 {
			t.Errorf("%s: the best law errs by %.3f at sizes left out, want at most 0.045", name, best.LeftOut)
		}
	}
	if total > 0.6*published {
		t.Errorf("chosen laws err by %.4f, the published one by %.4f: want less than 0.6 of it", total, published)
	}
	t.Logf("mean over functions at sizes left out: chosen %.4f, published %.4f", total, published)
}
