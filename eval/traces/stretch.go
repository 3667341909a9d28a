package traces

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/eval/table"
	"github.com/stoker-rl/stoker/internal/chart"
)

// Stretch is a part of a trace's evaluation part with a calm, a swinging and a bursting third. Its minutes count from
// the beginning of that part.
type Stretch struct {
	workload.Stretch
	// Part is the trace's minute at which the evaluation part begins.
	Part int `json:"part"`
	// Set are the settings with which stoker/Sizing-v3 plays it.
	Set []string `json:"set"`
}

// FindStretch adds the stretch of so many minutes in the part of the trace on which policies are evaluated.
func (r *Report) FindStretch(minutes int) error {
	train := workload.Default().TrainFraction
	part := min(max(int(math.Round(train*float64(len(r.perMinute)))), 1), len(r.perMinute)-1)
	found, err := workload.FindStretch(r.perMinute[part:], minutes)
	if err != nil {
		return fmt.Errorf("%s, its last %.0f %%: %w", r.Trace, 100*(1-train), err)
	}
	// One window before the first minute, under the initial configuration, gives the first observation.
	window := sizing.Window.Seconds() / 60
	r.Stretch = &Stretch{Stretch: found, Part: part, Set: []string{
		fmt.Sprintf("env.windows=%d", int(float64(minutes)/window)), "env.warmup=1",
		"env.start=" + strconv.FormatFloat(float64(found.From)-window, 'g', -1, 64)}}
	if found.From == 0 {
		r.Stretch.Set[1], r.Stretch.Set[2] = "env.warmup=0", "env.start=0"
	}
	return nil
}

func (s *Stretch) text(perMinute []uint64) string {
	counts := perMinute[s.Part:]
	rate := func(m int) string { return short(float64(counts[m]) / 60) }
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d minutes of the evaluation part, from its minute %d (%s):\n\n", s.Minutes, s.From, clock(s.Part+s.From))
	bounds := [...]int{s.From, s.Ends[0], s.Ends[1], s.From + s.Minutes}
	for i, name := range thirds {
		fmt.Fprintf(&b, "%-10s minutes %d to %d  coefficient of variation %s, peak over median %s\n", name, bounds[i], bounds[i+1],
			short(s.Variation[i]), short(s.Peak[i]))
	}
	fmt.Fprintf(&b, "low, middle and high minute: %d, %d, %d with %s, %s and %s requests/s\n\n ", s.Low, s.Middle, s.High, rate(s.Low),
		rate(s.Middle), rate(s.High))
	for _, set := range s.Set {
		b.WriteString(" --set " + quoted(set))
	}
	return b.String() + "\n"
}

var thirds = [...]string{"calm", "swinging", "bursting"}

// rows are the stretch's minutes for its CSV file.
func (s *Stretch) rows(perMinute []uint64) [][]string {
	rows := [][]string{{"minute", "third", "mark", "requests", "requests_per_s"}}
	for m := s.From; m < s.From+s.Minutes; m++ {
		third := thirds[2]
		switch {
		case m < s.Ends[0]:
			third = thirds[0]
		case m < s.Ends[1]:
			third = thirds[1]
		}
		n := perMinute[s.Part+m]
		mark := map[int]string{s.Low: "low", s.Middle: "middle", s.High: "high"}[m]
		rows = append(rows, []string{strconv.Itoa(m), third, mark, strconv.FormatUint(n, 10), table.Exact(float64(n) / 60)})
	}
	return rows
}

// panel draws the stretch, its thirds and its three minutes.
func (s *Stretch) panel(perMinute []uint64, line, marks chart.Style) *chart.Panel {
	p := chart.NewPanel(fmt.Sprintf("%d minutes: calm, swinging, bursting", s.Minutes), "minute of the evaluation part",
		"requests/s")
	var x, y []float64
	for m := s.From; m < s.From+s.Minutes; m++ {
		x, y = append(x, float64(m)), append(y, float64(perMinute[s.Part+m])/60)
	}
	p.Line(line, x, y, false)
	for _, end := range s.Ends {
		p.Rule(float64(end) - 0.5)
	}
	for _, m := range []int{s.Low, s.Middle, s.High} {
		p.Cross(marks, chart.Exactly(float64(m)), chart.Exactly(float64(perMinute[s.Part+m])/60))
	}
	p.RangeY(0, 0)
	return p
}
