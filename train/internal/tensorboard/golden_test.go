package tensorboard

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train/internal/tensorboard/eventtest"
)

// clock is a clock that tests set.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func start() *clock { return &clock{time.Unix(1_700_000_000, 250_000_000)} }

// writeGolden logs one of everything, a quarter of a second apart.
func writeGolden(t testing.TB, dir string) *Writer {
	t.Helper()
	c := start()
	w := must.Get(NewAt(dir, c.now))(t)
	tick := func() { c.t = c.t.Add(250 * time.Millisecond) }
	tick()
	must.Do(t, errors.Join(
		w.Text("config", 0, "```yaml\nlr: 0.001\n```"),
		w.HParams(map[string]any{"lr": 0.001, "agent": "maddpg", "attention": true, "seed": 7, "big": uint64(1) << 40,
			"tau": float32(0.5), "steps": int64(9)}, []string{"rollout/ep_rew_mean"}),
	))
	for step := int64(0); step < 3; step++ {
		tick()
		must.Do(t, w.Scalar("rollout/ep_rew_mean", 100*step, -1.5*float64(step)))
	}
	tick()
	must.Do(t, errors.Join(
		w.Scalar("train/é", -1, math.Inf(1)),
		w.Purge(200),
		w.Scalar("rollout/ep_rew_mean", 200, 10),
		w.Finish(Success),
		w.Close(),
	))
	return w
}

// golden is the recorded file. It was written by this test with STOKER_UPDATE=1 and read by hand with TensorBoard
// 2.21.0: its EventFileLoader gave every event, both of its servers the purged curve, its HParams tab the table.
const golden = "testdata/golden.tfevents"

func TestGolden(t *testing.T) {
	w := writeGolden(t, t.TempDir())
	got := must.Get(os.ReadFile(w.f.Name()))(t)
	if os.Getenv("STOKER_UPDATE") != "" {
		must.Do(t, os.WriteFile(golden, got, 0o666))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes that are not the %d recorded", len(got), len(want))
	}
	if name := filepath.Base(w.f.Name()); !strings.HasPrefix(name, "events.out.tfevents.1700000000.") ||
		!strings.HasSuffix(name, fmt.Sprintf(".%d", os.Getpid())) {
		t.Errorf("the file is called %s", name)
	}
}

func TestReadGolden(t *testing.T) {
	var got []string
	raw := must.Get(os.ReadFile(golden))(t)
	events := must.Get(eventtest.Read(raw))(t)
	for _, e := range events {
		line := fmt.Sprintf("%.2f %d", e.WallTime-1_700_000_000, e.Step)
		if e.FileVersion != "" {
			line += " version " + e.FileVersion
		}
		if e.Start {
			line += " start"
		}
		for _, v := range e.Values {
			line += " " + v.Tag
			switch {
			case v.Scalar != nil:
				line += fmt.Sprintf(" = %v", *v.Scalar)
			default:
				line += fmt.Sprintf(" (%s) %q %d", v.Plugin, v.Text, len(v.Content))
			}
		}
		got = append(got, line)
	}
	want := []string{
		"0.25 0 version brain.Event:2",
		"0.25 0 start",
		"0.50 0 config (text) [\"```yaml\\nlr: 0.001\\n```\"] 0",
		"0.50 0 _hparams_/experiment (hparams) [] 109",
		"0.50 0 _hparams_/session_start_info (hparams) [] 140",
		"0.75 0 rollout/ep_rew_mean = -0",
		"1.00 100 rollout/ep_rew_mean = -1.5",
		"1.25 200 rollout/ep_rew_mean = -3",
		"1.50 -1 train/é = +Inf",
		"1.50 200 start",
		"1.50 200 rollout/ep_rew_mean = 10",
		"1.50 0 _hparams_/session_end_info (hparams) [] 13",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
