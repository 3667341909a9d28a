package train

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// The rate is over the last seconds, whatever was before, and begins with what this process does: a resumed run's
// first steps don't count.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1_700_000_000, 0)
	p.add(now, 1_000_000)
	if p.rate() != 0 {
		t.Errorf("rate of one mark is %g", p.rate())
	}
	p.add(now.Add(100*time.Millisecond), 1_000_010)
	if r := p.rate(); r < 99 || r > 101 {
		t.Errorf("rate is %g, want 100", r)
	}
	steps := int64(1_000_010)
	for i := range 1000 { // 20 marks a second, 50 steps each
		steps += 50
		p.add(now.Add(time.Duration(150+50*i)*time.Millisecond), steps)
	}
	if r := p.rate(); r < 999 || r > 1001 {
		t.Errorf("rate is %g, want 1000", r)
	}
	// Nothing for a while: the rate falls at once.
	p.add(now.Add(80*time.Second), steps)
	if r := p.rate(); r > 300 {
		t.Errorf("rate after half a minute's halt is %g", r)
	}
}

// On a terminal: steps, rate and time left behind the bar, phases and notes beneath, in lines that fit.
func TestBar(t *testing.T) { synctest.Test(t, testBar) }

func testBar(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, true, 2_000, 10_000)
	ph := newPhases(0)
	ph.spent[phaseAct], ph.spent[phaseUpdate] = 2*time.Second, 6*time.Second
	p.note("return", -12.345)
	p.note("a quantity with a name that is far too long for any terminal that anybody ever had", 1)
	time.Sleep(time.Second)
	p.update(3_000, &ph)
	text := out.String()
	for _, want := range []string{"3000/10000 steps", "steps/s  ETA", "act 25%  update 75%  return -12.3", " 30%"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	for line := range strings.Lines(text) {
		for part := range strings.SplitSeq(line, "\r") {
			part = strings.NewReplacer("\x1b[K", "", "\x1b[0K", "", "\x1b[2F", "", "\n", "").Replace(part)
			if n := utf8.RuneCountInString(part); n > 80 {
				t.Errorf("a line of %d characters: %q", n, part)
			}
		}
	}
	out.Reset()
	p.busy(3_000, &ph, "evaluating")
	if !strings.Contains(out.String(), "  evaluating  act 25%") {
		t.Errorf("while evaluating it shows %q", &out)
	}
	n := out.Len()
	p.update(3_001, &ph)
	if out.Len() != n {
		t.Error("drawn again at once")
	}
	out.Reset()
	p.finish()
	if out.String() != "\n\n" {
		t.Errorf("an unfinished bar is left by %q", out.String())
	}
	p.update(10_000, &ph) // the end is always drawn
	if !p.bar.IsFinished() || !strings.Contains(out.String(), "100%") {
		t.Errorf("at the end it shows %q", out.String())
	}
	out.Reset()
	p.finish()
	if out.Len() != 0 {
		t.Errorf("a finished bar is left by %q", out.String())
	}
}

// Plain lines come every few seconds, whatever the schedule of logs, and at the end.
func TestPlainLines(t *testing.T) { synctest.Test(t, testPlainLines) }

func testPlainLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false, 0, 100)
	for i := range int64(10) {
		p.line(10 * (i + 1))
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "10%") || !strings.HasPrefix(lines[1], "100%") {
		t.Errorf("lines are %q", lines)
	}
	out.Reset()
	p.evaluated(100, "cost", 1.5, false)
	p.evaluated(100, "cost", 1.25, true)
	if want := "      evaluation at step 100: cost 1.5\n      evaluation at step 100: cost 1.25, the best so far\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if got := cut("héllo", 3); got != "hél" || cut("a", 3) != "a" || cut("abc", -1) != "" {
		t.Errorf("cut gives %q", got)
	}
	if got := fmt.Sprint(p.noted()); got != "eval cost 1.25" {
		t.Errorf("noted %q", got)
	}
}
