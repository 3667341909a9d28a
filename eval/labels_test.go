package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// Groups are named by their experiment and by what tells them apart, never two alike.
func TestGroupLabels(t *testing.T) {
	agent := func(base, folder, keys string) named {
		t.Helper()
		var m map[string]any
		d := json.NewDecoder(bytes.NewReader(fmt.Appendf(nil, `{"name": %q, "agent": {%s}}`, base, keys)))
		d.UseNumber()
		must.Do(t, d.Decode(&m))
		return named{base: base, folder: folder, config: m}
	}
	for _, c := range []struct {
		groups []named
		want   []string
	}{
		{[]named{agent("a", "a", `"rate": 0.1`), agent("b", "b", `"rate": 0.2`)}, []string{"a", "b"}},
		{[]named{agent("a", "x", `"rate": 0.0001, "size": 1`), agent("a", "y", `"rate": 0.0003, "size": 1`), agent("b",
			"b", `"size": 2`)},
			[]string{"a rate=1e-4", "a rate=3e-4", "b"}},
		{[]named{agent("a", "x", `"actor": {"rate": 1}, "critic": {"rate": 1}, "hidden": [4, 4]`),
			agent("a", "y", `"actor": {"rate": 2}, "critic": {"rate": 10000000}, "hidden": [4, 4]`)},
			[]string{"a actor.rate=1 critic.rate=1", "a actor.rate=2 critic.rate=1e7"}},
		{[]named{agent("a", "x", `"hidden": [4, 4], "on": true`), agent("a", "y", `"hidden": [], "on": true`)},
			[]string{"a hidden=[4,4]", "a hidden=[]"}},
		// Too many keys: the folders' names; none, as with other initial weights: these too, and numbers at last.
		{[]named{agent("a", "x", `"p": 1, "q": 1, "r": 1, "s": 1`), agent("a", "y", `"p": 2, "q": 2, "r": 2, "s": 2`)},
			[]string{"x", "y"}},
		{[]named{agent("a", "x", `"p": 1`), agent("a", "y", `"p": 1`), {base: "a", folder: "y"}}, []string{"x", "y",
			"y-2"}},
		// Keys of unlike agents are not compared with each other.
		{[]named{agent("a", "x", `"name": "ppo", "rate": 1, "epochs": 1`), agent("a", "y",
			`"name": "ppo", "rate": 2, "epochs": 1`),
			agent("a", "z", `"name": "dqn", "rate": 5, "target": 1`)},
			[]string{"a name=ppo rate=1", "a name=ppo rate=2", "a name=dqn"}},
	} {
		if got := labelsOf(c.groups); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
