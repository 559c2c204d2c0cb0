package transcript

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/tenet-memory/tenet"
)

// fuzz holds for every format and every input: no panic, every conversation
// ready to be appended, every id distinct from what another JSON value would
// give, and reading twice gives the same.
func fuzz(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := Options{Format: format, Name: "file", Participants: Participants{"all": tenet.RoleUser}}
		cs, ps := readAll(t, text, o)
		for _, c := range cs {
			if err := tenet.CheckSessionID(c.Session); err != nil {
				t.Error(err)
			}
			if len(c.Messages) == 0 {
				t.Error("a conversation without messages")
			}
			for _, m := range c.Messages {
				if err := Check(m); err != nil {
					t.Error(err)
				}
				if m.ClientID == "" || m.Role == 0 || !utf8.ValidString(m.Text) {
					t.Errorf("not ready: %+v", m)
				}
			}
		}
		again, ps2 := readAll(t, text, o)
		if len(again) != len(cs) || len(ps2) != len(ps) {
			t.Error("two readings differ")
		}
		for i := range again {
			if brief(again[i]) != brief(cs[i]) {
				t.Error("two readings differ")
			}
		}
	})
}

func FuzzJSONL(f *testing.F) {
	fuzz(f, JSONL, `{"session":"a","role":"user","text":"x","id":9007199254740993,"time":1768208400.5}`+"\n"+`{"session":1,"role":"tool","text":"","tool_call_id":"c"}`,
		`{"session":"\ud83d\ude00","role":"user","text":"\ud800"}`, "garbage\n{}\n[]")
}

func FuzzLoCoMo(f *testing.F) {
	fuzz(f, LoCoMo, "["+locomoSample+"]", locomoSample, `[{"sample_id":7,"conversation":{"session_1":[]}}]`, `[`, `[,]`)
}

func FuzzOpenAI(f *testing.F) {
	fuzz(f, OpenAI, `[{"role":"user","content":[{"type":"text","text":"x"}]}]`, `{"messages":[{"role":"assistant","function_call":{"name":"f"}}]}`,
		`[{"mapping":{"a":{"message":{"id":"a","author":{"role":"user"},"content":{"parts":["x"]}}}},"current_node":"a"}]`, `[[]]`)
}

func FuzzDetect(f *testing.F) {
	f.Add("[" + locomoSample + "]")
	f.Add("{\n}")
	f.Fuzz(func(t *testing.T, text string) {
		cs, ps := readAll(t, text, Options{})
		for _, p := range ps {
			var e error = p
			if !errors.As(e, &p) || p.Reason == "" {
				t.Errorf("a problem without a reason: %v", p)
			}
		}
		_ = cs
	})
}

func FuzzIdentity(f *testing.F) {
	f.Add(`7`, `"7"`)
	f.Add(`"#7"`, `"##7"`)
	f.Add(`9007199254740993`, `9007199254740992`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if tenet.CheckJSON([]byte(a)) != nil || tenet.CheckJSON([]byte(b)) != nil {
			return
		}
		x, errX := identity([]byte(a))
		y, errY := identity([]byte(b))
		if errX == nil && errY == nil && x == y && x != "" && !sameID(a, b) {
			t.Errorf("%s and %s are both %q", a, b, x)
		}
	})
}

// sameID reports whether two JSON ids are the same value: the same digits, or
// strings that decode to the same text.
func sameID(a, b string) bool {
	if a == b {
		return true
	}
	var s, u string
	return a[0] == '"' && b[0] == '"' && tenet.DecodeJSON([]byte(a), &s) == nil && tenet.DecodeJSON([]byte(b), &u) == nil && s == u
}
