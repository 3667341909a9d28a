package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// service is a learned policy and two baselines by price and share of windows violated over 20 workloads. Levels are the
// means of each, in that order; both metrics differ between workloads by far more than noise, alike for all.
func service(noise float64, levels ...[2]float64) *Played {
	p := &Played{Spec: &envs.Spec{ID: "stoker/Service-v1", Constraint: "violated", Objective: "price", Info: []envs.Quantity{
		{Name: "price", Unit: "USD/h", Better: envs.Lower, Bounds: envs.AtLeast(0), AssumesService: true},
		{Name: "violated", Unit: "share of windows", Better: envs.Lower, Bounds: envs.Share()},
		{Name: "success", Unit: "share", Better: envs.Higher, Bounds: envs.Share()},
	}}, Seeds: seeds(20)}
	s := rng.NewStream(1, "service")
	load := make([]float64, 20)
	for j := range load {
		load[j] = s.Norm() / 10
	}
	for i, name := range []string{"learned", "baseline", "oracle"}[:len(levels)] {
		kind := []catalog.Kind{catalog.Learned, catalog.Heuristic, catalog.Oracle}[i]
		var eps []envs.Episode
		for j := range load {
			price := levels[i][0] * (1 + load[j] + noise*s.Norm())
			missed := min(1, max(0, levels[i][1]*(1+load[j]+noise*s.Norm())))
			eps = append(eps, envs.Episode{Return: -price, Info: []float64{price, missed, 1 - missed}})
		}
		p.Contestants = append(p.Contestants, Contestant{Name: name, Kind: kind, Versions: []Version{{Source: "runs/x"}}})
		p.Episodes = append(p.Episodes, [][]envs.Episode{eps})
	}
	return p
}

func judged(t *testing.T, p *Played, constraint string) *Summary {
	t.Helper()
	m := must.Get(Metrics(p.Spec, nil))(t)
	by := must.Get(NewCriteria(p.Spec, constraint, "", 0.1))(t)
	s := must.Get(Summarise(p, Analysis{Metrics: m, Criteria: by, Resamples: 1000, Seed: 1}))(t)
	return s
}

// The verdict on the pair: the constraint first, then the objective.
func TestOrderedVerdict(t *testing.T) {
	for _, c := range []struct {
		name          string
		learned       [2]float64
		noise         float64
		verdict, why  string
		unconstrained string
	}{
		{"cheaper, as few violations", [2]float64{4, 0.1}, 0.02, Better, "better by price, violated kept at least as well", Better},
		{"cheaper, fewer violations", [2]float64{4, 0.05}, 0.02, Better, "better by price, violated kept at least as well", Better},
		{"cheaper, a little more violations", [2]float64{4, 0.11}, 0.02, Undecided, "a trade-off: better by price, worse by violated", Better},
		{"dearer, a little fewer violations", [2]float64{6, 0.09}, 0.02, Undecided, "a trade-off: worse by price, better by violated", Worse},
		{"cheaper, more violations by chance", [2]float64{4, 0.1005}, 0.02, Better, "better by price, violated kept at least as well", Better},
		{"cheaper, far more violations", [2]float64{4, 0.3}, 0.02, Undecided, "a trade-off: better by price, worse by violated", Better},
		{"dearer, far fewer violations", [2]float64{6, 0.02}, 0.02, Undecided, "a trade-off: worse by price, better by violated", Worse},
		{"dearer, as many violations", [2]float64{6, 0.1}, 0.02, Worse, "worse by price, violated kept at least as well by baseline", Worse},
		{"dearer, more violations", [2]float64{6, 0.4}, 0.02, Worse, "worse by price, violated kept at least as well by baseline", Worse},
		{"as dear, fewer violations", [2]float64{5, 0.02}, 0.02, Undecided, "better by violated, price undecided", Undecided},
		{"as dear, as many violations", [2]float64{5, 0.1}, 0.02, Undecided, "neither price nor violated decided", Undecided},
		{"cheaper, violations uncertain", [2]float64{1, 0.1}, 0.6, Undecided, "better by price, but it is not shown that violated is kept as well", Better},
		{"dearer, violations uncertain", [2]float64{20, 0.1}, 0.6, Undecided, "worse by price, but it is not shown that baseline keeps violated as well", Worse},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := service(c.noise, c.learned, [2]float64{5, 0.1})
			s := judged(t, p, "")
			if len(s.Verdicts) != 1 {
				t.Fatalf("%d verdicts, want one", len(s.Verdicts))
			}
			if v := s.Verdicts[0]; v.Verdict != c.verdict || v.Why != c.why || v.Constraint != "violated" || v.Objective != "price" ||
				math.Abs(float64(v.Margin)/float64(s.policy("baseline").Metrics["violated"].Mean)-0.1) > 1e-12 {
				t.Errorf("%+v, want %s: %s", v, c.verdict, c.why)
			}
			if v := judged(t, p, NoConstraint).Verdicts[0]; v.Verdict != c.unconstrained || v.Constraint != "" || v.Why != "" {
				t.Errorf("without a constraint %+v, want %s", v, c.unconstrained)
			}
		})
	}
}

// Where even the best policy violates nearly always, what assumes service gives no verdict; what does not still does.
func TestInfeasible(t *testing.T) {
	s := judged(t, service(0.001, [2]float64{1, 0.99}, [2]float64{5, 0.97}, [2]float64{9, 0.95}), "")
	if u := s.Infeasible; u == nil || u.Best != "oracle" || u.Constraint != "violated" || u.From != 0.8 || u.Value < 0.9 {
		t.Fatalf("infeasible is %+v", u)
	}
	want := map[string]string{"price": Infeasible, "return": Infeasible, "success": Worse, "violated": Worse}
	for _, c := range s.Comparisons {
		if c.B == "oracle" && c.Verdict != want[c.Metric] {
			t.Errorf("by %s: %s, want %s", c.Metric, c.Verdict, want[c.Metric])
		}
	}
	for _, v := range s.Verdicts {
		if v.Verdict != Infeasible {
			t.Errorf("%+v, want infeasible", v)
		}
	}
	const sentence = "No policy here serves the load: even oracle, the best of 3 policies, has violated 0.95 (infeasible from 0.80)"
	for name, text := range map[string]string{"summary": s.Summary, "terminal": TextAt(s, 0), "Markdown": Markdown(s)} {
		if !strings.Contains(text, sentence) || !strings.Contains(text, "no verdict by price and return") {
			t.Errorf("the %s does not say it: %s", name, text)
		}
		if strings.Contains(text, "better by price") {
			t.Errorf("the %s has a verdict by price: %s", name, text)
		}
	}
	// One policy that serves half of the windows is enough, but a price of two that serve none says nothing.
	s = judged(t, service(0.01, [2]float64{1, 0.99}, [2]float64{5, 0.99}, [2]float64{9, 0.5}), "")
	if s.Infeasible != nil {
		t.Errorf("oracle serves half: %+v", s.Infeasible)
	}
	for i, want := range []string{Infeasible, Undecided} {
		if v := s.Verdicts[i]; v.Verdict != want {
			t.Errorf("%+v, want %s", v, want)
		}
	}
	if want := "it cannot be compared with baseline: neither serves the load"; !strings.Contains(s.Summary, want) {
		t.Errorf("%q, want %q in it", s.Summary, want)
	}
	// A share of success is infeasible where it is near 0.
	p := service(0.001, [2]float64{1, 0.99}, [2]float64{5, 0.99})
	if s := judged(t, p, "success"); s.Infeasible == nil || math.Abs(float64(s.Infeasible.From)-0.2) > 1e-12 {
		t.Errorf("by success: %+v", s.Infeasible)
	}
	// What has no bounds says nothing of it.
	p.Spec.Info[1].Bounds = envs.AtLeast(0)
	if s := judged(t, p, ""); s.Infeasible != nil {
		t.Errorf("without a worst value: %+v", s.Infeasible)
	}
}

func TestCriteria(t *testing.T) {
	spec := service(0, [2]float64{1, 0.1}).Spec
	spec.Info = append(spec.Info, envs.Quantity{Name: "load"})
	for _, c := range []struct{ constraint, objective, want string }{
		{"violations", "", `eval.constraint: metric "violations": stoker/Service-v1 reports price, violated, success, load, return`},
		{"", "prices", `eval.objective: metric "prices"`},
		{"load", "", "eval.constraint: load has no better direction"},
		{"price", "", "eval.constraint and eval.objective are both price"},
	} {
		if _, err := NewCriteria(spec, c.constraint, c.objective, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c, err, c.want)
		}
	}
	if by, err := NewCriteria(&envs.Spec{ID: "x"}, "", "", 0); err != nil || by.Constraint != nil || by.Objective.Name != "return" {
		t.Errorf("an environment that names nothing: %+v, %v", by, err)
	}
	by := must.Get(NewCriteria(spec, "", "return", 0.1))(t)
	by.Constraint.Bounds = envs.AtLeast(0)
	by.Constraint.Bounds = envs.Bounds{}
	if got := by.margin(-20); got != 2 {
		t.Errorf("a tenth of 20 is %g", got)
	}
	by = must.Get(NewCriteria(spec, "success", "price", 0.1))(t)
	if got := by.margin(0.8); math.Abs(got-0.02) > 1e-12 {
		t.Errorf("a tenth of the share 0.2 that fails is %g", got)
	}
}

// The sentence, in each of its forms.
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *Played
		want string
	}{
		{"better and worse", service(0.02, [2]float64{4, 0.1}, [2]float64{5, 0.1}, [2]float64{3, 0.05}),
			"learned keeps 90 % of windows within the QoS at 4.06 USD/h; its price is 19.6 % lower [18.3, 20.9] than with baseline, " +
				"the only baseline that keeps as many: better, over 1 training seed and 20 workload seeds; the bound, oracle, keeps " +
				"94.9 % of windows within the QoS at 3.03 USD/h"},
		{"undecided", service(0.02, [2]float64{5, 0.1}, [2]float64{5, 0.1}),
			"learned keeps 90 % of windows within the QoS at 5.08 USD/h; its price is 0.5 % higher [−0.8, 1.7] than with baseline, " +
				"the only baseline that keeps as many: undecided, over 1 training seed and 20 workload seeds"},
		{"undecided, violations decided", service(0.02, [2]float64{5, 0.02}, [2]float64{5, 0.1}),
			"learned keeps 98 % of windows within the QoS at 5.08 USD/h; no baseline keeps as many; the closest, baseline, violates " +
				"10 % at 5.05 USD/h, over 1 training seed and 20 workload seeds"},
		{"a trade-off", service(0.02, [2]float64{4, 0.3}, [2]float64{5, 0.1}),
			"learned keeps 70 % of windows within the QoS at 4.06 USD/h; its price is 19.6 % lower [18.5, 20.8] than with baseline, " +
				"the only baseline that keeps as many: undecided (a trade-off: better by price, worse by violated), over 1 training " +
				"seed and 20 workload seeds"},
		{"alone", service(0, [2]float64{5, 0.1}),
			"learned: price 5.06 [4.92, 5.22] USD/h, violated 0.1013 [0.0983, 0.1043] share of windows, over 1 training seed and " +
				"20 workload seeds; there is nothing to compare it with"},
	} {
		if got := judged(t, c.p, "").Summary; got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
	p := service(0.02, [2]float64{4, 0.1}, [2]float64{5, 0.1}, [2]float64{3, 0.05})
	p.Contestants[1].Kind, p.Contestants[1].Versions = catalog.Learned, p.Contestants[0].Versions
	if got := judged(t, p, "").Summary; !strings.Contains(got, "; baseline keeps 90 % of windows within the QoS at 5.05 USD/h; its price is 24.4 % higher") {
		t.Errorf("two learned policies: %s", got)
	}
	p = service(0.02, [2]float64{4, 0.1}, [2]float64{5, 0.1})
	con, eps := &p.Contestants[0], p.Episodes[0][0]
	for k := range uint64(2) {
		con.Versions = append(con.Versions, Version{TrainingSeed: k + 1, Source: "runs/y"})
		p.Episodes[0] = append(p.Episodes[0], eps)
	}
	if got := judged(t, p, "").Summary; !strings.Contains(got, "its price is 19.6 % lower [18.5, 20.7] than with baseline") ||
		!strings.Contains(got, "over 3 training seeds and 20 workload seeds") {
		t.Errorf("three training seeds: %s", got)
	}
	p.Seeds = p.Seeds[:4]
	for i := range p.Episodes {
		for v := range p.Episodes[i] {
			p.Episodes[i][v] = p.Episodes[i][v][:4]
		}
	}
	if got := judged(t, p, "").Summary; !strings.HasSuffix(got, "too few workload seeds for any verdict: 4; with 1 other policy it takes at least 6") {
		t.Errorf("four workload seeds: %s", got)
	}
}

// With two or three training seeds tables show their range, with four an interval; eval.json has both.
func TestRanges(t *testing.T) {
	for n, want := range map[int]string{1: "[", 2: "(", 3: "(", stats.FewSeeds: "["} {
		p := service(0.02, [2]float64{4, 0.1}, [2]float64{5, 0.1})
		p.Contestants[0].Versions, p.Episodes[0] = nil, p.Episodes[0][:0]
		for v := range n {
			q := service(0.02, [2]float64{4 + float64(v), 0.1})
			p.Contestants[0].Versions = append(p.Contestants[0].Versions, Version{TrainingSeed: uint64(v), Source: "x"})
			p.Episodes[0] = append(p.Episodes[0], q.Episodes[0][0])
		}
		s := judged(t, p, "")
		for _, line := range strings.Split(Text(s), "\n") {
			if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(line, "  learned  ") && !strings.HasPrefix(fields[2], want) {
				t.Errorf("%d training seeds: %s", n, line)
			}
		}
		if said := strings.Contains(Text(s), "in place of [95 % interval]"); said != (want == "(") {
			t.Errorf("%d training seeds: ranges are said: %v", n, said)
		}
		e := s.Policies[0].Metrics["price"]
		if n > 1 && (len(e.BySeed) != n || e.BySeed[1] <= e.BySeed[0]) || n == 1 && e.BySeed != nil || !(e.MeanLo < e.Mean && e.Mean < e.MeanHi) {
			t.Errorf("%d training seeds: %+v", n, e)
		}
	}
}

// Numbers of a sentence have commas and a true minus sign, as those of its other parts.
func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"-214862.12345": "−214,862.12345", "909601": "909,601", "999": "999", "1000": "1,000", "0.12345": "0.12345",
		"(-1234567 to 12)": "(−1,234,567 to 12)", "n/a": "n/a",
	} {
		if got := prose(in); got != want {
			t.Errorf("%s is written %s, want %s", in, got, want)
		}
	}
}
