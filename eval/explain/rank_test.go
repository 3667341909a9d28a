package explain

import (
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Features have the ranks that their intervals leave open; where all overlap, nothing is ranked, and the text says so.
func TestRanks(t *testing.T) {
	of := func(intervals ...Interval) *Explanation {
		e := &Explanation{Episodes: 2}
		for _, i := range intervals {
			e.Features = append(e.Features, Feature{Name: "x", Share: i})
		}
		e.rank()
		return e
	}
	e := of(Interval{0.6, 0.5, 0.7}, Interval{0.3, 0.2, 0.45}, Interval{0.1, 0.05, 0.25})
	want := []string{"1", "2–3", "2–3"}
	for i, f := range e.Features {
		if f.rank() != want[i] {
			t.Errorf("feature %d has rank %s, want %s", i, f.rank(), want[i])
		}
	}
	if !e.Ranked || e.tooFew() != "" {
		t.Errorf("ranked %v: %q", e.Ranked, e.tooFew())
	}
	e = of(Interval{0.6, -0.2, 1.4}, Interval{0.3, 0.1, 0.5}, Interval{0.1, -0.3, 0.5})
	if e.Ranked || e.Features[2].rank() != "1–3" {
		t.Errorf("overlapping intervals: %+v", e)
	}
	var text strings.Builder
	must.Do(t, Text(&text, e, 1))
	if !strings.Contains(text.String(), "Too few episodes to rank anything: with 2 of them the intervals of all 3 features overlap") ||
		!strings.Contains(e.figure().Title, "2 episodes rank nothing") {
		t.Errorf("the text does not say that nothing is ranked: %s", text.String())
	}
	if e := of(Interval{1, 1, 1}); e.tooFew() != "" {
		t.Errorf("one feature alone: %s", e.tooFew())
	}
}

// Agents are called by their names where they have some.
func TestAgentsAreNamed(t *testing.T) {
	e := &Explanation{Agent: "function", Agents: 2, Names: []string{"starter", "resnet"},
		Attention: []Link{{Agent: 0, To: 1, Weight: Interval{1, 1, 1}}}}
	rows := e.attentionLines()
	if len(rows) != 1 || rows[0][0] != "starter" || rows[0][1] != "resnet 1.00 [1.00, 1.00]" {
		t.Errorf("attention is shown as %v", rows)
	}
	if e.Names = nil; e.attentionLines()[0][0] != "function 0" {
		t.Errorf("without names it is shown as %v", e.attentionLines())
	}
}
