package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/farm/metrics"
	"github.com/stoker-rl/stoker/internal/must"
)

const want = `# HELP stoker_farm_eta_seconds Time to the last result at that rate.
# TYPE stoker_farm_eta_seconds gauge
stoker_farm_eta_seconds 5
# HELP stoker_farm_results_total Results since the coordinator began: done, failed, or aside where workers vanished.
# TYPE stoker_farm_results_total counter
stoker_farm_results_total{result="aside"} 1
stoker_farm_results_total{result="done"} 2
stoker_farm_results_total{result="failed"} 1
# HELP stoker_farm_slots Units that these workers carry out at a time.
# TYPE stoker_farm_slots gauge
stoker_farm_slots 3
# HELP stoker_farm_steps_per_second Environment steps a second of all workers.
# TYPE stoker_farm_steps_per_second gauge
stoker_farm_steps_per_second 150
# HELP stoker_farm_units Units without a result, by state: queued, or leased by a worker.
# TYPE stoker_farm_units gauge
stoker_farm_units{state="leased"} 1
stoker_farm_units{state="queued"} 1
# HELP stoker_farm_units_per_second Results a second since the coordinator began.
# TYPE stoker_farm_units_per_second gauge
stoker_farm_units_per_second 0.4
# HELP stoker_farm_workers Workers that said something in the last 30 seconds.
# TYPE stoker_farm_workers gauge
stoker_farm_workers 2
`

// Six units: two are done, one has failed, one is put aside, one is under way, and one waits.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		local := farm.NewLocal()
		f := metrics.Watch(local, 3) // more come than were planned
		for i := range uint64(6) {
			must.Do(t, f.Submit(ctx, farm.Task{Unit: farmtest.Unit("u", i)}))
		}
		gone := must.Get(local.Lease(ctx, "w"))(t) // it goes back to the queue
		must.Do(t, local.Done(ctx, gone, farm.Result{Key: gone.Key, Error: "the file is not there", Gone: true}))
		must.Get(f.Result(ctx))(t)
		must.Do(t, f.Submit(ctx, gone.Task))
		for _, r := range []farm.Result{{}, {}, {Error: "diverged"}, {Error: "put aside", Aside: true}} {
			l := must.Get(local.Lease(ctx, "w"))(t)
			r.Key = l.Key
			must.Do(t, local.Done(ctx, l, r))
			must.Get(f.Result(ctx))(t)
		}
		l := must.Get(local.Lease(ctx, "w"))(t)
		must.Do(t, local.Tell(ctx, farm.Standing{Worker: "w", Slots: 1, Rate: 100, Units: []farm.Working{{Key: l.Key}}}))
		must.Do(t, local.Tell(ctx, farm.Standing{Worker: "v", Slots: 2, Rate: 50, Units: []farm.Working{{Key: l.Key}}})) // it is slow
		time.Sleep(10 * time.Second)
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if got := w.Body.String(); got != want {
			t.Errorf("the metrics are\n%s\nwant\n%s", got, want)
		}
		must.Do(t, local.Done(ctx, l, farm.Result{Key: l.Key})) // its lease's clock stops
	})
}
