package sizing

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// numbers are those that stoker search found, named by environment, workflow and what they were searched for:
// rules/v3-parallel-2.json is of a kept window worth 2, bases/v3-parallel-0.4.json of a CPU target of 40 %.
// docs/agents/sizing-baselines.md has the commands.
//
//go:embed rules/*.json bases/*.json
var numbers embed.FS

// folders of numbers by the baseline that they are of.
var folders = map[string]string{"rule": "rules", "autoscaler": "bases"}

// shipped returns a baseline's numbers for an environment's workflow that were searched for what is nearest to want, in
// ratio.
func shipped[C any](baseline string, want float64, e *sizing.Env) (c C, err error) {
	_, version, _ := strings.Cut(e.Spec().ID, "-")
	workflow := e.Config().Workflow
	prefix := version + "-" + workflow + "-"
	names, err := fs.Glob(numbers, folders[baseline]+"/*.json")
	if err != nil {
		return c, err
	}
	best, off := "", math.Inf(1)
	for _, name := range names {
		text, ok := strings.CutPrefix(strings.TrimSuffix(path.Base(name), ".json"), prefix)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			continue
		}
		if d := math.Abs(math.Log(x / max(want, 1e-9))); d < off {
			best, off = name, d
		}
	}
	if best == "" || e.Closed() {
		load := "this workflow"
		if e.Closed() {
			load = "closed-loop users"
		}
		return c, fmt.Errorf("no numbers come with %s (%s, %s); find some with: stoker search %s CONFIG, and name the file: "+
			"{name: %s, file: FILE}", load, e.Spec().ID, workflow, baseline, baseline)
	}
	b, err := numbers.ReadFile(best)
	if err != nil {
		return c, err
	}
	return crossentropy.Parse[C](baseline, best, b)
}
