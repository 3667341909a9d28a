package train

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how a run is getting on: a bar on a terminal, else a plain line per log.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	total int64
	notes []value // the last value of each thing noted
	began time.Time
	first int64
	drawn time.Time
}

func newProgress(out io.Writer, terminal bool, name string, steps, total int64) *progress {
	p := &progress{out: out, total: total, began: time.Now(), first: steps}
	if terminal {
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(name), progressbar.OptionShowIts(),
			progressbar.OptionSetItsString("steps"), progressbar.OptionShowCount(), progressbar.OptionSetWidth(20),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(out) }))
		// A bar that cannot be drawn must not end a run.
		_ = p.bar.Set64(steps)
	}
	return p
}

// note remembers a value to show.
func (p *progress) note(name string, x float64) {
	for i := range p.notes {
		if p.notes[i].name == name {
			p.notes[i].x = x
			return
		}
	}
	p.notes = append(p.notes, value{name, x})
}

func (p *progress) noted() string {
	parts := make([]string, len(p.notes))
	for i, n := range p.notes {
		parts[i] = fmt.Sprintf("%s %.4g", n.name, n.x)
	}
	return strings.Join(parts, "  ")
}

// drawEvery bounds how often the bar's text is put together.
const drawEvery = 200 * time.Millisecond

func (p *progress) update(steps int64, ph phases) {
	if p.bar == nil {
		return
	}
	if now := time.Now(); now.Sub(p.drawn) >= drawEvery || steps >= p.total {
		p.drawn = now
		p.bar.Describe(fmt.Sprintf("act %.0f %% · step %.0f %% · update %.0f %%  %s",
			100*ph.share(phaseAct), 100*ph.share(phaseStep), 100*ph.share(phaseUpdate), p.noted()))
		_ = p.bar.Set64(min(steps, p.total))
	}
}

// line prints a plain line where there is no terminal.
func (p *progress) line(steps int64, rate float64) {
	if p.bar != nil {
		return
	}
	done := time.Since(p.began)
	eta := "?"
	if steps > p.first {
		eta = (done * time.Duration(max(p.total-steps, 0)) / time.Duration(steps-p.first)).Round(time.Second).String()
	}
	fmt.Fprintf(p.out, "step %d/%d (%.0f %%)  %.0f steps/s  ETA %s  %s\n",
		steps, p.total, 100*float64(steps)/float64(p.total), rate, eta, p.noted())
}

// finish ends the bar's line.
func (p *progress) finish() {
	if p.bar != nil && !p.bar.IsFinished() {
		fmt.Fprintln(p.out)
	}
}
