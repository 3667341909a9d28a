package catalog_test

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"

	"github.com/stoker-rl/stoker/internal/must"
)

// page is the list of all rows for people. It is made by this test: go test ./catalog -run Page -update.
const page = "docs/catalog.md"

func pageText(c *catalog.Catalog) []byte {
	var b bytes.Buffer
	link := func(p string) string { return fmt.Sprintf("[%s](%s)", path.Base(p), strings.TrimPrefix(p, "docs/")) }
	b.WriteString("# What there is\n\nEvery environment, learner and baseline of `stoker envs` and `stoker agents`. [extending.md](extending.md) " +
		"says how to add one.\nThis page is made from the table: `go test ./catalog -run Page -update`.\n")
	b.WriteString("\n## Environments\n\n| id | what is decided |\n|---|---|\n")
	for _, e := range c.Envs {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", e.ID, strings.TrimPrefix(e.Page, "docs/"), e.Doc)
	}
	b.WriteString("\n## Learners\n\n| name | how it learns |\n|---|---|\n")
	for _, l := range c.Learners {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s |\n", l.Name, strings.TrimPrefix(l.Page, "docs/"), l.Doc)
	}
	b.WriteString("\n## Baselines\n\nPolicies to compare with. A heuristic sees what a learner sees; an oracle knows more.\n")
	group := ""
	var first []string // environments of the group's first row
	for _, r := range c.Baselines {
		if r.Page != group {
			group, first = r.Page, r.Envs
			in := "all environments"
			if r.Envs != nil {
				in = "`" + strings.Join(r.Envs, "`, `") + "`"
			}
			fmt.Fprintf(&b, "\nIn %s (%s):\n\n| name | what it does |\n|---|---|\n", in, link(r.Page))
		}
		doc := r.Doc
		if r.Kind != catalog.Heuristic {
			doc = string(r.Kind) + ": " + doc
		}
		if !slices.Equal(r.Envs, first) {
			doc += "; in `" + strings.Join(r.Envs, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, doc)
	}
	return b.Bytes()
}

// The page for people lists what the table has.
func TestPage(t *testing.T) {
	file := filepath.Join("..", filepath.FromSlash(page))
	want := pageText(catalog.Default())
	if *update {
		must.Do(t, os.WriteFile(file, want, 0o666))
	}
	got := must.Get(os.ReadFile(file))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is older than the table: go test ./catalog -run Page -update", page)
	}
}

// Every row has a name of its own, a sentence, and a page that names it.
func TestRows(t *testing.T) {
	c := catalog.Default()
	seen := map[string]bool{}
	check := func(name, doc, page string) {
		t.Helper()
		if seen[name] {
			t.Errorf("two rows are called %s", name)
		}
		seen[name] = true
		if strings.TrimSpace(doc) == "" {
			t.Errorf("%s has no Doc, want a sentence", name)
		}
		text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
		if err != nil {
			t.Errorf("%s: its page: %v", name, err)
		} else if !bytes.Contains(text, []byte(name)) {
			t.Errorf("%s does not name %s", page, name)
		}
	}
	for _, e := range c.Envs {
		check(e.ID, e.Doc, e.Page)
	}
	for _, l := range c.Learners {
		check(l.Name, l.Doc, l.Page)
	}
	for _, r := range c.Baselines {
		check(r.Name, r.Doc, r.Page)
		for _, id := range r.Envs {
			if _, err := c.Env(id); err != nil {
				t.Errorf("%s is made for an unknown environment: %v", r.Name, err)
			}
		}
	}
}
