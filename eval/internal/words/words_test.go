package words

import "testing"

func TestLabel(t *testing.T) {
	for _, c := range []struct{ tag, unit, want string }{
		{"eval/mean_reward", "", "return in evaluation"},
		{"rollout/ep_rew_mean", "", "return per training episode"},
		{"rollout/ep_len_mean", "", "length of training episodes (steps)"},
		{"eval/price", "USD/h", "price in evaluation (USD/h)"},
		{"rollout/latency_p95", "s", "latency p95 in training episodes (s)"},
		{"latency_p95", "s", "latency p95 (s)"},
		{"slowdown", "1", "slowdown"},
		{"cost", "cost", "cost"},
		{"eval/cost", "cost", "cost in evaluation"},
		{"train/critic_loss", "", "loss of the critic"},
		{"train/own_number", "", "own number"},
		{"time/fps", "", "training speed (environment steps/s)"},
		{"return", "1", "return"},
	} {
		if got := Label(c.tag, c.unit); got != c.want {
			t.Errorf("%s in %q is %q, want %q", c.tag, c.unit, got, c.want)
		}
	}
}
