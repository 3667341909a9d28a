package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/train"
)

// FindRuns returns the run folders that paths and patterns (as in runs/sizing-*) stand for, each once, in natural
// order within a pattern. What is no run is an error that says what it is.
func FindRuns(paths []string) ([]string, error) {
	var out []string
	add := func(dir string) {
		if dir = filepath.Clean(dir); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			if err := isRun(p); err != nil {
				return nil, err
			}
			add(p)
			continue
		}
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, train.Usage("pattern %s: %w", p, err)
		}
		found = slices.DeleteFunc(found, func(dir string) bool { return !logsMetrics(dir) })
		if len(found) == 0 {
			if strings.ContainsAny(p, "*?[") {
				return nil, train.Usage("no run folder matches %s", p)
			}
			return nil, train.Usage("there is no %s", p)
		}
		slices.SortFunc(found, natural)
		for _, dir := range found {
			add(dir)
		}
	}
	return out, nil
}

func logsMetrics(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, checkpoints.MetricsFile))
	return err == nil && info.Mode().IsRegular()
}

// isRun says why a path that exists is not a run folder.
func isRun(path string) error {
	if logsMetrics(path) {
		return nil
	}
	if logsMetrics(filepath.Dir(path)) {
		return train.Usage("%s is a part of a run: give %s", path, filepath.Dir(path))
	}
	if inside, err := filepath.Glob(filepath.Join(path, "*", checkpoints.MetricsFile)); err == nil && len(inside) > 0 {
		return train.Usage("%s holds %d runs: name some, or all of them as %s", path, len(inside), filepath.Join(path, "*"))
	}
	return train.Usage("%s is no run folder: it has no %s", path, checkpoints.MetricsFile)
}

var digitsOrNot = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// natural compares names with numbers in them by the numbers: s2 before s10.
func natural(a, b string) int {
	x, y := digitsOrNot.FindAllString(a, -1), digitsOrNot.FindAllString(b, -1)
	for i := range min(len(x), len(y)) {
		s, t := x[i], y[i]
		if s[0] <= '9' && t[0] <= '9' && s[0] >= '0' && t[0] >= '0' {
			s, t = strings.TrimLeft(s, "0"), strings.TrimLeft(t, "0")
			if len(s) != len(t) {
				return len(s) - len(t)
			}
		}
		if s != t {
			return strings.Compare(s, t)
		}
	}
	return len(x) - len(y)
}

// runInfo is what run.json says of how a run was made.
type runInfo struct {
	dir, name, env string
	config         map[string]any // without what cannot change the policy, see policyShape
}

// readRun reads run.json. A run whose run.json is missing is known by its folder's name only.
func readRun(dir string) (runInfo, error) {
	r := runInfo{dir: dir, name: groupName(dir)}
	path := filepath.Join(dir, checkpoints.RunFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	var d struct {
		Env    string          `json:"env"`
		Config json.RawMessage `json:"config"`
	}
	if err = json.Unmarshal(b, &d); err == nil {
		r.env = d.Env
		r.config, err = policyShape(d.Config)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// policyShape is a configuration without the training seed and without what cannot change the policy.
func policyShape(config []byte) (map[string]any, error) {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	delete(m, "seed")
	delete(m, "eval")
	if t, ok := m["train"].(map[string]any); ok {
		delete(t, "log_every")
		delete(t, "checkpoint")
	}
	return m, nil
}

// key is the same for runs that are equal but for the seed. Without a configuration it is the folder's name without
// its seed.
func (r runInfo) key() string {
	if r.config == nil {
		return "folder " + r.name
	}
	b, err := json.Marshal(r.config)
	if err != nil { // it was JSON before
		return "folder " + r.name
	}
	return string(b)
}

// runGroup is runs that are equal but for the seed.
type runGroup struct {
	label   string
	runs    []runInfo
	differs []string // the keys and values by which it differs from other groups
}

// groupRuns groups runs and names the groups: by their folders' names without the seed where those differ, else by
// what their configurations differ in. Separate makes every run a group of its own.
func groupRuns(infos []runInfo, separate bool) []runGroup {
	var groups []runGroup
	at := map[string]int{}
	for _, r := range infos {
		key := r.key()
		if separate {
			key = r.dir
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, runGroup{label: r.name})
			if separate {
				groups[i].label = filepath.Base(r.dir)
			}
		}
		groups[i].runs = append(groups[i].runs, r)
	}
	flat := make([]map[string]string, len(groups))
	for i, g := range groups {
		flat[i] = map[string]string{}
		flatten(flat[i], "", g.runs[0].config)
	}
	for i := range groups {
		groups[i].differs = differing(flat, i)
	}
	for i := range groups {
		same := func(g runGroup) bool { return g.label == groups[i].label }
		if first := slices.IndexFunc(groups, same); first != i || slices.ContainsFunc(groups[i+1:], same) {
			defer func(i int) { groups[i].label = groups[i].distinct(i) }(i) // after all were looked at
		}
	}
	return groups
}

// distinct is a label for a group whose folders' names are not its own.
func (g runGroup) distinct(i int) string {
	switch {
	case len(g.differs) == 0:
		return fmt.Sprintf("%s (%d)", g.label, i+1)
	case len(g.differs) > 3:
		return fmt.Sprintf("%s (%s …)", g.label, strings.Join(g.differs[:3], ", "))
	}
	return fmt.Sprintf("%s (%s)", g.label, strings.Join(g.differs, ", "))
}

func flatten(out map[string]string, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		if path != "" {
			out[path] = fmt.Sprint(v)
		}
		return
	}
	for k, x := range m {
		if path != "" {
			k = path + "." + k
		}
		flatten(out, k, x)
	}
}

// differing lists key=value of flat[i] where another has another value, the name of the experiment aside.
func differing(flat []map[string]string, i int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(flat[i])) {
		if k == "name" {
			continue
		}
		for _, other := range flat {
			if x, ok := other[k]; len(other) > 0 && (!ok || x != flat[i][k]) {
				out = append(out, k+"="+flat[i][k])
				break
			}
		}
	}
	return out
}

var seedSuffix = regexp.MustCompile(`-s[0-9]+$`)

// groupName is a run's name without its seed.
func groupName(run string) string {
	return seedSuffix.ReplaceAllString(filepath.Base(filepath.Clean(run)), "")
}
