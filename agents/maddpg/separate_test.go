package maddpg

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// independent is a configuration with a minibatch for each agent.
func independent(mix string) Config {
	c := quick()
	c.Mix, c.Batches, c.LearningStarts, c.Batch = mix, Independent, 1_000, 20
	return c
}

// Every agent's minibatch is drawn separately, and its networks see their own minibatch: compared with the rows that
// were drawn.
func TestIndependentMinibatches(t *testing.T) {
	for _, mix := range []string{Joint, None} {
		c := independent(mix)
		c.RewardScale = 0.5
		r := newRun(t, c, toyOptions{agents: 3, length: 4, choices: true, masked: true, end: true},
			envs.VectorOptions{NumEnvs: 1})
		r.steps(60)
		l, u, s := r.l, r.l.update, r.l.sampler
		must.Do(t, s.sample())
		const n, size, act = 3, 20, 5
		if a, b := s.index[:size], s.index[size:2*size]; len(s.index) != n*size || slices.Equal(a, b) ||
			slices.Equal(b, s.index[2*size:]) {
			t.Errorf("%s: minibatches are %v, want three different ones", mix, s.index)
		}
		row := func(column int, number int64, agent, width int) []float32 {
			x := make([]float32, l.Replay().Columns()[column].Width)
			l.Replay().Gather(column, []int64{number}, 1, x)
			x = x[agent*width:][:width]
			if column == colObservation || column == colNext {
				shift, scale := l.std.agent(agent).Affine()
				for k := range x {
					x[k] = (x[k] - shift[k]) * scale[k]
				}
			}
			return x
		}
		// ownFirst is a column of all agents in the order that agent i's critic sees.
		ownFirst := func(column int, number int64, i, width int) []float32 {
			x := slices.Clone(row(column, number, i, width))
			for j := range n {
				if j != i {
					x = append(x, row(column, number, j, width)...)
				}
			}
			return x
		}
		check := func(what string, tensor nets.Tensor, at int, want []float32) {
			t.Helper()
			x := make([]float32, nets.Size(tensor))
			tensor.Get(x)
			if got := x[at*len(want):][:len(want)]; !slices.Equal(got, want) {
				t.Errorf("%s: %s, item %d is %v, want %v", mix, what, at, got, want)
			}
		}
		for i := range n {
			for b := range size {
				number, at := s.index[i*size+b], i*size+b
				check("s", u.s, at, row(colObservation, number, i, 2))
				check("a", u.a, at, row(colAction, number, i, act))
				check("r", u.r, at, []float32{row(colReward, number, i, 1)[0] / 2})
				check("discount", u.discount, at, row(colDiscount, number, i, 1))
				if mix == None {
					check("s2", u.s2, at, row(colNext, number, i, 2))
					continue
				}
				check("seen", u.separate.seen, at, ownFirst(colObservation, number, i, 2))
				check("seen2", u.separate.seen2, at, ownFirst(colNext, number, i, 2))
				check("others", u.separate.others, at, ownFirst(colAction, number, i, act)[act:])
				for j := range n {
					check("s2", u.s2, (j*n+i)*size+b, row(colNext, number, j, 2))
				}
			}
		}
		// Masks: choice 1 is illegal before even steps, choice 2 before odd ones.
		noise, noise2 := get(u.noise), get(u.noise2)
		for i := range n {
			for b := range size {
				number, at := s.index[i*size+b], i*size+b
				for j := range n {
					at2 := at
					if mix == Joint {
						at2 = (j*n+i)*size + b
					}
					for k := range act {
						if forbidden := noise[at*act+k] < -1e8; forbidden != (k == 1+int(number%4)%2) {
							t.Errorf("%s: agent %d, sample %d, choice %d at step %d: forbidden %v", mix, i, b, k, number%4, forbidden)
						}
						if forbidden := noise2[at2*act+k] < -1e8; forbidden != (k == 1+(int(number%4)+1)%2) {
							t.Errorf("%s: agent %d in minibatch %d, sample %d, choice %d after step %d: forbidden %v", mix, j, i, b, k,
								number%4, forbidden)
						}
					}
				}
			}
		}
	}
}

// Each agent's update is the shared update on its minibatch: a shared update gets one agent's minibatch at a time, and
// must change that agent's networks as the independent update did. In float64, so that only the targets' actions, which
// pass through the host in float32, are rounded.
func TestIndependentIsSharedOnEachMinibatch(t *testing.T) {
	for name, choices := range map[string]bool{"choices": true, "continuous": false} {
		t.Run(name, func(t *testing.T) {
			o := toyOptions{agents: 3, choices: choices}
			c := small()
			c.Mix, c.Batches, c.Clip = Joint, Independent, 0.5
			p := must.Get(newProblem(c.Mix, newToy(o).Spec()))(t)
			build := func(batches string) *update {
				c.Batches = batches
				u := must.Get(newUpdate(&c, &p, native.New(native.Options{DType: nets.Float64, Debug: true}), rng.New(1, "apart")))(t)
				return u
			}
			own := build(Independent)
			b := &bench{t: t, c: c, p: p, u: own, s: rng.NewStream(5, name)}
			e := own.separate
			for _, x := range []nets.Tensor{own.a, own.r, own.s2, own.noise, own.noise2, e.seen, e.others,
				own.actorTarget.Params(), own.criticTarget.Params()} {
				if x != nil {
					b.randomise(x, b.s.Norm)
				}
			}
			b.randomise(own.discount, func() float64 { return 0.9 * float64(b.s.IntN(2)) })
			// The inputs of actors and critics agree: the agent's own observation is the first of all, its next one is
			// the target actor's.
			n, size, obs, act := p.agents, c.Batch, p.obs, p.act
			seen, seen2, s, s2 := get(e.seen), get(e.seen2), get(own.s), get(own.s2)
			for i := range n {
				for r := range size {
					at := (i*size + r) * n * obs
					copy(s[(i*size+r)*obs:][:obs], seen[at:])
					for place, j := range order(n, i) {
						copy(seen2[at+place*obs:][:obs], s2[((j*n+i)*size+r)*obs:])
					}
				}
			}
			own.s.Set64(s)
			e.seen2.Set64(seen2)
			actor, critic := get(own.actor.Params()), get(own.critic.Params())
			actorTarget, criticTarget := get(own.actorTarget.Params()), get(own.criticTarget.Params())
			must.Do(t, own.run())
			for i := range n {
				u := build(SharedBatch)
				u.actor.Params().Set64(actor)
				u.actorTarget.Params().Set64(actorTarget)
				u.critic.Params().Set64(reorder(critic, p, c.Hidden[0], false))
				u.criticTarget.Params().Set64(reorder(criticTarget, p, c.Hidden[0], false))
				// Minibatch i for all agents, in their own order.
				bring := func(dst, own, others nets.Tensor, width int) {
					x := get(dst)
					first, rest := []float64(nil), get(others)
					if own != nil {
						first = get(own)
					}
					for place, j := range order(n, i) {
						for r := range size {
							to, at := x[(j*size+r)*width:][:width], i*size+r
							switch {
							case own == nil: // all lie in one
								copy(to, rest[(at*n+place)*width:])
							case place == 0:
								copy(to, first[at*width:])
							default:
								copy(to, rest[(at*(n-1)+place-1)*width:])
							}
						}
					}
					dst.Set64(x)
				}
				bring(u.s, nil, e.seen, obs)
				bring(u.s2, nil, e.seen2, obs)
				bring(u.a, own.a, e.others, act)
				u.r.Set64(get(own.r))
				u.discount.Set64(get(own.discount))
				if choices {
					u.noise.Set64(get(own.noise))
					x, all := get(u.noise2), get(own.noise2)
					for j := range n {
						copy(x[j*size*act:][:size*act], all[(j*n+i)*size*act:])
					}
					u.noise2.Set64(x)
				}
				must.Do(t, u.run())
				for _, k := range []struct {
					what      string
					own, same []float64
				}{
					{"actor", get(own.actor.Params()), get(u.actor.Params())},
					{"actor's target", get(own.actorTarget.Params()), get(u.actorTarget.Params())},
					{"critic", get(own.critic.Params()), reorder(get(u.critic.Params()), p, c.Hidden[0], true)},
					{"critic's target", get(own.criticTarget.Params()), reorder(get(u.criticTarget.Params()), p, c.Hidden[0], true)},
					{"actor's gradient", get(own.actor.Grads()), get(u.actor.Grads())},
					{"critic's gradient", get(own.critic.Grads()), reorder(get(u.critic.Grads()), p, c.Hidden[0], true)},
				} {
					size := len(k.own) / n
					moved := 0.0
					for m := i * size; m < (i+1)*size; m++ {
						if d := math.Abs(k.own[m] - k.same[m]); d > 3e-7 {
							t.Errorf("agent %d: number %d of the %s is %g, of the shared update %g", i, m-i*size, k.what, k.own[m],
								k.same[m])
						}
						moved = max(moved, math.Abs(k.own[m]))
					}
					if moved == 0 {
						t.Errorf("agent %d: the %s is all zeros: nothing is compared", i, k.what)
					}
				}
			}
		})
	}
}

// order lists the agents, i first.
func order(n, i int) []int {
	out := []int{i}
	for j := range n {
		if j != i {
			out = append(out, j)
		}
	}
	return out
}

// reorder converts critics' parameters from their own agent's order, observations first, to that of the joint critic,
// agent after agent; or back.
func reorder(params []float64, p problem, hidden int, back bool) []float64 {
	n, own := p.agents, p.obs+p.act
	out := slices.Clone(params)
	size := len(params) / n
	for i := range n {
		from, to := params[i*size:], out[i*size:]
		move := func(separate, joint int) {
			if back {
				separate, joint = joint, separate
			}
			copy(to[joint*hidden:][:hidden], from[separate*hidden:])
		}
		for place, j := range order(n, i) {
			for f := range p.obs {
				move(place*p.obs+f, j*own+f)
			}
			for f := range p.act {
				move(n*p.obs+place*p.act+f, j*own+p.obs+f)
			}
		}
	}
	return out
}

// Weights learned with the other kind of minibatch are refused: their critics' inputs have another order.
func TestIndependentWeightsAreTheirOwn(t *testing.T) {
	c := independent(Joint)
	a := newRun(t, c, toyOptions{agents: 3}, envs.VectorOptions{})
	c.Batches = SharedBatch
	b := newRun(t, c, toyOptions{agents: 3}, envs.VectorOptions{})
	for _, pair := range [][2]*run{{a, b}, {b, a}} {
		s := agents.NewState()
		must.Do(t, pair[0].l.Save(s))
		if err := pair[1].l.Adopt(s); err == nil || !strings.Contains(err.Error(), "critic") {
			t.Errorf("adopted: %v, want an error about the critic", err)
		}
	}
}

// Tensors that can't be written in blocks get the same numbers through the host.
func TestBlocks(t *testing.T) {
	e := native.New(native.Options{})
	a, b := e.NewTensor(2, 30, 3), e.NewTensor(2, 30, 3)
	rows := make([]float32, 30*8)
	for i := range rows {
		rows[i] = float32(i)
	}
	direct, host := newBlocks(a), newBlocks(struct{ nets.Tensor }{b})
	if direct.direct == nil || host.direct != nil {
		t.Fatal("not one of each")
	}
	for _, x := range []*blocks{direct, host} {
		for agent := range 2 {
			x.put(agent, 0, 17, 0, 2, rows[3*agent:], 8)
			x.put(agent, 17, 13, 0, 2, rows[17*8+3*agent:], 8)
			x.put(agent, 0, 30, 2, 1, rows[3*agent+2:], 8)
			x.put(agent, 0, 30, 1, 0, rows[len(rows):], 8) // nothing
		}
		x.done()
	}
	if x, y := get(a), get(b); !slices.Equal(x, y) || x[5] != float64(rows[8+2]) {
		t.Errorf("tensors hold %v and %v", x, y)
	}
}

// The noise has the standard Gumbel distribution, with an engine's kernel and without, and is a function of the stream.
func TestNoiseLaw(t *testing.T) {
	const n = 200_001
	e := native.New(native.Options{})
	for name, k := range map[string]nets.Engine{"the engine's": e, "plain": struct{ nets.Engine }{e}} {
		s := rng.NewStream(1, "noise")
		x, y := make([]float32, n), make([]float32, n)
		newNoise(s, k).fill(x)
		newNoise(rng.NewStream(1, "noise"), k).fill(y)
		if !slices.Equal(x, y) {
			t.Errorf("%s noise is not a function of the stream", name)
		}
		var sum, square float64
		for _, v := range x {
			sum += float64(v)
			square += float64(v) * float64(v)
		}
		mean, variance := sum/n, square/n-sum/n*sum/n
		const euler, want = 0.5772156649, math.Pi * math.Pi / 6
		if math.Abs(mean-euler) > 5*math.Sqrt(want/n) || math.Abs(variance-want) > 0.03*want {
			t.Errorf("%s noise has mean %g and variance %g, want %g and %g", name, mean, variance, euler, want)
		}
	}
}

// The native engines offer their threads and tensors that are written and read in blocks: sampling then runs in
// parallel and without a copy on the host.
func TestNativeEnginesHelp(t *testing.T) {
	for _, dtype := range []nets.DType{nets.Float32, nets.Float64} {
		e := native.New(native.Options{DType: dtype})
		if _, ok := e.(parallelEngine); !ok {
			t.Errorf("%v: the engine %T offers no threads", dtype, e)
		}
		x := e.NewTensor(1, 1, 1)
		if _, ok := x.(blockSetter); !ok {
			t.Errorf("%v: a tensor %T can't be written in blocks", dtype, x)
		}
		if _, ok := x.(blockGetter); !ok {
			t.Errorf("%v: a tensor %T can't be read in blocks", dtype, x)
		}
	}
}
