package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/fit"
)

// ticker tells how far work is: on a terminal in a line that is drawn over and over, else in a line every five seconds.
type ticker struct {
	out             io.Writer
	terminal, drawn bool
	begun, last     time.Time
	every           time.Duration
}

func (c *call) ticker() *ticker {
	t := &ticker{out: c.errs, terminal: isTerminal(c.errs), begun: time.Now(), every: 5 * time.Second}
	if t.last = t.begun; t.terminal {
		t.every = 200 * time.Millisecond
	}
	return t
}

// tell shows the line where it is time. At the end of the work the terminal's line goes.
func (t *ticker) tell(end bool, line func(elapsed time.Duration) string) {
	now := time.Now()
	switch {
	case t.terminal && end:
		if t.drawn {
			fmt.Fprint(t.out, "\r\x1b[K")
		}
	case now.Sub(t.last) < t.every:
	case t.terminal:
		t.last, t.drawn = now, true
		fmt.Fprintf(t.out, "\r\x1b[K%s", short(line(now.Sub(t.begun)), terminalWidth(t.out)-1))
	default:
		t.last = now
		fmt.Fprintln(t.out, line(now.Sub(t.begun)))
	}
}

// count shows how many of the things named are done.
func (c *call) count(things string) func(done, all int) {
	t := c.ticker()
	return func(done, all int) {
		t.tell(done == all, func(elapsed time.Duration) string {
			rate := float64(done) / elapsed.Seconds()
			left := time.Duration(float64(all-done) / max(rate, 1e-9) * float64(time.Second))
			return fmt.Sprintf("%d of %d %s  %.3g/s  ETA %s", done, all, things, rate, left.Round(time.Second))
		})
	}
}

// stages shows how far each stage is.
func (c *call) stages() func(stage string, done, all int) {
	now, show := "", func(int, int) {}
	return func(stage string, done, all int) {
		if stage != now {
			now, show = stage, c.count(stage)
		}
		show(done, all)
	}
}

// episodes shows how far an evaluation is.
func (c *call) episodes() func(eval.Progress) {
	t := c.ticker()
	return func(p eval.Progress) {
		if p.Done == p.All && !t.terminal {
			return
		}
		t.tell(p.Done == p.All, func(elapsed time.Duration) string {
			work, left := "", "ETA after the first episode of every policy"
			if p.Known { // before, the share would fall when the dearest policy's first episode ends
				work, left = fmt.Sprintf("%.0f %% of the work  ", 100*p.Work), "ETA "+p.Left.Round(time.Second).String()
			}
			return fmt.Sprintf("%d of %d episodes  %s%.3g episodes/s  %s", p.Done, p.All, work, float64(p.Done)/elapsed.Seconds(), left)
		})
	}
}

// generations shows how far a search is. The first generation's line and the last one's stay.
func (c *call) generations() func(fit.Progress) {
	t := c.ticker()
	t.last = time.Time{}
	return func(p fit.Progress) {
		line := func(time.Duration) string {
			return fmt.Sprintf("generation %d of %d  %.3g episodes/s  ETA %s  return %.4g, best %.4g  width %.2f", p.Generation,
				p.Generations, float64(p.Evaluations)/p.Elapsed.Seconds(), p.Left.Round(time.Second), p.Mean, p.Best, p.Width)
		}
		end := p.Generation == p.Generations
		if end {
			t.last = time.Time{} // its line is due, and stays
		}
		t.tell(false, line)
		if end && t.terminal {
			fmt.Fprintln(t.out)
		}
	}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is the terminal's, 80 where it doesn't say.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// short returns the first n characters of s.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:max(n, 0)])
	}
	return s
}

// textWidth is where sentences wrap: a terminal's width, and a fixed one elsewhere, so that output in a pipe is stable.
func textWidth(w io.Writer) int {
	if !isTerminal(w) {
		return eval.TextWidth
	}
	return terminalWidth(w)
}
