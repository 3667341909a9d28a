package envs_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
)

// loaded is an environment under a load that a test gives.
type loaded struct {
	*classic.CartPole
	load   envs.Load
	serves float64
}

func (l *loaded) Workload() envs.Load      { return l.load }
func (l *loaded) Serves() (float64, error) { return l.serves, nil }

func reported(t *testing.T, l envs.Load, serves float64, trained ...envs.TrainedLoad) *envs.LoadReport {
	t.Helper()
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	r := must.Get(envs.ReportLoad(&loaded{pole, l, serves}, trained))(t)
	return r
}

func TestReportLoad(t *testing.T) {
	rates := make([]float64, 100)
	for i := range rates {
		rates[i] = float64(i+1) / 10 // 0.1 to 10, 5.05 in the mean
	}
	l := envs.NewLoad("requests/s", "minute", rates, "workload.factor", 2)
	if math.Abs(l.Mean-5.05) > 1e-12 || l.Peak != 10 || l.Low != 0.6 || l.High != 9.5 || l.Above(4.2) != 0.58 {
		t.Fatalf("the load is %+v", l)
	}
	small := envs.NewLoad("requests/s", "minute", []float64{1, 1.4}, "workload.factor", 0.5)
	trained := envs.TrainedLoad{Policy: "attmf", Load: small}

	if r := reported(t, l, 6); len(r.Warnings) != 0 || r.AtMost != 2.37 || math.Abs(r.Utilisation-5.05/6) > 1e-12 {
		t.Errorf("a load that is served: %+v", r)
	}
	for want, r := range map[string]*envs.LoadReport{
		"heavier than anything within the action ranges serves: the workload has 5.05 requests/s (0.6 to 9.5 in 90 % of the minutes), " +
			"the ranges serve about 4.2 (utilisation 1.2, 58 % of the minutes above that); workload.factor at most 1.66, now 2": reported(t, l, 4.2),
		"attmf learned on 1.2 requests/s (1 to 1.4 in 90 % of the minutes), and this load has 5.05 requests/s (0.6 to 9.5 " +
			"in 90 % of the minutes), 4.21 times that": reported(t, l, 0, trained),
		"workload.factor=0.475 gives the load trained on":                                   reported(t, l, 0, trained),
		"gives the load trained on; the ranges serve about 8, workload.factor at most 3.16": reported(t, l, 8, trained),
		"this load has 1.2 requests/s (1 to 1.4 in 90 % of the minutes), 23.8 % of that": reported(t, small, 0,
			envs.TrainedLoad{Policy: "b", Load: l}),
	} {
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], want) {
			t.Errorf("%q, want %s", r.Warnings, want)
		}
	}
	// Policies that learned on the same load share a sentence.
	other := trained
	other.Policy = "mean-field"
	if r := reported(t, l, 0, trained, other); len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "attmf, mean-field learned on") {
		t.Errorf("%q, want one warning for two policies", r.Warnings)
	}
	// A load within what episodes drew in training is no other load, nor is one of another unit.
	wide := trained
	wide.Least, wide.Most = 0.2, 4
	users := trained
	users.Unit = "users"
	if r := reported(t, l, 20, wide, users); len(r.Warnings) != 0 {
		t.Errorf("%q, want no warning", r.Warnings)
	}
	// Where an episode goes on after its arrivals more than a steady load is served.
	patient := l
	patient.Slack = 3
	if r := reported(t, patient, 4.2); len(r.Warnings) != 0 {
		t.Errorf("%q, want no warning below three times what is served", r.Warnings)
	}
	lacking := small
	lacking.Missing = []string{"a", "b", "c", "d", "e", "f"}
	if r := reported(t, lacking, 9); len(r.Warnings) != 1 || r.Warnings[0] != "the trace lacks a, b, c, d and 2 more" {
		t.Errorf("%q", r.Warnings)
	}
	pole := must.Get(classic.NewCartPole(classic.DefaultCartPole()))(t)
	if r, err := envs.ReportLoad(pole, nil); r != nil || err != nil {
		t.Errorf("an environment without a load: %+v, %v", r, err)
	}
}
