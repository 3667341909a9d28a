package traces

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Scale is what brings a trace to a utilisation of an environment.
type Scale struct {
	Env  string `json:"env"`
	Unit string `json:"unit"`
	// Serves is about the largest mean load that the action ranges serve, in the unit; Utilisation is the trace's own mean
	// load over it.
	Serves      float64 `json:"serves"`
	Utilisation float64 `json:"utilisation"`
	// Target is the utilisation asked for. Key and Value make it; Mean is the load's mean then, and Above the share of
	// minutes (windows) above what is served.
	Target float64 `json:"target_utilisation"`
	Key    string  `json:"key"`
	Value  float64 `json:"value"`
	Mean   float64 `json:"mean"`
	Above  float64 `json:"above"`
	Part   string  `json:"part"`
	// Set are the settings of stoker train and stoker eval that make it.
	Set []string `json:"set"`
}

// Source names a trace, and the part of it that is meant.
type Source struct {
	// Path is a folder or a file of invocations; empty is the embedded sample.
	Path   string
	Sample int
	Days   []int
	// Progress, where set, is told after every day how many of how many are read.
	Progress func(done, all int)
}

// Read reads what a trace holds.
func Read(s Source) (*Report, error) {
	c, err := workload.ReadContents(s.Path, workload.ReadOptions{Sample: s.Sample, Days: s.Days, Progress: s.Progress})
	if err != nil {
		return nil, err
	}
	return Describe(c)
}

// ScaleFor finds the settings that bring a trace to a utilisation of an environment with its default configuration.
func (r *Report) ScaleFor(names *catalog.Catalog, s Source, id string, target float64) error {
	row, err := names.Env(id)
	if err != nil {
		return err
	}
	if !(target > 0 && target <= 10) {
		return fmt.Errorf("the target utilisation is %g, want more than 0 and at most 10", target)
	}
	config := row.Config()
	out := &Scale{Env: id, Target: target}
	if s.Path != "" {
		out.Set = append(out.Set, "workload.path="+filepath.ToSlash(s.Path))
	}
	if s.Sample > 0 {
		out.Set = append(out.Set, fmt.Sprintf("workload.sample=%d", s.Sample))
	}
	if len(s.Days) > 0 {
		out.Set = append(out.Set, "workload.days=["+joined(s.Days)+"]")
	}
	if c, ok := config.(*placement.Config); ok {
		c.Workload = placement.Azure
		out.Set = append(out.Set, "env.workload="+placement.Azure)
	}
	w := workload.Default()
	w.Path, w.Sample, w.Days, w.Mean = s.Path, s.Sample, s.Days, r.Rate
	own, serves, err := loadOf(row, config, w)
	if err != nil {
		return err
	}
	w.Mean, w.Factor, w.TargetUtilisation = 0, workload.Auto, target
	scaled, _, err := loadOf(row, config, w)
	if err != nil {
		return err
	}
	out.Unit, out.Serves, out.Utilisation = own.Unit, serves, own.Mean/serves
	out.Key, out.Part = scaled.Key, scaled.Part
	if out.Value, err = strconv.ParseFloat(strconv.FormatFloat(scaled.Value, 'g', 4, 64), 64); err != nil {
		return err
	}
	out.Mean = scaled.Mean * out.Value / scaled.Value
	out.Above = scaled.Above(serves)
	if out.Key != "workload.factor" {
		out.Set = append(out.Set, "workload.factor=1")
	}
	out.Set = append(out.Set, fmt.Sprintf("%s=%g", out.Key, out.Value))
	r.Scale = out
	return nil
}

// loadOf is the load of an environment under a workload, and what it serves.
func loadOf(row catalog.Env, config any, w workload.Config) (envs.Load, float64, error) {
	env, err := row.New(config, w)
	if err != nil {
		return envs.Load{}, 0, fmt.Errorf("%s: %w", row.ID, err)
	}
	loaded, ok := envs.As[envs.Loaded](env)
	if !ok {
		return envs.Load{}, 0, fmt.Errorf("%s has no load that a trace could make, want an environment such as %s", row.ID,
			"stoker/Sizing-v2")
	}
	serves, err := loaded.Serves()
	if err == nil && serves == 0 {
		err = fmt.Errorf("%s: nothing within the action ranges serves any load", row.ID)
	}
	return loaded.Workload(), serves, err
}

// Loaded are the ids of the environments that serve a trace.
func Loaded(names *catalog.Catalog) []string {
	var out []string
	for _, row := range names.Envs {
		env, err := row.New(row.Config(), workload.Default())
		if err != nil {
			continue
		}
		if _, ok := envs.As[envs.Loaded](env); ok {
			out = append(out, row.ID)
		}
	}
	return slices.Clip(out)
}

func joined(days []int) string {
	out := make([]string, len(days))
	for i, d := range days {
		out[i] = strconv.Itoa(d)
	}
	return strings.Join(out, ",")
}
