package eval

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/golden"
)

// The tables of a comparison of five policies by twelve metrics, and of two learned policies with a missing score, too few
// workloads and no direction.
func TestTables(t *testing.T) {
	s := summarise(t, synthetic())
	s.Figures = []string{"scatter.png", "scatter.svg", "over_time.png"}
	golden.Text(t, "main.txt", Text(s))
	golden.Text(t, "main.md", Markdown(s))
	for _, line := range strings.Split(Text(s), "\n") {
		if n := utf8.RuneCountInString(line); n > 100 && !strings.Contains(line, " against ") {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}

	p := match(4, 1, 0.1)
	twin := p.Contestants[0]
	twin.Name = "twin|2"
	p.Contestants, p.Episodes = append(p.Contestants, twin), append(p.Episodes, p.Episodes[0])
	p.Episodes[1][0][0].Info[1] = math.NaN()
	p.Stochastic = true
	s = all(t, p)
	golden.Text(t, "twins.txt", Text(s))
	golden.Text(t, "twins.md", Markdown(s))

	p.Contestants, p.Episodes = p.Contestants[:1], p.Episodes[:1]
	golden.Text(t, "alone.txt", Text(all(t, p)))
}

func TestScaled(t *testing.T) {
	for _, c := range []struct {
		values []spread
		signed bool
		unit   string
		want   []string
	}{
		{[]spread{{0.4, 0.38, 0.42}, {12, 11, 13}}, false, "s", []string{"0.400 [0.380, 0.420]", "12.000 [11.000, 13.000]", "s"}},
		{[]spread{{0.4, 0.38, 0.42}, {12.5, 12.5, 12.5}}, true, "s", []string{"+0.400 [+0.380, +0.420]", "+12.500 [+12.500, +12.500]", "s"}},
		{[]spread{{1.234e-5, 1.1e-5, 1.4e-5}}, false, "USD", []string{"12.3 [11.0, 14.0]", "10⁻⁶ USD"}},
		{[]spread{{1.234e7, 1.1e7, 1.4e7}, {0, 0, 0}}, false, "1", []string{"12.3 [11.0, 14.0]", "0.0 [0.0, 0.0]", "10⁶"}},
		{[]spread{{0.012, 0.012, 0.012}}, false, "1", []string{"0.01200 [0.01200, 0.01200]", ""}},
		{[]spread{{0, 0, 0}}, true, "", []string{"0 [0, 0]", ""}},
		{[]spread{{-0.0001, -0.01, 0.01}}, true, "", []string{"0.000 [-0.010, +0.010]", ""}},
		{[]spread{{math.NaN(), math.NaN(), math.NaN()}, {math.Inf(1), 1, 2}, {5, 4, math.Inf(1)}}, false, "", []string{"n/a", "n/a", "5.000 [4.000, n/a]", ""}},
		{[]spread{{73359.123, 68264, 79917}}, false, "", []string{"73359 [68264, 79917]", ""}},
	} {
		f := fitted(c.values, powerOf(c.values), c.signed)
		for i, v := range c.values {
			if got := f.cell(v); got != c.want[i] {
				t.Errorf("%v is %q, want %q", v, got, c.want[i])
			}
			if got := strings.Join(strings.Fields(strings.ReplaceAll(f.row(v), "[", "[ ")), ""); got != strings.ReplaceAll(c.want[i], " ", "") {
				t.Errorf("%v in a row is %q, want %q but for spaces", v, got, c.want[i])
			}
		}
		if got := f.unit(c.unit); got != c.want[len(c.values)] {
			t.Errorf("unit %q, want %q", got, c.want[len(c.values)])
		}
	}
	for p, want := range map[Number]string{1: "1.00", 0.5: "0.50", 0.0996: "0.10", 0.04321: "0.043", 0.001: "0.001", 0.00099: "<0.001", Number(math.NaN()): "n/a"} {
		if got := probability(p); got != want {
			t.Errorf("p of %g is %q, want %q", p, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	m := Metric{Name: "cost", Unit: "USD", Better: envs.Lower}
	for got, want := range map[string]string{
		m.arrowed(): "cost (USD) ↓", m.direction(): "cost (USD), lower is better", ReturnMetric.arrowed(): "return ↑",
		(Metric{Name: "load"}).direction(): "load", fileName("a/b c:d"): "a_b_c_d",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
