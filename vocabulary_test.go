package tenet_test

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
)

// word is an enumeration's value as text.
type word interface {
	encoding.TextMarshaler
	fmt.Stringer
}

func TestEnumerationsRoundTripAndRejectUnknownWords(t *testing.T) {
	t.Parallel()
	check := func(name string, last int, at func(int) word, parse func([]byte) (word, error)) {
		seen := map[string]bool{}
		for i := 1; i <= last; i++ {
			v := at(i)
			b, err := v.MarshalText()
			if err != nil || string(b) != v.String() || seen[v.String()] {
				t.Errorf("%s %d encodes as %q, %v", name, i, b, err)
			}
			seen[v.String()] = true
			if got, err := parse(b); err != nil || got != v {
				t.Errorf("%s %q reads back as %v, %v", name, b, got, err)
			}
		}
		for _, i := range []int{0, last + 1, 255} {
			if b, err := at(i).MarshalText(); err == nil {
				t.Errorf("%s %d encodes as %q", name, i, b)
			}
			if s := at(i).String(); !strings.HasPrefix(s, "invalid(") || seen[s] {
				t.Errorf("%s %d reads %q", name, i, s)
			}
		}
		for _, s := range []string{"", " ", "invalid(0)", "invalid(1)", "FACT", "Fact", "fact ", "0", "1", "\x00", "nope", "f\u0430ct"} {
			if seen[s] {
				t.Errorf("%s has the word %q", name, s)
			}
			if v, err := parse([]byte(s)); tenet.KindOf(err) != tenet.Invalid {
				t.Errorf("%s reads %q as %v, %v", name, s, v, err)
			}
		}
	}
	check("tier", 4, func(i int) word { return tenet.Tier(i) }, func(b []byte) (word, error) { var v tenet.Tier; err := v.UnmarshalText(b); return v, err })
	check("label", 6, func(i int) word { return tenet.Label(i) }, func(b []byte) (word, error) { var v tenet.Label; err := v.UnmarshalText(b); return v, err })
	check("role", 4, func(i int) word { return tenet.Role(i) }, func(b []byte) (word, error) { var v tenet.Role; err := v.UnmarshalText(b); return v, err })
	check("outcome", 5, func(i int) word { return tenet.Outcome(i) }, func(b []byte) (word, error) { var v tenet.Outcome; err := v.UnmarshalText(b); return v, err })
	check("kind of principal", 6, func(i int) word { return tenet.PrincipalKind(i) }, func(b []byte) (word, error) {
		var v tenet.PrincipalKind
		err := v.UnmarshalText(b)
		return v, err
	})
	var m struct{ Tier tenet.Tier }
	for _, in := range []string{`{"Tier":1}`, `{"Tier":""}`, `{"Tier":"note "}`} {
		if err := json.Unmarshal([]byte(in), &m); err == nil && m.Tier != 0 {
			t.Errorf("%s gave the tier %v", in, m.Tier)
		}
	}
	if p, err := tenet.ParsePrincipal("acme", "app:a:b"); err != nil || p.String() != "app:a:b" || p.Tenant() != "acme" {
		t.Errorf("a principal reads back as %v, %v", p, err)
	}
	for _, s := range []string{"", "app", "app:", ":x", "root:x", "invalid(0):x"} {
		if p, err := tenet.ParsePrincipal("acme", s); tenet.KindOf(err) != tenet.Invalid || !p.IsZero() {
			t.Errorf("%q is the principal %v, %v", s, p, err)
		}
	}
}

func TestKindsAreStable(t *testing.T) {
	t.Parallel()
	var got []string
	for k := tenet.Internal; k <= tenet.Unavailable; k++ {
		got = append(got, k.String())
	}
	if s := strings.Join(got, " "); s != "internal invalid not_found conflict refused denied unavailable" {
		t.Errorf("kinds travel and must not move: %s", s)
	}
	wrapped := fmt.Errorf("outer: %w", tenet.Errorf(tenet.Conflict, "op", "x"))
	for err, want := range map[error]tenet.Kind{
		wrapped: tenet.Conflict, errors.New("x"): tenet.Internal, context.Canceled: tenet.Unavailable, nil: tenet.NoError,
		fmt.Errorf("x: %w", context.DeadlineExceeded):           tenet.Unavailable,
		&tenet.Error{Kind: tenet.Denied, Err: context.Canceled}: tenet.Denied,
	} {
		if got := tenet.KindOf(err); got != want {
			t.Errorf("%v is of kind %v, want %v", err, got, want)
		}
	}
}

// TestErrorsCarryNoContent puts a marked text into everything that a caller
// can fill and looks for it in what comes back.
func TestErrorsCarryNoContent(t *testing.T) {
	t.Parallel()
	const secret = "shellfish"
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Tier tenet.Tier
		N    int
		At   time.Time
	}
	long := strings.Repeat(secret+" ", tenet.MaxCandidate/len(secret)+1)
	cand := func(change func(*tenet.Candidate)) error {
		c := tenet.Fact(scope, "k", "x")
		c.ID = "c"
		change(&c)
		return c.Check()
	}
	_, tenantErr := tenet.NewScope(secret+"\x00", tenet.User("a"))
	_, userErr := tenet.NewScope("a", tenet.User(secret+"\xff"))
	_, subErr := tenet.ParseSubject(secret)
	_, prinErr := tenet.NewPrincipal(tenet.App, "acme", secret+"\n")
	for i, err := range []error{
		tenantErr, userErr, subErr, prinErr,
		tenet.CheckText("text", secret+"\x00"), tenet.CheckText("text", secret+"\xff"), tenet.CheckSessionID(secret + "\n"),
		tenet.CheckJSON([]byte(`{"` + secret + `":1,"` + secret + `":2}`)), tenet.CheckJSON([]byte(secret)), tenet.CheckJSON([]byte(`"` + secret + `\ud800"`)),
		tenet.DecodeJSON([]byte(`{"Tier":"`+secret+`"}`), &v), tenet.DecodeJSON([]byte(`{"N":"`+secret+`"}`), &v),
		tenet.DecodeJSON([]byte(`{"At":"`+secret+`"}`), &v), tenet.DecodeJSON([]byte(`{"N":1}`+secret), &v),
		cand(func(c *tenet.Candidate) { c.Text = secret + "\xff" }), cand(func(c *tenet.Candidate) { c.Text = long }),
		cand(func(c *tenet.Candidate) { c.Quote = long + long + long + long + long + long }), cand(func(c *tenet.Candidate) { c.Value = []byte(`{"a":"` + secret) }),
		cand(func(c *tenet.Candidate) { c.ID = secret + "\x01" }), cand(func(c *tenet.Candidate) { c.Key = secret + "\x00" }),
	} {
		switch {
		case err == nil:
			t.Errorf("case %d passes", i)
		case tenet.KindOf(err) != tenet.Invalid:
			t.Errorf("case %d is of kind %v", i, tenet.KindOf(err))
		case strings.Contains(err.Error(), secret):
			t.Errorf("case %d quotes the content: %v", i, err)
		}
	}
	hidden := &tenet.Error{Kind: tenet.Internal, Op: "op", Reason: "why", Err: errors.New(secret)}
	if strings.Contains(hidden.Error(), secret) {
		t.Error("an error shows its cause")
	}
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, s := range []string{
		`1`, `"x"`, `null`, ` {"a": [1, 2.5e3, {"b": "\ud83d\ude00"}], "A": true} `, `9007199254740993`, `123456789012345678901234567890`, `"\\ud800"`, `"\\\\ud800"`,
		`""`, `{"":1}`, deep(64), `"\u0000"`, `{"a":{"x":1},"b":{"x":1}}`, "\"\u2028\"",
	} {
		if err := tenet.CheckJSON([]byte(s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{
		``, ` `, `{`, `{"a"}`, `[1,]`, `1 2`, `{} x`, `{}{}`, `nul`, `'x'`, `01`, `+1`, `NaN`, `"\x"`, "\"\n\"", "\xef\xbb\xbf1",
		`"\ud800"`, `"\udc00"`, `"\udc00\ud800"`, `"\ud800\ud800"`, `"\ud800x"`, `"\uD800\u0041"`, `"x\\\ud800"`, `{"\ud800":1}`, `"\ud800`, `"\ud83d\ude0"`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[{"x":{"b":1,"b":1}}]`, deep(70), deep(100000), strings.Repeat(`{"a":`, 100), "\"\xff\"", "\"\xed\xa0\x80\"",
	} {
		if err := tenet.CheckJSON([]byte(s)); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%.40s: %v", s, err)
		}
	}
}

func TestDecodeJSONIsStrictAndKeepsNumbers(t *testing.T) {
	t.Parallel()
	var c tenet.Candidate
	if err := tenet.DecodeJSON([]byte(`{"id":"c","tier":"fact","text":"x","value":{"id":9007199254740993},"position":9223372036854775807}`), &c); err != nil {
		t.Fatal(err)
	}
	if string(c.Value) != `{"id":9007199254740993}` || c.Position != 1<<63-1 {
		t.Errorf("numbers changed: %s, %d", c.Value, c.Position)
	}
	for _, s := range []string{`{"id":"c","unknown":1}`, `{"scope":{}}`, `{"Scope":{"tenant":"other"}}`, `{"position":9223372036854775808}`, `{"position":1.5}`, `{"tier":"persistent"}`, `{"tier":1}`} {
		var c tenet.Candidate
		if err := tenet.DecodeJSON([]byte(s), &c); tenet.KindOf(err) != tenet.Invalid || !c.Scope.IsZero() {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"id":"c","tier":"fact","text":"x","value":{"a":[1,"\ud83d\ude00"]},"cites":["m"]}`, `{"text":"\ud800"}`, `{"text":1,"text":2}`, `[[[[`, `{"value":9007199254740993}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c tenet.Candidate
		err := tenet.DecodeJSON(data, &c)
		if err != nil {
			if tenet.KindOf(err) != tenet.Invalid {
				t.Fatalf("kind %v", tenet.KindOf(err))
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was decoded and is not JSON", data)
		}
		// What was read is written and read back the same: nothing was merged.
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("what was decoded does not encode: %v", err)
		}
		var again tenet.Candidate
		if err := tenet.DecodeJSON(out, &again); err != nil {
			t.Fatalf("%s does not decode again: %v", out, err)
		}
		if again.Text != c.Text || again.ID != c.ID || again.Key != c.Key || again.Position != c.Position || !again.Valid.From.Equal(c.Valid.From) {
			t.Fatalf("%q became %q", c.Text, again.Text)
		}
	})
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	point := rapid.Custom(func(t *rapid.T) time.Time {
		if n := rapid.IntRange(0, 6).Draw(t, "n"); n > 0 {
			return time.Date(2020+n, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return time.Time{}
	})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) tenet.Interval {
			i := tenet.Interval{From: point.Draw(t, name), To: point.Draw(t, name)}
			if !i.From.IsZero() && !i.To.IsZero() && !i.From.Before(i.To) {
				i.To = i.From.AddDate(0, 6, 0)
			}
			return i
		}
		a, b := draw("a"), draw("b")
		shared := false // by trying every stretch between the points
		for y := 2019; y < 2029; y++ {
			for _, m := range []time.Month{1, 4, 8} {
				x := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
				shared = shared || a.Contains(x) && b.Contains(x)
			}
		}
		if a.Overlaps(b) != shared || b.Overlaps(a) != shared {
			t.Fatalf("%v and %v share an instant: %v", a, b, shared)
		}
	})
	at := time.Date(2025, 1, 2, 3, 4, 5, 999999999, time.FixedZone("x", 3600))
	if m := tenet.Micros(at); m.Location() != time.UTC || m.Nanosecond() != 999999000 || !tenet.Micros(time.Time{}).IsZero() || tenet.Micros(m) != m {
		t.Errorf("microseconds: %v", m)
	}
}
