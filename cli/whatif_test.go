package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatif(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := stoker("whatif", "app4", "--yaml")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	file := filepath.Join(dir, "app.yaml")
	if err := os.WriteFile(file, []byte(out), 0o666); err != nil {
		t.Fatal(err)
	}
	// What was written is the application.
	for _, args := range [][]string{{"--latency", "40", "--accuracy", "1"}, {}} {
		_, named, _ := stoker(append([]string{"whatif", "app4"}, args...)...)
		code, read, errs := stoker(append([]string{"whatif", file}, args...)...)
		if code != exitDone || read != named {
			t.Errorf("%v: exit %d (%s), and\n%s\nfrom the file, want\n%s", args, code, errs, read, named)
		}
		contains(t, "answer", read, "mean", "resnet-101", "yolov10l")
	}
	front, plot := filepath.Join(dir, "f.csv"), filepath.Join(dir, "f.svg")
	code, out, errs = stoker("whatif", file, "--budget", "400", "--json", "--front", front, "--plot", plot)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Problem struct{ Objective string }
		Plans   []struct {
			USD       float64
			Functions []struct{ USD float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, f := range r.Plans[0].Functions {
		sum += f.USD
	}
	if p := r.Plans[0]; r.Problem.Objective != "time" || p.USD > 400 || p.USD < sum*(1-1e-9) || p.USD > sum*(1+1e-9) {
		t.Errorf("%+v costs %g, its functions %g", r, p.USD, sum)
	}
	for _, f := range []string{front, plot} {
		if text, err := os.ReadFile(f); err != nil || len(text) < 1000 {
			t.Errorf("%s: %d bytes, %v", f, len(text), err)
		}
	}
}

func TestWhatifWrong(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "app.yaml")
	if err := os.WriteFile(wrong, []byte("name: a\nworkflow: {nodes: [{name: f}]}\nfunctions:\n  - name: f\n    memory: {sizes: [0]}\n"+
		"    variants: [{law: {form: exponential, a: 1}}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "nearest: accuracy", []string{"app4", "--latency", "9", "--accuracy", "1"}},
		{exitFailed, "budget 1 USD cannot be met, even alone", []string{"app1", "--budget", "1"}},
		{exitUsage, "applications by name: app1", []string{"app9"}},
		{exitUsage, "app.yaml:5: functions[0].memory", []string{wrong}},
		{exitUsage, "no objective", []string{"app1", "--objective", "fun"}},
		{exitUsage, "the latency is -1", []string{"app1", "--latency", "-1"}},
		{exitUsage, "want one of both", []string{"app1", "--latency", "1", "--p95", "1"}},
		{exitUsage, ".png, .svg or .pdf", []string{"app1", "--plot", "f.jpg"}},
	} {
		code, _, errs := stoker(append([]string{"whatif"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d and %q, want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}
