package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/tenet-memory/tenet"
)

// print writes v as JSON, or calls human. Shapes of JSON are those of the
// vocabulary types; a list is always in a named field, so that it can gain
// neighbours.
func (a *app) print(v any, human func()) error {
	if !a.json {
		human()
		return nil
	}
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return tenet.Errorf(tenet.Internal, "print", "the answer cannot be encoded")
	}
	return nil
}

// note tells the person at the terminal something beside the answer.
func (a *app) note(text string) { fmt.Fprintf(a.err, "tenet: %s\n", text) }

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// fail reports an error: one line, or {"error": {...}} in JSON mode.
func (a *app) fail(err error) {
	e := &tenet.Error{Kind: tenet.KindOf(err), Op: "run", Reason: "unexpected failure"}
	var own *tenet.Error
	switch {
	case errors.As(err, &own):
		e = own
	case e.Kind == tenet.Unavailable:
		e.Reason = "interrupted"
	default:
		e.Reason = err.Error()
	}
	if !a.json {
		fmt.Fprintf(a.err, "tenet: %s\n", printable(e.Error()))
		return
	}
	type body struct {
		Kind   string     `json:"kind"`
		Op     string     `json:"op"`
		Reason string     `json:"reason"`
		Code   tenet.Code `json:"code"`
	}
	out := json.NewEncoder(a.err)
	out.SetEscapeHTML(false)
	out.Encode(map[string]body{"error": {e.Kind.String(), e.Op, e.Reason, e.Code}})
}

// table writes aligned columns; cells are made printable.
func (a *app) table(header string, rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(header, "|", "\t"))
	for _, r := range rows {
		for i := range r {
			r[i] = printable(r[i])
		}
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(a.out, strings.TrimRight(line, " \n"))
	}
}

// printable shows a text on one line and takes away what could drive a
// terminal: memory holds other people's words.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\u2028' || r == '\u2029':
			return '⏎'
		case r == '\t':
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r
		case r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, s)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// span shows an interval of time: "2026-01-12T09:00:00Z ..".
func span(i tenet.Interval) string {
	from, to := stamp(i.From), ""
	if !i.To.IsZero() {
		to = " " + stamp(i.To)
	}
	return from + " .." + to
}

// dash shows an absent value.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func codes(cs []tenet.Code) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = string(c)
	}
	return strings.Join(words, " ")
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// moment is a time flag: RFC 3339 or a date.
type moment struct{ time.Time }

func (m *moment) UnmarshalText(b []byte) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, string(b)); err == nil {
			m.Time = tenet.Micros(t)
			return nil
		}
	}
	return errors.New("want a time such as 2026-03-10 or 2026-03-10T09:00:00Z")
}
