package eval

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/train"
)

// Settings are what an evaluation's numbers depend on, by key: environment, workload, the section eval, and every
// policy. Evaluations with the same settings leave the same scores.
type Settings map[string]string

// Settings are those of the choice.
func (c *Choice) Settings() (Settings, error) {
	x := c.Experiment
	eval := x.Eval
	eval.Baselines = nil // each is listed as a policy
	m, err := configKeys(map[string]any{"env": x.Env.Config, "workload": x.Workload, "wrappers": x.Wrappers, "eval": eval})
	if err != nil {
		return nil, err
	}
	out := Settings{}
	flatten(out, "", m)
	out["env.id"] = x.Env.Name
	delete(out, "eval.baselines")
	for i, what := range c.played {
		out["policy "+c.Contestants[i].Name] = what
	}
	return out, nil
}

// note adds what a contestant is to the choice's settings.
func (c *Choice) note(contestant int, what string) {
	if contestant == len(c.played) {
		c.played = append(c.played, what)
		return
	}
	c.played[contestant] += ", " + what
}

// Digest is the same for the same settings.
func (s Settings) Digest() string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%q %q\n", k, s[k])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// differences from the settings there, a line each.
func (s Settings) differences(there Settings) []string {
	keys := maps.Clone(s)
	maps.Copy(keys, there)
	value := func(of Settings, k string) string {
		if v, ok := of[k]; ok {
			return v
		}
		return "nothing"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a, b := value(there, k), value(s, k); a != b {
			out = append(out, fmt.Sprintf("%s: %s there, %s now", k, a, b))
		}
	}
	return out
}

// listedDifferences is the most that an error names.
const listedDifferences = 8

// May reports whether an evaluation with the settings may be written to dir: nothing is there, or one with the same
// settings. Else it is refused with what differs; with force it may all the same, and replaced says what is lost.
func (s Settings) May(dir string, force bool) (replaced string, err error) {
	old, err := ReadSummary(dir)
	var why []string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		why = []string{err.Error()}
	case old.SettingsDigest == s.Digest():
		return "", nil
	case len(old.Settings) == 0:
		why = []string{"it was made by an older version, which did not record its settings"}
	default:
		why = s.differences(old.Settings)
	}
	if n := len(why); n > listedDifferences {
		why = append(why[:listedDifferences], fmt.Sprintf("and %d more", n-listedDifferences))
	}
	text := "\n  " + strings.Join(why, "\n  ")
	file := filepath.Join(dir, SummaryFile)
	if force {
		return fmt.Sprintf("replaces %s, an evaluation with other settings:%s", file, text), nil
	}
	return "", train.Usage("%s is of an evaluation with other settings, which is not overwritten:%s\n"+
		"Keep both with --out DIR, or replace it with --force.", file, text)
}
