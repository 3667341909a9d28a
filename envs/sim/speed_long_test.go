package sim

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stoker-rl/stoker/internal/chart"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	wrap   = flag.String("wrap", "", "words before every command that TestSpeed measures, for example those that give it a processor of its own")
	peerOf = flag.String("peer", "", "command that runs SimFaaS at the rate and for the horizon (s) that follow it and prints a JSON line with "+
		"instances and requests_per_second; without it TestSpeed measures ours alone")
	rounds = flag.Int("rounds", 7, "how often TestSpeed measures each case, ours and the peer's in turn")
)

// speedPoints are SimFaaS's case at the rates, and for the horizons, of its peer's script, where it has about so many
// instances; target is how many times its requests a second ours should make. At 10,000 instances the peer is run for
// 2.2 s of its time, while they start: a steady state would take it an hour.
var speedPoints = []struct {
	instances     int
	rate, horizon float64
	target        float64
}{{8, 0.9, 2e5, 25}, {35, 9, 2e4, 0}, {230, 90, 1e3, 150}, {940, 450, 120, 500}, {10_000, 4875, 2.2, 0}}

// flatSizes are the fixed pools whose cost is plotted.
var flatSizes = []int32{1, 8, 35, 230, 940, 10_000, 100_000}

// answer runs a command behind the words of -wrap and decodes the JSON object that it prints in a line of its own.
func answer(t *testing.T, out any, command ...string) {
	t.Helper()
	words := append(strings.Fields(*wrap), command...)
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	c.Env, c.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
	b, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	for line := range bytes.Lines(b) {
		if line[0] == '{' {
			if err := json.Unmarshal(line, out); err != nil {
				t.Fatalf("%v printed %s: %v", words, line, err)
			}
			return
		}
	}
	t.Fatalf("%v printed no JSON: %s", words, b)
}

func ours(t *testing.T, c speedCase) (v speed) {
	t.Helper()
	of := must.Get(json.Marshal(c))(t)
	self := must.Get(os.Executable())(t)
	answer(t, &v, self, "-test.run", "^TestSpeedOf$", "-speed-of", string(of))
	return v
}

// between is a median with the least and the most of it: with seven rounds their interval holds the median with 98 %.
type between struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func middle(x []float64) between {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return between{(x[(n-1)/2] + x[n/2]) / 2, x[0], x[n-1]}
}

func (b between) String() string { return fmt.Sprintf("%.4g (%.4g to %.4g)", b.Median, b.Low, b.High) }

// besideRow is one number of instances in the comparison with the peer.
type besideRow struct {
	Instances   float64 `json:"instances"`
	Rate        float64 `json:"rate"`
	Ours        between `json:"requests_per_second"`
	Peer        between `json:"peer_requests_per_second"`
	Peers       float64 `json:"peer_instances"`
	Ratio       between `json:"ratio"`
	Allocations float64 `json:"allocs_per_request"`
}

// flatRow is one size of pool.
type flatRow struct {
	Instances   int32   `json:"instances"`
	Concurrency int32   `json:"concurrency"`
	Cost        between `json:"ns_per_request"`
	Allocations float64 `json:"allocs_per_request"`
}

type speedReport struct {
	Rounds     int         `json:"rounds"`
	Beside     []besideRow `json:"beside_simfaas"`
	Flat       []flatRow   `json:"fixed_pools"`
	PerRequest float64     `json:"bytes_per_waiting_request"`
	PerPool    float64     `json:"bytes_per_instance"`
}

// TestSpeed measures requests a second with sizing's meters and contention on: beside SimFaaS, in turn, at its own
// cases; and of fixed pools, for how the cost grows with the instances. -wrap and -peer say how.
func TestSpeed(t *testing.T) {
	if !*long {
		t.Skip("a long proof; -long runs it")
	}
	var r speedReport
	r.Rounds = *rounds
	r.Beside, r.Flat = besidePeer(t), fixedPools(t)
	instance, queued := memoryOf(t)
	r.PerPool, r.PerRequest = instance[0], queued[0]
	claimSpeed(t, &r, instance, queued)
	if dir := os.Getenv(proof.Folder); dir != "" {
		r.write(t, dir)
	}
}

func besidePeer(t *testing.T) (out []besideRow) {
	for _, p := range speedPoints {
		var mine, theirs, ratio []float64
		row := besideRow{Rate: p.rate}
		for k := range *rounds {
			v := ours(t, speedCase{Rate: p.rate, Seconds: 0.7})
			mine = append(mine, 1e9/v.Nanoseconds)
			row.Instances, row.Allocations = v.Instances, max(row.Allocations, v.Allocations)
			if *peerOf == "" || p.target == 0 && k >= 3 {
				continue
			}
			var peer struct {
				Instances float64 `json:"instances"`
				Rate      float64 `json:"requests_per_second"`
			}
			answer(t, &peer, append(strings.Fields(*peerOf), fmt.Sprint(p.rate), fmt.Sprint(p.horizon))...)
			row.Peers = peer.Instances
			theirs, ratio = append(theirs, peer.Rate), append(ratio, 1e9/v.Nanoseconds/peer.Rate)
		}
		row.Ours = middle(mine)
		if len(ratio) > 0 {
			row.Peer, row.Ratio = middle(theirs), middle(ratio)
		}
		t.Logf("%+v", row)
		out = append(out, row)
	}
	return out
}

func fixedPools(t *testing.T) (out []flatRow) {
	for _, c := range []int32{1, 4} {
		for _, n := range flatSizes {
			out = append(out, flatRow{Instances: n, Concurrency: c})
		}
	}
	seen := make([][]float64, len(out))
	for range *rounds {
		for i := range out {
			v := ours(t, speedCase{Instances: out[i].Instances, Concurrency: out[i].Concurrency, Seconds: 0.4})
			seen[i] = append(seen[i], v.Nanoseconds)
			out[i].Allocations = max(out[i].Allocations, v.Allocations)
		}
	}
	for i := range out {
		out[i].Cost = middle(seen[i])
	}
	return out
}

func claimSpeed(t *testing.T, r *speedReport, instance, queued [2]float64) {
	const command = "go test ./envs/sim -run '^TestSpeed$' -long -timeout 1h -peer COMMAND (docs/results/simspeed/README.md)"
	for i, p := range speedPoints {
		b := &r.Beside[i]
		if p.target > 0 && b.Ratio.Median > 0 {
			proof.Claim(t, proof.Row{
				Topic: "speed", Command: command,
				Claim: fmt.Sprintf("simulator with every meter and contention on against SimFaaS at %d instances (%g requests/s), in turn", p.instances, p.rate),
				Bound: fmt.Sprintf("%g times its requests a second", p.target),
				Measured: fmt.Sprintf("%.4g times (%.4g to %.4g): %.3g beside %.3g requests/s", b.Ratio.Median, b.Ratio.Low,
					b.Ratio.High, b.Ours.Median, b.Peer.Median),
				Holds: b.Ratio.Median >= p.target,
			})
		}
	}
	var allocations float64
	for _, c := range []int32{1, 4} {
		cost := map[int32]between{}
		for _, f := range r.Flat {
			if f.Concurrency == c {
				cost[f.Instances] = f.Cost
			}
			allocations = max(allocations, f.Allocations)
		}
		few, many, most := cost[8], cost[10_000], cost[100_000]
		proof.Claim(t, proof.Row{
			Topic: "speed", Command: command,
			Claim: fmt.Sprintf("a request's cost hardly depends on the number of instances (%d at once in each)", c),
			Bound: "at 10,000 instances at most 1.5 times that at 8",
			Measured: fmt.Sprintf("%.3g times: %v ns at 8, %v at 10,000; at 100,000 %v", many.Median/few.Median, few, many,
				most),
			Holds: many.Median <= 1.5*few.Median,
		})
	}
	for _, b := range r.Beside {
		allocations = max(allocations, b.Allocations)
	}
	proof.Claim(t, proof.Row{
		Topic: "speed", Command: command, Claim: "simulated requests allocate nothing after warm-up, at 1 to 100,000 instances",
		Bound:    "0 allocations a request, to four digits",
		Measured: fmt.Sprintf("%.1g a request at most, the runtime's own included", allocations),
		Holds:    math.Round(1e4*allocations) == 0,
	})
	proof.Claim(t, proof.Row{
		Topic: "speed", Command: command, Claim: "memory of an instance and of a waiting request",
		Bound: "256 bytes each in the pools",
		Measured: fmt.Sprintf("%.0f and %.0f bytes; %.0f and %.0f with the room that pools keep to grow", instance[1],
			queued[1], instance[0], queued[0]),
		Holds: instance[1] <= 256 && queued[1] <= 256,
	})
}

// poolBytes is what a simulation's pools and calendar hold, without room to grow.
func poolBytes(s *Sim) float64 {
	n := len(s.insts)*int(unsafe.Sizeof(instance{})) + len(s.reqs)*int(unsafe.Sizeof(request{})) +
		len(s.cal.heap)*int(unsafe.Sizeof(entry{})) + len(s.cal.pos)*8
	return float64(n)
}

func (r *speedReport) write(t *testing.T, dir string) {
	t.Helper()
	save := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Error(err)
		}
	}
	b := must.Get(json.MarshalIndent(r, "", " "))(t)
	save("speed.json", append(b, '\n'))
	table := "| instances | ours, requests/s | SimFaaS, requests/s | ratio |\n|---|---|---|---|\n"
	for i, b := range r.Beside {
		table += fmt.Sprintf("| %d (ours %.4g, SimFaaS %.4g) | %v | %v | %v |\n", speedPoints[i].instances, b.Instances,
			b.Peers, b.Ours, b.Peer, b.Ratio)
	}
	table += "\n| fixed pool of instances | at once in each | ns a request |\n|---|---|---|\n"
	csv := columns("instances", "concurrency", "ns_per_request", "low", "high", "allocs_per_request")
	p := chart.NewPanel("time of a simulated request", "instances", "ns")
	p.LogX()
	top := 0.0
	f := &chart.Figure{Title: "Median and range of alternating rounds, every meter and contention on", Columns: 1,
		Width: 480, Height: 260, Panels: []*chart.Panel{p}}
	for k, c := range []int32{1, 4} {
		style := chart.Styles(k)
		f.Key = append(f.Key, chart.Entry{Text: strconv.Itoa(int(c)) + " at once in an instance", Style: style, Line: true,
			Dot: true})
		var x, y []float64
		for _, row := range r.Flat {
			if row.Concurrency != c {
				continue
			}
			table += fmt.Sprintf("| %d | %d | %v |\n", row.Instances, c, row.Cost)
			csv += columns(int(row.Instances), int(c), row.Cost.Median, row.Cost.Low, row.Cost.High, row.Allocations)
			x, y = append(x, float64(row.Instances)), append(y, row.Cost.Median)
			p.Cross(style, point(float64(row.Instances)),
				chart.Range{At: row.Cost.Median, Low: row.Cost.Low, High: row.Cost.High})
			top = max(top, row.Cost.High)
		}
		p.Line(style, x, y, false)
	}
	p.RangeY(0, 1.1*top)
	save("table.md", []byte(table))
	save("cost.csv", []byte(csv))
	if _, err := f.Save(dir, "cost"); err != nil {
		t.Error(err)
	}
}
