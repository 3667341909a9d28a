package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
)

// skipped are folders that hold no pages of the repository.
var skipped = map[string]bool{".git": true, "runs": true, "out": true, "bin": true, "testdata": true}

// A page is a Markdown file of the repository.
type page struct {
	path    string
	lines   []string        // without those in blocks of code
	anchors map[string]bool // of its headings
}

// pagesOf reads every Markdown file below a folder, by its path with slashes.
func pagesOf(t *testing.T, root string) map[string]*page {
	t.Helper()
	pages := map[string]*page{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped[d.Name()] {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		pages[filepath.ToSlash(rel)] = newPage(filepath.ToSlash(rel), string(text))
		return err
	})
	must.Do(t, err)
	return pages
}

func newPage(path, text string) *page {
	p := &page{path: path, anchors: map[string]bool{}}
	code := false
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			p.lines = append(p.lines, line)
			if m := heading.FindStringSubmatch(line); m != nil {
				p.anchors[slug(m[1], p.anchors)] = true
			}
		}
	}
	return p
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *#*$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	target  = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)|(?:src|srcset|href)="([^"]+)"`)
	span    = regexp.MustCompile("`[^`]*`")
)

// slug is the anchor that GitHub gives to a heading; repeated headings are numbered.
func slug(text string, taken map[string]bool) string {
	text = linked.ReplaceAllString(text, "$1")
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, text)
	once := s
	for n := 1; taken[s]; n++ {
		s = fmt.Sprintf("%s-%d", once, n)
	}
	return s
}

// broken lists the relative links of pages that lead nowhere: to no file, or to no heading of a page. It also says how
// many links it looked at.
func broken(root string, pages map[string]*page) (bad []string, links int) {
	for _, p := range pages {
		for _, line := range p.lines {
			for _, m := range target.FindAllStringSubmatch(span.ReplaceAllString(line, "``"), -1) {
				to := m[1] + m[2]
				if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
					continue
				}
				links++
				file, anchor, _ := strings.Cut(to, "#")
				path := p.path
				if file != "" {
					path = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), file))
				}
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					bad = append(bad, fmt.Sprintf("%s links %s, which does not exist", p.path, to))
				} else if at, ok := pages[path]; ok && anchor != "" && !at.anchors[anchor] {
					bad = append(bad, fmt.Sprintf("%s links %s, but %s has no such heading", p.path, to, path))
				}
			}
		}
	}
	return bad, links
}

// Every relative link and anchor of every page leads somewhere.
func TestLinks(t *testing.T) {
	bad, links := broken(".", pagesOf(t, "."))
	for _, b := range bad {
		t.Error(b)
	}
	if links < 300 {
		t.Errorf("the pages have %d links, want hundreds: is the pattern right?", links)
	}
}

// Links that lead nowhere are found.
func TestBrokenLinks(t *testing.T) {
	root := t.TempDir()
	text := "# A `b`, c\n\n## Twice\n\n## Twice\n\n[ok](#a-b-c) [ok](#twice-1) [ok](b.md) [bad](#twice-2) [bad](c.md)\n" +
		"![bad](d.png \"title\") <img src=\"e.png\"> `[code](f.md)`\n```sh\n[code](g.md) # not a heading\n```\n[ok](https://example.com/#x)\n"
	for name, s := range map[string]string{"a.md": text, "b.md": "[bad](a.md#none)\n"} {
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(s), 0o666))
	}
	bad, links := broken(root, pagesOf(t, root))
	if len(bad) != 5 || links != 8 {
		t.Errorf("found %d links, %d of them broken; want 8 and 5:\n%s", links, len(bad), strings.Join(bad, "\n"))
	}
}

// Every page of docs is reached from its index, and the README stays short.
func TestIndex(t *testing.T) {
	pages := pagesOf(t, ".")
	index := strings.Join(pages["docs/README.md"].lines, "\n")
	for path := range pages {
		rel, ok := strings.CutPrefix(path, "docs/")
		if !ok || path == "docs/README.md" || strings.HasPrefix(rel, "results/") || strings.HasPrefix(rel, "claims/") {
			continue
		}
		if !strings.Contains(index, "("+rel+")") {
			t.Errorf("docs/README.md does not link %s", path)
		}
	}
	text := must.Get(os.ReadFile("README.md"))(t)
	if n := strings.Count(string(text), "\n"); n > 100 {
		t.Errorf("README.md has %d lines, want at most 100", n)
	}
}

// Pages that people read hold at most so many words; configuration.md and api.md are references, and results and claims are tables.
func TestWords(t *testing.T) {
	const most = 60_000
	results := regexp.MustCompile(`^docs/(results|claims|(cold-starts|faasconf|optiserve|scale|sizing|stepconf|steps|` +
		`variants|workflows)/|.*-results\.md|learning\.md|claims\.md|configuration\.md|api\.md)`)
	words := 0
	for path := range pagesOf(t, ".") {
		if strings.Contains(path, "/") && !strings.HasPrefix(path, "docs/") || results.MatchString(path) {
			continue
		}
		text := must.Get(os.ReadFile(path))(t)
		words += len(strings.Fields(string(text)))
	}
	if words > most {
		t.Errorf("the pages hold %d words, want at most %d: cut what another page says", words, most)
	}
	if words < most/2 {
		t.Errorf("the pages hold %d words: are they found?", words)
	}
}

// What the front page shows of the main job is what its proof left, and its other figures stand on the pages that it
// names. The digest of a short run says whether the proof is fresh (make verify-status).
func TestFrontPage(t *testing.T) {
	read := func(path string) string {
		text := must.Get(os.ReadFile(path))(t)
		return string(text)
	}
	readme := read("README.md")
	printed := read("docs/results/main/first.txt") + read("docs/results/main/five.txt")
	shown := 0
	for _, b := range blocks(readme) {
		for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
			if b.kind == "text" && line != "" {
				shown++
				if !strings.Contains(printed, line+"\n") {
					t.Errorf("README.md:%d shows %q, which docs/results/main does not have", b.line+1+i, line)
				}
			}
		}
	}
	if shown < 10 {
		t.Errorf("README.md shows %d lines of the main job's evaluation, want at least 10", shown)
	}
	tutorial, first := read("docs/tutorial.md"), read("docs/results/main/first.txt")
	if said, _, _ := strings.Cut(first, ";"); !strings.Contains(tutorial, said+";") {
		t.Errorf("docs/tutorial.md does not show %q, which docs/results/main/first.txt begins with", said)
	}
	for _, c := range []struct{ said, page, there string }{
		{"1.30 [1.10, 1.44] times", "docs/sizing-results.md", "| **1.30** [1.10, 1.44] |"},
		{"1.28 [1.19, 1.38] times", "docs/sizing-results.md", "| | 0.05 | **1.28** [1.19, 1.38] on 6: 6 / 0 |"},
		{"1.01 [0.93, 1.09]", "docs/sizing-results.md", "| | 0.05 | 1.01 [0.93, 1.09] on 14: 9 / 4; on 2 not reached |"},
		{"95 % of the windows on all of 34", "docs/sizing-results.md", "on every workflow (34 of 34)"},
		{"4647 processes", "docs/claims/runs.md", "in which 4647 processes were killed"},
		{"all 1984 runs", "docs/claims/runs.md", "0 differ of 1984 runs"},
		{"3.0 to 9.2 times", "docs/speed.md", "batch 64, 5 agents | 8.3 to 9.2 |"},
		{"3.0 to 9.2 times", "docs/speed.md", "50 agents | 3.0 to 4.2 |"},
		{"3.1 to 7.3 times as fast as XLA's", "docs/results/xla/xla.md", "| 3.12 | 2.91–3.94 |"},
		{"3.1 to 7.3 times as fast as XLA's", "docs/results/xla/xla.md", "| 7.29 | 7.22–7.54 |"},
		{"1.09 times as much [0.99, 1.34] (undecided)", "docs/results/main/five.txt", "1.09 times as much [0.99, 1.34] (undecided)"},
		{"keep 96.2 % at 5.08 USD/h", "docs/results/main/five.txt", "sizing keeps 96.2 % of windows within the QoS at 5.08 USD/h"},
		{"violates 0.134", "docs/results/sizing/table.md", "| 0.134 ("},
	} {
		if !strings.Contains(strings.Join(strings.Fields(readme), " "), c.said) || !strings.Contains(read(c.page), c.there) {
			t.Errorf("README.md says %q by %s, want %q there", c.said, c.page, c.there)
		}
	}
}

// What the page of the zoo says of a policy beside a rule follows from the means in its card.
func TestZooPage(t *testing.T) {
	page := string(must.Get(os.ReadFile("docs/zoo.md"))(t))
	for _, c := range []struct {
		policy, rule string
		column       int
		said         string // %[1]: how many percent apart they are; %[2], %[3]: the means
	}{
		{"hops-pricer", "spss", 1, "better by %.1[1]f %% than the best fixed prices"},
		{"hops-dynamic", "price-rule-2", 1, "better by %.1[1]f %%"},
		{"hops-dynamic", "price-rule", 1, "than fixed prices by %.0[1]f %%"},
		{"hops-scheduler", "arms", 1, "%.1[1]f %% more profit than ARMS"},
		{"hops-scheduler", "arms", 2, "%.0[1]f %% more violations"},
		{"ppo-scheduler", "arms", 1, "better by %.1[1]f %% than ARMS"},
		{"deeprm", "tetris-star", 1, "slowdown %.1[2]f, Tetris* %.1[3]f"},
		{"gnn-placement", "sjf-nodes", 1, "better: %.0[1]f %% less slowdown than SJF"},
		{"variants-each", "linear", 1, "worse than the rule `linear` by %.1[1]f %%"},
	} {
		path := "checkpoints/zoo/" + c.policy + "/CARD.md"
		card := string(must.Get(os.ReadFile(path))(t))
		mean := func(name string) (x float64) {
			_, row, _ := strings.Cut(card, "\n| "+name+" | ")
			cells := strings.Split(row, " | ")
			must.Get(fmt.Sscan(strings.ReplaceAll(cells[min(c.column, len(cells))-1], ",", ""), &x))(t)
			return x
		}
		a, b := mean(c.policy), mean(c.rule)
		said := fmt.Sprintf(c.said, 100*math.Abs(a/b-1), a, b)
		_, line, _ := strings.Cut(page, "(../"+path+")")
		if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, said) {
			t.Errorf("docs/zoo.md says%s; by %s want %q", line, path, said)
		}
	}
}

// A learner's page has these parts, and a learning curve.
var parts = []string{"When to use it", "Commands", "Equations", "Keys", "Metrics", "Results", "Differences to the paper", "Limits"}

// Every learner's page has the same parts, as readers of CleanRL's pages know them.
func TestLearnerPages(t *testing.T) {
	pages := pagesOf(t, ".")
	for _, l := range catalog.Default().Learners {
		p, ok := pages[l.Page]
		if !ok {
			t.Errorf("%s: there is no %s", l.Name, l.Page)
			continue
		}
		text := strings.Join(p.lines, "\n")
		for _, part := range parts {
			if !strings.Contains(text, "\n## "+part) {
				t.Errorf("%s lacks the section %q", l.Page, part)
			}
		}
		if !strings.Contains(text, "](../results/") || !strings.Contains(text, "\n![") {
			t.Errorf("%s shows no learning curve of docs/results", l.Page)
		}
		if !strings.Contains(text, "(../configuration.md#"+l.Name+")") {
			t.Errorf("%s does not link its keys in configuration.md", l.Page)
		}
	}
}

// CITATION.cff has the paper of every environment that the front page lists with one.
func TestCitation(t *testing.T) {
	cited := string(must.Get(os.ReadFile("CITATION.cff"))(t))
	row := regexp.MustCompile(`(?m)^\| \[(\w+)-v\d.*\| (.+) \|$`)
	rows := row.FindAllStringSubmatch(string(must.Get(os.ReadFile("README.md"))(t)), -1)
	for _, m := range rows {
		if !strings.Contains(cited, "stoker/"+m[1]+"-v") {
			t.Errorf("CITATION.cff names no stoker/%s, whose paper is %s in README.md", m[1], m[2])
		}
	}
	if len(rows) < 7 {
		t.Errorf("README.md lists %d environments with papers, want at least 7: is the pattern right?", len(rows))
	}
}

// SECURITY.md gives what attacks hold in the unit of the proof, whose run lies in the page's range.
func TestSecurityUnit(t *testing.T) {
	page := string(must.Get(os.ReadFile("SECURITY.md"))(t))
	claims := string(must.Get(os.ReadFile("docs/results/siege/claims.jsonl"))(t))
	if !strings.Contains(page, "| 177 to 184 MiB |") || !strings.Contains(claims, `"measured":"182 MiB"`) {
		t.Error("SECURITY.md's 177 to 184 MiB of 100 withheld bodies do not hold docs/results/siege's 182 MiB")
	}
}
