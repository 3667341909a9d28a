package configs

import "testing"

func TestNearest(t *testing.T) {
	flags := []string{"seed", "seeds", "set", "runs", "steps", "engine", "device"}
	ids := []string{"stoker/CartPole-v1", "stoker/LQR-v1", "stoker/Sizing-v2", "mine/Room-v1"}
	tags := []string{"eval/mean_reward", "rollout/ep_rew_mean", "rollout/ep_len_mean", "train/loss", "eval/price"}
	for _, c := range []struct {
		key   string
		names []string
		want  string
	}{
		{"sedes", flags, "seeds"},
		{"sed", flags, "seed"},
		{"step", flags, "steps"},
		{"enigne", flags, "engine"},
		{"frobnicate", flags, ""},
		{"", flags, ""},
		{"stps", []string{"steps", "copies"}, "steps"},
		{"copys", []string{"steps", "copies"}, "copies"},
		{"chekpont", []string{"copies", "checkpoint"}, "checkpoint"},
		{"st", []string{"steps", "copies"}, ""},
		{"cartpole", ids, "stoker/CartPole-v1"},
		{"stoker/LRQ-v1", ids, "stoker/LQR-v1"},
		{"stoker/Room-v1", ids, "mine/Room-v1"},
		{"stoker/CartPole", ids, "stoker/CartPole-v1"},
		{"mean_rewrd", tags, "eval/mean_reward"},
		{"eval/mean_rewrd", tags, "eval/mean_reward"},
		{"ep_rew_mean", tags, "rollout/ep_rew_mean"},
		{"nothing", tags, ""},
	} {
		if got := Nearest(c.key, c.names); got != c.want {
			t.Errorf("near to %q is %q, want %q", c.key, got, c.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"ab", "ba", 1}, {"sedes", "seeds", 1}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q are %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}
