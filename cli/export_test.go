package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/eval/export"
	"github.com/stoker-rl/stoker/internal/must"
)

// A run is exported after its evaluation, or by force; the bytes depend neither on when that happens nor on where the
// run lies; a checkpoint that was not the one evaluated is refused.
func TestExport(t *testing.T) {
	run, out := trained(t), t.TempDir()
	code, _, errs := stoker("export", run, "--out", out)
	contains(t, "never evaluated", errs, "never evaluated", "--eval FOLDER", "stoker eval "+run, "--force")
	if files, err := os.ReadDir(out); code != exitUsage || err != nil || len(files) > 0 {
		t.Fatalf("exit %d, %v, %v", code, err, files)
	}
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Fatal(errs)
	}
	formats := strings.Join(export.Formats(), ",")
	code, text, errs := stoker("export", run, "--out", out, "--format", formats, "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	files := decode[[]export.Written](t, text)
	if len(files) != len(export.Formats()) || !files[0].Evaluated || files[0].Agreement.Unequal > 0 {
		t.Fatalf("%+v", files)
	}
	code, text, errs = stoker("export", run, "--out", out)
	contains(t, "again", text, "unchanged", "stoker check")
	if code != exitDone {
		t.Errorf("again: exit %d: %s", code, errs)
	}
	// The same run in another folder.
	moved := filepath.Join(t.TempDir(), "elsewhere", "a")
	must.Do(t, os.CopyFS(moved, os.DirFS(run)))
	elsewhere := t.TempDir()
	if code, _, errs := stoker("export", moved, "--out", elsewhere); code != exitDone {
		t.Fatal(errs)
	}
	first := must.Get(os.ReadFile(filepath.Join(out, "a.stoker")))(t)
	second, err := os.ReadFile(filepath.Join(elsewhere, "a.stoker"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("%v: the run elsewhere has other bytes", err)
	}
	if bytes.Contains(first, []byte(filepath.Dir(run))) {
		t.Error("the bundle has a path of this machine in it")
	}
	// From within the run's folder.
	t.Chdir(run)
	if code, text, errs := stoker("export", ".", "--out", out); code != exitDone || !strings.Contains(text, "unchanged") {
		t.Errorf("within the run: exit %d: %s%s", code, text, errs)
	}
	code, text, errs = stoker("check", filepath.Join(out, "a.stoker"))
	contains(t, "check", text, "self-test", "evaluation", "sound")
	if code != exitDone {
		t.Errorf("check: exit %d: %s", code, errs)
	}
	// An evaluation that does not say which checkpoint it played is none.
	must.Do(t, os.WriteFile(filepath.Join(run, "eval", "eval.json"), []byte(`{"policies": []}`), 0o666))
	code, _, errs = stoker("export", run, "--out", out)
	contains(t, "an older evaluation", errs, "older version", "--force")
	if code != exitUsage {
		t.Errorf("an older evaluation: exit %d", code)
	}
	first[len(first)-1] ^= 1
	damaged := filepath.Join(out, "damaged.stoker")
	must.Do(t, os.WriteFile(damaged, first, 0o666))
	if code, _, errs := stoker("check", damaged); code != exitFailed || !strings.Contains(errs, "damaged") {
		t.Errorf("a damaged bundle: exit %d: %s", code, errs)
	}
}

// A checkpoint of a run goes by its own name, and is not the one that was evaluated.
func TestExportCheckpoint(t *testing.T) {
	run, out := trained(t), t.TempDir()
	all, err := filepath.Glob(filepath.Join(run, "checkpoints", "step-*"))
	if err != nil || len(all) < 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if code, _, errs := stoker("eval", run); code != exitDone {
		t.Fatal(errs)
	}
	refused := 0
	for _, at := range all {
		code, _, errs := stoker("export", at, "--out", out)
		if code == exitDone {
			continue
		}
		refused++
		contains(t, at, errs, "another checkpoint", "--out evaluation")
		if code, _, errs := stoker("export", at, "--out", out, "--force"); code != exitDone {
			t.Errorf("by force: exit %d: %s", code, errs)
		}
		name := filepath.Join(out, "a-"+strings.TrimPrefix(filepath.Base(at), "step-")+bundle.Extension)
		f, _, err := bundle.Open(name, bundle.Limits{})
		if err != nil || f.Evaluation.Evaluated || f.Evaluation.Report != nil || len(f.Seen) == 0 {
			t.Errorf("%v: evaluated %v, want a bundle that says it was not, with what is seen", err, f.Evaluation.Evaluated)
		}
		folder := t.TempDir()
		if code, _, errs := stoker("eval", at, "--out", folder); code != exitDone {
			t.Fatal(errs)
		}
		code, _, errs = stoker("export", at, "--out", out, "--eval", folder)
		contains(t, "another file", errs, "is there already", "--overwrite")
		if code != exitUsage {
			t.Errorf("over another file: exit %d", code)
		}
		if code, _, errs := stoker("export", at, "--out", out, "--eval", folder, "--overwrite"); code != exitDone {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
	if refused != len(all)-1 {
		t.Errorf("%d of %d checkpoints are refused, want all but the best", refused, len(all))
	}
}
