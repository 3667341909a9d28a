package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// TestGlossary: the learner's page explains every tag that a run writes.
func TestGlossary(t *testing.T) {
	run := trained(t)
	page := must.Get(os.ReadFile("../docs/agents/maddpg.md"))(t)
	tags := map[string]bool{}
	for _, name := range []string{"metrics.jsonl", "timing.jsonl"} {
		text := must.Get(os.ReadFile(filepath.Join(run, name)))(t)
		for line := range strings.Lines(string(text)) {
			var m map[string]any
			must.Do(t, json.Unmarshal([]byte(line), &m))
			for tag := range m {
				tags[tag] = true
			}
		}
	}
	if len(tags) < 12 {
		t.Fatalf("the run wrote %v, want more tags than that", tags)
	}
	for tag := range tags {
		group, _, _ := strings.Cut(tag, "/")
		known := map[string]string{"rollout": "`rollout/<quantity>`", "eval": "`eval/<quantity>`",
			"time": "`time/share_<phase>`"}[group]
		switch {
		case tag == "step" || tag == "at":
		case strings.Contains(string(page), "`"+tag+"`"):
		case known != "" && strings.Contains(string(page), known) &&
			(group != "time" || strings.HasPrefix(tag, "time/share_")):
		default:
			t.Errorf("docs/agents/maddpg.md does not explain %s", tag)
		}
	}
}
