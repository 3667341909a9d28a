//go:build farm

package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// told passes on the first match.
type told struct {
	bytes.Buffer
	mu    sync.Mutex
	what  *regexp.Regexp
	lines chan []string
}

func (o *told) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.Buffer.Write(b)
	if m := o.what.FindStringSubmatch(o.String()); m != nil && o.lines != nil {
		o.lines <- m
		o.lines = nil
	}
	return n, err
}

// A sweep that workers train leaves the files of one that is trained at home.
func TestSweepByWorkers(t *testing.T) {
	file, token := config(t, brief), filepath.Join(t.TempDir(), "token")
	sweep := func(runs string, more ...string) []string {
		return append([]string{"sweep", file, "--runs", runs, "--grid", "agent.actor_rate=1e-4,1e-3", "--seeds", "1-2"}, more...)
	}
	home, away := t.TempDir(), t.TempDir()
	if code, _, errs := stoker(sweep(home)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	out := &told{what: regexp.MustCompile(`(?s)--join '([^']+)'.*metrics: (\S+)`), lines: make(chan []string, 1)}
	joined := out.lines
	var all sync.WaitGroup
	all.Go(func() {
		root := newRoot(Default())
		root.SetArgs(sweep(away, "--listen", "127.0.0.1:0", "--token-file", token, "--metrics", "127.0.0.1:0"))
		root.SetOut(out)
		root.SetErr(out)
		if code := exitCode(root, root.ExecuteContext(t.Context())); code != exitDone {
			t.Errorf("the coordinator: exit %d: %s", code, out.String())
			close(joined)
		}
	})
	if m := <-joined; m != nil {
		at := m[1]
		answer, err := http.Get(m[2])
		must.Do(t, err)
		defer answer.Body.Close()
		body := must.Get(io.ReadAll(answer.Body))(t)
		if !strings.Contains(string(body), `stoker_farm_units{state="queued"} 4`) {
			t.Errorf("the metrics are\n%s", body)
		}
		for range 2 {
			all.Go(func() {
				if code, _, errs := stoker("worker", "--join", at, "--token-file", token); code != exitDone {
					t.Errorf("a worker: exit %d: %s", code, errs)
				}
			})
		}
	}
	all.Wait()
	for _, name := range []string{"sweep.json", "leaderboard.csv", "actor_rate-1e-3-s2/metrics.jsonl", "actor_rate-1e-3-s2/config.yaml",
		"actor_rate-1e-4-s1/checkpoints/latest"} {
		name = filepath.Join("small-actor_rate", name)
		got, want := must.Get(os.ReadFile(filepath.Join(away, name)))(t), must.Get(os.ReadFile(filepath.Join(home, name)))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if strings.Contains(out.String(), string(bytes.TrimSpace(must.Get(os.ReadFile(token))(t)))) {
		t.Error("the token is printed")
	}
}
