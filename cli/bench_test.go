package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/bench"
	"github.com/stoker-rl/stoker/internal/must"
)

// A peer's command runs in turn with ours; ratios come as a table and as JSON. What is wrong with a peer is said, and
// nothing printed.
func TestBenchPeer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the peers here are scripts of sh")
	}
	peer := `echo '{"bench":"attmf","peer":"slow","agents":3,"batch":8,"updates_per_second":0.5}'`
	a := []string{"bench", "attmf", "--agents", "3", "--batch", "8", "--kernels", "go", "--seconds", "0.001",
		"--repeat", "2", "--peer-cmd", peer}
	code, out, errs := stoker(append(a, "--json")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	c := decode[bench.Comparison](t, out)
	if c.Ratio < 1 || c.Low > c.Ratio || c.High < c.Ratio || c.Rounds != 2 || c.Peer != "slow" ||
		c.PeerCommand != peer ||
		c.OurCommand == "" ||
		c.CPU == "" {
		t.Errorf("%+v", c)
	}
	code, out, errs = stoker(a...)
	if code != exitDone || strings.Count(out, "\n") != 3 {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	contains(t, "the table", out, "attmf 3 agents × 8 sparse", "native go 1 threads", "slow", "quartiles")
	// A simulation has no engine: it is this program's all the same.
	code, out, errs = stoker("bench", "sim", "--instances", "8", "--seconds", "0.001", "--repeat", "1", "--json", "--peer-cmd",
		`echo '{"bench":"sim","requests_per_second":1}'`)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if c := decode[bench.Comparison](t, out); c.Ours != "stoker" || c.Peer != "peer" {
		t.Errorf("ours is %q and the peer %q, want stoker and peer", c.Ours, c.Peer)
	}
	for cmd, want := range map[string]string{
		"exit 7":           "exit status 7",
		"echo hello":       "printed no measurement",
		"echo '{\"a\":1}'": "printed an invalid measurement",
	} {
		code, out, errs = stoker("bench", "forward", "--seconds", "0.001", "--repeat", "1", "--peer-cmd", cmd)
		if code != exitFailed || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s%s", cmd, code, out, errs)
		}
	}
	if code, _, errs = stoker("bench", "forward", "--peer-cmd", ""); code != exitUsage ||
		!strings.Contains(errs, "--peer-cmd is empty") {
		t.Errorf("no command: exit %d: %s", code, errs)
	}
}

// Lines that were recorded are shown beside the new ones.
func TestBenchBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "past.jsonl")
	must.Do(t, os.WriteFile(path,
		[]byte(`{"bench":"forward","batch":1,"peer":"eager","ns_per_op":18000,"cpu":"Abacus","cores":10,"revision":"abc"}`+"\n"), 0o666))
	code, out, errs := stoker("bench", "forward", "--seconds", "0.001", "--repeat", "3", "--beside", path)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "the table", out, "recorded on Abacus, 10 cores; revision abc", "× 18000 (eager)", " ± ")
	for text, want := range map[string]string{"": "no measurement in it", `{"bench":`: "line 1"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
		if code, _, errs := stoker("bench", "forward", "--beside", path); code != exitUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%q: exit %d: %s", text, code, errs)
		}
	}
	if code, _, errs := stoker("bench", "forward", "--beside", path+"x"); code != exitUsage ||
		!strings.Contains(errs, "--beside") {
		t.Errorf("no file: exit %d: %s", code, errs)
	}
	if code, _, errs := stoker("bench", "product", "--kernels", "mmx"); code != exitUsage ||
		!strings.Contains(errs, "avx") {
		t.Errorf("unknown kernels: exit %d: %s", code, errs)
	}
}
