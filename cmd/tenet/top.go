package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/term"

	"github.com/tenet-memory/tenet"
)

// topCmd shows what a server does, as its own metrics have it: a screen that
// renews itself, or, where there is no terminal, one look.
type topCmd struct {
	Every time.Duration `help:"How often to look." default:"2s"`
	Batch bool          `short:"b" help:"Print looks one after another and take no keys, as without a terminal."`
	Count int           `short:"n" help:"Stop after this many looks (default: one without a terminal, else until q)."`
}

func (c topCmd) Run(a *app) error {
	if c.Every < 100*time.Millisecond || c.Count < 0 {
		return tenet.Errorf(tenet.Invalid, "usage", "--every: at least 100ms; --count: not negative")
	}
	server := a.set.values["server"]
	if server == "" {
		server = "http://" + a.set.values["listen"]
	}
	in, isFile := a.in.(*os.File)
	if out, is := a.out.(*os.File); is && isFile && !c.Batch && !a.json && terminal(out) && term.IsTerminal(int(in.Fd())) {
		return c.live(a, server, in, out)
	}
	orOne := max(c.Count, 1)
	var before *scrape
	for n := range orOne {
		if n > 0 && !pause(a.ctx, c.Every) {
			return nil
		}
		now, err := look(a.ctx, server)
		if err != nil {
			return err
		}
		l := activityBetween(before, now)
		if err := a.print(l, func() { a.printf("%s\n", strings.Join(l.screen(server, 80, 0), "\n")) }); err != nil {
			return err
		}
		before = now
	}
	return nil
}

// live draws until q, Ctrl-C or an interrupt.
func (c topCmd) live(a *app, server string, in, out *os.File) error {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return tenet.Errorf(tenet.Unavailable, "top", "the terminal gives no keys: use --batch")
	}
	defer term.Restore(int(in.Fd()), old)
	fmt.Fprint(out, "\x1b[?1049h\x1b[?25l") // a screen of its own, without a cursor
	defer fmt.Fprint(out, "\x1b[?25h\x1b[?1049l")
	ctx, quit := context.WithCancel(a.ctx)
	defer quit()
	go func() {
		key := make([]byte, 1)
		for {
			if n, err := in.Read(key); err != nil || n == 1 && (key[0] == 'q' || key[0] == 'Q' || key[0] == 3) {
				quit()
				return
			}
		}
	}()
	var before *scrape
	for n := 0; c.Count == 0 || n < c.Count; n++ {
		if n > 0 && !pause(ctx, c.Every) {
			return nil
		}
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil || width < 1 || height < 1 {
			width, height = 80, 24
		}
		now, err := look(ctx, server)
		lines := []string{"tenet top  " + server, "", "the server does not answer; looking again"}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			lines = activityBetween(before, now).screen(server, width, height)
			before = now
		}
		for i, l := range lines {
			lines[i] = clip(l, width)
		}
		fmt.Fprint(out, "\x1b[H"+strings.Join(lines[:min(len(lines), height)], "\x1b[K\r\n")+"\x1b[K\x1b[J")
	}
	return nil
}

// pause waits and reports whether the context still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// scrape is one look at a server's metrics.
type scrape struct {
	at time.Time
	of map[string]*dto.MetricFamily
}

func look(ctx context.Context, server string) (*scrape, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server, "/")+"/metrics", nil)
	if err != nil {
		return nil, tenet.Errorf(tenet.Invalid, "config", "server: want a URL such as http://127.0.0.1:7766")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, tenet.Errorf(tenet.Unavailable, "top", "no server answers at %s", printable(server))
	}
	defer resp.Body.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	of, err := p.TextToMetricFamilies(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || resp.StatusCode != http.StatusOK || of["tenet_verdicts_total"] == nil && of["tenet_recalls_total"] == nil {
		return nil, tenet.Errorf(tenet.Unavailable, "top", "what answers is no Tenet server, or gives its metrics to others only")
	}
	return &scrape{time.Now(), of}, nil
}

// sum adds the metrics of a family that have the labels, given as name, value.
func (s *scrape) sum(name string, labels ...string) (n float64) {
	for _, m := range s.of[name].GetMetric() {
		if has(m, labels) {
			n += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return n
}

func has(m *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if label(m, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// activity is what a server did between two looks, or since it started.
type activity struct {
	Up      float64            `json:"up_seconds"`
	Seconds float64            `json:"seconds"` // what the counts below are over
	Writes  map[string]float64 `json:"writes"`  // by verdict
	Recalls float64            `json:"recalls"`
	Served  float64            `json:"served"` // of those, with at least one item
	Queue   struct {
		Due        float64 `json:"due"`
		Waiting    float64 `json:"waiting"`
		Failing    float64 `json:"failing"`
		Dead       float64 `json:"dead"`
		AgeS       float64 `json:"age_seconds"`
		LagS       float64 `json:"lag_seconds"`
		VisibleP95 float64 `json:"visible_p95_seconds"`
	} `json:"queue"`
	Held        float64            `json:"quarantined_since_start"`
	Waits       float64            `json:"held"` // now, of all tenants
	WaitsAgeS   float64            `json:"held_age_seconds"`
	Contexts    float64            `json:"contexts"`
	Tokens      map[string]float64 `json:"tokens"` // by part
	Denied      float64            `json:"denied"`
	Strangers   float64            `json:"unauthenticated"`
	Operations  []operationLoad    `json:"operations"`
	sinceStart  bool
	lookedAtEnd time.Time
}

type operationLoad struct {
	Name   string  `json:"operation"`
	Count  float64 `json:"count"`
	Failed float64 `json:"failed"` // by the server: 5xx, a defect, a store that is away
	P50    float64 `json:"p50_seconds"`
	P95    float64 `json:"p95_seconds"`
}

var writeOutcomes = []tenet.Outcome{tenet.Stored, tenet.Corroborated, tenet.Superseded, tenet.Quarantined, tenet.Rejected}

func activityBetween(before, now *scrape) activity {
	const started = "process_start_time_seconds"
	l := activity{Writes: map[string]float64{}, Tokens: map[string]float64{}, lookedAtEnd: now.at}
	l.Up = math.Round(float64(now.at.UnixMilli())/1000 - now.sum(started))
	if before == nil || before.sum(started) != now.sum(started) { // a restart counts from zero
		before, l.sinceStart, l.Seconds = &scrape{}, true, max(l.Up, 1)
	} else {
		l.Seconds = now.at.Sub(before.at).Seconds()
	}
	grown := func(name string, labels ...string) float64 {
		return max(now.sum(name, labels...)-before.sum(name, labels...), 0)
	}
	for _, o := range writeOutcomes {
		l.Writes[o.String()] = grown("tenet_verdicts_total", "outcome", o.String())
	}
	l.Held = now.sum("tenet_verdicts_total", "outcome", tenet.Quarantined.String())
	l.Waits, l.WaitsAgeS = now.sum("tenet_quarantine_held"), now.sum("tenet_quarantine_age_seconds")
	l.Recalls, l.Served = grown("tenet_recalls_total"), grown("tenet_recalls_total", "served", "true")
	q := &l.Queue
	q.Due, q.Waiting, q.Dead = now.sum("tenet_queue_sessions", "state", "due"), now.sum("tenet_queue_sessions", "state", "waiting"), now.sum("tenet_queue_sessions", "state", "dead")
	q.Failing, q.AgeS, q.LagS = now.sum("tenet_queue_failing_sessions"), now.sum("tenet_queue_age_seconds"), now.sum("tenet_consolidation_lag_seconds")
	_, visible := between(before, now, "tenet_write_to_visible_seconds")[""].quantiles()
	q.VisibleP95 = visible
	l.Contexts = grown("tenet_contexts_total")
	for _, m := range now.of["tenet_context_tokens_total"].GetMetric() {
		part := label(m, "part")
		l.Tokens[part] = grown("tenet_context_tokens_total", "part", part)
	}
	l.Denied, l.Strangers = grown("tenet_denied_total"), grown("tenet_unauthenticated_total")
	for _, family := range []string{"tenet_http_request_seconds", "tenet_mcp_request_seconds"} {
		for name, h := range between(before, now, family) {
			if h.count > 0 {
				o := operationLoad{Name: name, Count: h.count, Failed: h.failed}
				o.P50, o.P95 = h.quantiles()
				l.Operations = append(l.Operations, o)
			}
		}
	}
	slices.SortFunc(l.Operations, func(a, b operationLoad) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return l
}

// spread is a histogram: how many were at most so long.
type spread struct {
	count, failed float64
	within        map[float64]float64
}

// between are the histograms of a family by operation, as they grew.
func between(before, now *scrape, family string) map[string]spread {
	out := map[string]spread{}
	for sign, s := range map[float64]*scrape{1: now, -1: before} {
		for _, m := range s.of[family].GetMetric() {
			op := label(m, "operation")
			h := out[op]
			if h.within == nil {
				h.within = map[float64]float64{}
			}
			n := sign * float64(m.GetHistogram().GetSampleCount())
			h.count += n
			switch kind := label(m, "kind"); {
			case strings.HasPrefix(label(m, "status"), "5"), kind == tenet.Internal.String(), kind == tenet.Unavailable.String():
				h.failed += n
			}
			for _, b := range m.GetHistogram().GetBucket() {
				h.within[b.GetUpperBound()] += sign * float64(b.GetCumulativeCount())
			}
			out[op] = h
		}
	}
	return out
}

func (h spread) quantiles() (p50, p95 float64) { return h.quantile(0.5), h.quantile(0.95) }

// quantile is read between the bounds of the bucket it falls into. Beyond the
// last bound it is that bound.
func (h spread) quantile(q float64) float64 {
	if h.count <= 0 {
		return 0
	}
	rank, low, below := q*h.count, 0.0, 0.0
	for _, bound := range slices.Sorted(maps.Keys(h.within)) {
		if n := h.within[bound]; n >= rank && n > below {
			if math.IsInf(bound, 1) {
				return low
			}
			return low + (bound-low)*(rank-below)/(n-below)
		} else if !math.IsInf(bound, 1) {
			low, below = bound, n
		}
	}
	return low
}

// screen is the activity as lines of at most width; a height of 0 is as many as there are.
func (l activity) screen(server string, width, height int) []string {
	rate := func(n float64) string { return short(n/l.Seconds) + "/s" }
	over := fmt.Sprintf("over %.1f s", l.Seconds)
	if l.sinceStart {
		over = "since it started"
	}
	writes, parts := 0.0, []string{}
	for _, o := range writeOutcomes {
		writes += l.Writes[o.String()]
		parts = append(parts, o.String()+" "+short(l.Writes[o.String()]))
	}
	var lines []string
	row := func(name string, parts ...string) { lines = append(lines, wrap(name, parts, width)...) }
	row("tenet top", printable(server), "up "+time.Duration(l.Up*float64(time.Second)).String(), l.lookedAtEnd.Format(time.TimeOnly), over)
	row("writes", append([]string{rate(writes)}, parts...)...)
	row("recalls", rate(l.Recalls), "hits "+share(l.Served, l.Recalls))
	q := l.Queue
	row("queue", fmt.Sprintf("due %.0f", q.Due), "oldest "+took(q.AgeS), fmt.Sprintf("waiting %.0f", q.Waiting), fmt.Sprintf("failing %.0f", q.Failing), fmt.Sprintf("given up %.0f", q.Dead),
		"lag "+took(q.LagS), "visible p95 "+took(q.VisibleP95))
	row("held", short(l.Waits)+" to review", "oldest "+took(l.WaitsAgeS), short(l.Held)+" quarantined since it started")
	tokens := []string{rate(l.Contexts) + " contexts"}
	for _, part := range []string{"facts", "recalled", "pending", "messages"} {
		tokens = append(tokens, part+" "+short(l.Tokens[part]/max(l.Contexts, 1)))
	}
	row("tokens", append(tokens, "each")...)
	row("refused", "denied "+short(l.Denied), "unknown keys "+short(l.Strangers))
	lines = append(lines, "")
	// A narrow terminal has fewer columns: the first of these, the last, and so on.
	columns := []struct {
		head string
		of   func(operationLoad) string
	}{
		{"RATE", func(o operationLoad) string { return rate(o.Count) }},
		{"P95", func(o operationLoad) string { return took(o.P95) }},
		{"P50", func(o operationLoad) string { return took(o.P50) }},
		{"FAILED", func(o operationLoad) string { return short(o.Failed) }},
		{"COUNT", func(o operationLoad) string { return short(o.Count) }},
	}
	const column = 9
	fit := min(len(columns), max(1, (width-12)/column))
	name := min(36, max(8, width-column*fit))
	head := fmt.Sprintf("%-*s", name, "OPERATION")
	for _, c := range columns[:fit] {
		head += fmt.Sprintf("%*s", column, c.head)
	}
	lines = append(lines, head)
	for _, o := range l.Operations {
		if height > 0 && len(lines) == height {
			break
		}
		line := fmt.Sprintf("%-*s", name, clip(printable(o.Name), name))
		for _, c := range columns[:fit] {
			line += fmt.Sprintf("%*s", column, c.of(o))
		}
		lines = append(lines, line)
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(clip(l, width), " ")
	}
	return lines
}

// wrap sets parts behind a name, on further lines when they do not fit.
func wrap(name string, parts []string, width int) []string {
	lines, line := []string{}, fmt.Sprintf("%-10s", name)
	for i, p := range parts {
		if i > 0 && len(line)+2+len(p) > width {
			lines, line = append(lines, line), strings.Repeat(" ", 10)
		} else if i > 0 {
			line += "  "
		}
		line += p
	}
	return append(lines, line)
}

func clip(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width])
	}
	return s
}

// short is a count in few places.
func short(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fG", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	case n == math.Trunc(n) || n >= 100:
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

// took is a time in few places.
func took(seconds float64) string {
	switch {
	case seconds <= 0:
		return "0"
	case seconds < 1:
		return fmt.Sprintf("%.1fms", seconds*1000)
	case seconds < 120:
		return fmt.Sprintf("%.1fs", seconds)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func share(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*part/whole)
}
