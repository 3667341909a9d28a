package launch

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/internal/must"
)

const join = "tls://h:1#0123456789abcdef"

func options(where, value string) Options {
	o := Options{Name: "w", Program: "./show", Join: join, Secret: "s", Image: "r/i:1", Workers: 3, Slots: 2, Cores: 2, Memory: 5,
		Secrets: []Secret{{"token-file", value}}, Hosts: []string{"a"}}
	if where == "kubernetes" { // there a secret's name is checked
		o.Secrets[0].Path, o.Program = "/secrets/token", value
	} else {
		o.Data = []string{value}
	}
	return o
}

// run runs a script beside a program that writes its arguments down, and an ssh that runs its last argument here.
func run(t *testing.T, name string, script []byte) []string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), script, 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "show"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" >words\n"), 0o700))        //nolint:gosec // it is run
	must.Do(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\nfor last; do :; done\neval \"$last\"\n"), 0o700)) //nolint:gosec // it is run
	c := exec.Command("sh", name)                                                                                           //nolint:gosec // the test's own
	c.Dir, c.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	must.Do(t, exec.Command("mkfifo", filepath.Join(dir, "words")).Run()) //nolint:gosec // the test's own
	over, held, err := os.Pipe()                                          // which all that the script starts holds open
	must.Do(t, err)
	defer over.Close()
	c.ExtraFiles = []*os.File{held}
	must.Do(t, c.Start())
	must.Do(t, held.Close())
	words := must.Get(os.ReadFile(filepath.Join(dir, "words")))(t) // waits for the program, which ssh leaves behind
	must.Do(t, c.Wait())
	must.Get(io.Copy(io.Discard, over))(t) // a shell that is left behind still writes
	return strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
}

var values = []string{"", "a b", `it's "\`, "$HOME `id` $(id)", "a;b&c|d>e", "* ~ # -x é", `a"b,c`, "!%s{{.}}'\\''", "$(cat w.pid)"}

// Whatever a value holds, a worker gets it as it was written.
func FuzzValues(f *testing.F) {
	if _, err := exec.LookPath("mkfifo"); err != nil {
		f.Skip("there is no mkfifo")
	}
	for _, v := range append(values, "a\nb", "a\x00", "\u2028", "\x85", "\xff") {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		for _, where := range Wheres {
			o := options(where, v)
			name, text, err := Write(where, o)
			if !utf8.ValidString(v) || strings.ContainsFunc(v, unprintable) {
				if err == nil {
					t.Errorf("%s: %q is taken", where, v)
				}
				continue
			}
			must.Do(t, err)
			if where != "kubernetes" {
				o.Image = ""
				if got := run(t, name, text); !slices.Equal(got, o.Args()[1:]) {
					t.Errorf("%s: the worker's words are %q, want %q", where, got, o.Args()[1:])
				}
				continue
			}
			got := pod(t, text).Containers[0].Command
			for i := range got { // as the kubelet does, which knows no names here
				got[i] = strings.ReplaceAll(got[i], "$$(", "$(")
			}
			if want := append(o.Args(), "--scratch", "/scratch"); !slices.Equal(got, want) {
				t.Errorf("%s: the pod's words are %q, want %q", where, got, want)
			}
		}
	})
}

type podSpec struct {
	Containers []struct {
		Command         []string
		SecurityContext map[string]any `yaml:"securityContext"`
	}
	SecurityContext map[string]any `yaml:"securityContext"`
	Volumes         []map[string]any
}

func pod(t *testing.T, text []byte) podSpec {
	var job struct {
		Spec struct {
			Completions int
			Template    struct{ Spec podSpec }
		}
	}
	must.Do(t, yaml.Unmarshal(text, &job))
	if job.Spec.Completions != 3 {
		t.Errorf("%d completions, want 3", job.Spec.Completions)
	}
	return job.Spec.Template.Spec
}

// A pod has no rights, and reads the token from its Secret.
func TestPod(t *testing.T) {
	o := options("kubernetes", "/stoker")
	o.Data = []string{"traces"}
	_, text, err := Write("kubernetes", o)
	must.Do(t, err)
	p := pod(t, text)
	if c := p.Containers[0].SecurityContext; c["readOnlyRootFilesystem"] != true || c["allowPrivilegeEscalation"] != false ||
		p.SecurityContext["runAsNonRoot"] != true {
		t.Errorf("%v, %v", c, p.SecurityContext)
	}
	if !slices.Contains(p.Containers[0].Command, "/data/traces") || len(p.Volumes) != 3 {
		t.Errorf("%v, %v", p.Containers[0].Command, p.Volumes)
	}
	if s := p.Volumes[0]["secret"].(map[string]any); s["secretName"] != "s" {
		t.Errorf("%v", s)
	}
}

func TestSlurm(t *testing.T) {
	o := options("slurm", "/t")
	o.Partition, o.Time = "long", 26*time.Hour+5*time.Minute
	_, text, err := Write("slurm", o)
	must.Do(t, err)
	for _, want := range []string{"--array=0-2\n", "--cpus-per-task=2\n", "--mem=5M\n", "--partition=long\n", "--time=1-02:05:00\n"} {
		if !strings.Contains(string(text), "#SBATCH "+want) {
			t.Errorf("%s is missing:\n%s", want, text)
		}
	}
}

func TestWrong(t *testing.T) {
	for want, at := range map[string]struct {
		where string
		do    func(*Options)
	}{
		`--join is "a\nb"`:               {"slurm", func(o *Options) { o.Join = "a\nb" }},
		`--data is "a\u2028b"`:           {"ssh", func(o *Options) { o.Data = []string{"a\u2028b"} }},
		`--partition is "a b"`:           {"slurm", func(o *Options) { o.Partition = "a b" }},
		`--time is "30s"`:                {"slurm", func(o *Options) { o.Time = 30 * time.Second }},
		`--name is "W"`:                  {"slurm", func(o *Options) { o.Name = "W" }},
		`--host is "-oProxyCommand=x"`:   {"ssh", func(o *Options) { o.Hosts = []string{"-oProxyCommand=x"} }},
		"each once":                      {"ssh", func(o *Options) { o.Hosts = []string{"a", "a"} }},
		"--host is missing":              {"ssh", func(o *Options) { o.Hosts = nil }},
		"--image is missing":             {"kubernetes", func(o *Options) { o.Image = "" }},
		`--image is "a b"`:               {"kubernetes", func(o *Options) { o.Image = "a b" }},
		`--secret is "a/b"`:              {"kubernetes", func(o *Options) { o.Secret = "a/b" }},
		`the name of a PersistentVolume`: {"kubernetes", func(o *Options) { o.Data = []string{"/data"} }},
		"want a path such as /secrets/":  {"kubernetes", func(o *Options) { o.Secrets[0].Path = "/etc/token" }},
	} {
		o := options(at.where, "/t")
		at.do(&o)
		if _, text, err := Write(at.where, o); err == nil || !strings.Contains(err.Error(), want) || text != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
