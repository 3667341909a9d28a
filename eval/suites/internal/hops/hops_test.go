package hops

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	baselines "github.com/stoker-rl/stoker/agents/baselines/pricing"
	"github.com/stoker-rl/stoker/agents/spsa"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/suite/suitetest"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// small is the suite in episodes of a few windows, so that its tests are quick.
func small(t *testing.T, windows int) func(context.Context, suite.Options, *suite.Report) error {
	t.Helper()
	return func(ctx context.Context, o suite.Options, r *suite.Report) error {
		g, a, out := generated(), azure(), outside()
		for _, w := range []*world{&g, &a, &out} {
			w.config.Windows, w.config.Slots = windows, 20
		}
		g.config.Demand.Source = pricing.Generated
		return runIn(ctx, &o, r, []world{g}, &out, nil)
	}
}

// Same bytes for any number of workers; all tables and figures are there; every row that has a paper's value has its
// ratio.
func TestSuite(t *testing.T) {
	s := Suite()
	s.Run = small(t, 4)
	checkResult(t, suitetest.Same(t, s, 5, 1, 2, 3))
}

func checkResult(t *testing.T, res *suite.Result) {
	t.Helper()
	withPaper := 0
	for _, r := range res.Rows {
		if r.Paper != nil {
			withPaper++
			if ratio := float64(r.Ours) / *r.Paper; math.Abs(ratio-float64(r.Ratio)) > 1e-12 {
				t.Errorf("%s, %s: ratio %v, want %v", r.Figure, r.Quantity, r.Ratio, ratio)
			}
		}
		if !(r.Lo <= r.Ours && r.Ours <= r.Hi) {
			t.Errorf("%s, %s: %v lies outside %v to %v", r.Figure, r.Quantity, r.Ours, r.Lo, r.Hi)
		}
	}
	if withPaper != 18 { // profit 2, lead 1, violations 2, tiers 9, switches 3, utilisation 1
		t.Errorf("%d rows have a value of the paper's, want 18", withPaper)
	}
	if len(res.Figures) != 7 || len(res.Tables) != 2 || len(res.Claims) != 10 {
		t.Errorf("%d figures, %d tables, %d claims", len(res.Figures), len(res.Tables), len(res.Claims))
	}
	// Three seeds decide nothing, and claims that rest on verdicts say so.
	for _, k := range []int{0, 1, 2, 4} {
		if c := res.Claims[k]; c.Verdict != suite.Unknown {
			t.Errorf("with three seeds it is said of %q that it %s", c.Claim, c.Verdict)
		}
	}
	if text := suite.Text(res); strings.Contains(text, "NaN") || strings.Contains(text, "n/a") {
		t.Errorf("something could not be computed:\n%s", text)
	}
	if b, err := json.Marshal(res); err != nil || !strings.Contains(string(b), "no trained policy plays") {
		t.Errorf("that no trained policy plays is not said (%v)", err)
	}
}

// Nobody is given other constants than those that the packages recommend: only prices and baselines, the terms of
// each scheduler's pool, and the load's scale in PBA's unit.
func TestNothingIsTuned(t *testing.T) {
	g, a := generated(), azure()
	want := pricing.Default()
	want.Demand.Start = 0
	if !reflect.DeepEqual(a.config, want) {
		t.Errorf("the Azure day is %+v", a.config)
	}
	want.Demand.Source = pricing.Generated
	if !reflect.DeepEqual(g.config, want) {
		t.Errorf("generated arrivals are %+v", g.config)
	}
	if got := *hops(&g).pba; !reflect.DeepEqual(got, spsa.Default()) {
		t.Errorf("HOPS is %+v", got)
	}
	out := outside()
	pba := spsa.Default()
	pba.Prices.Unit = 104 * 60 * 5.7
	if got := *hops(&out).pba; !reflect.DeepEqual(got, pba) || out.config.Profile != pricing.OutsideProfile {
		t.Errorf("HOPS with the outside option is %+v", got)
	}
	for _, p := range append(rivals(unitPrices()), hops(&g)) {
		contestant := must.Get(p.contestant(&g))(t)
		env := must.Get(contestant.NewEnv())(t)
		c := pricing.Default()
		c.Demand.Source, c.Demand.Start = pricing.Generated, 0
		must.Do(t, baselines.Terms(p.scheduler, &c))
		if p.baselines != nil {
			c.Baselines = p.baselines
		}
		if got := *env.(*pricing.Pricing).Config(); !reflect.DeepEqual(got, c) {
			t.Errorf("%s plays in %+v, want %+v", p.name, got, c)
		}
	}
}

// A folder of data without the trace is the caller's mistake, and named; one with it is a third world.
func TestData(t *testing.T) {
	dir := t.TempDir()
	if _, err := azureData(dir); !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "100_inv.csv") {
		t.Errorf("%v, want an error that names the file", err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(dir, "azure2019"), 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "azure2019", "100_inv.csv"), nil, 0o666))
	if w, err := azureData(dir); err != nil || w.load.Sample != 100 || w.config.Demand.Start != 0 {
		t.Errorf("%+v, %v", w.load, err)
	}
}

// Every policy of the zoo plays where it fits, window by window as the others do, and says why where it doesn't.
func TestZoo(t *testing.T) {
	zoo := must.Get(shipped())(t)
	for _, l := range zoo {
		fits := 0
		moving := outside() // the suite's worlds stand still; a policy of another market plays in its own
		moving.config.Market = l.config.Market
		for _, w := range []world{generated(), outside(), moving} {
			list, notes := trained([]*learned{l}, &w, unitPrices())
			if len(list)+len(notes) != 1 {
				t.Errorf("%s on %s: %d policies, notes %q", l.Source, w.name, len(list), notes)
			}
			if len(list) == 0 {
				continue
			}
			fits++
			w.config.Windows = 2
			m := &match{world: &w, policies: append(list, rivals(unitPrices())[1])}
			must.Do(t, play(t.Context(), &suite.Options{Seeds: []uint64{3}}, "zoo", true, m))
			for i := range m.policies {
				whole := must.Get(m.played.Scores(i, eval.Metric{Name: "profit"}))(t)
				windows := m.series(i, "profit", 1)
				if len(windows[0]) != 2 || math.Abs(windows[0][0]+windows[0][1]-whole[0][0]) > 1e-6*math.Abs(whole[0][0]) {
					t.Errorf("%s on %s: windows %v, in all %v", m.policies[i].name, w.name, windows[0], whole[0][0])
				}
			}
		}
		if fits == 0 {
			t.Errorf("%s fits no world", l.Source)
		}
		other := generated().config
		other.VGPUs = 128
		if l.fits(&other) == "" {
			t.Errorf("%s fits 128 vGPUs", l.Source)
		}
		other = outside().config
		other.Market.Rival.Price = 7
		if l.fits(&other) == "" && !l.schedules() {
			t.Errorf("%s fits a market with another rival", l.Source)
		}
	}
}
