package workload_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/workload"
)

// The embedded trace at a hundredth of its rate: two policies that open it with one seed face the same arrivals.
func ExampleOpen() {
	c := workload.Default()
	c.Factor = 0.01
	s, err := workload.Open(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	arrivals, err := s.Arrivals(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	arrivals.SeekTo(10 * workload.Minute) // any time, at once
	for range 3 {
		a, _ := arrivals.Next()
		fmt.Printf("%.6f s\n", float64(a.Time)/float64(workload.Second))
	}
	// Output:
	// 614.691504 s
	// 662.558394 s
	// 728.444744 s
}

func ExampleEmbedded() {
	t, err := workload.Embedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Stats())
	// Output:
	// 179342 in 1440 minutes: mean 124.54, peak 2667, idle 0 %, CV 1.06, dispersion 141.2 (1 min) 370.6 (10) 1339.5 (60), lag-1 0.42
}

// How near ten calibrated days are to the trace.
func ExampleSource_Goodness() {
	c := workload.Default()
	c.Kind, c.Length = workload.Calibrated, 14400
	s, err := workload.Open(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := s.Goodness(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("KS distance of counts %.2f, dispersion %.0f against %.0f\n", g.Total.KSCounts, g.Total.Drawn.Dispersion,
		g.Total.Trace.Dispersion)
	// Output:
	// KS distance of counts 0.03, dispersion 154 against 141
}

// Twenty users who think for two seconds: the simulator says when an answer came, the users when they ask again.
func ExampleSource_Users() {
	c := workload.Default()
	c.Kind = workload.ClosedLoop
	c.Users = workload.UsersConfig{Count: 20, SpawnRate: 10, Think: 2, ThinkLaw: workload.Exponential}
	s, err := workload.Open(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	users, err := s.Users(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("user 3 joins after", users.Spawn(3), "µs, user 15 after", users.Spawn(15))
	fmt.Println("and asks again", users.Think(3, 1), "µs after its first answer")
	// Output:
	// user 3 joins after 0 µs, user 15 after 1000000
	// and asks again 3851808 µs after its first answer
}
