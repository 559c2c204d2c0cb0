package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// metrics are the instruments. Labels are operations, statuses, outcomes and
// reason codes: closed sets, never a tenant or a person.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.HistogramVec
	strangers prometheus.Counter
}

func newMetrics(m *memory.Memory) *metrics {
	out := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenet_http_request_seconds", Help: "Requests by operation and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		}, []string{"operation", "status"}),
		strangers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenet_unauthenticated_total", Help: "Requests with a key that is not known.",
		}),
	}
	out.registry.MustRegister(out.requests, out.strangers, engine{m}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return out
}

func (m *metrics) request(id string, status int, took time.Duration) {
	if status == 0 {
		status = http.StatusOK
	}
	m.requests.WithLabelValues(id, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// engine collects what the engine counts.
type engine struct{ m *memory.Memory }

var (
	verdictsDesc = prometheus.NewDesc("tenet_verdicts_total", "Verdicts by outcome and first reason code.", []string{"outcome", "code"}, nil)
	supersDesc   = prometheus.NewDesc("tenet_supersessions_total", "Records that took the place of an older one.", nil, nil)
	recallsDesc  = prometheus.NewDesc("tenet_recalls_total", "Recalls by whether they served at least one item.", []string{"served"}, nil)
	deniedDesc   = prometheus.NewDesc("tenet_denied_total", "Attempts of known principals that were denied.", nil, nil)
	lagDesc      = prometheus.NewDesc("tenet_consolidation_lag_seconds", "How long the session consolidated last had been due.", nil, nil)
)

// Describe implements prometheus.Collector.
func (engine) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{verdictsDesc, supersDesc, recallsDesc, deniedDesc, lagDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (e engine) Collect(ch chan<- prometheus.Metric) {
	c := e.m.Counts()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	var superseded uint64
	for _, v := range c.Verdicts {
		count(verdictsDesc, v.N, v.Outcome.String(), string(v.Code))
		if v.Outcome == tenet.Superseded {
			superseded += v.N
		}
	}
	count(supersDesc, superseded)
	count(recallsDesc, c.Served, "true")
	count(recallsDesc, c.Recalls-c.Served, "false")
	count(deniedDesc, c.Denied)
	ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, c.Lag.Seconds())
}
