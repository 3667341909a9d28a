package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGlossary: the learner's page explains every tag that a run writes.
func TestGlossary(t *testing.T) {
	run := trained(t)
	page, err := os.ReadFile("../docs/agents/maddpg.md")
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{}
	for _, name := range []string{"metrics.jsonl", "timing.jsonl"} {
		text, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
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
