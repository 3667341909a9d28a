//go:build libtorch && linux

package train_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/torch"
	"github.com/stoker-rl/stoker/tools/proof"
)

// memory is what the process held after a number of updates: bytes, but for the tensors.
type memory struct{ updates, tensors, resident, inGo float64 }

// columns of the CSV file, in memory's order.
var columns = []string{"updates", "live_tensors", "resident_bytes", "of_which_go_bytes"}

func (m memory) row() []float64 { return []float64{m.updates, m.tensors, m.resident, m.inGo} }

// now reads the kernel's exact count, which /proc/self/statm is not, after Go has collected its garbage: what stays
// is what is kept.
func now(t *testing.T, updates int) memory {
	t.Helper()
	debug.FreeOSMemory()
	text := must.Get(os.ReadFile("/proc/self/smaps_rollup"))(t)
	_, after, ok := bytes.Cut(text, []byte("\nRss:"))
	fields := bytes.Fields(after)
	if !ok || len(fields) == 0 {
		t.Fatalf("/proc/self/smaps_rollup has no Rss: %s", text)
	}
	kB := must.Get(strconv.ParseFloat(string(fields[0]), 64))(t)
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return memory{float64(updates), float64(torch.Live()), kB * 1024, float64(s.Sys - s.HeapReleased)}
}

// Updates on libtorch leave nothing behind: neither tensors nor memory, over a hundred thousand of them.
func TestUpdatesOnTorchLeaveNothingBehind(t *testing.T) {
	const agents, batch, hidden, observation, action = 5, 16, 32, 10, 4
	updates, every, settled := 1000, 50, 250
	full := flag.Lookup("long").Value.String() == "true"
	if full {
		updates, every, settled = 100_000, 500, 10_000
	}
	e := must.Get(engines.Open(engines.Torch, engines.Options{Device: "cpu", Threads: 1}))(t)
	k := envs.Kind{Name: "agent", Agents: agents, Observation: envs.Unbounded(observation),
		Action: envs.NewBox(action, 0, 1)}
	for i := range agents {
		k.Neighbours = append(k.Neighbours, []int{(i + 1) % agents, (i + agents - 1) % agents})
	}
	c := maddpg.Default()
	c.Mix, c.Batch, c.Hidden, c.Keys = maddpg.Attention, batch, []int{hidden, hidden}, hidden
	update := must.Get(maddpg.Updater(c, &envs.Spec{ID: "memory", Kinds: []envs.Kind{k}}, e))(t)
	var seen []memory
	for n := 1; n <= updates; n++ {
		must.Do(t, update())
		if n%every == 0 && n > settled {
			seen = append(seen, now(t, n))
		}
	}
	fewest, most := seen[0].tensors, seen[0].tensors
	for _, m := range seen {
		fewest, most = min(fewest, m.tensors), max(most, m.tensors)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if !full {
		if fewest != most {
			t.Errorf("from %g to %g live tensors, want always the same", fewest, most)
		}
		return
	}
	slope, wide := trend(seen)
	what := fmt.Sprintf("libtorch over 100,000 updates (attention MADDPG, %d agents, batch %d, %d×%d hidden)", agents,
		batch, hidden, hidden)
	command := "go test -tags libtorch ./train -run '^TestUpdatesOnTorchLeaveNothingBehind$' -long -v -timeout 0"
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: what + ": live tensors stay the same", Bound: "no change between updates",
		Measured: fmt.Sprintf("%g to %g tensors in %d readings", fewest, most,
			len(seen)), Holds: fewest == most, Command: command,
	})
	proof.Claim(t, proof.Row{
		// A tensor of libtorch is more than 200 bytes even when it is empty.
		Topic: "numerics", Claim: what + ": resident memory stays flat after the first 10,000", Bound: "slope below 10 bytes an update at the upper end of its 95 % interval",
		Measured: fmt.Sprintf("%.2f ± %.2f bytes an update; %.1f MiB at the beginning, %.1f at the end", slope, wide,
			seen[0].resident/(1<<20), seen[len(seen)-1].resident/(1<<20)),
		Holds: slope+wide < 10, Command: command,
	})
	if dir := os.Getenv(proof.Folder); dir != "" {
		if err := errors.Join(writeCSV(filepath.Join(dir, "memory.csv"), seen), drawMemory(dir, what, seen),
			writeJSON(filepath.Join(dir, "memory.json"), map[string]any{
				"updates": updates, "readings": len(seen), "tensors_least": fewest, "tensors_most": most, "slope_bytes_per_update": slope, "half_width_95": wide,
			})); err != nil {
			t.Error(err)
		}
	}
}

// trend is the least-squares slope of resident bytes by updates with half the width of its 95 % interval. It is taken
// over the means of 20 parts: readings that follow one another are alike, means of thousands of updates hardly.
func trend(seen []memory) (slope, wide float64) {
	const parts = 20
	const student = 2.1009 // 0.975 quantile of Student's t, 18 degrees of freedom
	var x, y [parts]float64
	for p := range parts {
		part := seen[p*len(seen)/parts : (p+1)*len(seen)/parts]
		for _, m := range part {
			x[p] += m.updates / float64(len(part))
			y[p] += m.resident / float64(len(part))
		}
	}
	var mx, my float64
	for p := range parts {
		mx, my = mx+x[p]/parts, my+y[p]/parts
	}
	var sxx, sxy, rest float64
	for p := range parts {
		sxx, sxy = sxx+(x[p]-mx)*(x[p]-mx), sxy+(x[p]-mx)*(y[p]-my)
	}
	slope = sxy / sxx
	for p := range parts {
		d := y[p] - my - slope*(x[p]-mx)
		rest += d * d
	}
	return slope, student * math.Sqrt(rest/(parts-2)/sxx)
}

// The trend of a line with a ripple is the line's, and the interval holds it.
func TestTrend(t *testing.T) {
	var seen []memory
	for i := range 400 {
		ripple := 1000 * math.Sin(float64(i*i))
		seen = append(seen, memory{updates: float64(250 * i), resident: 1e8 + 3*float64(250*i) + ripple})
	}
	if slope, wide := trend(seen); math.Abs(slope-3) > wide || wide > 0.05 || wide <= 0 {
		t.Errorf("slope %g ± %g, want 3 within less than 0.05", slope, wide)
	}
}

func writeCSV(path string, seen []memory) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{columns}
	for _, m := range seen {
		var row []string
		for _, v := range m.row() {
			row = append(row, strconv.FormatFloat(v, 'f', -1, 64))
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// drawMemory draws tensors and memory over updates, each from 0: flat is to look flat.
func drawMemory(dir, title string, seen []memory) error {
	var x, tensors, resident, inGo []float64
	for _, m := range seen {
		x, tensors = append(x, m.updates), append(tensors, m.tensors)
		resident, inGo = append(resident, m.resident/(1<<20)), append(inGo, m.inGo/(1<<20))
	}
	left, right := chart.NewPanel("Tensors", "updates", "live tensors"), chart.NewPanel("Memory", "updates", "MiB")
	all, ours := chart.Styles(0), chart.Styles(1)
	left.Line(all, x, tensors, false)
	right.Line(all, x, resident, false)
	right.Line(ours, x, inGo, false)
	for _, p := range []*chart.Panel{left, right} {
		p.RangeX(0, x[len(x)-1])
		p.RangeY(0, 0)
		p.TicksX(4)
	}
	f := chart.Figure{
		Title: title, Panels: []*chart.Panel{left, right}, Columns: 2, Width: 300, Height: 220,
		Key: []chart.Entry{{Text: "the process", Style: all, Line: true},
			{Text: "of which Go", Style: ours, Line: true}},
	}
	_, err := f.Save(dir, "memory")
	return err
}
