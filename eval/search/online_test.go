package search_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/search"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// lab trains for a moment and returns the run's folder.
func lab(t *testing.T, sets ...string) string {
	t.Helper()
	const text = `
name: lab
env: {id: stoker/Sizing-v2, windows: 15, users: [10, 20]}
workload: {kind: closed-loop}
agent: {name: maddpg, hidden: [8], keys: 4, batch: 4, learning_starts: 8, shared: true}
train: {steps: 24, envs: 2, evaluate: {every: 0}}
`
	x := must.Get(configs.Parse("lab.yaml", []byte(text), sets, catalog.Default()))(t)
	r := must.Get(train.Start(context.Background(), x, train.Options{RunsDir: t.TempDir(), Name: "lab"}))(t)
	return r.Dir
}

// read is a library as it comes from a file.
func read(t *testing.T, rows int) *library.Library {
	t.Helper()
	l := must.Get(library.Make(context.Background(), library.Plan{
		NewEnv: func() (envs.Env, error) {
			return closed(t, func(c *sizing.Config) { c.Users, c.Windows = []int{10, 20}, 5 }), nil
		},
		Rows: rows, Seed: 1, Low: 0.2, High: 0.8,
	}))(t)
	var b bytes.Buffer
	must.Do(t, l.Write(&b))
	out := must.Get(library.Parse("rows.csv", b.Bytes()))(t)
	return out
}

// serve serves a run and returns the results with and without safe exploration.
func serve(t *testing.T, o search.Online) (with, without *search.Result, s *search.Server) {
	t.Helper()
	s, err := search.NewServer(context.Background(), o)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if with, err = s.Run(context.Background(), true); err != nil {
		t.Fatal(err)
	}
	if without, err = s.Run(context.Background(), false); err != nil {
		t.Fatal(err)
	}
	return with, without, s
}

// A run serves its workflow and others, from a library and from one that is made; safe exploration decides where it is
// on alone; its bands lie in the run's folder, application by application.
func TestServe(t *testing.T) {
	run := lab(t)
	o := search.DefaultOnline(run)
	o.Protocol.Users, o.Protocol.Fresh, o.Protocol.Repetitions, o.Library = 10, 4, 2, read(t, 200)
	o.Rule.Deviations = 0.1
	with, without, s := serve(t, o)
	safely := 0
	for i := range with.Repetitions {
		for w := range with.Repetitions[i].Windows {
			if with.Repetitions[i].Windows[w].By == "safe" {
				safely++
			}
			if by := without.Repetitions[i].Windows[w].By; by != "policy" {
				t.Errorf("without safe exploration %q decided", by)
			}
		}
	}
	if safely == 0 {
		t.Error("safe exploration decided nothing")
	}
	path := filepath.Join(run, "bands.json")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"application": "parallel"`) ||
		!strings.Contains(string(text), `"workload": 20`) || s.BandsFile() != path {
		t.Errorf("the bands in %s are %s (%v)", s.BandsFile(), text, err)
	}
	baseline, err := s.Baseline(context.Background(), "random-search")
	if err != nil || baseline.Method != "random-search" || baseline.Repetitions[0].Warm != 40 ||
		baseline.Repetitions[0].Seed != with.Repetitions[0].Seed {
		t.Errorf("the baseline's result is %+v (%v)", baseline, err)
	}
	if lines := search.Comparison(with, without, baseline); strings.Count(lines, "\n") != 5 {
		t.Errorf("compared:\n%s", lines)
	}
	if _, err := s.Baseline(context.Background(), "nobody"); err == nil || !strings.Contains(err.Error(), `no policy "nobody"`) {
		t.Errorf("an unknown baseline: %v", err)
	}
	again, _, _ := serve(t, withBands(o, filepath.Join(t.TempDir(), "new.json")))
	if encoded(t, again) != encoded(t, with) {
		t.Error("the same protocol gives another result")
	}
	// Another workflow is served with the shared weights, from a library made for it; its bands come beside the others.
	o.Library, o.Rows, o.Protocol.Repetitions = nil, 60, 1
	o.Sets = []string{"env.workflow=branch", "env.qos={latency: 30, count: 1}"}
	branch, _, s := serve(t, o)
	if branch.Workflow != "branch" || !s.Made || !strings.Contains(s.About(), "began with 60 rows of windows") {
		t.Errorf("%s: %+v", s.About(), branch)
	}
	text, err = os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "branch") || !strings.Contains(string(text), "parallel") {
		t.Errorf("the bands are %s (%v)", text, err)
	}
	dir := t.TempDir()
	files, err := search.Save(dir, s.Title(), s.QoS(), with, without)
	if err != nil || len(files) != 7 {
		t.Errorf("saved %v (%v)", files, err)
	}
	for _, name := range files {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if text := search.Text(with); !strings.Contains(text, "decided by") || strings.Count(text, "\n") < 18 {
		t.Errorf("as text:\n%s", text)
	}
}

func withBands(o search.Online, path string) search.Online {
	o.Bands = path
	return o
}

// What cannot serve is refused with the reason.
func TestServeRefuses(t *testing.T) {
	shared, own := lab(t), lab(t, "agent.shared=false")
	bands := filepath.Join(t.TempDir(), "bands.json")
	must.Do(t, os.WriteFile(bands, []byte(`{"bands": [{"application": "tcktapp", "workload": 10, "lb": 1, "ub": 2}]}`),
		0o600))
	for want, change := range map[string]func(*search.Online){
		"is missing": func(o *search.Online) { o.Checkpoint = filepath.Join(t.TempDir(), "none") },
		"want parallel": func(o *search.Online) {
			o.Library.Rows[3].Workflow = "sequential"
		},
		"the bands are of tcktapp, want those of parallel": func(o *search.Online) { o.Bands = bands },
		"cannot serve this environment": func(o *search.Online) {
			o.Checkpoint, o.Sets = own, []string{"env.workflow=sequential"}
		},
		"env.nothing":                func(o *search.Online) { o.Sets = []string{"env.nothing=1"} },
		"keeps the thresholds":       func(o *search.Online) { o.Sets = []string{"env.qos.latency=0.01"} },
		"only policies of stoker/Si": func(o *search.Online) { o.Checkpoint = "zoo:hops-pricer" },
	} {
		o := search.DefaultOnline(shared)
		o.Library, o.Protocol.Users = read(t, 60), 10
		change(&o)
		if want == "is missing" {
			want = "none"
		}
		if _, err := search.NewServer(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
