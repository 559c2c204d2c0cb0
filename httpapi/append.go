package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Facts are loaded before every model call, and encoding/json took longer over
// them than the store. This is the same JSON, appended; a test compares the
// two on facts with every field set, so a new field can't be forgotten.

// appender is an answer that encodes itself.
type appender interface{ appendJSON([]byte) []byte }

func (f facts) appendJSON(b []byte) []byte {
	if f.Facts == nil {
		return append(b, `{"facts":null}`...)
	}
	b = append(b, `{"facts":[`...)
	for i := range f.Facts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFact(b, &f.Facts[i])
	}
	return append(b, `]}`...)
}

// fields appends members of one object.
type fields struct{ b []byte }

func (f *fields) name(n string) {
	if f.b[len(f.b)-1] != '{' {
		f.b = append(f.b, ',')
	}
	f.b = append(f.b, '"')
	f.b = append(f.b, n...)
	f.b = append(f.b, '"', ':')
}

func (f *fields) str(n, v string) {
	f.name(n)
	f.b = appendString(f.b, v)
}

func (f *fields) some(n, v string) {
	if v != "" {
		f.str(n, v)
	}
}

func (f *fields) num(n string, v int64) {
	f.name(n)
	f.b = strconv.AppendInt(f.b, v, 10)
}

func (f *fields) flag(n string, v bool) {
	if v {
		f.name(n)
		f.b = append(f.b, "true"...)
	}
}

func (f *fields) time(n string, t time.Time) {
	if !t.IsZero() {
		f.name(n)
		f.b = append(f.b, '"')
		f.b = t.AppendFormat(f.b, time.RFC3339Nano)
		f.b = append(f.b, '"')
	}
}

func (f *fields) interval(n string, i tenet.Interval) {
	f.name(n)
	f.b = append(f.b, '{')
	f.time("from", i.From)
	f.time("to", i.To)
	f.b = append(f.b, '}')
}

func appendFact(b []byte, r *memory.Fact) []byte {
	f := fields{append(b, '{')}
	f.str("id", string(r.ID))
	f.name("scope")
	f.b = append(f.b, '{')
	f.str("tenant", r.Scope.Tenant())
	f.str("subject", r.Scope.Subject().String())
	f.b = append(f.b, '}')
	f.str("tier", r.Tier.String())
	f.some("key", r.Key)
	if len(r.Value) > 0 {
		f.name("value")
		f.b = appendValue(f.b, r.Value)
	}
	f.str("text", r.Text)
	f.str("label", r.Label.String())
	f.name("origins")
	f.b = appendOrigins(f.b, r.Origins)
	f.some("session", string(r.Session))
	f.some("message", string(r.Message))
	f.some("tool_call", r.ToolCall)
	f.some("speaker", r.Speaker)
	if r.Position != 0 {
		f.num("position", r.Position)
	}
	f.interval("valid", r.Valid)
	f.interval("known", r.Known)
	f.some("supersedes", string(r.Supersedes))
	f.some("superseded_by", string(r.SupersededBy))
	f.some("fragment_of", string(r.FragmentOf))
	f.some("elevates", string(r.Elevates))
	f.some("closed", string(r.Closed))
	f.num("seen", int64(r.Seen))
	f.flag("multi", r.Multi)
	f.flag("safety", r.Safety)
	f.time("expires_at", r.ExpiresAt)
	f.flag("expired", r.Expired)
	f.str("confirmation", string(r.Confirmation))
	f.some("shadowed_by", string(r.ShadowedBy))
	f.time("revalidate_after", r.RevalidateAfter)
	f.flag("stale", r.Stale)
	return append(f.b, '}')
}

func appendOrigins(b []byte, os []tenet.Origin) []byte {
	if os == nil {
		return append(b, "null"...)
	}
	f := fields{append(b, '[')}
	for i, o := range os {
		if i > 0 {
			f.b = append(f.b, ',')
		}
		f.b = append(f.b, '{')
		f.str("principal", o.Principal)
		f.some("channel", string(o.Channel))
		f.some("subject", o.Subject)
		f.some("session", string(o.Session))
		f.some("message", string(o.Message))
		f.some("tool_call", o.ToolCall)
		if o.Holds != (tenet.Interval{}) {
			f.interval("holds", o.Holds)
		}
		f.b = append(f.b, '}')
	}
	return append(f.b, ']')
}

// appendValue appends a kept JSON value. The gate compacts values, so there is
// nothing to do but for one that it did not see.
func appendValue(b []byte, v json.RawMessage) []byte {
	if bytes.IndexByte(v, '\n') < 0 {
		return append(b, v...)
	}
	var out bytes.Buffer
	if json.Compact(&out, v) != nil {
		return append(b, "null"...)
	}
	return append(b, out.Bytes()...)
}

// appendString appends a JSON string; anything but plain ASCII and whole UTF-8
// goes through encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			return appendSlow(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendSlow(b []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimRight(out.Bytes(), "\n")...)
}
