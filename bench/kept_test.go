package bench

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/proof"
)

// kept is the folder of docs/results/speed/measure.
var kept = filepath.Join("..", "docs", "results", "speed")

// TestKept says what the kept measurements claim, and draws how cost grows with the number of agents.
func TestKept(t *testing.T) {
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		t.Skip("measures nothing: docs/results/speed/measure runs it")
	}
	rows := readKept[Comparison](t, kept, "peers.jsonl")
	writeTable(t, dir, rows)
	claimForms(t, rows)
	claimDense(t, rows)
	claimSpread(t, rows)
	claimBeside(t, readKept[Result](t, kept, "beside.jsonl"))
	drawGrowth(t, dir, readKept[Result](t, kept, "recorded.jsonl"), rows)
}

// readKept reads a folder's file of kept lines.
func readKept[T any](t *testing.T, folder, name string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for in := bufio.NewScanner(f); in.Scan(); {
		var x T
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// command of a claim.
const command = "docs/results/speed/measure PYTHON PEERS"

// claimForms: two threads of ours against PyTorch's forms with two, the best of which depends on the size.
func claimForms(t *testing.T, rows []Comparison) {
	t.Helper()
	for _, size := range []struct {
		agents     int
		lean, best float64
	}{{5, 6, 5}, {12, 6, 5}, {50, 4, 4}} {
		for _, batch := range []int{64, 1024} {
			for _, k := range []struct {
				name  string
				share float64
			}{{"avx512", 1}, {"avx2", 0.5}} {
				what := fmt.Sprintf("attmf %d agents × %d sparse", size.agents, batch)
				var lean, best *Comparison
				for i, r := range rows {
					if r.What != what || r.Ours != "native "+k.name+" 2 threads" || !strings.HasSuffix(r.Peer, " 2 threads") {
						continue
					}
					if strings.HasPrefix(r.Peer, "lean") {
						lean = &rows[i]
					}
					if best == nil || r.Ratio < best.Ratio {
						best = &rows[i]
					}
				}
				for _, c := range []struct {
					form  string
					row   *Comparison
					least float64
				}{{"lean", lean, size.lean * k.share}, {"the best form", best, size.best * k.share}} {
					if c.row == nil {
						t.Errorf("%s: nothing kept against %s", what, c.form)
						continue
					}
					peer, _, _ := strings.Cut(c.row.Peer, " ")
					proof.Claim(t, proof.Row{
						Topic: "speed", Claim: fmt.Sprintf("Update of %d agents × %d, %s, two threads each, against PyTorch's %s", size.agents, batch, k.name, c.form),
						Bound: fmt.Sprintf("%g times", c.least), Holds: c.row.Ratio >= c.least, Command: command,
						Measured: fmt.Sprintf("%.1f times %s (quartiles %.1f–%.1f of %d rounds), %s and %s updates/s",
							c.row.Ratio, peer, c.row.Low, c.row.High, c.row.Rounds, Digits(c.row.OurValue), Digits(c.row.PeerValue)),
					})
				}
			}
		}
	}
}

// claimDense: where every agent sees every other, against the best of PyTorch's forms, which compute all pairs anyway.
func claimDense(t *testing.T, rows []Comparison) {
	t.Helper()
	for _, n := range []int{50, 200} {
		what := fmt.Sprintf("attmf %d agents × 64 dense", n)
		var best *Comparison
		for i, r := range rows {
			if r.What == what && r.Ours == "native avx512 2 threads" && strings.HasSuffix(r.Peer, " 2 threads") && (best == nil || r.Ratio < best.Ratio) {
				best = &rows[i]
			}
		}
		if best == nil {
			t.Errorf("%s: nothing kept", what)
			continue
		}
		peer, _, _ := strings.Cut(best.Peer, " ")
		proof.Claim(t, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("Update of %d agents × 64 where each sees all, avx512, two threads each, against PyTorch's best form", n),
			Bound: "1 times", Holds: best.Ratio >= 1, Command: command,
			Measured: fmt.Sprintf("%.1f times %s (quartiles %.1f–%.1f of %d rounds), %s and %s updates/s",
				best.Ratio, peer, best.Low, best.High, best.Rounds, Digits(best.OurValue), Digits(best.PeerValue)),
		})
	}
}

// claimSpread goes from two lengths of training, without and with updates, to the 25,000 episodes of the recipe: what an episode costs doesn't
// change after the first update.
func claimSpread(t *testing.T, rows []Comparison) {
	t.Helper()
	const first, whole = 1024, 25_000
	type way struct{ kernels, threads string }
	seconds := map[way]map[int][2]float64{} // by episodes: ours, the peer's
	second := 0
	for _, r := range rows {
		var n int
		if _, err := fmt.Sscanf(r.What[strings.LastIndex(r.What, "agents ")+len("agents "):], "%d episodes", &n); err != nil || !strings.HasPrefix(r.What, "spread") {
			continue
		}
		f := strings.Fields(r.Ours)
		k := way{f[1], f[2]}
		second = max(second, n)
		if seconds[k] == nil {
			seconds[k] = map[int][2]float64{}
		}
		seconds[k][n] = [2]float64{float64(n) / r.OurValue, float64(n) / r.PeerValue}
	}
	for _, k := range []way{{"avx512", "1"}, {"avx2", "1"}, {"avx512", "2"}, {"avx2", "2"}} {
		var total [2]float64
		for n, s := range seconds[k] {
			if n == first {
				continue
			}
			for i := range total {
				before := seconds[k][first][i]
				total[i] = before + (s[i]-before)*(whole-first)/float64(n-first)
			}
		}
		if total[0] == 0 {
			t.Errorf("simple_spread, %+v: nothing kept", k)
			continue
		}
		threads := map[string]string{"1": "one thread", "2": "two threads"}[k.threads]
		ratio := total[1] / total[0]
		proof.Claim(t, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("MADDPG on simple_spread, 25,000 episodes, independent minibatches, %s each, %s, from 1,024 and %d episodes of both", threads, k.kernels, second),
			Bound: "8 times", Holds: ratio >= 8, Command: command,
			Measured: fmt.Sprintf("%.1f times: %.0f s and %.0f s", ratio, total[0], total[1]),
		})
	}
}

// claimBeside: two threads beside a busy process against one thread beside it.
func claimBeside(t *testing.T, rows []Result) {
	t.Helper()
	for i := 0; i+3 < len(rows); i += 4 { // alone with one thread and two, then beside
		alone, beside := rows[i+1].UpdatesPerSecond/rows[i].UpdatesPerSecond, rows[i+3].UpdatesPerSecond/rows[i+2].UpdatesPerSecond
		proof.Claim(t, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("Two threads against one beside one busy process on two cores, %d agents × %d", rows[i].Agents, rows[i].Batch),
			Bound: "0.8 times", Holds: beside >= 0.8, Command: command, Measured: fmt.Sprintf("%.2f times (alone %.2f)", beside, alone),
		})
	}
}

// drawGrowth draws milliseconds of an update and peak memory against the number of agents, ours and PyTorch's best form.
func drawGrowth(t *testing.T, dir string, rows []Result, peers []Comparison) {
	t.Helper()
	f := &chart.Figure{Title: "One update of attention mean-field MADDPG, two threads", Columns: 2, Width: 20 * vg.Centimeter, Height: 9 * vg.Centimeter}
	cost, memory := chart.NewPanel("", "agents", "milliseconds"), chart.NewPanel("", "agents", "peak memory, MB")
	for _, p := range []*chart.Panel{cost, memory} {
		p.LogX()
		p.LogY()
	}
	f.Panels = []*chart.Panel{cost, memory}
	table := [][]string{{"who", "neighbours", "batch", "agents", "milliseconds", "peak_mb"}}
	style := 0
	line := func(text string, agents, ms, mb []float64) {
		if len(agents) == 0 {
			return
		}
		s := chart.Styles(style)
		style++
		cost.Line(s, agents, ms, false)
		if mb != nil {
			memory.Line(s, agents, mb, false)
		}
		f.Key = append(f.Key, chart.Entry{Text: text, Style: s, Line: true})
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }
	for _, neighbours := range []string{"sparse", "dense"} {
		for _, batch := range []int{64, 1024} {
			var agents, ms, mb []float64
			for _, r := range rows {
				if r.Bench == "attmf" && r.Threads == 2 && r.Batch == batch && r.Neighbours == neighbours {
					agents, ms, mb = append(agents, float64(r.Agents)), append(ms, r.Nanoseconds/1e6), append(mb, r.PeakMemory)
					table = append(table, []string{"stoker " + r.Kernels, neighbours, strconv.Itoa(batch), strconv.Itoa(r.Agents), number(r.Nanoseconds / 1e6), number(r.PeakMemory)})
				}
			}
			line(fmt.Sprintf("ours, %s, batch %d", neighbours, batch), agents, ms, mb)
		}
	}
	for _, batch := range []int{64, 1024} {
		best := map[int]float64{}
		for _, r := range peers {
			var n, b int
			if _, err := fmt.Sscanf(r.What, "attmf %d agents × %d", &n, &b); err == nil && b == batch && !strings.HasSuffix(r.What, "dense") {
				best[n] = max(best[n], r.PeerValue)
			}
		}
		var agents, ms []float64
		for _, n := range []int{5, 12, 50, 200} {
			if best[n] > 0 {
				agents, ms = append(agents, float64(n)), append(ms, 1e3/best[n])
				table = append(table, []string{"PyTorch, best form", "sparse", strconv.Itoa(batch), strconv.Itoa(n), number(1e3 / best[n]), ""})
			}
		}
		line(fmt.Sprintf("PyTorch's best form, batch %d", batch), agents, ms, nil)
	}
	if _, err := f.Save(dir, "growth"); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(table[1:], func(a, b []string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
	w, err := os.Create(filepath.Join(dir, "growth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(w).WriteAll(table); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
