package sizing

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/envs/sizing"
)

// rules holds numbers that stoker search rule found, named by environment, workflow and the worth of a kept window:
// v3-parallel-2.json. docs/agents/sizing-baselines.md has the commands.
//
//go:embed rules/*.json
var rules embed.FS

// parseFound reads the configuration of a rival from what stoker search wrote; name is for errors.
func parseFound[C any](rival, name string, b []byte) (c C, err error) {
	var f struct {
		Rival  string `json:"rival"`
		Config C      `json:"config"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return c, fmt.Errorf("%s: file %s: %w, want one that stoker search %s wrote", rival, name, err, rival)
	}
	if f.Rival != rival {
		return c, fmt.Errorf("%s: file %s is of rival %q, want one that stoker search %s wrote", rival, name, f.Rival, rival)
	}
	if v, ok := any(&f.Config).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return c, fmt.Errorf("%s: file %s: config.%w", rival, name, err)
		}
	}
	return f.Config, nil
}

func readFound[C any](rival, file string) (c C, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, fmt.Errorf("%s: file: %w", rival, err)
	}
	return parseFound[C](rival, file, b)
}

// shippedRule returns the numbers for an environment's workflow whose worth of a kept window is nearest to weight, in
// ratio.
func shippedRule(weight float64, e *sizing.Env) (RuleConfig, error) {
	c := e.Config()
	if weight == 0 {
		weight = c.Reward.QoS
	}
	_, version, _ := strings.Cut(e.Spec().ID, "-")
	prefix := version + "-" + c.Workflow + "-"
	best, off := "", math.Inf(1)
	names, err := fs.Glob(rules, "rules/*.json")
	if err != nil {
		return RuleConfig{}, err
	}
	for _, name := range names {
		text, ok := strings.CutPrefix(strings.TrimSuffix(path.Base(name), ".json"), prefix)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			continue
		}
		if d := math.Abs(math.Log(x / max(weight, 1e-9))); d < off {
			best, off = name, d
		}
	}
	if best == "" || e.Closed() {
		load := "this workflow"
		if e.Closed() {
			load = "closed-loop users"
		}
		return RuleConfig{}, fmt.Errorf("no numbers come with %s (%s, %s); find some with: stoker search rule CONFIG, "+
			"and name the file: {name: rule, file: FILE}", load, e.Spec().ID, c.Workflow)
	}
	b, err := rules.ReadFile(best)
	if err != nil {
		return RuleConfig{}, err
	}
	return parseFound[RuleConfig]("rule", best, b)
}
