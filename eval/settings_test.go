package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// An evaluation is written again with the same settings, and kept from one with others, which are named.
func TestSettings(t *testing.T) {
	settings := func(sets []string, baseline []string, runs ...string) Settings {
		t.Helper()
		c := must.Get(Choose(catalog.Default(), append(of(t, runs...), baseline...), "", sets))(t)
		s := must.Get(c.Settings())(t)
		return s
	}
	base := settings(nil, nil, "s1", "s2")
	p, sum, _ := small(t)
	sum.Settings, sum.SettingsDigest = base, base.Digest()
	out := filepath.Join(t.TempDir(), "eval")
	if _, err := base.May(out, false); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	must.Do(t, Write(out, p, sum, nil))
	if replaced, err := settings(nil, nil, "s1", "s2").May(out, false); err != nil || replaced != "" {
		t.Errorf("the same settings: %q, %v", replaced, err)
	}
	file := filepath.Join(t.TempDir(), "tiny.yaml")
	must.Do(t, os.WriteFile(file, []byte(tiny), 0o600))
	own := must.Get(must.Get(Choose(catalog.Default(), of(t, "s1", "s2"), file, nil))(t).Settings())(t)
	if replaced, err := own.May(out, false); err != nil || replaced != "" {
		t.Errorf("the runs' own configuration: %q, %v", replaced, err)
	}
	for _, c := range []struct {
		name string
		s    Settings
		want []string
	}{
		{"seeds", settings([]string{"eval.seeds=1-3"}, nil, "s1", "s2"), []string{"eval.seeds: 1-20 there, 1-3 now"}},
		{"environment", settings([]string{"env.noise=0.4"}, nil, "s1", "s2"), []string{"env.noise: 0.3 there, 0.4 now"}},
		{"other runs", settings(nil, nil, "s1", "s3"), []string{"policy tiny: training seed 1 at step 2", "training seed 3 at step 2"}},
		{"another baseline", settings(nil, []string{"random"}, "s1", "s2"), []string{"policy random: nothing there, random {} now"}},
		{"constraint", settings([]string{"eval.objective=cost"}, nil, "s1", "s2"), []string{"eval.objective:  there, cost now"}},
	} {
		_, err := c.s.May(out, false)
		if !errors.Is(err, train.ErrUsage) || !strings.Contains(err.Error(), "--out DIR") || !strings.Contains(err.Error(), "--force") {
			t.Errorf("%s: %v, want a refusal with a way out", c.name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", c.name, err, w)
			}
		}
		replaced, err := c.s.May(out, true)
		if err != nil || !strings.Contains(replaced, c.want[0]) || !strings.HasPrefix(replaced, "replaces ") {
			t.Errorf("%s by force: %q, %v", c.name, replaced, err)
		}
	}
	for text, want := range map[string]string{"{}": "older version", "{": "unexpected end"} {
		must.Do(t, os.WriteFile(filepath.Join(out, SummaryFile), []byte(text), 0o600))
		if _, err := base.May(out, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("eval.json is %s: %v, want %q", text, err, want)
		}
		if replaced, err := base.May(out, true); err != nil || !strings.Contains(replaced, want) {
			t.Errorf("eval.json is %s, by force: %q, %v", text, replaced, err)
		}
	}
}
