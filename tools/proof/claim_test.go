package proof_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"

	"github.com/stoker-rl/stoker/internal/must"
)

// recorder is a testing.TB that records whether it failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Error(...any)          { r.failed = true }
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(proof.Folder, dir)
	want := proof.Row{
		Topic: "numerics", Claim: "two and two", Bound: "4", Measured: "4", Holds: true,
		Command: "go test ./tools/proof -run '^TestClaim$'",
	}
	given := want
	given.Command = ""
	proof.Claim(t, given)
	proof.Claim(t, given)
	proof.Log(t, "%d and %d", 2, 2)
	line := must.Get(json.Marshal(want))(t)
	for name, want := range map[string]string{proof.ClaimsFile: fmt.Sprintf("%s\n%s\n", line, line),
		proof.FiguresFile: "2 and 2\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q (error %v), want %q", name, got, err, want)
		}
	}
}

// A missed bound fails a test; a proof writes it as a row that falls short.
func TestClaimThatFallsShort(t *testing.T) {
	short := proof.Row{Claim: "two and two", Bound: "5", Measured: "4"}
	t.Setenv(proof.Folder, "")
	r := &recorder{TB: t}
	if proof.Claim(r, short); !r.failed {
		t.Error("a missed bound left the test green")
	}
	dir := t.TempDir()
	t.Setenv(proof.Folder, dir)
	r = &recorder{TB: t}
	if proof.Claim(r, short); r.failed {
		t.Error("a missed bound failed the proof")
	}
	rows, err := proof.ReadClaims(filepath.Join(dir, proof.ClaimsFile))
	if err != nil || len(rows) != 1 || rows[0].Holds {
		t.Errorf("the proof wrote %+v (error %v), want one row that does not hold", rows, err)
	}
	t.Setenv(proof.Folder, filepath.Join(dir, "missing"))
	r = &recorder{TB: t}
	if proof.Claim(r, short); !r.failed {
		t.Error("a row that could not be written left the proof green")
	}
}
