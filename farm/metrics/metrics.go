// Package metrics tells Prometheus what becomes of a study's units. It looks at a farm as the coordinator has it; nothing
// of the study depends on it.
package metrics

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stoker-rl/stoker/farm"
)

// Farm is a farm whose results are counted.
type Farm struct {
	farm.Farm
	units int
	began time.Time

	mu        sync.Mutex
	submitted int
	results   map[string]int // by what became of units
}

// The results of units.
const (
	done   = "done"
	failed = "failed"
	aside  = "aside"
)

// Watch counts the units of a farm, which is to have so many from now on: those submitted so far where it is smaller.
func Watch(f farm.Farm, units int) *Farm {
	return &Farm{Farm: f, units: units, began: time.Now(), results: map[string]int{}}
}

// Submit is that of the farm.
func (f *Farm) Submit(ctx context.Context, tasks ...farm.Task) error {
	f.mu.Lock()
	f.submitted += len(tasks)
	f.mu.Unlock()
	return f.Farm.Submit(ctx, tasks...)
}

// Result is that of the farm.
func (f *Farm) Result(ctx context.Context) (farm.Result, error) {
	r, err := f.Farm.Result(ctx)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		what := done
		switch {
		case r.Gone: // its unit is submitted again
			f.submitted--
			return r, nil
		case r.Aside:
			what = aside
		case r.Error != "":
			what = failed
		}
		f.results[what]++
	}
	return r, err
}

// Handler answers with metrics in Prometheus' text format.
func (f *Farm) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(f)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 2})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("stoker_farm_"+name, help, labels, nil)
}

var (
	unitsDesc   = desc("units", "Units without a result, by state: queued, or leased by a worker.", "state")
	resultsDesc = desc("results_total", "Results since the coordinator began: done, failed, or aside where workers vanished.", "result")
	workersDesc = desc("workers", "Workers that said something in the last 30 seconds.")
	slotsDesc   = desc("slots", "Units that these workers carry out at a time.")
	stepsDesc   = desc("steps_per_second", "Environment steps a second of all workers.")
	rateDesc    = desc("units_per_second", "Results a second since the coordinator began.")
	etaDesc     = desc("eta_seconds", "Time to the last result at that rate.")
)

// Describe sends the descriptions of all metrics.
func (f *Farm) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{unitsDesc, resultsDesc, workersDesc, slotsDesc, stepsDesc, rateDesc, etaDesc} {
		ch <- d
	}
}

// toldTime is how long a scrape waits for what workers say.
const toldTime = 5 * time.Second

// Collect sends the metrics. Where the farm does not say what its workers do, what is known of them is left out.
func (f *Farm) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	f.mu.Lock()
	over := 0
	for _, what := range []string{done, failed, aside} {
		over += f.results[what]
		ch <- prometheus.MustNewConstMetric(resultsDesc, prometheus.CounterValue, float64(f.results[what]), what)
	}
	left := max(f.units-over, f.submitted-over, 0)
	f.mu.Unlock()
	rate := float64(over) / max(time.Since(f.began).Seconds(), 1e-3)
	gauge(rateDesc, rate)
	if over > 0 {
		gauge(etaDesc, float64(left)/rate)
	}
	ctx, cancel := context.WithTimeout(context.Background(), toldTime)
	defer cancel()
	told, err := f.Told(ctx)
	if err != nil {
		return
	}
	slots, steps, leased := 0, 0.0, map[farm.Key]bool{}
	for _, s := range told {
		slots += s.Slots
		steps += s.Rate
		for _, u := range s.Units {
			leased[u.Key] = true
		}
	}
	gauge(workersDesc, float64(len(told)))
	gauge(slotsDesc, float64(slots))
	gauge(stepsDesc, steps)
	gauge(unitsDesc, float64(min(len(leased), left)), "leased")
	gauge(unitsDesc, float64(max(left-len(leased), 0)), "queued")
}
