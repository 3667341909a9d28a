package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTable writes all comparisons as a page: figures, ratios with quartiles, and the two commands of each.
func writeTable(t *testing.T, dir string, rows []Comparison) {
	t.Helper()
	var b strings.Builder
	m := rows[0].Machine
	fmt.Fprintf(&b, "# The CPU engine and PyTorch in turn\n\n%s, %d cores, %s/%s, %s. Written by `TestKept` (bench) from `peers.jsonl`, which `measure` makes.\n"+
		"Medians over rounds; the ratio is of neighbours in time, with its quartiles.\n", m.CPU, m.Cores, m.OS, m.Arch, m.Go)
	what := ""
	var commands []string
	for _, r := range rows {
		if r.What != what {
			what = r.What
			fmt.Fprintf(&b, "\n## %s\n\n| ours | %s | peer | its | ratio | quartiles | rounds |\n|---|---|---|---|---|---|---|\n", what, strings.ReplaceAll(r.Figure, "_", " "))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s–%s | %d |\n", r.Ours, Digits(r.OurValue), r.Peer, Digits(r.PeerValue), Digits(r.Ratio), Digits(r.Low), Digits(r.High), r.Rounds)
		ours, _, _ := strings.Cut(r.OurCommand, " --peer-cmd")
		for _, c := range []string{"stoker" + strings.TrimPrefix(ours, strings.SplitN(ours, " ", 2)[0]), portable(r.PeerCommand)} {
			if !slices.Contains(commands, c) {
				commands = append(commands, c)
			}
		}
	}
	b.WriteString("\n## Commands\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "    %s\n", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "peers.md"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// portable leaves out where this machine keeps its programs.
func portable(command string) string {
	words := strings.Fields(command)
	for i, w := range words {
		if strings.Contains(w, "/") {
			words[i] = filepath.Base(w)
		}
	}
	return strings.Join(words, " ")
}
