package placement

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// A mean in requests a second, and factor auto, become the load of the trace's functions.
func TestMeanAndAuto(t *testing.T) {
	c := Default()
	c.Workload = Azure
	w := workload.Default()
	w.Mean = 3
	e, err := New(c, w)
	must.Do(t, err)
	serves, err := e.Serves()
	must.Do(t, err)
	if l := e.Workload(); math.Abs(l.Mean-3) > 1e-9 || math.Abs(l.Value-3/serves) > 1e-9 || l.Key != "env.load" || l.Slack != 20 {
		t.Errorf("3 requests/s of %v served are %+v", serves, l)
	}
	w.Mean, w.Factor, w.TargetUtilisation = 0, workload.Auto, 0.8
	if e, err = New(c, w); err != nil {
		t.Fatal(err)
	}
	if l := e.Workload(); math.Abs(l.Mean/serves-0.8) > 1e-9 || l.Value != 0.8 {
		t.Errorf("auto gives %+v of %v served, want 0.8 of it", l, serves)
	}
	for want, change := range map[string]func(*Config){
		"workload.factor is auto, want a number where env.workload is steady": func(c *Config) { c.Workload = Steady },
		"env.load_to is 1.9, want 0":                                          func(c *Config) { c.LoadTo = 1.9 },
	} {
		d := c
		change(&d)
		if _, err := New(d, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The load that episodes draw is reported with its range.
func TestDrawnLoad(t *testing.T) {
	c := Default()
	c.Load, c.LoadTo = 0.1, 1.9
	e := must.Get(New(c, workload.Default()))(t)
	serves, _ := e.Serves()
	if l := e.Workload(); math.Abs(l.Mean-serves) > 1e-9 || math.Abs(l.Least-0.1*serves) > 1e-9 || math.Abs(l.Most-1.9*serves) > 1e-9 {
		t.Errorf("the load is %+v of %v served", l, serves)
	}
}
