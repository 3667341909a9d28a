package fuzzed

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long = flag.Bool("long", false, "fuzz every reader, one after another")
	each = flag.Duration("each", 5*time.Minute, "with -long, the time for each")
	only = flag.String("only", "", "with -long, a regular expression for the targets, as in checkpoints.Fuzz")
	keep = flag.Bool("keep", false, "with -long, copy some interesting inputs to testdata/fuzz")
)

// tally sums the results of a kind's targets.
type tally struct {
	targets, findings int
	executions        int64
	spent             time.Duration
}

// Every reader is fuzzed for some minutes by one process: no input makes it panic, hang, or violate what its target
// checks.
func TestReaders(t *testing.T) {
	if !*long {
		t.Skip("hours with -long; without it, the corpora run as tests of their packages")
	}
	wanted := must.Get(regexp.Compile(*only))(t)
	of := map[string]*tally{}
	for _, g := range find(t) {
		if !wanted.MatchString(g.String()) {
			continue
		}
		executions, spent, err := fuzz(t, g)
		k := of[g.kind]
		if k == nil {
			k = &tally{}
			of[g.kind] = k
		}
		k.targets++
		k.executions += executions
		k.spent += spent
		if err != nil {
			k.findings++
			t.Errorf("%s: %v", g, err)
		}
		t.Logf("%s: %d executions in %v", g, executions, spent.Round(time.Second))
		if *keep && err == nil {
			must.Do(t, copyCorpus(t, g))
		}
	}
	if len(of) == 0 {
		t.Fatalf("no fuzz test matches -only %q", *only)
	}
	for _, kind := range kinds {
		k := of[kind.name]
		if k == nil {
			continue
		}
		proof.Claim(t, proof.Row{
			Topic: "resume", Claim: fmt.Sprintf("readers of %s, fuzzed for %v each (%d targets)", kind.name, *each,
				k.targets),
			Bound: "no panic, no hang, nothing accepted that does not read back the same or run",
			Measured: fmt.Sprintf("%d findings in %d executions over %v", k.findings, k.executions,
				k.spent.Round(time.Second)),
			Holds: k.findings == 0,
		})
	}
}

var progress = regexp.MustCompile(`fuzz: elapsed: \S+, execs: (\d+)`)

// fuzz runs one target and returns its number of executions. The error contains the end of the output.
func fuzz(t *testing.T, g target) (executions int64, spent time.Duration, err error) {
	t.Helper()
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+g.name+"$", "-fuzztime", each.String(),
		"-fuzzminimizetime", "2s", "-parallel", "1", "./"+g.pkg)
	cmd.Dir = root
	began := time.Now()
	out, err := cmd.CombinedOutput()
	spent = time.Since(began)
	if all := progress.FindAllSubmatch(out, -1); len(all) > 0 {
		executions, _ = strconv.ParseInt(string(all[len(all)-1][1]), 10, 64)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %s", err, out[max(0, len(out)-3000):])
	case executions == 0:
		err = fmt.Errorf("it was never executed: %s", out[max(0, len(out)-3000):])
	}
	return executions, spent, err
}

// corpusBytes and corpusFiles limit what is kept of a target's corpus, so that all corpora together stay under 200 kB
// and their tests are fast.
const (
	corpusBytes = 7_000
	corpusFiles = 40
)

// copyCorpus copies inputs that the fuzzer found interesting into the target's testdata, spread over all sizes, up to
// the limits. Inputs that are there stay.
func copyCorpus(t *testing.T, g target) error {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return err
	}
	from := filepath.Join(string(bytes.TrimSpace(cache)), "fuzz", module, g.pkg, g.name)
	to := filepath.Join(root, g.pkg, "testdata", "fuzz", g.name)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	have, err := sizes(to)
	if err != nil {
		return err
	}
	left, room := int64(corpusBytes), corpusFiles-len(have)
	for _, f := range have {
		left -= f.size
	}
	found, err := sizes(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the fuzzer found nothing beyond the test's own inputs
	}
	if err != nil {
		return err
	}
	if room <= 0 {
		return nil
	}
	for i := 0; i < len(found); i += 1 + len(found)/room {
		f := found[i]
		if left -= f.size; left < 0 {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(from, f.name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, f.name), b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

type sized struct {
	name string
	size int64
}

// sizes lists a folder's files, the smallest first.
func sizes(dir string) ([]sized, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []sized
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		out = append(out, sized{e.Name(), info.Size()})
	}
	slices.SortFunc(out, func(a, b sized) int { return int(a.size - b.size) })
	return out, nil
}
