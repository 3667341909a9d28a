package maddpg

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/tools/proof"
)

// learned runs an update n times on its minibatch and returns the parameters of actor and critic.
func (b *bench) learned(times int) (actor, critic []float64) {
	b.t.Helper()
	for range times {
		if err := b.u.run(); err != nil {
			b.t.Fatal(err)
		}
	}
	return get(b.u.actor.Params()), get(b.u.critic.Params())
}

// takeBatch copies o's minibatch, whose tensors have the same sizes, to b.
func (b *bench) takeBatch(o *bench) {
	for _, x := range [][2]nets.Tensor{
		{b.u.s, o.u.s}, {b.u.a, o.u.a}, {b.u.r, o.u.r}, {b.u.s2, o.u.s2}, {b.u.discount, o.u.discount},
		{b.u.noise, o.u.noise}, {b.u.noise2, o.u.noise2},
	} {
		if x[0] != nil {
			x[0].Set64(get(x[1]))
		}
	}
}

func (b *bench) takeParams(o *bench) {
	b.u.actor.Params().Set64(get(o.u.actor.Params()))
	b.u.critic.Params().Set64(get(o.u.critic.Params()))
	b.u.actorTarget.Params().Set64(get(o.u.actorTarget.Params()))
	b.u.criticTarget.Params().Set64(get(o.u.criticTarget.Params()))
}

// maxDifference is the largest absolute difference of two lists.
func maxDifference(t *testing.T, got, want []float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			t.Fatalf("number %d is %g, want %g", i, got[i], want[i])
		}
		worst = max(worst, d)
	}
	return worst
}

// maxRelative is maxDifference divided by the largest number wanted.
func maxRelative(t *testing.T, got, want []float64) float64 {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	return maxDifference(t, got, want) / largest
}

// figure formats a difference for a claim.
func figure(x float64) string {
	if x == 0 {
		return "0 (equal bits)"
	}
	return fmt.Sprintf("%.1e", x)
}

// claimWithin claims that a difference is within a bound.
func claimWithin(t *testing.T, claim, unit string, measured, bound float64) {
	t.Helper()
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: claim, Bound: fmt.Sprintf("%.0e%s", bound, unit), Measured: figure(measured) + unit,
		Holds: measured <= bound,
	})
}

// TestUniformAttentionIsMeanField: with queries and keys of zero all scores are equal and their gradients are zero too,
// so that learning is mean-field's at every update.
func TestUniformAttentionIsMeanField(t *testing.T) {
	worst := 0.0
	for _, others := range []string{Policy, Batch} {
		o := toyOptions{agents: 4, sequence: [][]int{{1}, {0, 2, 3}, {1, 3}, {1, 2}}}
		att := newBench(t, form{"uniform", func(c *Config) { c.Others = others }, o})
		mean := newBench(t, form{"uniform", func(c *Config) { c.Mix, c.Others = Mean, others }, o})
		mean.takeBatch(att)
		for _, p := range [][2]nets.Net{
			{att.u.actor, mean.u.actor}, {att.u.actorTarget, mean.u.actorTarget},
			{att.u.critic, mean.u.critic}, {att.u.criticTarget, mean.u.criticTarget},
		} {
			p[0].Params().Set64(embed(get(p[1].Params()), p[1].Arch(), p[0].Arch()))
		}
		a1, c1 := att.learned(20)
		a2, c2 := mean.learned(20)
		worst = max(worst,
			maxDifference(t, a1, embed(a2, mean.u.actor.Arch(), att.u.actor.Arch())),
			maxDifference(t, c1, embed(c2, mean.u.critic.Arch(), att.u.critic.Arch())))
	}
	claimWithin(t, "uniform attention is mean-field: weights of actor and critic after 20 updates, float64", "", worst,
		1e-11)
}

// embed copies the parameters of one architecture to the parameters of the same names in another; all others are zero.
// Where a weight has more rows there (for a mixture that is always zero), it fills the first rows.
func embed(p []float64, from, to nets.Arch) []float64 {
	fs, fsize := nets.Layout(from)
	ts, tsize := nets.Layout(to)
	out := make([]float64, to.Groups()*tsize)
	for g := range to.Groups() {
		for _, f := range fs {
			i := slices.IndexFunc(ts, func(s nets.Slot) bool { return s.Name == f.Name })
			copy(out[g*tsize+ts[i].Offset:][:f.Size()], p[g*fsize+f.Offset:])
		}
	}
	return out
}

// TestOneAgentIsDDPG: with one agent every form is DDPG. Joint has exactly DDPG's shape; attention and mean-field have
// rows for the mixture of no neighbours, which are multiplied by zeros and don't change what is learned.
func TestOneAgentIsDDPG(t *testing.T) {
	one, worst := toyOptions{agents: 1}, 0.0
	for _, choices := range []bool{false, true} {
		one.choices = choices
		ddpg := newBench(t, form{"one agent", func(c *Config) { c.Mix = Single }, one})
		a, c := ddpg.u.actor.Arch(), ddpg.u.critic.Arch()
		for _, mix := range []string{None, Joint, Mean, Attention} {
			t.Run(fmt.Sprintf("%s, choices %v", mix, choices), func(t *testing.T) {
				ddpg := newBench(t, form{"one agent", func(c *Config) { c.Mix = Single }, one})
				b := newBench(t, form{"one agent", func(c *Config) { c.Mix = mix }, one})
				b.takeBatch(ddpg)
				if mix == None || mix == Joint {
					b.takeParams(ddpg)
				} else {
					b.u.actor.Params().Set64(embed(get(ddpg.u.actor.Params()), a, b.u.actor.Arch()))
					b.u.actorTarget.Params().Set64(embed(get(ddpg.u.actorTarget.Params()), a, b.u.actor.Arch()))
					b.u.critic.Params().Set64(embed(get(ddpg.u.critic.Params()), c, b.u.critic.Arch()))
					b.u.criticTarget.Params().Set64(embed(get(ddpg.u.criticTarget.Params()), c, b.u.critic.Arch()))
				}
				a1, c1 := b.learned(20)
				a2, c2 := ddpg.learned(20)
				worst = max(worst, maxDifference(t, a1, embed(a2, a, b.u.actor.Arch())),
					maxDifference(t, c1, embed(c2, c, b.u.critic.Arch())))
			})
		}
	}
	claimWithin(t, "one agent is DDPG, in each form, continuous and choices: weights after 20 updates, float64", "", worst,
		1e-12)
}

// TestPermutationEquivariance: with shared weights, agents that change places (and neighbours) learn the same weights;
// with their own weights, each takes its weights along. In float32 only one update's actions, values and gradients are
// compared: Adam's first step is the sign of a gradient, and where a gradient is zero but for rounding, that sign is
// random.
func TestPermutationEquivariance(t *testing.T) {
	var passes, learned float64
	var passes32 float64
	for _, mix := range []string{Attention, Mean} {
		for _, shared := range []bool{true, false} {
			p, l := permuted(t, mix, shared, nets.Float64)
			passes, learned = max(passes, p), max(learned, l)
			p, _ = permuted(t, mix, shared, nets.Float32)
			passes32 = max(passes32, p)
		}
	}
	const what = "permutation equivariance, attention and mean-field, shared weights and own: "
	claimWithin(t, what+"actions, values and gradients of an update, float64", " of the largest", passes, 1e-10)
	claimWithin(t, what+"weights after 5 updates, float64", " of the largest", learned, 1e-10)
	claimWithin(t, what+"actions, values and gradients of an update, float32", " of the largest", passes32, 1e-5)
}

// permuted returns how much agents that changed places differ from before: in the passes of one update, relative to the
// largest number of each kind, and in weights after five updates.
func permuted(t *testing.T, mix string, shared bool, d nets.DType) (passes, weights float64) {
	t.Helper()
	perm := []int{2, 0, 3, 1} // agent i becomes agent perm[i]
	graph := [][]int{{1, 2}, {0}, {0, 1, 3}, {2}}
	moved := make([][]int, 4)
	for i, list := range graph {
		for _, j := range list {
			moved[perm[i]] = append(moved[perm[i]], perm[j])
		}
	}
	set := func(c *Config) { c.Mix, c.Shared = mix, shared }
	a := newBenchIn(t, form{"permutation", set, toyOptions{agents: 4, sequence: graph}}, d)
	b := newBenchIn(t, form{"permutation", set, toyOptions{agents: 4, sequence: moved}}, d)
	for _, x := range [][2]nets.Tensor{
		{a.u.s, b.u.s}, {a.u.a, b.u.a}, {a.u.r, b.u.r}, {a.u.s2, b.u.s2}, {a.u.discount, b.u.discount},
	} {
		x[1].Set64(permute(get(x[0]), perm))
	}
	move := func(x []float64) []float64 {
		if shared {
			return x
		}
		return permute(x, perm)
	}
	for _, n := range [][2]nets.Net{
		{a.u.actor, b.u.actor}, {a.u.actorTarget, b.u.actorTarget},
		{a.u.critic, b.u.critic}, {a.u.criticTarget, b.u.criticTarget},
	} {
		n[1].Params().Set64(move(get(n[0].Params())))
	}
	far := func(got, want []float64) { passes = max(passes, maxRelative(t, got, want)) }
	far(get(b.u.policy.act(b.u.s, nil)), permute(get(a.u.policy.act(a.u.s, nil)), perm))
	far(get(b.u.q(&b.u.chosenQ, b.u.a)), permute(get(a.u.q(&a.u.chosenQ, a.u.a)), perm))
	a.learned(1)
	b.learned(1)
	far(get(b.u.y), permute(get(a.u.y), perm))
	far(get(b.u.critic.Grads()), move(get(a.u.critic.Grads())))
	far(get(b.u.actor.Grads()), move(get(a.u.actor.Grads())))
	if d == nets.Float64 {
		a1, c1 := a.learned(4)
		a2, c2 := b.learned(4)
		weights = max(maxRelative(t, a2, move(a1)), maxRelative(t, c2, move(c1)))
	}
	return passes, weights
}

// permute moves block i of x to block perm[i].
func permute(x []float64, perm []int) []float64 {
	w := len(x) / len(perm)
	out := make([]float64, len(x))
	for i, to := range perm {
		copy(out[to*w:][:w], x[i*w:])
	}
	return out
}
