package proof

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Folder, dir)
	want := Row{
		Topic: "numerics", Claim: "two and two", Bound: "4", Measured: "4", Holds: true,
		Command: "go test ./internal/proof -run '^TestClaim$'",
	}
	given := want
	given.Command = ""
	Claim(t, given)
	Claim(t, given)
	data, err := os.ReadFile(filepath.Join(dir, "claims.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(data); got != string(line)+"\n"+string(line)+"\n" {
		t.Errorf("kept %s\nwant %s, twice", got, line)
	}
}
