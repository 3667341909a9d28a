package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("queues/claims.jsonl", `{"topic":"simulator","claim":"|error|","bound":"1 %","measured":"0.3 %","holds":true,"command":"go test"}`+"\n")
	put("queues/revision", "0123456789abcdef envs\n")
	put("games/claims.jsonl", `{"topic":"agents","claim":"return","bound":"-164","measured":"-170","holds":false,"command":"make x"}`+"\n")
	page := filepath.Join(dir, "claims.md")
	if err := run(dir, page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	short, held := strings.Index(string(got), "| return | -164 | -170 |"), strings.Index(string(got), `| \|error\| | 1 % | 0.3 % | `+"`go test`"+` | queues at 012345678 |`)
	if short < 0 || held < short {
		t.Errorf("want both rows, what falls short first:\n%s", got)
	}
	put("bad/claims.jsonl", "{}\nnonsense\n")
	if err := run(dir, page); err == nil || !strings.Contains(err.Error(), "claims.jsonl:2") {
		t.Errorf("a damaged line gives %v, want its file and line", err)
	}
}
