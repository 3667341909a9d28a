package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const (
	results = "../../../docs/results"
	docs    = "../../../docs"
)

// The pages in docs are those generated from the kept claims.
func TestPagesAreMade(t *testing.T) {
	all := must.Get(Make(results))(t)
	for name, want := range all {
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("docs/%s is not what docs/results makes: run make verify NAME=pages", name)
		}
	}
	there, err := filepath.Glob(filepath.Join(docs, "claims", "*.md"))
	if err != nil || len(there) != len(all)-1 {
		t.Errorf("docs/claims has %d pages (error %v), want %d", len(there), err, len(all)-1)
	}
	if n := strings.Count(all["claims.md"], "\n"); n > 100 {
		t.Errorf("docs/claims.md has %d lines, want at most 100", n)
	}
}

// A claim that falls short needs a sentence; a sentence without one is refused.
func TestSentences(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	put("queues/result.json", `{"revision": "0123456789abcdef", "date": "2026-01-02", "machine": "a machine"}`)
	put("queues/claims.jsonl", `{"claim":"|error| of M/M/1","bound":"1 %","measured":"3 %","holds":false}`+"\n")
	if _, err := Make(dir); err == nil || !strings.Contains(err.Error(), "M/M/1") {
		t.Errorf("a claim that falls short without a sentence gives %v", err)
	}
	put("queues/falls-short.txt", "M/M/1 => The wait in M/M/1 is wrong.\nM/M/2 => So is this one.\n")
	if _, err := Make(dir); err == nil || !strings.Contains(err.Error(), "M/M/2") {
		t.Errorf("a sentence without a claim gives %v", err)
	}
	put("queues/falls-short.txt", "M/M/1 => The wait in M/M/1 is wrong.\n")
	all := must.Get(Make(dir))(t)
	for name, want := range map[string]string{
		"claims.md":           "- The wait in M/M/1 is wrong. ([queues](claims/simulator.md#queues))\n",
		"claims/simulator.md": "revision 012345678 on 2026-01-02 (a machine)",
	} {
		if !strings.Contains(all[name], want) {
			t.Errorf("%s lacks %q:\n%s", name, want, all[name])
		}
	}
	if row := `| \|error\| of M/M/1 | 1 % | **falls short:** 3 % |`; !strings.Contains(all["claims/simulator.md"],
		row) {
		t.Errorf("claims/simulator.md lacks %q:\n%s", row, all["claims/simulator.md"])
	}
	put("queues/falls-short.txt", "M/M/1 => One sentence.\n|error| => One sentence.\n")
	if all := must.Get(Make(dir))(t); strings.Count(all["claims.md"], "One sentence.") != 1 {
		t.Errorf("a sentence of two lines stands more than once:\n%s", all["claims.md"])
	}
	put("queues/claims.jsonl", "{}\nnonsense\n")
	if _, err := Make(dir); err == nil || !strings.Contains(err.Error(), "claims.jsonl:2") {
		t.Errorf("a damaged line gives %v, want its file and line", err)
	}
}

// docs/results stays small: it holds no files that a command can make again.
func TestResultsAreSmall(t *testing.T) {
	size := int64(0)
	err := filepath.WalkDir(results, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	})
	if err != nil || size > 3e6 {
		t.Errorf("docs/results has %d bytes (error %v), want at most 3,000,000", size, err)
	}
}
