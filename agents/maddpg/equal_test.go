package maddpg

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/nets"
)

// learned runs an update a number of times on its batch and returns actor and critic.
func (b *bench) learned(times int) (actor, critic []float64) {
	b.t.Helper()
	for range times {
		if err := b.u.run(); err != nil {
			b.t.Fatal(err)
		}
	}
	return get(b.u.actor.Params()), get(b.u.critic.Params())
}

// takeBatch gives b the batch of o, whose tensors have the same sizes.
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

func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Fatalf("%s: number %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// TestUniformAttentionIsMeanField: with queries and keys of zero all scores are equal, and their gradients vanish too, so that
// learning is that of mean-field for ever.
func TestUniformAttentionIsMeanField(t *testing.T) {
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
		near(t, "actor", a1, embed(a2, mean.u.actor.Arch(), att.u.actor.Arch()), 1e-11)
		near(t, "critic", c1, embed(c2, mean.u.critic.Arch(), att.u.critic.Arch()), 1e-11)
	}
}

// embed puts the parameters of one architecture where another has those of the same names; all else is zero. Where a weight
// has more rows there (a mixture that is always zero), its first rows are taken.
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

// TestOneAgentIsDDPG: with one agent every form is DDPG. Joint has DDPG's very shape; attention and mean-field have rows for a
// mixture of nobody, which meet zeros and don't change what is learned.
func TestOneAgentIsDDPG(t *testing.T) {
	one := toyOptions{agents: 1}
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
				near(t, "actor", a1, embed(a2, a, b.u.actor.Arch()), 1e-12)
				near(t, "critic", c1, embed(c2, c, b.u.critic.Arch()), 1e-12)
			})
		}
	}
}

// TestPermutationEquivariance: with shared weights, agents that change places (and neighbours) learn the same weights; with
// weights of their own, each takes its weights along.
func TestPermutationEquivariance(t *testing.T) {
	perm := []int{2, 0, 3, 1} // agent i becomes agent perm[i]
	graph := [][]int{{1, 2}, {0}, {0, 1, 3}, {2}}
	moved := make([][]int, 4)
	for i, list := range graph {
		for _, j := range list {
			moved[perm[i]] = append(moved[perm[i]], perm[j])
		}
	}
	for _, mix := range []string{Attention, Mean} {
		for _, shared := range []bool{true, false} {
			set := func(c *Config) { c.Mix, c.Shared = mix, shared }
			a := newBench(t, form{"permutation", set, toyOptions{agents: 4, sequence: graph}})
			b := newBench(t, form{"permutation", set, toyOptions{agents: 4, sequence: moved}})
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
			a1, c1 := a.learned(5)
			a2, c2 := b.learned(5)
			near(t, mix+" actor", a2, move(a1), 1e-10)
			near(t, mix+" critic", c2, move(c1), 1e-10)
			near(t, mix+" Q", get(b.u.dq), permute(get(a.u.dq), perm), 1e-10)
		}
	}
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
