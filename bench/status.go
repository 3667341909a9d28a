package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Status is where a measurement that takes minutes says how far it is: a bar on a terminal, else a line now and then. The zero
// Status is silent.
type Status struct {
	Out      io.Writer
	Terminal bool
}

// statusEvery is the time between two plain lines.
const statusEvery = 10 * time.Second

type meter struct {
	Status
	bar     *progressbar.ProgressBar
	total   int
	what    string
	begun   time.Time
	printed time.Time
}

func (s Status) start(total int, what string) *meter {
	m := &meter{Status: s, total: total, what: what, begun: time.Now(), printed: time.Now()}
	if s.Out != nil && s.Terminal {
		m.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(s.Out), progressbar.OptionUseANSICodes(true),
			progressbar.OptionFullWidth(), progressbar.OptionShowCount(), progressbar.OptionSetDescription(what),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(s.Out) }))
	}
	return m
}

// at says that so much is done.
func (m *meter) at(done int) {
	switch {
	case m.bar != nil:
		_ = m.bar.Set(done) // a bar that cannot be drawn is no reason to stop
	case m.Out != nil && time.Since(m.printed) >= statusEvery:
		m.printed = time.Now()
		left := time.Duration(float64(time.Since(m.begun)) * float64(m.total-done) / float64(max(done, 1)))
		fmt.Fprintf(m.Out, "%d of %d %s, %s left\n", done, m.total, m.what, left.Round(time.Second))
	}
}

func (m *meter) finish() {
	if m.bar != nil {
		_ = m.bar.Finish()
	}
}

// cpuSeconds is the time that this process has computed; 0 where the system doesn't tell.
func cpuSeconds() float64 {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name in brackets may hold anything; after it come the state and, 11 fields on, user and system time in ticks of 10 ms.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err := strconv.ParseFloat(string(f[11]), 64)
	if err != nil {
		return 0
	}
	system, err := strconv.ParseFloat(string(f[12]), 64)
	if err != nil {
		return 0
	}
	return (user + system) / 100
}
