package cli

import (
	"strings"
	"testing"
)

// Completion of --set knows keys, their values, what they may be, and the words behind a key.
func TestCompleteSets(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"agent.gamma", "agent.gamma=\t0.5 (0 to 1)\n"},
		{"train.env", "train.envs=\t"},
		{"env.init", "env.initial=\t(0 to 1)\n"},
		{"agent.mix=", "agent.mix=attention\nagent.mix=mean\nagent.mix=joint\nagent.mix=single\nagent.mix=none\n"},
		{"eval.split=", "eval.split=test\neval.split=train\neval.split=all\n"},
		{"workload.kind=", "workload.kind=azure2019\n"},
	} {
		code, out, errs := stoker("__complete", "train", "../configs/sizing/attmf.yaml", "--set", c.prefix)
		if code != exitDone || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, completions %q, want %q among them; %s", c.prefix, code, out, c.want, errs)
		}
	}
}
