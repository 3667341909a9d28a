package native_test

import (
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// A recorded update runs on each call and reports its failure.
func TestRecord(t *testing.T) { onBackends(t, checkRecord) }

func checkRecord(t *testing.T, o native.Options, _ float64) {
	e := native.New(o)
	x, one := e.NewTensor(1), of(e, []float64{1}, 1)
	r := e.Record("count", func() { e.Add(x, 1, one) })
	for range 3 {
		must.Do(t, r.Run())
	}
	if got := values(x)[0]; got != 3 {
		t.Errorf("three runs added %g", got)
	}
	bad := e.Record("bad", func() { e.Add(x, 1, e.NewTensor(2)) })
	wantError(t, bad.Run(), `recorded update "bad"`, "Add", "[2]")
	noError(t, e)
	wantError(t, e.Record("empty", nil).Run(), `"empty" has no function`)
}

// In debug mode a run whose operations differ from the first run's is an error that names both operations.
func TestRecordDebug(t *testing.T) { onBackends(t, checkRecordDebug) }

func checkRecordDebug(t *testing.T, o native.Options, _ float64) {
	e := native.New(debug(o))
	n := mustNet(t, e, nets.MLP{Agents: 1, In: []nets.Port{{Name: "x", Width: 1}}, Out: 1, Activation: nets.ReLU})
	adam := must.Get(e.NewAdam(n, nets.Adam{Rate: 0.1}))(t)
	w, x, y, v := n.NewWork(1), e.NewTensor(1, 1, 1), e.NewTensor(1, 1, 1), e.NewTensor(1)
	run := 0
	check := func(name string, update func(), want ...string) {
		t.Helper()
		r := e.Record(name, update)
		run = 0
		if err := r.Run(); len(want) > 0 && want[0] == "at once" {
			wantError(t, err, want[1:]...)
			return
		} else if err != nil {
			t.Fatal(err)
		}
		run = 1
		err := r.Run()
		if want != nil {
			wantError(t, err, append(want, name)...)
		} else if err != nil {
			t.Error(err)
		}
	}
	learn := func() {
		q := n.Forward(w, x)
		e.Loss(nets.Huber{Delta: 1}, v, y, q, x)
		n.ZeroGrads()
		n.Backward(w, y, nets.Both)
		adam.Step()
		e.TDTarget(y, x, x, q)
		e.Copy(y, x)
	}
	adam.Advance()
	check("steady", learn)
	check("longer", func() {
		learn()
		if run > 0 {
			e.Add(x, 1, y)
		}
	}, "operation 8 is Add", "the end")
	check("shorter", func() {
		if run == 0 {
			learn()
		}
	}, "operation 1 is the end", "it was Forward of mlp")
	check("other tensor", func() {
		if run == 0 {
			e.Copy(x, y)
		} else {
			e.Copy(y, x)
		}
	}, "operation 1 is Copy")
	check("other number", func() { e.Lerp(x, y, float64(run)) }, "operation 1 is Lerp", "by 1", "by 0")
	check("other loss", func() { e.Loss(nets.Huber{Delta: 1 + float64(run)}, v, y, x, x) }, "Huber{Delta:2}",
		"Huber{Delta:1}")
	check("reads", func() { x.Get(make([]float32, 1)) }, "at once", "Get", "within a recorded update")
	check("writes", func() { x.Set(make([]float32, 1)) }, "at once", "Set", "within a recorded update")
	check("advances", func() { adam.Advance() }, "at once", "Advance", "within a recorded update")
	check("makes tensors", func() { e.NewTensor(1) }, "at once", "NewTensor", "within a recorded update")
	check("makes works", func() { n.NewWork(1) }, "at once", "NewWork", "within a recorded update")
	inner := e.Record("inner", func() {})
	check("nested", func() {
		if err := inner.Run(); err != nil {
			t.Error(err)
		}
	}, "at once", "Run", `"inner" within another recorded update`)
	if adam.Steps() != 1 {
		t.Errorf("%d steps, want 1", adam.Steps())
	}
}

// The environment turns debugging on.
func TestDebugVariable(t *testing.T) { onBackends(t, checkDebugVariable) }

func checkDebugVariable(t *testing.T, o native.Options, _ float64) {
	t.Setenv("STOKER_DEBUG", "1")
	e := native.New(o)
	x := e.NewTensor(1)
	wantError(t, e.Record("reads", func() { x.Get(make([]float32, 1)) }).Run(), "within a recorded update")
}
