package main

import (
	"fmt"
	"os"
	"time"
	"sort"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
)

func q(x []float64, p float64) float64 {
	sort.Float64s(x)
	k := float64(len(x)-1) * p
	f := int(k)
	return x[f] + (x[min(f+1, len(x)-1)]-x[f])*(k-float64(f))
}

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil { panic(err) }
	rows, err := perfmodel.ReadFaaSConf(f)
	if err != nil { panic(err) }
	c := sizing.Default()
	c.Windows, c.Warmup, c.Features = 1, 0, sizing.PaperFeatures
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	e, err := sizing.New(c, w)
	if err != nil { panic(err) }
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	var r [6][]float64
	var es, ds []float64
	feas := 0
	t := time.Now()
	for k, row := range rows {
		if err := e.Reset(uint64(k), nil, obs); err != nil { panic(err) }
		for i, fn := range row.Functions { for j, a := range fn.Action { act.Kinds[0][4*i+j] = float32(a) } }
		if err := e.Step(act, obs, out); err != nil { panic(err) }
		for i := range 6 { r[i] = append(r[i], float64(obs.Kinds[0].Values[i*11+8])/row.Functions[i].P75) }
		es = append(es, out.Info[3]/row.Latency)
		ds = append(ds, out.Info[7]-float64(row.Successes))
		if out.Info[2] == 0 { feas++ }
		if math.Abs(out.Info[0]-row.Price) > 0 { fmt.Println("price", k, out.Info[0], row.Price) }
	}
	fmt.Println(time.Since(t)/time.Duration(len(rows)))
	for i := range 6 { fmt.Println(i, q(r[i], .25), q(r[i], .5), q(r[i], .75)) }
	fmt.Println("e2e", q(es, .25), q(es, .5), q(es, .75), "succ", q(ds, .25), q(ds, .5), q(ds, .75), "feasible", float64(feas)/float64(len(rows)))
}
