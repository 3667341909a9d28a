package engines

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/tools/proof"
)

// scenarios are the whole table: every architecture, mix, score, head, norm and loss.
func scenarios() map[string]scenario {
	in := []nets.Port{{Name: "state", Width: states}, {Name: "action", Width: actions}}
	ring, selfish := [][]int{{1, 2}, {0}, {}}, [][]int{{0, 1}, {2, 0, 1}, {1}}
	mlp := func(in []nets.Port, out int, change func(*nets.MLP)) nets.MLP {
		m := nets.MLP{Agents: agents, In: in, Hidden: []int{7, 5}, Out: out, Activation: nets.ReLU}
		if change != nil {
			change(&m)
		}
		return m
	}
	squash := func(final string, change func(*nets.MLP)) func(*nets.MLP) {
		return func(m *nets.MLP) {
			if change != nil {
				change(m)
			}
			m.Final = final
		}
	}
	out := map[string]scenario{}
	add := func(name string, others bool, list [][]int, mix, score string, change func(*nets.MLP), more func(*scenario)) {
		field := func(m nets.MLP, mix string, others bool) nets.Arch {
			f := nets.MeanField{MLP: m, Mix: mix, Others: others, Neighbours: list}
			switch mix {
			case "":
				return m
			case nets.Joint:
				f.Neighbours = nil
			case nets.Attention:
				f.Score, f.Keys = score, 5
			}
			return f
		}
		actorMix := mix
		if mix == nets.Joint { // plain MADDPG: only the critic is joint
			actorMix = ""
		}
		c := scenario{
			actor:  field(mlp(in[:1], actions, squash(nets.Sigmoid, change)), actorMix, false),
			critic: field(mlp(in, 1, change), mix, others), others: others, loss: nets.SquaredError{},
		}
		if more != nil {
			more(&c)
		}
		out[name] = c
	}
	shared := func(m *nets.MLP) { m.Shared = true }
	// After tanh: few features after ReLU may all be about 0, and LayerNorm then enlarges rounding three-hundredfold.
	norm := func(m *nets.MLP) { m.Norm, m.Activation = nets.LayerNorm, nets.Tanh }
	tanh := func(m *nets.MLP) { m.Activation = nets.Tanh }
	add("mlp", false, nil, "", "", nil, nil)
	add("mlp shared", false, nil, "", "", shared, nil)
	add("mlp norm", false, nil, "", "", norm, nil)
	add("mlp tanh", false, nil, "", "", tanh, func(c *scenario) {
		c.actor = mlp(in[:1], actions,
			squash(nets.Tanh, tanh))
	})
	add("mlp no hidden", false, nil, "", "", func(m *nets.MLP) { m.Hidden = nil }, nil)
	add("mlp clip", false, nil, "", "", nil, func(c *scenario) { c.clip = 0.1 })
	add("mlp custom", false, nil, "", "", nil, func(c *scenario) { c.loss = quartic })
	for _, hard := range []bool{false, true} {
		name := map[bool]string{false: "gumbel soft", true: "gumbel hard"}[hard]
		add(name, false, nil, "", "", nil, func(c *scenario) {
			c.actor = mlp(in[:1], actions, nil)
			c.head = &nets.GumbelSoftmax{Agents: agents, Segments: []int{2, actions - 2}, Temperature: 0.8, Hard: hard}
		})
	}
	for _, others := range []bool{false, true} {
		suffix := map[bool]string{true: " others"}[others]
		add("mean"+suffix, others, ring, nets.Mean, "", nil, nil)
		add("mean shared"+suffix, others, selfish, nets.Mean, "", shared, nil)
		add("joint"+suffix, others, nil, nets.Joint, "", nil, nil)
		add("joint shared"+suffix, others, nil, nets.Joint, "", shared, nil)
		for _, score := range []string{nets.Exp, nets.Squared} {
			add("attention "+score+suffix, others, ring, nets.Attention, score, nil, nil)
			add("attention self "+score+suffix, others, selfish, nets.Attention, score, nil, nil)
			add("attention shared "+score+suffix, others, selfish, nets.Attention, score, shared, nil)
			add("attention norm "+score+suffix, others, ring, nets.Attention, score, norm, func(c *scenario) { c.clip = 0.5 })
		}
	}
	for _, loss := range nets.Losses() {
		name := fmt.Sprintf("%s%+v", loss.LossName(), loss)
		switch args := loss.Args(); {
		case slices.Contains(args, nets.ArgMask):
			out[name] = scenario{actor: mlp(in[:1], actions, nil), loss: loss}
		case len(args) == 2: // of a critic and its targets; losses of one arg are in each actor's update
			add(name, false, nil, "", "", nil, func(c *scenario) { c.loss = loss })
		}
	}
	return out
}

// quartic is a user's loss, mean((x − y)⁴).
var quartic = nets.Custom{Name: "quartic", Func: func(value, grad []float64, args [][]float64, shapes [][]int) {
	per := len(grad) / shapes[0][0]
	for i, x := range args[0] {
		d := x - args[1][i]
		value[i/per] += d * d * d * d / float64(per)
		grad[i] = 4 * d * d * d / float64(per)
	}
}}

// tolerance is how far two engines may be apart: gradients in parts of the largest, parameters in steps of the
// learning rate.
type tolerance struct{ gradient, parameter float64 }

var (
	single = tolerance{1e-5, 0.2}
	double = tolerance{1e-9, 1e-9}
)

// All engines of this binary agree with the native one over whole updates, and the native one's float32 with
// its float64.
func TestAgreement(t *testing.T) {
	type candidate struct {
		engine, against  string
		dtype, reference nets.DType
		tol              tolerance
	}
	candidates := []candidate{{Native, Native, nets.Float32, nets.Float64, single}}
	for i, name := range Names() {
		for _, other := range Names()[:i] {
			candidates = append(candidates,
				candidate{name, other, nets.Float32, nets.Float32, single},
				candidate{name, other, nets.Float64, nets.Float64, double})
		}
	}
	for _, c := range candidates {
		name := fmt.Sprintf("%s in %v against %s in %v", c.engine, c.dtype, c.against, c.reference)
		t.Run(name, func(t *testing.T) {
			e, reference := open(t, c.engine, c.dtype), open(t, c.against, c.reference)
			var worst tolerance
			for name, s := range scenarios() {
				t.Run(name, func(t *testing.T) {
					got, want := s.run(t, e, 1, 3), s.run(t, reference, 1, 3)
					apart := agree(t, got[0], want[0], c.tol)
					worst = tolerance{max(worst.gradient, apart.gradient), max(worst.parameter, apart.parameter)}
					// Replayed: parameters only, since steps have grown apart by then.
					tol := tolerance{math.Inf(1), 3 * c.tol.parameter}
					agree(t, got[1], want[1], tol)
				})
			}
			proof.Claim(t, proof.Row{
				Topic: "numerics", Claim: fmt.Sprintf("%s, over %d whole updates", name, len(scenarios())),
				Bound: fmt.Sprintf("gradients %g of the largest, parameters %g of a learning-rate step",
					c.tol.gradient, c.tol.parameter),
				Measured: fmt.Sprintf("%.2g, %.2g", worst.gradient, worst.parameter),
				Holds:    worst.gradient <= c.tol.gradient && worst.parameter <= c.tol.parameter && !t.Failed(),
				Command:  command("TestAgreement", c.engine, c.against),
			})
			for _, x := range []nets.Engine{e, reference} {
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func open(t testing.TB, name string, d nets.DType) nets.Engine {
	t.Helper()
	e := must.Get(Open(name, Options{DType: d}))(t)
	return e
}

// agree holds results against those wanted, and says how far they are apart at most.
func agree(t *testing.T, got, want []result, tol tolerance) (apart tolerance) {
	t.Helper()
	for i, w := range want {
		unit, limit, most := rate, tol.parameter, &apart.parameter
		if w.kind == gradient {
			unit, limit, most = 0, tol.gradient, &apart.gradient
			for _, v := range w.values {
				unit = max(unit, math.Abs(v))
			}
			if unit == 0 {
				t.Errorf("%s is all zeros: nothing is compared", w.name)
			}
		}
		if len(got[i].values) != len(w.values) {
			t.Fatalf("%s has %d values, want %d", w.name, len(got[i].values), len(w.values))
		}
		wrong := -1
		for j, v := range w.values {
			d := math.Abs(got[i].values[j]-v) / unit
			*most = max(*most, d)
			if wrong < 0 && !(d <= limit) {
				wrong = j
			}
		}
		if wrong >= 0 {
			t.Errorf("%s: value %d is %g, want %g within %g", w.name, wrong, got[i].values[wrong], w.values[wrong], unit*limit)
		}
	}
	return apart
}
