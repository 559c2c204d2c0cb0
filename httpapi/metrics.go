package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/trace"
)

// metrics are the instruments. Labels are operations, statuses, outcomes and
// reason codes: closed sets, never a tenant or a person.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.HistogramVec
	messages  *prometheus.HistogramVec
	strangers prometheus.Counter
}

func newMetrics(m *memory.Memory) *metrics {
	out := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenet_http_request_seconds", Help: "Requests by operation and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		}, []string{"operation", "status"}),
		messages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tenet_mcp_request_seconds", Help: "Messages of MCP by tool or method and kind of error; none: it went well.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		}, []string{"operation", "kind"}),
		strangers: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenet_unauthenticated_total", Help: "Requests with a key that is not known.",
		}),
	}
	out.registry.MustRegister(out.requests, out.messages, out.strangers, engine{m}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return out
}

func (m *metrics) request(id string, status int, took time.Duration) {
	if status == 0 {
		status = http.StatusOK
	}
	m.requests.WithLabelValues(id, strconv.Itoa(status)).Observe(took.Seconds())
}

// ObserveMCP counts a message of MCP, which is served beside this API, among its
// metrics: mcpapi.Config.Observe.
func (a *API) ObserveMCP(operation trace.Word, kind tenet.Kind, took time.Duration) {
	a.metrics.messages.WithLabelValues(string(operation), kind.String()).Observe(took.Seconds())
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
	creditedDesc = prometheus.NewDesc("tenet_recalls_credited_total", "Recalls of which an item was reported a success later, of the newest 4096.", nil, nil)
	agreedDesc   = prometheus.NewDesc("tenet_corroborations_total", "Statements that agreed with a record that was there.", nil, nil)
	windowsDesc  = prometheus.NewDesc("tenet_extracted_windows_total", "Windows of a conversation that were extracted, by whether they gave a fact or a note.", []string{"yield"}, nil)
	contextsDesc = prometheus.NewDesc("tenet_contexts_total", "Contexts that were assembled.", nil, nil)
	tokensDesc   = prometheus.NewDesc("tenet_context_tokens_total", "Tokens of the contexts that were assembled, by part: facts, recalled, pending, messages.", []string{"part"}, nil)
	failuresDesc = prometheus.NewDesc("tenet_consolidation_failures_total", "Attempts to consolidate a session that failed.", nil, nil)
	givenUpDesc  = prometheus.NewDesc("tenet_consolidation_given_up_total", "Sessions that were given up after the last attempt.", nil, nil)
	visibleDesc  = prometheus.NewDesc("tenet_write_to_visible_seconds", "From a message's record to its turn in durable memory.", nil, nil)
	queueDesc    = prometheus.NewDesc("tenet_queue_sessions", "Sessions that are not consolidated to the end, of all tenants: due, waiting (not due yet), dead (given up).", []string{"state"}, nil)
	failingDesc  = prometheus.NewDesc("tenet_queue_failing_sessions", "Of the due and the waiting, those whose last attempt failed.", nil, nil)
	ageDesc      = prometheus.NewDesc("tenet_queue_age_seconds", "How long the session that has been due longest has been due.", nil, nil)
	holdsDesc    = prometheus.NewDesc("tenet_legal_holds", "Legal holds that stand, of all tenants.", nil, nil)
	holdAgeDesc  = prometheus.NewDesc("tenet_legal_hold_age_seconds", "How long the legal hold that has stood longest has stood.", nil, nil)
	heldDesc     = prometheus.NewDesc("tenet_legal_hold_overdue_texts", "Texts past their time that stay because of a legal hold.", nil, nil)
	openDesc     = prometheus.NewDesc("tenet_quarantine_held", "Candidates that are held and wait for a review, of all tenants; at most 100000 are counted.", nil, nil)
	openAgeDesc  = prometheus.NewDesc("tenet_quarantine_age_seconds", "How long the held candidate that runs out first has waited for a review.", nil, nil)
	fullDesc     = prometheus.NewDesc("tenet_quota_refusals_total", "Writes that a tenant's quota had no room for, by limit.", []string{"limit"}, nil)
	usedDesc     = prometheus.NewDesc("tenet_quota_used_ratio", "How much of a limit is used, of the tenants that the settings name: the first 50.", []string{"tenant", "limit"}, nil)
	lagDesc      = prometheus.NewDesc("tenet_consolidation_lag_seconds", "How long the session consolidated last had been due.", nil, nil)
)

// Describe implements prometheus.Collector.
func (engine) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{verdictsDesc, supersDesc, recallsDesc, deniedDesc, lagDesc, creditedDesc, agreedDesc, windowsDesc,
		failuresDesc, givenUpDesc, visibleDesc, queueDesc, failingDesc, ageDesc, contextsDesc, tokensDesc, holdsDesc, holdAgeDesc, heldDesc, openDesc, openAgeDesc, fullDesc, usedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (e engine) Collect(ch chan<- prometheus.Metric) {
	c := e.m.Counts()
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	var superseded, agreed uint64
	for _, v := range c.Verdicts {
		count(verdictsDesc, v.N, v.Outcome.String(), string(v.Code))
		if v.Outcome == tenet.Superseded {
			superseded += v.N
		}
		if v.Outcome == tenet.Corroborated {
			agreed += v.N
		}
	}
	count(supersDesc, superseded)
	count(agreedDesc, agreed)
	count(recallsDesc, c.Served, "true")
	count(recallsDesc, c.Recalls-c.Served, "false")
	count(creditedDesc, c.Credited)
	count(deniedDesc, c.Denied)
	count(contextsDesc, c.Windows)
	for _, part := range []struct {
		name string
		n    int
	}{{"facts", c.Tokens.Facts}, {"recalled", c.Tokens.Recalled}, {"pending", c.Tokens.Pending}, {"messages", c.Tokens.Messages}} {
		count(tokensDesc, uint64(part.n), part.name)
	}
	for limit, n := range c.Full {
		count(fullDesc, n, limit)
	}
	p := c.Pipeline
	count(windowsDesc, p.Stretches-p.Barren, "some")
	count(windowsDesc, p.Barren, "none")
	count(failuresDesc, p.Failures)
	count(givenUpDesc, p.GivenUp)
	within := map[float64]uint64{}
	for i, b := range memory.LagBounds() {
		within[b.Seconds()] = p.Lags[i]
	}
	ch <- prometheus.MustNewConstHistogram(visibleDesc, p.LagN, p.LagSum.Seconds(), within)
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(lagDesc, c.Lag.Seconds())
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if b, err := e.m.Backlog(ctx); err == nil { // a store that is away must not cost the other numbers
		gauge(queueDesc, float64(b.Due), "due")
		gauge(queueDesc, float64(b.Waiting), "waiting")
		gauge(queueDesc, float64(b.Dead), "dead")
		gauge(failingDesc, float64(b.Failing))
		gauge(ageDesc, b.Age.Seconds())
	}
	if h, err := e.m.HoldCounts(ctx); err == nil {
		gauge(holdsDesc, float64(h.Standing))
		gauge(holdAgeDesc, h.Age.Seconds())
		gauge(heldDesc, float64(h.Overdue))
	}
	if us, err := e.m.NamedUse(ctx); err == nil {
		for _, u := range us {
			for limit, share := range u.Shares() {
				gauge(usedDesc, share, u.Tenant, limit)
			}
		}
	}
	if q, err := e.m.Quarantine(ctx); err == nil {
		gauge(openDesc, float64(q.Held))
		gauge(openAgeDesc, q.Age.Seconds())
	}
}
