package fit

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

func experiment(t *testing.T, sets ...string) *configs.Experiment {
	t.Helper()
	x := must.Get(configs.Load("sizing/attmf", append([]string{"env.windows=4", "env.warmup=1", "workload.factor=0.3"}, sets...),
		catalog.Default()))(t)
	return x
}

func short() Options {
	return Options{Evaluations: 240, Population: 16, Episodes: 3, Seed: 1, Workers: 2}
}

// A short search ends better than it began, on episodes that it has not seen, and the same with any number of workers.
func TestRun(t *testing.T) {
	x, o := experiment(t), short()
	var reports []Progress
	o.Progress = func(p Progress) { reports = append(reports, p) }
	a := must.Get(Run(t.Context(), x, "rule", o))(t)
	f := &a.Found
	if f.Numbers != 33 || f.Evaluations != 240 || f.Generations != 5 || f.Seeds != "4001-4100" {
		t.Errorf("found %+v", f)
	}
	if f.After["return"] <= f.Before["return"] {
		t.Errorf("the return falls from %v to %v", f.Before["return"], f.After["return"])
	}
	if len(reports) != 5 || reports[4].Evaluations != 240 || reports[4].Left != 0 || reports[4].Best < reports[4].Mean {
		t.Errorf("progress is %+v", reports)
	}
	o.Workers, o.Progress = 1, nil
	b := must.Get(Run(t.Context(), x, "rule", o))(t)
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	if string(one) != string(other) {
		t.Error("one worker finds something else than two")
	}
}

// A baseline that the experiment lists keeps its keys.
func TestListedBaseline(t *testing.T) {
	r := must.Get(Run(t.Context(), experiment(t, "eval.baselines=[{name: autoscaler, cpu: 0.35}]"), "autoscaler", short()))(t)
	if b, _ := json.Marshal(r.Config); !strings.Contains(string(b), `"cpu":0.35`) || r.Found.Numbers != 24 {
		t.Errorf("found %s with %d numbers", b, r.Found.Numbers)
	}
}

func TestRefuses(t *testing.T) {
	x := experiment(t)
	few := short()
	few.Evaluations = 47
	for want, run := range map[string]func() (*Result, error){
		"there is no policy \"nobody\"":            func() (*Result, error) { return Run(t.Context(), x, "nobody", short()) },
		"fixed has no numbers to search for; auto": func() (*Result, error) { return Run(t.Context(), x, "fixed", short()) },
		"47 evaluations with 16 candidates":        func() (*Result, error) { return Run(t.Context(), x, "rule", few) },
	} {
		_, err := run()
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, train.ErrUsage) {
			t.Errorf("%s: %v", want, err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	stop(cause)
	if _, err := Run(ctx, x, "rule", short()); !errors.Is(err, cause) {
		t.Errorf("stopped: %v", err)
	}
}
