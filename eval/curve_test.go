package eval

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// logged is a run folder with a log.
func logged(t *testing.T, name, lines string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	must.Do(t, os.MkdirAll(dir, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(lines), 0o666))
	return dir
}

// Lines without the metric, with null for it, and a last one that is being written, are passed over.
func TestReadCurve(t *testing.T) {
	dir := logged(t, "a-s1", `{"step":0,"eval/cost":3}
{"step":10,"train/loss":1}
{"step":20,"eval/cost":null}
{"step":30,"train/loss":1,"eval/cost":1.5e0}
{"step":40,"eval/co`)
	got, err := ReadCurve(dir, "a", "eval/cost")
	want := Curve{Group: "a", Run: dir, Metric: "eval/cost", Steps: []int64{0, 30}, Values: []float64{3, 1.5}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	// A line of any length.
	long := logged(t, "b", `{"step":1,"x":2,"`+strings.Repeat("y", 1<<21)+`":3}`+"\n")
	if got, err := ReadCurve(long, "b", "x"); err != nil || len(got.Values) != 1 {
		t.Errorf("a line of 2 MB: %v", err)
	}
}

func TestReadCurveErrors(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"not JSON", "{\"step\":1,\"x\":1}\nnonsense\n", "metrics.jsonl:2: want an object of numbers: invalid character"},
		{"a word", "{\"step\":1,\"x\":\"high\"}\n", "metrics.jsonl:1: x: want a number: json: cannot unmarshal string"},
		{"no step", "{\"step\":1,\"x\":1}\n\n{\"x\":1}\n", "metrics.jsonl:2: "},
		{"no step at all", "{\"x\":1}\n", "metrics.jsonl:1: no step"},
		{"another metric", "{\"step\":1,\"b\":1,\"a\":2}\n", `has no "x"; it has a, b`},
		{"nothing", "", `has no "x"; it has nothing yet`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ReadCurve(logged(t, "run", c.lines), "g", "x"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
	if _, err := ReadCurve(t.TempDir(), "g", "x"); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Errorf("no log: %v", err)
	}
}

func TestGroupName(t *testing.T) {
	for run, want := range map[string]string{
		"runs/attmf-s1": "attmf", "runs/attmf-s12/": "attmf", "attmf": "attmf", "runs/attmf-slow": "attmf-slow",
		"x-s1-s2": "x-s1",
	} {
		if got := groupName(run); got != want {
			t.Errorf("group of %s is %s, want %s", run, got, want)
		}
	}
}
