package sim_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/sim"
)

// resizeThenClassify is a workflow of two functions in sequence: the end of the first request submits the second.
type resizeThenClassify struct{ latencies *sim.Sketch }

func (w resizeThenClassify) Finished(s *sim.Sim, r sim.Response) {
	if r.Outcome != sim.Completed {
		return
	}
	if r.Function == 0 {
		// The tag carries the workflow's start to its end.
		_ = s.Submit(sim.Request{Function: 1, ID: r.ID, Tag: r.Tag, At: s.Now()})
		return
	}
	w.latencies.Add(s.Now() - sim.Time(r.Tag))
}

func (resizeThenClassify) Fired(*sim.Sim, sim.Timer) {}

func Example() {
	pool := sim.Sizing{CPU: 1000, Memory: 512, Concurrency: 2, Speed: 1, Contention: sim.Contention{Cores: 1}, Min: 2,
		Max: 2}
	gpu := sim.Sizing{CPU: 2000, Memory: 2048, GPU: 1, Concurrency: 1, Speed: 1, Max: 4}
	s, err := sim.New(sim.Config{
		Functions: []sim.Function{
			{Name: "resize", Demand: sim.Law{Kind: sim.Lognormal, Mean: 0.12, CV: 0.3}, Sizing: pool, Warm: true,
				Queue: sim.NoLimit},
			{Name: "classify", Demand: sim.Law{Mean: 0.3}, ColdStart: sim.Law{Mean: 2}, Sizing: gpu, Queue: sim.NoLimit,
				KeepAlive: 5 * sim.Second},
		},
		Nodes:     []sim.Node{{CPU: 10000, Memory: 16000, GPU: 4}},
		Placement: sim.BestFit,
		Prices:    sim.Prices{VCPUHour: 0.173, GBHour: 0.012, GPUSliceHour: 0.4},
	}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	latencies, _ := sim.NewSketch(6)
	for i := range 200 {
		at := sim.Time(i) * 100 * sim.Millisecond
		_ = s.Submit(sim.Request{ID: uint64(i), Tag: uint64(at), At: at})
	}
	s.Run(resizeThenClassify{latencies}, 30*sim.Second)
	var m sim.Meter
	s.Meter(1, &m)
	fmt.Printf("%d workflows, half within %.2f s\n", latencies.N(), latencies.Quantile(0.5).Seconds())
	fmt.Printf("classify: %d cold starts, %.2f instances, %.2f of them busy\n", m.ColdStarts, m.Instances(),
		m.BusyInstances())
	s.Total(&m)
	fmt.Printf("window cost %.2f mUSD\n", 1000*s.Cost(&m))
	// Output:
	// 200 workflows, half within 0.45 s
	// classify: 4 cold starts, 3.32 instances, 2.00 of them busy
	// window cost 24.28 mUSD
}

// A copy tries an action; the original is left as it was.
func ExampleSim_CopyFrom() {
	z := sim.Sizing{CPU: 1000, Concurrency: 1, Speed: 1, Min: 1, Max: 1}
	s, err := sim.New(sim.Config{Functions: []sim.Function{
		{Demand: sim.Law{Mean: 0.2}, ColdStart: sim.Law{Mean: 0.5}, Sizing: z, Warm: true, Queue: sim.NoLimit},
	}}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100 {
		_ = s.Submit(sim.Request{ID: uint64(i), At: sim.Time(i) * 100 * sim.Millisecond})
	}
	var try sim.Sim
	var m sim.Meter
	for replicas := int32(1); replicas <= 3; replicas++ {
		try.CopyFrom(s)
		z.Min, z.Max = replicas, replicas
		if err := try.Resize(0, z); err != nil {
			fmt.Println(err)
			return
		}
		try.Run(nil, 10*sim.Second)
		try.Total(&m)
		fmt.Printf("%d replicas: 95 %% within %.2f s\n", replicas, m.Quantile(0.95))
	}
	fmt.Println("the original is still at", s.Now())
	// Output:
	// 1 replicas: 95 % within 4.82 s
	// 2 replicas: 95 % within 0.40 s
	// 3 replicas: 95 % within 0.30 s
	// the original is still at 0
}
