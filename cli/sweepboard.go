package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/train/sweep"
)

// sweepBoard shows how a sweep is getting on: on a terminal a line for the whole and one for each run under way, drawn
// over and over; else a line for the whole now and then, and one for each run that is over.
type sweepBoard struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	whole    string
	runs     []string          // under way, in the order in which they began
	said     map[string]string // what each said last
	rows     int               // drawn
	told     time.Time         // when the whole was last written, or drawn
}

func newSweepBoard(out io.Writer, terminal bool) *sweepBoard {
	return &sweepBoard{out: out, terminal: terminal, said: map[string]string{}}
}

// of is where a run writes its progress.
func (b *sweepBoard) of(r sweep.Run) io.Writer {
	return &lines{say: func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !slices.Contains(b.runs, r.Folder) {
			b.runs = append(b.runs, r.Folder)
		}
		b.said[r.Folder] = line
	}}
}

// sweepLineEvery is how often a line for the whole is written where lines stay.
const sweepLineEvery = 5 * time.Second

// report tells how far the whole is.
func (b *sweepBoard) report(p sweep.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = fmt.Sprintf("%3.0f%%  %d/%d runs", 100*float64(p.Steps)/float64(max(p.Planned, 1)), p.Finished, p.Runs)
	if p.Failed > 0 {
		b.whole += fmt.Sprintf(", %d failed", p.Failed)
	}
	b.whole += fmt.Sprintf("  %d/%d steps", p.Steps, p.Planned)
	if p.Rate > 0 {
		b.whole += fmt.Sprintf("  %.0f steps/s  ETA %s", p.Rate, p.Left.Round(time.Second))
	}
	if b.terminal {
		b.draw()
	} else if time.Since(b.told) >= sweepLineEvery {
		b.told = time.Now()
		fmt.Fprintln(b.out, b.whole)
	}
}

// ended tells that a run is over.
func (b *sweepBoard) ended(_ sweep.Arm, r sweep.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs = slices.DeleteFunc(b.runs, func(o string) bool { return o == r.Folder })
	line := fmt.Sprintf("%s: %s", r.Folder, r.Status)
	if r.Error != "" {
		line += ": " + firstLine(r.Error)
	}
	switch {
	case !b.terminal:
		fmt.Fprintln(b.out, line)
	case r.Status == sweep.Failed: // it stays above what is drawn
		b.clear()
		fmt.Fprintln(b.out, short(line, terminalWidth(b.out)-1))
		b.draw()
	}
}

// clear goes up to the first of the lines drawn and removes them.
func (b *sweepBoard) clear() {
	if b.rows > 0 {
		fmt.Fprintf(b.out, "\x1b[%dA\r\x1b[J", b.rows)
	}
	b.rows = 0
}

// draw writes the whole and the runs under way over what was drawn before.
func (b *sweepBoard) draw() {
	var s strings.Builder
	if b.rows > 0 {
		fmt.Fprintf(&s, "\x1b[%dA\r\x1b[J", b.rows)
	}
	width := terminalWidth(b.out) - 1
	fmt.Fprintln(&s, short(b.whole, width))
	for _, r := range b.runs {
		fmt.Fprintln(&s, short("  "+r+"  "+b.said[r], width))
	}
	b.rows = 1 + len(b.runs)
	fmt.Fprint(b.out, s.String())
}

// finish leaves the last state of the whole.
func (b *sweepBoard) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.whole == "":
	case b.terminal:
		b.runs = nil
		b.draw()
	default:
		fmt.Fprintln(b.out, b.whole)
	}
}
