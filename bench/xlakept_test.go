package bench

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

// keptXLA is the folder of the measurements beside XLA that the documentation shows.
var keptXLA = filepath.Join("..", "docs", "results", "xla")

// xlaRow is a line of bench/peers/xla: a comparison, and the seconds that the peer took to compile where it says so.
type xlaRow struct {
	Comparison
	Compile float64 `json:"compile_seconds"`
}

// xlaWanted are the items of bench/peers/xla, each with its figure and how many times XLA's best is wanted.
var xlaWanted = []struct {
	what, figure string
	least        float64
}{
	{"attmf 5 agents × 64", "updates_per_second", 4},
	{"attmf 5 agents × 1024", "updates_per_second", 4},
	{"attmf 12 agents × 64", "updates_per_second", 4},
	{"attmf 12 agents × 1024", "updates_per_second", 4},
	{"attmf 50 agents × 64", "updates_per_second", 4},
	{"attmf 50 agents × 1024", "updates_per_second", 4},
	{"attmf 200 agents × 64", "updates_per_second", 4},
	{"ppo cartpole 4 copies", "steps_per_second", 2.5},
	{"ppo cartpole 16 copies", "steps_per_second", 2.5},
	{"ppo sizing", "steps_per_second", 2.5},
	{"sac pendulum hidden 64", "steps_per_second", 4},
	{"sac pendulum hidden 256", "steps_per_second", 2.5},
	{"dqn cartpole", "steps_per_second", 3},
	{"graph 1000 edges", "inference_seconds", 3},
	{"graph 1000 edges", "step_seconds", 3},
	{"graph 10000 edges", "inference_seconds", 3},
	{"graph 10000 edges", "step_seconds", 3},
	{"graph 100000 edges", "inference_seconds", 3},
	{"graph 100000 edges", "step_seconds", 3},
	{"graph 1000000 edges", "inference_seconds", 3},
	{"graph 1000000 edges", "step_seconds", 3},
}

// TestKeptXLA is TestKept for the comparisons with programs that XLA compiles.
func TestKeptXLA(t *testing.T) {
	from := cmp.Or(*measured, keptXLA)
	claims, table := xlaClaims(t, readKept[xlaRow](t, from, "xla.jsonl"))
	keeps(t, keptXLA, claims, map[string]string{"xla.md": table})
}

// xlaClaims are the claims of the comparisons, and their table.
func xlaClaims(t *testing.T, rows []xlaRow) (claims []proof.Row, text string) {
	t.Helper()
	if len(rows) == 0 {
		t.Fatal("xla.jsonl has no comparison")
	}
	var table strings.Builder
	m := rows[0].Machine
	fmt.Fprintf(&table, "# The CPU engine and XLA in turn\n\n%s, %d cores, %s/%s, %s. Made of `xla.jsonl` (`make verify NAME=xla`).\n"+
		"Medians over rounds; the ratio is of neighbours in time, the best form of each side in a round. XLA's times are without its "+
		"seconds of compiling.\n\n| item | figure | ours | XLA's best | form | compiling, s | ratio | least–most | wanted |\n"+
		"|---|---|---|---|---|---|---|---|---|\n", m.CPU, m.Cores, m.OS, m.Arch, m.Go)
	var commands []string
	for _, w := range xlaWanted {
		found := false
		for _, r := range rows {
			if r.What != w.what || r.Figure != w.figure {
				continue
			}
			found = true
			compiling := "—"
			if r.Compile > 0 {
				compiling = Digits(r.Compile)
			}
			fmt.Fprintf(&table, "| %s | %s | %.4g | %.4g | %s | %s | %.2f | %.2f–%.2f | %g |\n", w.what, strings.ReplaceAll(w.figure, "_", " "),
				r.OurValue, r.PeerValue, r.Peer, compiling, r.Ratio, r.Least, r.Most, w.least)
			for _, c := range []string{r.OurCommand, r.PeerCommand} {
				if c = "    " + c; !slices.Contains(commands, c) {
					commands = append(commands, c)
				}
			}
			claims = append(claims, proof.Row{
				Topic: "speed", Claim: fmt.Sprintf("%s, %s, against XLA's best form (%s)", w.what, strings.ReplaceAll(w.figure, "_", " "), r.Peer),
				Bound: fmt.Sprintf("%g times", w.least), Holds: r.Ratio >= w.least, Command: "make verify NAME=xla",
				Measured: fmt.Sprintf("%.2f times (%.2f–%.2f in %d rounds), %.4g and %.4g", r.Ratio, r.Least, r.Most, r.Rounds,
					r.OurValue, r.PeerValue),
			})
		}
		if !found {
			t.Errorf("nothing is kept of %s, %s", w.what, w.figure)
		}
	}
	return claims, table.String() + "\n## Commands\n\n" + strings.Join(commands, "\n") + "\n"
}
