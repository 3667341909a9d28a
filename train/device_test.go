package train

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// A named device is used as it is; auto follows the rule: the learner's size and what the program has.
func TestChoose(t *testing.T) {
	all := []string{"native", "torch", "gorgonia"}
	large := "agent.batch=1000000"
	for name, c := range map[string]struct {
		sets []string
		gpus int
		have []string
		want Choice
		why  string
	}{
		"no GPU":    {nil, 0, all, Choice{"native", "cpu", ""}, "there is no GPU"},
		"few":       {nil, 1, all, Choice{"native", "cpu", ""}, "are few for a GPU"},
		"named CPU": {[]string{"engine.device=cpu"}, 1, all, Choice{"native", "cpu", ""}, ""},
		"named GPU": {[]string{"engine.name=torch", "engine.device=cuda:1"}, 0, all,
			Choice{"torch", "cuda:1", ""}, ""},
		"torch with GPU":    {[]string{"engine.name=torch"}, 2, all, Choice{"torch", "cuda:0", ""}, "there is a GPU"},
		"torch without GPU": {[]string{"engine.name=torch"}, 0, all, Choice{"torch", "cpu", ""}, "there is no GPU"},
		"gorgonia": {[]string{"engine.name=gorgonia"}, 1, all, Choice{"gorgonia", "cpu", ""},
			"gorgonia runs there only"},
		"float64": {[]string{"engine.dtype=float64"}, 1, all, Choice{"native", "cpu", ""}, "float32"},
		"large but 3 agents": {[]string{large, "agent.replay=2000000"}, 1, all, Choice{"native", "cpu", ""},
			"3 agents × 1000000 samples are few"},
	} {
		x := parse(t, small["spread"], c.sets...)
		got, err := Choose(x, c.gpus, c.have)
		must.Do(t, err)
		why := got.Why
		got.Why = ""
		if got != c.want || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %+v because %q, want %+v because %q", name, got, why, c.want, c.why)
		}
	}
}

// crowd is the configuration of a learner with updates of a size that the rule sends to a GPU.
type crowd struct{}

func (crowd) UpdateSize(*envs.Spec) (agents, batch int) { return 100_000, 100_000 }

func TestChooseBySize(t *testing.T) {
	x := parse(t, small["spread"])
	x.Agent.Config = crowd{}
	got, err := Choose(x, 1, []string{"native", "torch"})
	must.Do(t, err)
	if got.Engine != "torch" || got.Device != "cuda:0" || !strings.Contains(got.Why, "100000 agents × 100000 samples") {
		t.Errorf("chose %+v, want torch on cuda:0", got)
	}
	x.Agent.Config = struct{}{} // another learner
	if got, err = Choose(x, 1, []string{"native", "torch"}); err != nil || got.Engine != "native" ||
		!strings.Contains(got.Why, "doesn't know") {
		t.Errorf("for a learner of no size chose %+v, %v, want native", got, err)
	}
	x.Agent.Config = crowd{}
	got, err = Choose(x, 1, []string{"native"})
	must.Do(t, err)
	if got.Engine != "native" || got.Device != "cpu" || !strings.Contains(got.Why, "make cuda") {
		t.Errorf("without libtorch chose %+v, want native on cpu and what to do", got)
	}
}

// A run whose device is auto says in one line and in run.json where it trains and why; one whose device is named says
// nothing.
func TestRunSaysWhereItTrains(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	for device, want := range map[string]string{"auto": "engine.device auto: native on cpu, since there is no GPU\n",
		"cpu": ""} {
		runs := t.TempDir()
		o := options(runs)
		var out bytes.Buffer
		o.Out = &out
		_, err := Start(context.Background(), parse(t, small["lqr"], "engine.device="+device), o)
		must.Do(t, err)
		if n := strings.Count(out.String(), "engine.device auto"); want != "" &&
			(n != 1 || !strings.Contains(out.String(), want)) ||
			want == "" && n != 0 {
			t.Errorf("device %s: said %q, want %q once", device, &out, want)
		}
		var d description
		raw, err := os.ReadFile(filepath.Join(runs, "a", checkpoints.RunFile))
		must.Do(t, err)
		must.Do(t, json.Unmarshal(raw, &d))
		if got := d.Sessions[0].Auto; (got != "") != (want != "") || !strings.Contains(want, got) {
			t.Errorf("device %s: run.json says %q", device, got)
		}
	}
}

func TestGPUsThatTheProcessMayNotSee(t *testing.T) {
	for _, hidden := range []string{"", "-1"} {
		t.Setenv("CUDA_VISIBLE_DEVICES", hidden)
		if n := GPUs(); n != 0 {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: %d GPUs, want 0", hidden, n)
		}
	}
}
