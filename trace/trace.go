// Package trace says where the time of a request or a job goes, and joins its
// log lines: spans of OpenTelemetry, and the request's id.
//
// It cannot be given memory text. A span's name and its words are constants of
// the program (Word), what else it may carry are counts, verdicts and kinds of
// errors; there is no way to hand it an error's message, a name or a path. A
// test of the module's root finds what would turn other text into a Word.
//
// There is no global tracer. Whoever wants spans puts a provider into a context
// (With, Requests); the spans below follow from the context alone. Without one,
// Start and Begin look at the context once and do nothing.
//
// The package imports tenet, the standard library and OpenTelemetry's API.
package trace

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otel "go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tenet-memory/tenet"
)

// Word is a constant of the program: a name of a span or of an attribute, or a
// value from a closed set. An untyped constant is one; to convert anything else
// is a defect.
type Word string

// scope names the instrumentation.
const scope = "github.com/tenet-memory/tenet"

// origin is where spans may begin: it carries the provider, and the caller's
// span if there is one elsewhere.
type origin struct {
	noop.Span
	provider otel.TracerProvider
	parent   otel.SpanContext
}

func (o origin) SpanContext() otel.SpanContext       { return o.parent }
func (o origin) TracerProvider() otel.TracerProvider { return o.provider }

// With returns a context in which Begin makes spans of the provider; nil leaves
// the context as it is.
func With(ctx context.Context, p otel.TracerProvider) context.Context {
	if p == nil {
		return ctx
	}
	return otel.ContextWithSpan(ctx, origin{provider: p})
}

// Start begins a span below the context's, if that has one. The caller ends it.
func Start(ctx context.Context, name Word) (context.Context, Span) {
	parent := otel.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	return begin(ctx, parent.TracerProvider(), name, otel.SpanKindInternal)
}

// Begin is Start for what may come first: a job that no request asked for.
func Begin(ctx context.Context, name Word) (context.Context, Span) {
	o, root := otel.SpanFromContext(ctx).(origin)
	if !root {
		return Start(ctx, name)
	}
	// Its log lines are found by this id, which is Tenet's own: Fresh.
	return begin(ctx, o.provider, name, otel.SpanKindInternal, attribute.String("tenet.request", Request(ctx)))
}

// Ask is Start for a call to a database: system names its kind.
func Ask(ctx context.Context, system, name Word) (context.Context, Span) {
	ctx, s := Start(ctx, name)
	s.Is("db.system.name", system)
	return ctx, s
}

// Query is Ask for a statement of SQL.
func Query(ctx context.Context, system Word, sql string) (context.Context, Span) {
	if !otel.SpanFromContext(ctx).IsRecording() {
		return ctx, Span{}
	}
	return Ask(ctx, system, statement(sql))
}

func begin(ctx context.Context, p otel.TracerProvider, name Word, kind otel.SpanKind, as ...attribute.KeyValue) (context.Context, Span) {
	ctx, s := p.Tracer(scope).Start(ctx, string(name), otel.WithSpanKind(kind), otel.WithAttributes(as...))
	return ctx, Span{s}
}

// Current is the context's span.
func Current(ctx context.Context) Span {
	if s := otel.SpanFromContext(ctx); s.IsRecording() {
		return Span{s}
	}
	return Span{}
}

// Span is one stretch of work. The zero Span does nothing.
type Span struct{ s otel.Span }

// On reports whether anybody sees the span: what is dear to say is said only
// then.
func (s Span) On() bool { return s.s != nil }

// Name replaces the name that the span began with.
func (s Span) Name(name Word) {
	if s.s != nil {
		s.s.SetName(string(name))
	}
}

// Count sets a number.
func (s Span) Count(name Word, n int) {
	if s.s != nil {
		s.s.SetAttributes(attribute.Int(string(name), n))
	}
}

// Is sets a word.
func (s Span) Is(name, value Word) {
	if s.s != nil {
		s.s.SetAttributes(attribute.String(string(name), string(value)))
	}
}

// Verdict adds what was decided about one candidate: outcome, tier and codes.
func (s Span) Verdict(v tenet.Verdict) {
	if s.s == nil {
		return
	}
	cs := make([]string, len(v.Codes))
	for i, c := range v.Codes {
		cs[i] = string(c)
	}
	as := []attribute.KeyValue{attribute.String("tenet.outcome", v.Outcome.String()), attribute.StringSlice("tenet.codes", cs)}
	if v.Tier != 0 {
		as = append(as, attribute.String("tenet.tier", v.Tier.String()))
	}
	s.s.AddEvent("verdict", otel.WithAttributes(as...))
}

// Failed says of what kind an error was. Only what an operator has to look at - a
// defect, a store that is away - marks the span as failed: a refusal is an
// answer.
func (s Span) Failed(kind tenet.Kind) {
	if s.s == nil || kind == tenet.NoError {
		return
	}
	s.s.SetAttributes(attribute.String("error.type", kind.String()))
	if kind == tenet.Internal || kind == tenet.Unavailable {
		s.s.SetStatus(codes.Error, kind.String())
	}
}

// End ends the span. It is to be called from a deferred function: deferred
// itself, the SDK would put a panic's text into the span.
func (s Span) End(err error) {
	if s.s == nil {
		return
	}
	s.Failed(tenet.KindOf(err))
	s.s.End()
}

// statement is a statement of SQL as a word: its verb and its table. The rest,
// which is a constant too, would say nothing more to whoever looks at a span.
func statement(sql string) Word {
	verb, next := "", false
	for w := range strings.FieldsFuncSeq(sql, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' }) {
		switch {
		case next && (w == "tenet" || strings.EqualFold(w, "SELECT")): // the schema, or a query in its table's place
			next = w == "tenet"
			continue
		case next:
			return Word(verb + " " + w)
		case verb == "":
			verb = strings.ToUpper(w)
		}
		switch strings.ToUpper(w) {
		case "FROM", "INTO", "UPDATE":
			next = true
		}
	}
	return Word(verb)
}
