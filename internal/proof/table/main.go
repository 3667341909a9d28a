// Command table makes one page of the claims that long proofs kept: table RESULTS PAGE, where RESULTS holds a folder per
// proof with a claims.jsonl in it. What does not hold comes first.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/internal/proof"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: table RESULTS PAGE, for example: table docs/results docs/claims.md")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

// kept is a row and the proof that it came from.
type kept struct {
	proof.Row
	from, revision string
}

func run(results, page string) error {
	files, err := filepath.Glob(filepath.Join(results, "*", "claims.jsonl"))
	if err != nil {
		return err
	}
	var rows []kept
	for _, f := range files {
		more, err := read(f)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	slices.SortStableFunc(rows, func(a, b kept) int { return topic(a.Topic) - topic(b.Topic) })
	return os.WriteFile(page, []byte(render(rows)), 0o644)
}

func read(path string) (rows []kept, err error) {
	dir := filepath.Dir(path)
	revision := "unknown"
	if r, err := os.ReadFile(filepath.Join(dir, "revision")); err == nil {
		revision, _, _ = strings.Cut(string(r), " ")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var r proof.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		rows = append(rows, kept{r, filepath.Base(dir), revision[:min(len(revision), 9)]})
	}
	return rows, lines.Err()
}

// topics is the order of the page.
var topics = []string{"environments", "simulator", "numerics", "agents", "resume", "statistics", "ways in", "speed"}

func topic(name string) int {
	if i := slices.Index(topics, name); i >= 0 {
		return i
	}
	return len(topics)
}

func render(rows []kept) string {
	var b strings.Builder
	b.WriteString("# What is claimed, and what was measured\n\n" +
		"A row per claim: the bound, what was measured, the command that measures it again and the revision at which it was. " +
		"`docs/results/keep table` makes this page of what the proofs keep under docs/results (`make verify`).\n\n")
	if short := where(rows, false); len(short) > 0 {
		b.WriteString("## What falls short\n\n")
		write(&b, short)
	}
	held := where(rows, true)
	for len(held) > 0 {
		n := 0
		for n < len(held) && held[n].Topic == held[0].Topic {
			n++
		}
		fmt.Fprintf(&b, "## %s%s\n\n", strings.ToUpper(held[0].Topic[:1]), held[0].Topic[1:])
		write(&b, held[:n])
		held = held[n:]
	}
	return b.String()
}

func where(rows []kept, holds bool) (out []kept) {
	for _, r := range rows {
		if r.Holds == holds {
			out = append(out, r)
		}
	}
	return out
}

func write(b *strings.Builder, rows []kept) {
	b.WriteString("| claim | bound | measured | command | kept in |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | `%s` | %s at %s |\n", cell(r.Claim), cell(r.Bound), cell(r.Measured), cell(r.Command), r.from, r.revision)
	}
	b.WriteString("\n")
}

// cell keeps a text inside its column.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}
