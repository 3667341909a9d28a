// Package launch writes the files with which Slurm, Kubernetes or ssh start workers. It runs nothing, and no secret is in a
// file: workers read theirs from files of their own machines.
package launch

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoker-rl/stoker/internal/shell"
)

// Wheres are what starts workers.
var Wheres = []string{"slurm", "kubernetes", "ssh"}

// Options say what is started. Paths are those of the workers' machines.
type Options struct {
	// Name is that of the Slurm or Kubernetes job.
	Name string
	// Program is the stoker of the workers' machines, Image the container with it.
	Program, Image string
	// Join is the coordinator's address; Secrets are the files by which workers prove themselves, and the flags for them.
	Join    string
	Secrets []Secret
	// Secret is the Kubernetes Secret whose keys are the files' names.
	Secret string
	// Workers is the number of workers, Slots that of runs at a time of each, with Cores cores and Memory MiB.
	Workers, Slots, Cores, Memory int
	// Data are folders with inputs; on Kubernetes the names of PersistentVolumeClaims.
	Data []string
	// Partition is Slurm's, Hosts are those of ssh.
	Partition string
	Hosts     []string
	// Time is how long workers may run; 0 is without end.
	Time time.Duration
}

// Secret is a flag that names a file.
type Secret struct{ Flag, Path string }

// mount is where a pod has its Secret, and data where it has its claims.
const (
	mount = "/secrets"
	data  = "/data"
)

var (
	// label is what Kubernetes, and Slurm too, take as a name.
	label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$`)
	// claim is a name of a Secret, a claim, or a Slurm partition.
	claim     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$`)
	partition = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.,-]*$`)
	host      = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_\[][A-Za-z0-9_.:%\]-]*$`)
	file      = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	image     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./:@-]*$`)
)

// wrong is an error of a flag.
func wrong(flag, value, want string) error {
	return fmt.Errorf("--%s is %q, want %s", flag, value, want)
}

// unprintable reports what could end a line, for a shell or for YAML.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// check refuses what a file could not say.
func (o *Options) check(where string) error {
	pod := where == "kubernetes"
	texts := []Secret{{"join", o.Join}, {"program", o.Program}}
	for _, d := range o.Data {
		texts = append(texts, Secret{"data", d})
	}
	for _, t := range append(texts, o.Secrets...) {
		if !utf8.ValidString(t.Path) || strings.ContainsFunc(t.Path, unprintable) {
			return wrong(t.Flag, t.Path, "printable characters on one line")
		}
	}
	for _, s := range o.Secrets {
		if pod && (path.Dir(s.Path) != mount || !file.MatchString(path.Base(s.Path))) {
			return wrong(s.Flag, s.Path, "a path such as "+mount+"/token: the Secret "+o.Secret+" is mounted at "+mount)
		}
	}
	for _, d := range o.Data {
		if pod && !claim.MatchString(d) {
			return wrong("data", d, "on kubernetes the name of a PersistentVolumeClaim")
		}
	}
	seen := map[string]bool{}
	for _, h := range o.Hosts {
		if !host.MatchString(h) || seen[h] {
			return wrong("host", h, "a name as ssh takes it, such as user@node1, and each once")
		}
		seen[h] = true
	}
	switch {
	case !label.MatchString(o.Name):
		return wrong("name", o.Name, "at most 53 small letters, digits and '-', a letter or digit first and last")
	case where == "slurm" && o.Partition != "" && !partition.MatchString(o.Partition):
		return wrong("partition", o.Partition, "the name of a partition")
	case where == "ssh" && len(o.Hosts) == 0:
		return errors.New("--host is missing: want a machine that ssh reaches, such as user@node1 (repeatable)")
	case pod && o.Image == "":
		return errors.New("--image is missing: want a container image with the program, such as registry.example.org/stoker:1")
	case pod && !image.MatchString(o.Image):
		return wrong("image", o.Image, "the name of a container image")
	case pod && !claim.MatchString(o.Secret):
		return wrong("secret", o.Secret, "the name of a Secret")
	case o.Time < 0 || o.Time > 0 && o.Time < time.Minute:
		return wrong("time", o.Time.String(), "at least 1m, or 0")
	}
	return nil
}

// Args are the words of a worker's command.
func (o *Options) Args() []string {
	out := []string{o.Program, "worker", "--join", o.Join}
	for _, s := range o.Secrets {
		out = append(out, "--"+s.Flag, s.Path)
	}
	if o.Slots > 1 {
		out = append(out, "--slots", fmt.Sprint(o.Slots))
	}
	for _, d := range o.Data {
		if o.Image != "" {
			d = path.Join(data, d)
		}
		if strings.ContainsAny(d, `,"`) { // the flag takes several values, as CSV
			d = `"` + strings.ReplaceAll(d, `"`, `""`) + `"`
		}
		out = append(out, "--data", d)
	}
	return out
}

// Hours is Time as Slurm takes it.
func (o *Options) Hours() string {
	m := int(o.Time.Minutes())
	return fmt.Sprintf("%d-%02d:%02d:00", m/1440, m/60%24, m%60)
}

// Start is what starts a worker on a machine, for its login shell, and leaves it there. Another user's shell may be none of
// sh's kind.
func (o *Options) Start() string {
	pid := o.Name + ".pid"
	return "sh -c " + shell.Quote(`if kill -0 "$(cat `+pid+`)" 2>/dev/null; then echo "a worker runs here already" >&2; exit 1; fi; `+
		`(trap '' HUP; `+shell.Line(o.Args())+` & echo $! >`+pid+`; wait; rm -f `+pid+`) >>`+o.Name+`.log 2>&1 </dev/null &`)
}

// Stop is what ends the worker.
func (o *Options) Stop() string { return "sh -c " + shell.Quote(`kill -TERM "$(cat `+o.Name+`.pid)"`) }

// text quotes a value for YAML, which takes JSON.
func text(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(b.String()), err
}

//go:embed templates
var templates embed.FS

var all = template.Must(template.New("").Funcs(template.FuncMap{
	"line": shell.Line, "quote": shell.Quote, "text": text, "base": path.Base,
	"last": func(n int) int { return n - 1 },
	// Kubernetes would replace $(NAME) in an argument.
	"literal": func(s string) string { return strings.ReplaceAll(s, "$(", "$$(") },
}).ParseFS(templates, "templates/*"))

// files are the names of what is written.
var files = map[string]string{"slurm": "workers.sbatch", "kubernetes": "workers.yaml", "ssh": "workers.sh"}

// Write returns the file that starts workers, and its name. Where is one of Wheres.
func Write(where string, o Options) (name string, file []byte, err error) {
	if where != "kubernetes" {
		o.Image = ""
	}
	if err := o.check(where); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	err = all.ExecuteTemplate(&b, files[where], &o)
	return files[where], b.Bytes(), err
}
