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

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// FindRuns returns the run folders that paths and patterns (as in runs/sizing-*) stand for, each once, in natural
// order within a pattern. A sweep's folder stands for its finished runs. What is no run is an error that says what it is.
func FindRuns(paths []string) ([]string, error) {
	var out []string
	add := func(dir string) {
		if dir = filepath.Clean(dir); !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, p := range paths {
		if sweep.Is(p) {
			runs, err := sweep.FinishedRuns(p, catalog.Default())
			if err != nil {
				return nil, err
			}
			for _, dir := range runs {
				add(dir)
			}
			continue
		}
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
			return nil, train.Missing(p, "a run's folder")
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
	raw            json.RawMessage // the whole configuration
	config         map[string]any  // without what cannot change the policy, see policyShape
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
		r.env, r.raw = d.Env, d.Config
		r.config, err = policyShape(d.Config)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// policyShape is a configuration without the training seed and without what cannot change the policy.
func policyShape(config []byte) (map[string]any, error) {
	m, err := keysOf(config)
	if err != nil {
		return nil, err
	}
	delete(m, "seed")
	delete(m, "eval")
	if t, ok := m["train"].(map[string]any); ok {
		delete(t, "log_every")
		delete(t, "checkpoint")
	}
	return m, nil
}

// keysOf reads a configuration that was written as JSON; numbers stay as they are written.
func keysOf(config []byte) (m map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("config: %w", err)
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

// groupRuns groups runs and names the groups, see labelsOf. Separate makes every run a group of its own, called by its
// folder.
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
			groups = append(groups, runGroup{})
		}
		groups[i].runs = append(groups[i].runs, r)
	}
	flat, list := make([]map[string]string, len(groups)), make([]named, len(groups))
	for i, g := range groups {
		r := g.runs[0]
		flat[i] = map[string]string{}
		flatten(flat[i], "", r.config)
		list[i] = named{base: r.name, folder: r.name, config: r.config}
		if name, ok := r.config["name"].(string); ok && name != "" {
			list[i].base = name
		}
		if separate {
			list[i] = named{base: filepath.Base(r.dir), folder: r.dir}
		}
	}
	for i, label := range labelsOf(list) {
		groups[i].label = label
		own := differing(flat, i)
		for _, k := range slices.Sorted(maps.Keys(own)) {
			groups[i].differs = append(groups[i].differs, k+"="+own[k])
		}
	}
	return groups
}

var seedSuffix = regexp.MustCompile(`-s[0-9]+$`)

// groupName is a run's name without its seed.
func groupName(run string) string {
	return seedSuffix.ReplaceAllString(filepath.Base(filepath.Clean(run)), "")
}
