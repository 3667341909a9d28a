package eval

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/golden"
)

// The tables of a comparison of five policies by twelve metrics, and of two learned policies with a missing score,
// too few workloads and no direction.
func TestTables(t *testing.T) {
	s := summarise(t, synthetic())
	s.Figures = []string{"scatter.png", "scatter.svg", "over_time.png"}
	golden.Text(t, "main.txt", Text(s))
	golden.Text(t, "main.md", Markdown(s))
	tables, _, _ := strings.Cut(Text(s), "\nverdicts")
	for _, line := range strings.Split(tables, "\n")[1:] {
		if n := utf8.RuneCountInString(line); n > 110 {
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
