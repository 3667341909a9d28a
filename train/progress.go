package train

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a run is: on a terminal a bar, and beneath it how time is spent and what was measured
// last; else plain lines.
type progress struct {
	out          io.Writer
	bar          *progressbar.ProgressBar
	total, first int64
	notes        []value // the last value of each thing noted
	doing        string  // what the loop is at, apart from stepping
	pace         pace
	every        time.Duration // bounds how often a plain line is printed
	drawn        time.Time     // when the bar was, or a line
}

const (
	// drawEvery bounds how often the bar is drawn, lineEvery is how often a plain line is printed at most unless
	// options say.
	drawEvery = 200 * time.Millisecond
	lineEvery = 2 * time.Second
)

func newProgress(out io.Writer, terminal bool, steps, total int64) *progress {
	p := &progress{out: out, total: total, first: steps, every: lineEvery}
	p.pace.add(time.Now(), steps)
	if terminal && steps < total {
		p.bar = progressbar.NewOptions64(
			total,
			progressbar.OptionSetWriter(out),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionSetElapsedTime(
				false,
			),
			progressbar.OptionSetPredictTime(false), // ours are over the last seconds
			progressbar.OptionShowDescriptionAtLineEnd(),
			progressbar.OptionSetMaxDetailRow(1),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(out) }),
		)
		p.draw(steps, &phases{})
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

// update draws the bar where it is time to.
func (p *progress) update(steps int64, ph *phases) {
	if p.bar == nil || (time.Since(p.drawn) < drawEvery && steps < p.total) {
		return
	}
	p.pace.add(time.Now(), steps)
	p.draw(steps, ph)
}

// busy says beneath the bar what is about to take a while.
func (p *progress) busy(steps int64, ph *phases, what string) {
	if p.bar == nil {
		return
	}
	p.doing = what + "  "
	p.draw(min(steps, p.total-1), ph) // at the end the bar would be finished before its time
	p.doing = ""
}

// draw draws the bar. One that can't be drawn must not end a run.
func (p *progress) draw(steps int64, ph *phases) {
	p.drawn = time.Now()
	p.bar.Describe(p.standing(steps))
	_ = p.bar.AddDetail(cut(p.details(ph), p.width()-1))
	_ = p.bar.Set64(min(steps, p.total))
}

// standing is steps, rate and the time that is left.
func (p *progress) standing(steps int64) string {
	rate := p.pace.rate()
	if rate == 0 {
		return fmt.Sprintf("%d/%d steps", steps, p.total)
	}
	left := time.Duration(float64(max(p.total-steps, 0)) / rate * float64(time.Second))
	return fmt.Sprintf("%d/%d steps  %.0f steps/s  ETA %s", steps, p.total, rate, left.Round(time.Second))
}

// details lists the phases that take a share worth showing, then what was noted.
func (p *progress) details(ph *phases) string {
	var parts []string
	for i, share := range ph.shares() {
		if share >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", phaseNames[i], 100*share))
		}
	}
	if n := p.noted(); n != "" {
		parts = append(parts, n)
	}
	return "  " + p.doing + strings.Join(parts, "  ")
}

// width is the terminal's, 80 where it doesn't say.
func (p *progress) width() int {
	if f, ok := p.out.(interface{ Fd() uintptr }); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// cut returns the first n characters of s.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > max(n, 0) {
		return string(r[:max(n, 0)])
	}
	return s
}

// line prints a plain line where there is no terminal: for every log, but not more often than every few seconds, the
// first and the last apart.
func (p *progress) line(steps int64) {
	now := time.Now()
	p.pace.add(now, steps)
	if p.bar != nil || (now.Sub(p.drawn) < p.every && steps < p.total) {
		return
	}
	p.drawn = now
	fmt.Fprintf(p.out, "%3.0f%%  %s  %s\n", 100*float64(steps)/float64(p.total), p.standing(steps), p.noted())
}

// evaluated shows an evaluation; best says that none was better.
func (p *progress) evaluated(steps int64, metric string, x float64, best bool) {
	p.note("eval "+metric, x)
	if p.bar != nil {
		return
	}
	remark := ""
	if best {
		remark = ", the best so far"
	}
	fmt.Fprintf(p.out, "      evaluation at step %d: %s %.4g%s\n", steps, metric, x, remark)
}

// finish leaves the bar's lines.
func (p *progress) finish() {
	if p.bar != nil && !p.bar.IsFinished() {
		fmt.Fprint(p.out, "\n\n")
	}
}

// pace measures a rate over the last seconds.
type pace struct {
	at    [16]time.Time
	steps [16]int64
	n     int // marks ever set
}

// paceEvery is the time between two marks.
const paceEvery = 500 * time.Millisecond

// add tells how many steps are done. Marks are set at paceEvery apart; the last one is always the present.
func (p *pace) add(now time.Time, steps int64) {
	if p.n >= 2 && now.Sub(p.at[(p.n-2)%len(p.at)]) < paceEvery {
		p.n-- // the last mark was provisional
	}
	p.at[p.n%len(p.at)], p.steps[p.n%len(p.at)] = now, steps
	p.n++
}

// rate is steps a second between the oldest mark and the last, 0 where that can't be said yet.
func (p *pace) rate() float64 {
	if p.n < 2 {
		return 0
	}
	first, last := max(0, p.n-len(p.at))%len(p.at), (p.n-1)%len(p.at)
	seconds := p.at[last].Sub(p.at[first]).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(p.steps[last]-p.steps[first]) / seconds
}
