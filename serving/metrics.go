package serving

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/models"
)

// metrics are what a server counts. Labels that clients choose, such as names of models that there are not, are left
// empty, so that no client can make series.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	errors    *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	rows      *prometheus.HistogramVec
	decisions *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	reloads   *prometheus.CounterVec

	known sync.Map // of a model: *modelMetrics
}

// modelMetrics are a model's, found once.
type modelMetrics struct {
	requests, learned map[string]prometheus.Counter
	seconds           map[string]prometheus.Observer
	rows              prometheus.Observer
}

func newMetrics(set *models.Set, s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "stoker", Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "stoker", Name: name, Help: help,
			Buckets: buckets}, labels)
		m.registry.MustRegister(v)
		return v
	}
	m.requests = counter("requests_total", "Inference requests, with those that failed.", "model", "protocol")
	m.errors = counter("errors_total", "Inference requests that failed, by HTTP status.", "model", "protocol", "code")
	m.seconds = histogram("request_seconds", "Time from the header of a request to its answer.",
		prometheus.ExponentialBucketsRange(20e-6, 10, 20), "model", "protocol")
	m.rows = histogram("batch_rows", "Rows of a request.", prometheus.ExponentialBuckets(1, 4, 7), "model")
	m.decisions = counter("decisions_total", "Decisions, by who made them: policy or fallback.", "model", "by")
	m.fallbacks = counter("fallbacks_total", "Decisions that the policy did not make, or would not have made in shadow "+
		"mode, by reason.", "model", "reason")
	m.reloads = counter("reloads_total", "Bundles opened while serving, by result: served or refused.", "model", "result")
	gauge := func(name, help string, now func() float64) {
		o := prometheus.GaugeOpts{Namespace: "stoker", Name: name, Help: help}
		m.registry.MustRegister(prometheus.NewGaugeFunc(o, now))
	}
	gauge("in_flight", "Inference requests under way that have arrived.", func() float64 {
		return float64(s.inFlight.Load())
	})
	gauge("arriving", "Inference requests whose bodies arrive.", func() float64 {
		_, bodies := s.memory.state()
		return float64(bodies)
	})
	gauge("request_bytes", "Memory that requests hold, as --max-memory counts it.", func() float64 {
		bytes, _ := s.memory.state()
		return float64(bytes)
	})
	m.registry.MustRegister(&drift{set}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, DisableCompression: true})
}

// of is a model's metrics; the model is one that was served.
func (m *metrics) of(model string) *modelMetrics {
	if k, ok := m.known.Load(model); ok {
		return k.(*modelMetrics)
	}
	k := &modelMetrics{requests: map[string]prometheus.Counter{}, learned: map[string]prometheus.Counter{},
		seconds: map[string]prometheus.Observer{}, rows: m.rows.WithLabelValues(model)}
	for _, protocol := range []string{"http", "grpc"} {
		k.requests[protocol] = m.requests.WithLabelValues(model, protocol)
		k.seconds[protocol] = m.seconds.WithLabelValues(model, protocol)
	}
	for _, by := range []policy.By{policy.ByPolicy, policy.ByFallback} {
		k.learned[string(by)] = m.decisions.WithLabelValues(model, string(by))
	}
	for _, r := range policy.Reasons() {
		m.fallbacks.WithLabelValues(model, string(r))
	}
	m.known.Store(model, k)
	return k
}

func (m *metrics) request(model, protocol string, status int, took time.Duration) {
	k := m.of(model)
	k.requests[protocol].Inc()
	k.seconds[protocol].Observe(took.Seconds())
	if status != http.StatusOK {
		m.errors.WithLabelValues(model, protocol, strconv.Itoa(status)).Inc()
	}
}

func (m *metrics) batch(model string, rows int) { m.of(model).rows.Observe(float64(rows)) }

func (m *metrics) decided(model string, d policy.Decision, err error) {
	if err == nil {
		m.of(model).learned[string(d.By)].Inc()
	}
	if d.Reason != "" {
		m.fallbacks.WithLabelValues(model, string(d.Reason)).Inc()
	}
}

func (m *metrics) reload(e models.Event) {
	result := "served"
	switch {
	case e.Err != nil:
		result = "refused"
	case e.Now == nil: // unloaded: no bundle was opened
		return
	}
	m.reloads.WithLabelValues(e.Model, result).Inc()
}

// drift collects the drift of the features of the models that serve.
type drift struct{ set *models.Set }

var (
	driftDesc = prometheus.NewDesc("stoker_feature_drift", "Share of rows of the last 5 to 10 minutes in which a feature "+
		"lay outside the range that held 99.8 % of the evaluation's.", []string{"model", "feature"}, nil)
	infoDesc = prometheus.NewDesc("stoker_model_info", "1 for each model that serves.",
		[]string{"model", "version", "agent", "environment"}, nil)
)

func (*drift) Describe(ch chan<- *prometheus.Desc) { ch <- driftDesc; ch <- infoDesc }

func (d *drift) Collect(ch chan<- prometheus.Metric) {
	now := time.Now()
	for _, name := range d.set.Names() {
		v, err := d.set.Acquire(name, "")
		if err != nil {
			continue // unloaded meanwhile
		}
		a := v.Bundle().Agent
		ch <- prometheus.MustNewConstMetric(infoDesc, prometheus.GaugeValue, 1, name, v.Digest, a.Name, a.Env)
		v.Drift(now, func(feature string, share float64) {
			ch <- prometheus.MustNewConstMetric(driftDesc, prometheus.GaugeValue, share, name, feature)
		})
		v.Release()
	}
}
