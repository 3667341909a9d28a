package bench

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// measured names the folder with the measurements of a peer's script. The proofs of tools/proof set it.
var measured = flag.String("measured", "", "folder of new measurements, of which claims, tables and figures are made")

// kept is the folder of the measurements that the documentation shows.
var kept = filepath.Join("..", "docs", "results", "speed")

// The claims, the table and the figure's data in docs/results/speed equal those computed from the measurements beside
// them. With -measured, those of new measurements are written to the proof's folder instead.
func TestKept(t *testing.T) {
	from := cmp.Or(*measured, kept)
	rows := readKept[Comparison](t, from, "peers.jsonl")
	recorded := readKept[Result](t, from, "recorded.jsonl")
	claims := slices.Concat(claimForms(t, rows), claimDense(t, rows), claimSpread(t, rows),
		claimBeside(readKept[Result](t, from, "beside.jsonl")))
	table, data := peersTable(rows), growthTable(recorded, rows)
	if dir := keeps(t, kept, claims, map[string]string{"peers.md": table, "growth.csv": data}); dir != "" {
		must.Get(growthFigure(recorded, rows).Save(dir, "growth"))(t)
	}
}

// keeps compares claims and files made of kept measurements with those in their folder. Of new measurements it writes them,
// and returns the proof's folder.
func keeps(t *testing.T, folder string, claims []proof.Row, files map[string]string) (dir string) {
	t.Helper()
	if *measured == "" {
		sameClaims(t, folder, claims)
		for name, text := range files {
			sameFile(t, filepath.Join(folder, name), text)
		}
		return ""
	}
	dir = proofFolder(t)
	for _, c := range claims {
		proof.Claim(t, c)
	}
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

// proofFolder is where the proof keeps its files.
func proofFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(proof.Folder)
	if dir == "" {
		t.Fatalf("-measured needs %s, the folder to write in", proof.Folder)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// sameFile compares a kept file with the text computed from the kept measurements.
func sameFile(t *testing.T, path, want string) {
	t.Helper()
	got := must.Get(os.ReadFile(path))(t)
	if string(got) != want {
		t.Errorf("%s is not what the measurements beside it make:\n%s\nwant\n%s", path, got, want)
	}
}

// sameClaims compares a folder's kept claims with those computed from the kept measurements.
func sameClaims(t *testing.T, folder string, want []proof.Row) {
	t.Helper()
	got := must.Get(proof.ReadClaims(filepath.Join(folder, proof.ClaimsFile)))(t)
	if len(got) != len(want) {
		t.Fatalf("%s keeps %d claims, the measurements make %d", folder, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("claim %d is kept as\n%+v\nwant\n%+v", i+1, got[i], want[i])
		}
	}
}

// readKept reads a folder's file of kept lines.
func readKept[T any](t *testing.T, folder, name string) []T {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(folder, name)))(t)
	defer f.Close()
	var out []T
	for in := bufio.NewScanner(f); in.Scan(); {
		var x T
		must.Do(t, json.Unmarshal(in.Bytes(), &x))
		out = append(out, x)
	}
	return out
}

// command of a claim.
const command = "make verify NAME=speed"

// claimForms compares our two threads with each of PyTorch's forms on two threads; which form is best depends on size.
func claimForms(t *testing.T, rows []Comparison) (claims []proof.Row) {
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
					if r.What != what || r.Ours != "native "+k.name+" 2 threads" || !strings.HasSuffix(r.Peer,
						" 2 threads") {
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
					claims = append(claims, proof.Row{
						Topic: "speed", Claim: fmt.Sprintf("Update of %d agents × %d, %s, two threads each, against PyTorch's %s", size.agents, batch, k.name, c.form),
						Bound: fmt.Sprintf("%g times", c.least), Holds: c.row.Ratio >= c.least, Command: command,
						Measured: fmt.Sprintf("%.1f times %s (quartiles %.1f–%.1f of %d rounds), %s and %s updates/s",
							c.row.Ratio, peer, c.row.Low, c.row.High, c.row.Rounds, Digits(c.row.OurValue), Digits(c.row.PeerValue)),
					})
				}
			}
		}
	}
	return claims
}

// claimDense compares the case where every agent sees all others with the best of PyTorch's forms, which always compute
// all pairs.
func claimDense(t *testing.T, rows []Comparison) (claims []proof.Row) {
	t.Helper()
	for _, n := range []int{50, 200} {
		what := fmt.Sprintf("attmf %d agents × 64 dense", n)
		var best *Comparison
		for i, r := range rows {
			if r.What == what && r.Ours == "native avx512 2 threads" && strings.HasSuffix(r.Peer, " 2 threads") &&
				(best == nil || r.Ratio < best.Ratio) {
				best = &rows[i]
			}
		}
		if best == nil {
			t.Errorf("%s: nothing kept", what)
			continue
		}
		peer, _, _ := strings.Cut(best.Peer, " ")
		claims = append(claims, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("Update of %d agents × 64 where each sees all, avx512, two threads each, against PyTorch's best form", n),
			Bound: "1 times", Holds: best.Ratio >= 1, Command: command,
			Measured: fmt.Sprintf("%.1f times %s (quartiles %.1f–%.1f of %d rounds), %s and %s updates/s",
				best.Ratio, peer, best.Low, best.High, best.Rounds, Digits(best.OurValue), Digits(best.PeerValue)),
		})
	}
	return claims
}

// claimSpread extrapolates from two lengths of training, one without and one with updates, to the recipe's 25,000
// episodes: after the first update the cost of an episode is constant.
func claimSpread(t *testing.T, rows []Comparison) (claims []proof.Row) {
	t.Helper()
	const first, whole = 1024, 25_000
	type way struct{ kernels, threads string }
	seconds := map[way]map[int][2]float64{} // by episodes: ours, the peer's
	second := 0
	for _, r := range rows {
		var n int
		if _, err := fmt.Sscanf(r.What[strings.LastIndex(r.What, "agents ")+len("agents "):], "%d episodes",
			&n); err != nil || !strings.HasPrefix(r.What, "spread") {
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
		claims = append(claims, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("MADDPG on simple_spread, 25,000 episodes, independent minibatches, %s each, %s, from 1,024 and %d episodes of both", threads, k.kernels, second),
			Bound: "8 times", Holds: ratio >= 8, Command: command,
			Measured: fmt.Sprintf("%.1f times: %.0f s and %.0f s", ratio, total[0], total[1]),
		})
	}
	return claims
}

// claimBeside compares two threads with one, both beside a busy process.
func claimBeside(rows []Result) (claims []proof.Row) {
	for i := 0; i+3 < len(rows); i += 4 { // alone with one thread and two, then beside
		alone, beside := rows[i+1].UpdatesPerSecond/rows[i].UpdatesPerSecond, rows[i+3].UpdatesPerSecond/rows[i+2].UpdatesPerSecond
		claims = append(claims, proof.Row{
			Topic: "speed", Claim: fmt.Sprintf("Two threads against one beside one busy process on two cores, %d agents × %d", rows[i].Agents, rows[i].Batch),
			Bound: "0.8 times", Holds: beside >= 0.8, Command: command, Measured: fmt.Sprintf("%.2f times (alone %.2f)",
				beside, alone),
		})
	}
	return claims
}
