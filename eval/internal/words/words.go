// Package words says in words what is measured: the labels of figures for the tags of logs (rollout/…, eval/…, train/…,
// time/…) and for the quantities of environments. There is one table, so that a metric has one name everywhere.
//
// Not here: units of an environment's quantities, which its Spec has.
package words

import "strings"

// tags are the words and units for tags that every run, or every run of a learner, logs.
var tags = map[string][2]string{
	"rollout/ep_rew_mean": {"return per training episode", ""},
	"rollout/ep_len_mean": {"length of training episodes", "steps"},
	"eval/mean_reward":    {"return in evaluation", ""},
	"eval/mean_ep_length": {"length of episodes in evaluation", "steps"},

	"train/loss":                 {"loss", ""},
	"train/actor_loss":           {"loss of the actor", ""},
	"train/critic_loss":          {"loss of the critic", ""},
	"train/policy_loss":          {"loss of the policy", ""},
	"train/policy_gradient_loss": {"loss of the policy", ""},
	"train/value_loss":           {"loss of the value", ""},
	"train/entropy":              {"entropy of the policy", "nats"},
	"train/entropy_loss":         {"minus the policy's entropy", "nats"},
	"train/grad_norm":            {"norm of the gradient", ""},
	"train/actor_grad_norm":      {"norm of the actor's gradient", ""},
	"train/critic_grad_norm":     {"norm of the critic's gradient", ""},
	"train/policy_grad_norm":     {"norm of the policy's gradient", ""},
	"train/value_grad_norm":      {"norm of the value's gradient", ""},
	"train/learning_rate":        {"learning rate", ""},
	"train/epsilon":              {"probability of a random choice (ε)", ""},
	"train/noise":                {"deviation of the exploration noise", ""},
	"train/std":                  {"deviation of the actions drawn", ""},
	"train/replay":               {"transitions in replay", ""},
	"train/n_updates":            {"updates", ""},
	"train/epochs":               {"passes over the batch", ""},
	"train/approx_kl":            {"divergence from the last policy (KL)", "nats"},
	"train/clip_fraction":        {"share of clipped ratios", ""},
	"train/explained":            {"share of returns' variance explained", ""},
	"train/explained_variance":   {"share of returns' variance explained", ""},
	"train/ent_coef":             {"weight of the entropy (α)", ""},
	"train/ent_coef_loss":        {"loss of the entropy's weight", ""},
	"train/safe_replaced":        {"share of actions replaced as unsafe", ""},

	"time/fps":       {"training speed", "environment steps/s"},
	"time/elapsed_s": {"training time", "s"},
}

// Label is the label of an axis: what a tag or a quantity means, with its unit where that is known. Unit is the
// environment's, for its quantities; pass "" for others. "eval/latency_p95", "s" is "latency p95 in evaluation (s)".
func Label(tag, unit string) string {
	if t, ok := tags[tag]; ok {
		unit = t[1]
	}
	if Unit(plain(tag[strings.LastIndexByte(tag, '/')+1:]), unit) == "" {
		return Of(tag)
	}
	return Of(tag) + " (" + unit + ")"
}

// Unit is the unit of a quantity, empty where it says nothing: 1, or what the quantity is called.
func Unit(quantity, unit string) string {
	if unit == "1" || unit == quantity {
		return ""
	}
	return unit
}

// Of is what a tag or a quantity means, without its unit.
func Of(tag string) string {
	if t, ok := tags[tag]; ok {
		return t[0]
	}
	section, name, ok := strings.Cut(tag, "/")
	if !ok {
		return plain(tag)
	}
	switch section {
	case "eval":
		return plain(name) + " in evaluation"
	case "rollout":
		return plain(name) + " in training episodes"
	}
	return plain(name)
}

// plain is a name as text.
func plain(name string) string { return strings.ReplaceAll(name, "_", " ") }

// kept are what a policy keeps, by a constraint's name and unit: the complement of its share.
var kept = map[[2]string]string{
	{"violated", "share of windows"}: "windows within the QoS",
	{"violated", "1"}:                "plans within their constraint",
	{"violations", "1"}:              "requests within their deadline",
	{"missed", "1"}:                  "requests within their SLO",
	{"violation_rate", "of jobs"}:    "jobs in time",
}

// Kept says what is kept where a share of violations is not 1: "windows within the QoS"; empty where no word is known.
func Kept(quantity, unit string) string { return kept[[2]string{quantity, unit}] }
