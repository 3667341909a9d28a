// Package pages generates docs/claims.md, and a page per subject under docs/claims, from the results under
// docs/results. It runs no proofs.
package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/tools/proof"
)

// part is a proof with its kept result.
type part struct {
	proof.Proof
	result    proof.Result
	rows      []proof.Row
	sentences []string
}

// short is the number of claims that fall short.
func (p *part) short() (n int) {
	for _, r := range p.rows {
		if !r.Holds {
			n++
		}
	}
	return n
}

// Make returns the pages by their paths below the folder of documentation. Every claim that falls short needs a
// sentence; the error names those without.
func Make(results string) (map[string]string, error) {
	parts, err := read(results)
	if err != nil {
		return nil, err
	}
	all := map[string]string{"claims.md": index(parts)}
	for _, s := range proof.Subjects {
		all["claims/"+s+".md"] = subject(s, parts)
	}
	return all, nil
}

// Write writes the pages into a folder of documentation, and removes pages of subjects that no longer exist.
func Write(results, docs string) error {
	all, err := Make(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docs, "claims"), 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(docs, "claims", "*.md"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := all["claims/"+filepath.Base(path)]; !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(docs, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read reads the kept results; proofs without one are left out.
func read(results string) (parts []part, err error) {
	for _, p := range proof.Table() {
		dir := filepath.Join(results, p.Name)
		x := part{Proof: p}
		x.result, err = proof.ReadResult(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if x.rows, err = proof.ReadClaims(filepath.Join(dir, proof.ClaimsFile)); err != nil {
			return nil, err
		}
		sentences, err := proof.ReadSentences(dir)
		if err != nil {
			return nil, err
		}
		if x.sentences, err = proof.Match(x.rows, sentences); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		parts = append(parts, x)
	}
	return parts, nil
}

const note = "This page is generated: `make verify NAME=pages` makes it from docs/results."

func index(parts []part) string {
	var b strings.Builder
	b.WriteString("# Claims, and what was measured\n\n" +
		"What the project claims of itself, each claim with its bound and the figure that was measured. " +
		note + "\n\n## What falls short\n\n")
	for _, p := range parts {
		for i, s := range p.sentences {
			if slices.Contains(p.sentences[:i], s) {
				continue // of several claims
			}
			fmt.Fprintf(&b, "- %s ([%s](claims/%s.md#%[2]s))\n", s, p.Name, p.Subject)
		}
	}
	b.WriteString("\n## Subjects\n\n| subject | proofs | claims | of them fall short |\n|---|---|---|---|\n")
	for _, s := range proof.Subjects {
		var names []string
		claims, short := 0, 0
		for _, p := range parts {
			if p.Subject == s {
				names, claims, short = append(names, p.Name), claims+len(p.rows), short+p.short()
			}
		}
		fmt.Fprintf(&b, "| [%s](claims/%[1]s.md) | %s | %d | %d |\n", s, strings.Join(names, ", "), claims, short)
	}
	b.WriteString("\n`make verify NAME=list` lists the proofs, `make verify NAME=sizing` runs one, " +
		"and `make verify-status` says which\n" +
		"results still describe the code ([docs/reproduce.md](reproduce.md#the-long-proofs)).\n")
	return b.String()
}

func subject(name string, parts []part) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Claims: %s\n\n%s The index is [claims.md](../claims.md).\n", name, note)
	for _, p := range parts {
		if p.Subject != name {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s `make verify NAME=%s` measures it again, in about %d min", p.Name, p.Claims,
			p.Name, p.Minutes)
		if len(p.Needs) > 0 {
			needs := lists.From(p.Needs, func(n proof.Need) string { return n.Text })
			fmt.Fprintf(&b, "; it needs %s", strings.Join(needs, "; "))
		}
		fmt.Fprintf(&b, ". Measured at revision %.9s on %s (%s).", p.result.Revision, p.result.Date, p.result.Machine)
		fmt.Fprintf(&b, "\nFiles: [docs/results/%s](../results/%[1]s).\n", p.Name)
		if len(p.rows) == 0 {
			continue
		}
		b.WriteString("\n| claim | bound | measured |\n|---|---|---|\n")
		rows := slices.Clone(p.rows)
		slices.SortStableFunc(rows, func(x, y proof.Row) int { return rank(x) - rank(y) })
		for _, r := range rows {
			mark := ""
			if !r.Holds {
				mark = "**falls short:** "
			}
			fmt.Fprintf(&b, "| %s | %s | %s%s |\n", cell(r.Claim), cell(r.Bound), mark, cell(r.Measured))
		}
	}
	return b.String()
}

// rank sorts claims that fall short first.
func rank(r proof.Row) int {
	if r.Holds {
		return 1
	}
	return 0
}

// cell escapes a text for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}
