package profiles

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// ReplayOptions say how [Replay] buys runs.
type ReplayOptions struct {
	Parrotfish memory.Parrotfish
	// Seeds is the number of times that each function is profiled, with other runs of those measured.
	Seeds int
	// Points is the most memory sizes that are bought.
	Points int
}

// DefaultReplay profiles each function ten times, with up to twelve sizes.
func DefaultReplay() ReplayOptions {
	return ReplayOptions{Parrotfish: memory.PublishedParrotfish(), Seeds: 10, Points: 12}
}

// Replayed is what stoker profile replay prints as JSON.
type Replayed struct {
	Functions int           `json:"functions"`
	Seeds     int           `json:"seeds"`
	Designs   []DesignError `json:"designs"`
	// Stops is where Parrotfish's own rule ends the profiling: mean sizes and runs, and the error of its law.
	Stops Stop `json:"stops"`
}

// DesignError is the error of laws that were fitted to the runs of a design, over all sizes and functions.
type DesignError struct {
	Design string  `json:"design"` // parrotfish, or even for sizes spread evenly
	Sizes  int     `json:"sizes"`
	Runs   float64 `json:"runs"` // bought, mean
	// Published is the error of the exponential law by plain least squares, Chosen that of the law that errs least at sizes
	// left out of its fit. SE are the standard errors over seeds.
	Published   float64     `json:"exponential"`
	PublishedSE eval.Number `json:"exponential_se"`
	Chosen      float64     `json:"auto"`
	ChosenSE    eval.Number `json:"auto_se"`
}

// Stop is where profiling ends by its own rule.
type Stop struct {
	Sizes float64 `json:"sizes"`
	Runs  float64 `json:"runs"`
	MAPE  float64 `json:"mape"`
}

// designs are the names of DesignError.Design, at these places.
var designs = []string{parrotfish: "parrotfish", even: "even"}

const parrotfish, even = 0, 1

// tally is the errors of a design with so many sizes under a seed: sums over functions.
type tally struct{ runs, published, chosen float64 }

func (t *tally) add(runs, published, chosen float64) {
	t.runs, t.published, t.chosen = t.runs+runs, t.published+published, t.chosen+chosen
}

// Replay buys runs of functions that were measured at many sizes, as Parrotfish would and at sizes that are spread evenly,
// and says how far the laws fitted to them err over all sizes.
func Replay(r io.Reader, o ReplayOptions) (*Replayed, error) {
	if o.Seeds < 2 || o.Points < 4 {
		return nil, fmt.Errorf("%d seeds and %d sizes, want at least 2 and 4", o.Seeds, o.Points)
	}
	if err := o.Parrotfish.Validate(); err != nil {
		return nil, err
	}
	names, samples, err := memory.Read(r)
	if err != nil {
		return nil, err
	}
	out := &Replayed{Functions: len(names), Seeds: o.Seeds}
	tallies := report.NewCube[tally](o.Seeds, report.Axis{Name: "design", Len: len(designs)}, report.Axis{Name: "sizes", Len: o.Points + 1})
	for _, name := range names {
		f, err := newMeasured(name, samples[name], o)
		if err != nil {
			return nil, err
		}
		for seed := range o.Seeds {
			if err := f.replay(seed, o, tallies, &out.Stops); err != nil {
				return nil, fmt.Errorf("function %s: %w", name, err)
			}
		}
	}
	n := float64(len(names))
	root := math.Sqrt(float64(o.Seeds))
	for d, name := range designs {
		for k := 3; k <= o.Points; k++ {
			runs := tallies.Of(func(t *tally) float64 { return t.runs }, d, k)
			published := tallies.Of(func(t *tally) float64 { return t.published }, d, k)
			chosen := tallies.Of(func(t *tally) float64 { return t.chosen }, d, k)
			out.Designs = append(out.Designs, DesignError{Design: name, Sizes: k, Runs: stats.Mean(runs) / n,
				Published: stats.Mean(published) / n, PublishedSE: eval.Number(deviation(published) / n / root),
				Chosen: stats.Mean(chosen) / n, ChosenSE: eval.Number(deviation(chosen) / n / root)})
		}
	}
	times := n * float64(o.Seeds)
	out.Stops = Stop{out.Stops.Sizes / times, out.Stops.Runs / times, out.Stops.MAPE / times}
	return out, nil
}

// measured is a function with its runs.
type measured struct {
	name  string
	sizes []memory.Size
	runs  map[float64][]float64
}

func newMeasured(name string, samples []memory.Sample, o ReplayOptions) (*measured, error) {
	f := &measured{name: name, runs: map[float64][]float64{}}
	var err error
	if f.sizes, err = memory.Sizes(samples); err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	if len(f.sizes) < o.Points {
		return nil, fmt.Errorf("function %s: %d memory sizes were measured, want at least the %d that are bought", name,
			len(f.sizes), o.Points)
	}
	for _, s := range samples {
		f.runs[s.MB] = append(f.runs[s.MB], s.Seconds)
	}
	if most := o.Parrotfish.Samples + o.Parrotfish.More; slices.ContainsFunc(f.sizes, func(s memory.Size) bool {
		return s.Runs < most
	}) {
		return nil, fmt.Errorf("function %s: fewer than %d runs at a size, which profiling may buy", name, most)
	}
	return f, nil
}

// replay profiles the function once by each design.
func (f *measured) replay(seed int, o ReplayOptions, tallies *report.Cube[tally], stops *Stop) error {
	grid := lists.From(f.sizes, func(s memory.Size) float64 { return s.MB })
	key := rng.New(uint64(seed), "profiles/replay/"+f.name)
	p := o.Parrotfish
	stopped := false
	p.Known, p.Points = math.Inf(1), o.Points // its own rule is noted, and the curve goes on
	_, err := p.Buy(grid, f.buyer(key.With(0)), func(b memory.Bought) bool {
		published, chosen, err := f.errors(b.Sizes)
		if err != nil {
			return false
		}
		tallies.At(parrotfish, len(b.Sizes))[seed].add(float64(b.Runs), published, chosen)
		if !stopped && (b.Known > o.Parrotfish.Known || len(b.Sizes) == o.Points) {
			stopped = true
			stops.Sizes += float64(len(b.Sizes))
			stops.Runs += float64(b.Runs)
			stops.MAPE += published
		}
		return true
	})
	if err != nil {
		return err
	}
	for k := 3; k <= o.Points; k++ {
		run := f.buyer(key.With(1).With(uint64(k)))
		var sizes []memory.Size // of a few runs, whose times may rise with memory by chance
		for _, s := range memory.Few(f.sizes, k) {
			times := make([]float64, o.Parrotfish.Samples)
			for i := range times {
				var err error
				if times[i], err = run(s.MB); err != nil {
					return err
				}
			}
			slices.Sort(times)
			sizes = append(sizes, memory.SizeOf(s.MB, times))
		}
		published, chosen, err := f.errors(sizes)
		if err != nil {
			return err
		}
		tallies.At(even, k)[seed].add(float64(k*o.Parrotfish.Samples), published, chosen)
	}
	return nil
}

// buyer returns the function's runs at each size in a drawn order.
func (f *measured) buyer(key rng.Key) func(mb float64) (float64, error) {
	left := map[float64][]float64{}
	n := uint64(0)
	return func(mb float64) (float64, error) {
		if _, ok := left[mb]; !ok {
			left[mb] = slices.Clone(f.runs[mb])
		}
		runs := left[mb]
		if len(runs) == 0 {
			return 0, fmt.Errorf("no more runs with %g MB", mb)
		}
		n++
		i := key.With(n).IntN(len(runs))
		t := runs[i]
		left[mb] = slices.Delete(runs, i, i+1)
		return t, nil
	}
}

// errors returns the mean relative errors of the two laws over all sizes of the function.
func (f *measured) errors(sizes []memory.Size) (published, chosen float64, err error) {
	plain, err := memory.Fit(memory.Exponential, sizes, memory.Options{Plain: true})
	if err != nil {
		return 0, 0, err
	}
	laws, err := memory.Choose(sizes, memory.Options{SingleCore: memory.SingleCore})
	if err != nil {
		return 0, 0, err
	}
	for _, s := range f.sizes {
		published += math.Abs(plain.Seconds(s.MB)/s.Mean-1) / float64(len(f.sizes))
		chosen += math.Abs(laws[0].Law.Seconds(s.MB)/s.Mean-1) / float64(len(f.sizes))
	}
	return published, chosen, nil
}

// ReplayText is a replay for a terminal.
func ReplayText(r *Replayed) string {
	rows := [][]string{{"sizes", "design", "runs bought", "exponential, plain", "law chosen"}}
	for _, d := range r.Designs {
		rows = append(rows, []string{fmt.Sprint(d.Sizes), d.Design, fmt.Sprintf("%.1f", d.Runs),
			fmt.Sprintf("%.1f ± %.1f %%", 100*d.Published, 196*float64(d.PublishedSE)),
			fmt.Sprintf("%.1f ± %.1f %%", 100*d.Chosen, 196*float64(d.ChosenSE))})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d functions, each profiled %d times. Mean relative error over all measured sizes, with 95 %% intervals:\n\n",
		r.Functions, r.Seeds)
	b.WriteString(report.Columns(rows, true))
	fmt.Fprintf(&b, "\nParrotfish's own rule ends after %.1f sizes and %.1f runs, where its law errs by %.1f %%.\n", r.Stops.Sizes,
		r.Stops.Runs, 100*r.Stops.MAPE)
	return b.String()
}

// ReplayTable is a replay as CSV.
func ReplayTable(r *Replayed) [][]string {
	rows := [][]string{{"design", "sizes", "runs", "exponential_plain", "exponential_plain_se", "auto", "auto_se"}}
	for _, d := range r.Designs {
		row := []string{d.Design, fmt.Sprint(d.Sizes)}
		for _, x := range []float64{d.Runs, d.Published, float64(d.PublishedSE), d.Chosen, float64(d.ChosenSE)} {
			row = append(row, short(x))
		}
		rows = append(rows, row)
	}
	return rows
}

// WriteReplay leaves profile_replay.csv and the figure. It returns the names of the files.
func WriteReplay(dir string, r *Replayed) ([]string, error) {
	f := report.Into(dir)
	f.CSV("profile_replay.csv", ReplayTable(r))
	f.Draw("profile_replay", r.figure())
	return f.Files()
}

func (r *Replayed) figure() *chart.Figure {
	p := chart.NewPanel("", "runs bought for a function", "mean relative error (%)")
	f := &chart.Figure{Title: "Errors of laws over runs bought", Panels: []*chart.Panel{p}, Columns: 1, Width: 11 * vg.Centimeter,
		Height: 7 * vg.Centimeter, Under: fmt.Sprintf("%d functions, %d times each; 95 %% intervals; line: where Parrotfish's "+
			"own rule ends", r.Functions, r.Seeds)}
	i := 0
	for _, law := range []string{"exponential, plain", "law chosen"} {
		for _, design := range designs {
			style := chart.Styles(i)
			i++
			var x, y []float64
			for _, d := range r.Designs {
				if d.Design != design {
					continue
				}
				e, se := d.Published, d.PublishedSE
				if law == "law chosen" {
					e, se = d.Chosen, d.ChosenSE
				}
				half := 1.96 * float64(se)
				x, y = append(x, d.Runs), append(y, 100*e)
				p.Cross(style, chart.Exactly(d.Runs), chart.Range{At: 100 * e, Low: 100 * max(0, e-half), High: 100 * (e + half)})
			}
			p.Line(style, x, y, false)
			name := "Parrotfish's sizes: "
			if design == "even" {
				name = "even sizes: "
			}
			f.Key = append(f.Key, chart.Entry{Text: name + law, Style: style, Line: true, Dot: true})
		}
	}
	p.LevelX(r.Stops.Runs)
	return f
}
