package frontier_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/realdata"
	"github.com/stoker-rl/stoker/tools/proof"
)

// apps are PRCP's applications 1 to 4 (pacslab/SLApp-PerfCost-MdlOpt).
func apps() []workflow.Graph {
	leave := workflow.To(workflow.End, 0.9)
	return []workflow.Graph{
		workflow.New("App1", workflow.Repeat("2", "2", 0.1), workflow.Choice("2", leave)),
		workflow.New("App2", workflow.Chain("1", "2"), workflow.Repeat("2", "1", 0.1), workflow.Choice("2", leave)),
		workflow.New("App3", workflow.Chain("1", "2", "4"), workflow.Repeat("4", "1", 0.1), workflow.Choice("4", leave)),
		workflow.New("App4", workflow.Fork("1", "2", "3"), workflow.Join("4", "2", "3"), workflow.Repeat("4", "1", 0.1),
			workflow.Choice("4", leave)),
	}
}

// profiled returns an application's problem with the measured means of the functions' sizes, billed as published.
func profiled(t *testing.T, g workflow.Graph, sizes func(mb float64) bool) (frontier.Problem, [][]float64) {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "slapp", "function_profiles.csv")))(t)
	defer f.Close()
	_, samples, err := memory.Read(f)
	must.Do(t, err)
	flow := must.Get(g.Compile())(t)
	p := frontier.Problem{Flow: flow, Delays: workflow.StepFunctions(workflow.Published)}
	var memories [][]float64
	for _, name := range flow.Functions() {
		all := must.Get(memory.Sizes(samples["f"+name]))(t)
		var options []frontier.Option
		var mbs []float64
		for _, s := range all {
			if sizes(s.MB) {
				options = append(options, frontier.Option{Seconds: s.Mean, USD: bill.LambdaTable().OfMean(s.MB, s.Mean)})
				mbs = append(mbs, s.MB)
			}
		}
		p.Options, memories = append(p.Options, options), append(memories, mbs)
	}
	return p, memories
}

// grid is the optimiser's list of sizes.
func grid(mb float64) bool { return math.Mod(mb-128, 192) == 0 }

// On PRCP's applications the exact front is that of enumeration, and on two of them that of the published tables of all
// configurations.
func TestPublishedApplications(t *testing.T) {
	mismatches := 0
	for k, g := range apps() {
		p, memories := profiled(t, g, grid)
		front, err := frontier.Exact(context.Background(), p)
		if err == nil {
			err = equal(p, front)
		}
		if err != nil {
			mismatches++
			t.Errorf("%s: %v", g.Name, err)
		}
		proof.Log(t, "%s: %d points of %.0f configurations, %.4f s for %.4f USD to %.4f s for %.4f USD a million", g.Name,
			len(front), configurations(p), front[0].Seconds, 1e6*front[0].USD, front[len(front)-1].Seconds,
			1e6*front[len(front)-1].USD)
		if k != 1 && k != 2 {
			continue
		}
		want := published(t, g.Name, memories, p.Flow)
		if len(want) != len(front) {
			mismatches++
			t.Errorf("%s: %d points, the published table has %d", g.Name, len(front), len(want))
			continue
		}
		for i, q := range want {
			if !slices.Equal(q.Choice, front[i].Choice) || math.Abs(q.Seconds-front[i].Seconds) > 1e-9*q.Seconds ||
				math.Abs(q.USD-front[i].USD) > 1e-9*q.USD {
				mismatches++
				t.Errorf("%s: point %d is %v, published %v", g.Name, i, front[i], q)
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "Exact fronts of PRCP's App1 to App4 against enumeration, and against the published tables of App2 and App3",
		Bound: "0 mismatches", Measured: fmt.Sprintf("%d mismatches", mismatches), Holds: mismatches == 0,
	})
}

// published returns the undominated rows of a table of all configurations: a column of megabytes per function, Cost in
// USD a million, RT in ms.
func published(t *testing.T, name string, memories [][]float64, flow *workflow.Workflow) frontier.Front {
	t.Helper()
	f := must.Get(os.Open(filepath.Join(realdata.Dir(t), "slapp", "curves", name+"_part1.csv")))(t)
	defer f.Close()
	rows := must.Get(csv.NewReader(f).ReadAll())(t)
	head := rows[0]
	var all frontier.Front
	for _, row := range rows[1:] {
		number := func(column string) float64 {
			x := must.Get(strconv.ParseFloat(row[slices.Index(head, column)], 64))(t)
			return x
		}
		q := frontier.Point{Seconds: number("RT") / 1e3, USD: number("Cost") / 1e6}
		for i, fn := range flow.Functions() {
			q.Choice = append(q.Choice, slices.Index(memories[i], number(fn)))
		}
		all = append(all, q)
	}
	if len(all) < 200 {
		t.Fatalf("%s has %d rows", name, len(all))
	}
	return undominated(all)
}

func undominated(all frontier.Front) frontier.Front {
	slices.SortFunc(all, func(a, b frontier.Point) int {
		if math.Abs(a.Seconds-b.Seconds) > 1e-12*a.Seconds {
			return map[bool]int{true: -1, false: 1}[a.Seconds < b.Seconds]
		}
		return map[bool]int{true: -1, false: 1}[a.USD < b.USD]
	})
	var out frontier.Front
	for _, p := range all {
		if n := len(out); n == 0 || p.USD < out[n-1].USD*(1-1e-12) {
			out = append(out, p)
		}
	}
	return out
}

// Of a function's sizes few are undominated.
func TestDominanceLeavesFew(t *testing.T) {
	p, _ := profiled(t, workflow.New("all", workflow.Chain("1", "2", "3", "4", "5", "6")), func(float64) bool { return true })
	coarse, _ := profiled(t, workflow.New("all", workflow.Chain("1", "2", "3", "4", "5", "6")), grid)
	one := must.Get(workflow.Graph{Name: "one", Nodes: []workflow.Node{{Name: "f"}}}.Compile())(t)
	for f, name := range p.Flow.Functions() {
		var left [2]int
		for k, options := range [][]frontier.Option{p.Options[f], coarse.Options[f]} {
			front := must.Get(frontier.Exact(context.Background(), frontier.Problem{Flow: one, Options: [][]frontier.Option{options}}))(t)
			left[k] = len(front)
		}
		if left[1] > 12 || left[1] < 2 {
			t.Errorf("function %s: %d of 16 sizes are undominated, want 2 to 12", name, left[1])
		}
		proof.Log(t, "f%s: dominance leaves %d of %d measured sizes, %d of %d on the optimiser's grid", name, left[0],
			len(p.Options[f]), left[1], len(coarse.Options[f]))
	}
}
