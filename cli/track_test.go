package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// --track tells an MLflow of runs, of several seeds and of a sweep's trials. Where MLflow fails the runs are whole, and
// the exit code says that they are not tracked.
func TestTrack(t *testing.T) {
	var updated, down atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load() > 0 && !strings.HasSuffix(r.URL.Path, "/search"):
			w.WriteHeader(http.StatusInternalServerError)
		case strings.HasSuffix(r.URL.Path, "runs/update"):
			updated.Add(1)
			fallthrough
		default:
			_, _ = io.WriteString(w, `{"experiment_id": "7", "run": {"info": {"run_id": "r", "artifact_uri": "file:///x"}}}`)
		}
	}))
	defer web.Close()
	file, runs := config(t, brief), t.TempDir()
	to := []string{"--track", "mlflow:" + web.URL}
	for _, c := range []struct {
		args string
		want int64 // runs
	}{
		{"train " + file + " --runs " + runs, 1},
		{"train " + file + " --seeds 2-3 --runs " + runs, 2},
		{"sweep " + file + " --name x --grid agent.actor_rate=1e-4,1e-3 --score-seeds 4001 --runs " + runs, 2},
		{"resume " + filepath.Join(runs, "x"), 2},
	} {
		updated.Store(0)
		if code, _, errs := stoker(append(fields(c.args), to...)...); code != exitDone || updated.Load() != c.want {
			t.Errorf("%s: exit %d, %d runs told, want %d: %s", c.args, code, updated.Load(), c.want, errs)
		}
	}
	down.Store(1)
	code, _, errs := stoker(append([]string{"train", file, "--runs", runs, "--seed", "9"}, to...)...)
	run := filepath.Join(runs, "small-s9")
	if code != exitFailed || !strings.Contains(errs, run+" is saved, but not tracked") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, out, errs := stoker("check", run); code != exitDone {
		t.Errorf("%s%s", out, errs)
	}
	if code, _, errs := stoker("train", file, "--runs", runs, "--seed", "10", "--track", "x"); code != exitUsage ||
		!strings.Contains(errs, "want mlflow:URI") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
