package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval"
)

// evalProgress shows how far an evaluation is: on a terminal a line that is drawn over and over, else one now and then.
func evalProgress(c *cobra.Command) func(eval.Progress) {
	w, terminal := c.ErrOrStderr(), isTerminal(c.ErrOrStderr())
	begun := time.Now()
	last, every, drawn := begun, 5*time.Second, false
	if terminal {
		every = 200 * time.Millisecond
	}
	return func(p eval.Progress) {
		now := time.Now()
		switch {
		case terminal && drawn && p.Done == p.All:
			fmt.Fprint(w, "\r\x1b[K")
		case now.Sub(last) < every || p.Done == p.All:
		case terminal:
			last, drawn = now, true
			fmt.Fprintf(w, "\r\x1b[K%s", short(evalLine(p, now.Sub(begun)), terminalWidth(w)-1))
		default:
			last = now
			fmt.Fprintln(w, evalLine(p, now.Sub(begun)))
		}
	}
}

// evalLine is what evalProgress shows.
func evalLine(p eval.Progress, elapsed time.Duration) string {
	left := "ETA after the first episode of every policy"
	if p.Known {
		left = "ETA " + p.Left.Round(time.Second).String()
	}
	return fmt.Sprintf("%d of %d episodes  %.0f %% of the work  %.3g episodes/s  %s", p.Done, p.All, 100*p.Work,
		float64(p.Done)/elapsed.Seconds(), left)
}
