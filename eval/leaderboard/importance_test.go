package leaderboard

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train/sweep"
)

// synthetic is the board of a study whose score is a function of a rate, of which words say little and a gamma nothing.
func synthetic(score func(rate float64, i int) float64) *Board {
	b := &Board{Sweep: "s", Keys: []string{"agent.rate", "agent.hidden", "agent.gamma"}, Metric: eval.Metric{Name: "cost", Better: "lower"},
		Study: &sweep.Study{Metrics: []string{"cost"}, ScoreSeeds: "4001"}, Rungs: 2, log: map[string]bool{"agent.rate": true}}
	for i := range 40 {
		exponent := -5 + 4*float64(i*7%40)/40
		v := score(exponent, i)
		scores := []sweep.Score{{Rung: 1, Steps: 10, Values: []*float64{&v}}}
		if i%2 == 0 { // half of them go on, and come to other scores
			w := 100 - v
			scores = append(scores, sweep.Score{Rung: 2, Steps: 20, Values: []*float64{&w}})
		}
		settings := []sweep.Setting{{Key: "agent.rate", Value: fmt.Sprintf("%g", math.Pow(10, exponent))},
			{Key: "agent.hidden", Value: []string{"[4]", "[8]", "[16]"}[i%3]}, {Key: "agent.gamma", Value: fmt.Sprint(0.5 + 0.01*float64(i*11%40))}}
		b.Arms = append(b.Arms, Arm{Rank: i + 1, Seeds: 1, Rung: 1, Scores: []eval.Number{eval.Number(v)}, Settings: settings,
			Runs: []Run{{Run: sweep.Run{Scores: scores}}}})
	}
	return b
}

// The importance of a key is what it explains of the order at the rung that most trials reached, also where the best
// value lies inside its range.
func TestImportance(t *testing.T) {
	for name, score := range map[string]func(x float64, i int) float64{
		"a slope":  func(x float64, i int) float64 { return math.Exp(3*x) + 0*float64(i) },
		"a valley": func(x float64, _ int) float64 { return 1e5 * (x + 3) * (x + 3) },
	} {
		b := synthetic(score)
		b.weigh()
		if len(b.Importance) != 3 || b.Importance[0].Key != "agent.rate" || b.Importance[0].Share < 0.8 || b.Importance[1].Share > 0.1 ||
			b.WeighedAt != 1 {
			t.Errorf("%s: %+v at rung %d", name, b.Importance, b.WeighedAt)
		}
		if w := b.weights(); !strings.HasPrefix(w, "what each key explains of the order at rung 1: rate 0.") {
			t.Errorf("%s: %q", name, w)
		}
	}
	few := synthetic(func(x float64, _ int) float64 { return x })
	few.Arms = few.Arms[:9]
	if few.weigh(); few.Importance != nil {
		t.Errorf("of 9 trials and 7 columns: %+v", few.Importance)
	}
}

// The page holds the table, the figures and the importance, and needs no other file.
func TestStudyPage(t *testing.T) {
	b := synthetic(func(x float64, _ int) float64 { return x * x })
	b.weigh()
	dir := t.TempDir()
	files := must.Get(b.writeStudy(dir))(t)
	page := string(must.Get(os.ReadFile(filepath.Join(dir, "report.html")))(t))
	for _, want := range []string{"<h1>s</h1>", "<td>[16]</td>", "Importance of the keys", "<svg", "The 40 trials of s with a score at rung 1",
		"log10 rate (-5 to -1.1)", "hidden ([16], [4], [8])", "the best fifth"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "src=") || len(files) != 3 {
		t.Errorf("the page needs other files, or figures are missing: %v", files)
	}
	b.Study = nil
	if files, err := b.writeStudy(t.TempDir()); err != nil || files != nil {
		t.Errorf("a sweep that is no study has %v, %v", files, err)
	}
}
