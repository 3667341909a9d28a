package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// peersTable is all comparisons as a page: figures, ratios with quartiles, and the two commands of each.
func peersTable(rows []Comparison) string {
	var b strings.Builder
	m := rows[0].Machine
	fmt.Fprintf(&b, "# The CPU engine and PyTorch in turn\n\n%s, %d cores, %s/%s, %s. Made of `peers.jsonl` (`make verify NAME=speed`).\n"+
		"Medians over rounds; the ratio is of neighbours in time, with its quartiles.\n", m.CPU, m.Cores, m.OS, m.Arch, m.Go)
	what := ""
	var commands []string
	for _, r := range rows {
		if r.What != what {
			what = r.What
			fmt.Fprintf(&b, "\n## %s\n\n| ours | %s | peer | its | ratio | quartiles | rounds |\n|---|---|---|---|---|---|---|\n", what, strings.ReplaceAll(r.Figure, "_", " "))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s–%s | %d |\n", r.Ours, Digits(r.OurValue), r.Peer,
			Digits(r.PeerValue), Digits(r.Ratio), Digits(r.Low), Digits(r.High), r.Rounds)
		ours, _, _ := strings.Cut(r.OurCommand, " --peer-cmd")
		for _, c := range []string{"stoker" + strings.TrimPrefix(ours, strings.SplitN(ours, " ", 2)[0]),
			portable(r.PeerCommand)} {
			if !slices.Contains(commands, c) {
				commands = append(commands, c)
			}
		}
	}
	b.WriteString("\n## Commands\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "    %s\n", c)
	}
	return b.String()
}

// portable shortens paths to file names, since folders differ between machines.
func portable(command string) string {
	words := strings.Fields(command)
	for i, w := range words {
		if strings.Contains(w, "/") {
			words[i] = filepath.Base(w)
		}
	}
	return strings.Join(words, " ")
}
