package transcript

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
)

// readAll collects what a file holds.
func readAll(t testing.TB, text string, o Options) ([]Conversation, []*Problem) {
	t.Helper()
	if o.Name == "" {
		o.Name = "file"
	}
	var cs []Conversation
	var ps []*Problem
	for c, err := range Read(strings.NewReader(text), o) {
		var p *Problem
		switch {
		case errors.As(err, &p):
			ps = append(ps, p)
		case err != nil:
			ps = append(ps, &Problem{Offset: -1, Reason: err.Error()})
		default:
			cs = append(cs, c)
		}
	}
	return cs, ps
}

func all(t testing.TB) Participants {
	p, err := ParseParticipants("all=user")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// brief is a conversation in one line.
func brief(c Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s:", c.User, c.Session)
	for _, m := range c.Messages {
		fmt.Fprintf(&b, " %s(%s)%q", m.Role, m.ClientID, m.Text)
	}
	return b.String()
}

func expect(t *testing.T, cs []Conversation, want ...string) {
	t.Helper()
	var got []string
	for _, c := range cs {
		got = append(got, brief(c))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLinesOfSeveralSessionsMayAlternate(t *testing.T) {
	cs, ps := readAll(t, `{"session":"a","role":"user","text":"one"}
{"session":"b","role":"user","content":"two","id":"x"}

{"session":"a","role":"assistant","text":"three","time":"2026-01-12T09:00:00Z"}
{"session":"a","user":"sarah","role":"user","text":"another user's session a"}
`, Options{})
	expect(t, cs, `/a: user(@1)"one" assistant(@2)"three"`, `/b: user(x)"two"`, `sarah/a: user(@1)"another user's session a"`)
	if len(ps) != 0 {
		t.Error(ps)
	}
	if at := cs[0].Messages[1].SaidAt; !at.Equal(time.Date(2026, 1, 12, 9, 0, 0, 0, time.UTC)) {
		t.Error(at)
	}
}

func TestAConversationWithABadLineIsLeftOutWholeAndTheRestKept(t *testing.T) {
	const good, bad = `{"session":"good","role":"user","text":"kept"}` + "\n", `{"session":"bad","role":"user","text":"before"}` + "\n"
	for name, line := range map[string]string{
		"unknown field":      `{"session":"bad","role":"user","text":"x","tenant":"other"}`,
		"unknown role":       `{"session":"bad","role":"wizard","text":"x"}`,
		"no text":            `{"session":"bad","role":"user"}`,
		"both texts":         `{"session":"bad","role":"user","text":"x","content":"x"}`,
		"empty text":         `{"session":"bad","role":"user","text":""}`,
		"NUL":                `{"session":"bad","role":"user","text":"a\u0000b"}`,
		"lone surrogate":     `{"session":"bad","role":"user","text":"\ud800"}`,
		"invalid UTF-8":      "{\"session\":\"bad\",\"role\":\"user\",\"text\":\"\xff\"}",
		"duplicate key":      `{"session":"bad","role":"user","text":"x","text":"y"}`,
		"fractional id":      `{"session":"bad","role":"user","text":"x","id":1.5}`,
		"time in words":      `{"session":"bad","role":"user","text":"x","time":"yesterday"}`,
		"milliseconds":       `{"session":"bad","role":"user","text":"x","time":1768208400000}`,
		"not JSON":           `{"session":"bad","role":`,
		"an array":           `["session","bad"]`,
		"oversize":           `{"session":"bad","role":"user","text":"` + strings.Repeat("x", tenet.MaxMessage+1) + `"}`,
		"a line over limits": `{"session":"bad","role":"user","text":"` + strings.Repeat("x", MaxLine) + `"}`,
		"unknown channel":    `{"session":"bad","role":"user","text":"x","channel":"telepathy"}`,
	} {
		t.Run(name, func(t *testing.T) {
			cs, ps := readAll(t, good+bad+line+"\n"+bad, Options{Format: JSONL})
			expect(t, cs, `/good: user(@1)"kept"`)
			if len(ps) != 1 || ps[0].Session != "bad" || ps[0].Offset != int64(len(good+bad)) {
				t.Errorf("problems: %v", ps)
			}
		})
	}
}

func TestAnUnreadableLineSpoilsTheConversationsAroundIt(t *testing.T) {
	cs, ps := readAll(t, `{"session":"a","role":"user","text":"1"}
{"session":"b","role":"user","text":"2"}
garbage
{"session":"c","role":"user","text":"3"}
{"session":"d","role":"user","text":"4"}
`, Options{Format: JSONL})
	expect(t, cs, `/a: user(@1)"1"`, `/d: user(@1)"4"`)
	if len(ps) != 2 {
		t.Error(ps)
	}
}

func TestNumericAndStringIdsNeverMergeAndNoDigitIsLost(t *testing.T) {
	ids := []string{`7`, `"7"`, `"#7"`, `"##7"`, `"@1"`, `-7`, `9007199254740993`, `9007199254740992`, `"9007199254740993"`, `18446744073709551617`}
	seen := map[string]string{position(0): "a position"}
	for _, raw := range ids {
		got, err := identity([]byte(raw))
		if err != nil {
			t.Fatal(raw, err)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s are both %q", raw, other, got)
		}
		seen[got] = raw
	}
	for _, raw := range []string{`1.0`, `1e3`, `-0`, `true`, `[1]`, `{}`, `""`} {
		if got, err := identity([]byte(raw)); err == nil {
			t.Errorf("%s is read as %q", raw, got)
		}
	}
	cs, _ := readAll(t, `{"session":9007199254740993,"role":"user","text":"a"}
{"session":9007199254740992,"role":"user","text":"b"}
{"session":"9007199254740993","role":"user","text":"c"}`, Options{})
	expect(t, cs, `/#9007199254740993: user(@1)"a"`, `/#9007199254740992: user(@1)"b"`, `/9007199254740993: user(@1)"c"`)
}

func TestTimesAreExactToTheMicrosecond(t *testing.T) {
	for raw, want := range map[string]string{
		`1768208400.123456`:              "2026-01-12T09:00:00.123456Z",
		`1768208400`:                     "2026-01-12T09:00:00Z",
		`"2026-01-12T10:00:00+01:00"`:    "2026-01-12T09:00:00Z",
		`"2026-01-12"`:                   "2026-01-12T00:00:00Z",
		`"2026-01-12T09:00:00.1234567Z"`: "2026-01-12T09:00:00.123456Z",
	} {
		got, err := moment([]byte(raw))
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %v %v", raw, got, err)
		}
	}
	for _, raw := range []string{`1e9`, `1768208400000`, `"soon"`, `true`, `{}`, `-99999999999999`} {
		if got, err := moment([]byte(raw)); err == nil {
			t.Errorf("%s is read as %v", raw, got)
		}
	}
}

func TestAMappingGivesRolesOnlyToThoseWithoutOne(t *testing.T) {
	p, err := ParseParticipants("Caroline=user, Bot=assistant")
	if err != nil {
		t.Fatal(err)
	}
	cs, ps := readAll(t, `{"session":"a","speaker":"Caroline","text":"hi"}
{"session":"a","role":"Bot","text":"hello"}
{"session":"a","role":"assistant","speaker":"Caroline","text":"not hers"}
{"session":"b","speaker":"Melanie","text":"who?"}`, Options{Participants: p})
	expect(t, cs, `/a: user(@1)"hi" assistant(@2)"hello" assistant(@3)"not hers"`)
	if len(ps) != 1 || ps[0].Session != "b" {
		t.Error(ps)
	}
	for _, s := range []string{"all", "=user", "all=wizard", "assistant=user", "a=user,a=tool", "developer=user"} {
		if _, err := ParseParticipants(s); tenet.KindOf(err) != tenet.Invalid {
			t.Errorf("%q: %v", s, err)
		}
	}
}

const locomoSample = `{"qa":[{"question":"q","answer":2022}],"conversation":{"speaker_a":"Caroline","speaker_b":"Melanie",
"session_10_date_time":"1:56 pm on 8 May, 2023","session_10":[{"speaker":"Melanie","dia_id":"D10:1","text":"last"}],
"session_2_date_time":"12:09 am on 13 September, 2023","session_2":[{"speaker":"Caroline","dia_id":"D2:1","text":"look","blip_caption":"a dog","img_url":["x"]}],
"session_3_date_time":"1:56 pm on 9 May, 2023","session_3":[],"session_4_date_time":"1:00 pm on 1 May, 2023"},"sample_id":"conv-26"}`

func TestLoCoMoSamplesBecomeUsersAndTheirSessionsConversations(t *testing.T) {
	for _, text := range []string{"[" + locomoSample + "]", locomoSample} {
		cs, ps := readAll(t, text, Options{Participants: all(t)})
		expect(t, cs, `conv-26/session_2: user(D2:1)"look [image: a dog]"`, `conv-26/session_10: user(D10:1)"last"`)
		if len(ps) != 0 {
			t.Error(ps)
		}
		if at := cs[0].Messages[0].SaidAt; !at.Equal(time.Date(2023, 9, 13, 0, 9, 0, 0, time.UTC)) {
			t.Error(at)
		}
	}
	_, ps := readAll(t, "["+locomoSample+"]", Options{})
	if len(ps) != 2 {
		t.Errorf("participants without a role: %v", ps)
	}
}

func TestABrokenElementDoesNotHideTheNext(t *testing.T) {
	for _, broken := range []string{`{"conversation":{"a":tru},"sample_id":"x"}`, `{"sample_id":"\ud800"}`, `7`, ``, `{"sample_id":1.5,"conversation":{}}`} {
		cs, ps := readAll(t, "["+locomoSample+","+broken+","+strings.Replace(locomoSample, "conv-26", "conv-27", 1)+"]", Options{Participants: all(t)})
		if len(cs) != 4 || len(ps) != 1 {
			t.Errorf("%q: %d conversations, problems %v", broken, len(cs), ps)
		}
	}
	_, ps := readAll(t, "["+locomoSample+`,{"conv`, Options{Participants: all(t)})
	if len(ps) != 1 || ps[0].Offset != int64(len(locomoSample)+2) {
		t.Errorf("truncated: %v", ps)
	}
	_, ps = readAll(t, "["+locomoSample+`] x`, Options{Participants: all(t)})
	if len(ps) != 1 {
		t.Errorf("trailing: %v", ps)
	}
}

func TestOpenAIChatsInTheirShapes(t *testing.T) {
	const messages = `[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"u"}}]},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"result"},{"role":"assistant","content":"done"}]`
	const want = ` system(@1)"be brief" user(@2)"hi\n[image_url]" assistant(@3)"" tool(@4)"result" assistant(@5)"done"`
	flat := strings.ReplaceAll(messages, "\n", "")
	for text, wants := range map[string][]string{
		messages:                                {"/file:" + want},
		`{"id":12,"messages":` + messages + `}`: {"/#12:" + want},
		`[{"messages":` + messages + `},{"id":"x","messages":` + messages + `}]`: {"/file/1:" + want, "/x:" + want},
		`{"messages":` + flat + "}\n" + `{"messages":` + flat + "}\n":            {"/file/1:" + want, "/file/2:" + want},
	} {
		cs, ps := readAll(t, text, Options{})
		expect(t, cs, wants...)
		if len(ps) != 0 {
			t.Error(ps)
		}
	}
	cs, _ := readAll(t, messages, Options{})
	if m := cs[0].Messages; !slices.Equal(m[2].ToolCalls, []string{"c1"}) || m[3].ToolCallID != "c1" {
		t.Errorf("tool ids: %+v", m)
	}
}

func TestAChatGPTTreeIsReadAlongItsCurrentBranch(t *testing.T) {
	const tree = `[{"title":"t","create_time":1768208400.5,"conversation_id":"c-1","current_node":"n4","mapping":{
"root":{"id":"root","message":null,"parent":null,"children":["n1"]},
"n1":{"id":"n1","parent":"root","message":{"id":"n1","author":{"role":"system"},"create_time":null,"content":{"content_type":"text","parts":[""]}}},
"n2":{"id":"n2","parent":"n1","message":{"id":"n2","author":{"role":"user"},"create_time":1768208401.25,"content":{"content_type":"text","parts":["hi"]}}},
"old":{"id":"old","parent":"n2","message":{"id":"old","author":{"role":"assistant"},"content":{"content_type":"text","parts":["first try"]}}},
"n3":{"id":"n3","parent":"n2","message":{"id":"n3","author":{"role":"assistant"},"recipient":"browser","content":{"content_type":"code","text":"search(1)"}}},
"nt":{"id":"nt","parent":"n3","message":{"id":"nt","author":{"role":"tool","name":"browser"},"content":{"content_type":"text","parts":["found"]}}},
"n4":{"id":"n4","parent":"nt","message":{"id":"n4","author":{"role":"assistant"},"create_time":1768208402,"recipient":"all","content":{"content_type":"multimodal_text","parts":["hello",{"content_type":"image_asset_pointer"}]}}}}}]`
	cs, ps := readAll(t, tree, Options{})
	expect(t, cs, `/c-1: user(n2)"hi" assistant(n3)"search(1)" tool(nt)"found" assistant(n4)"hello\n[image_asset_pointer]"`)
	if len(ps) != 0 || cs[0].LeftOut != 3 {
		t.Errorf("%v, %d left out", ps, cs[0].LeftOut)
	}
	if m := cs[0].Messages; m[2].ToolCallID != "n3" || !m[1].SaidAt.Equal(m[0].SaidAt) {
		t.Errorf("%+v", m)
	}
	for name, broken := range map[string]string{
		"cycle":     strings.Replace(tree, `"message":null,"parent":null`, `"message":null,"parent":"n4"`, 1),
		"no parent": strings.Replace(tree, `"parent":"root"`, `"parent":"gone"`, 1),
		"no node":   strings.Replace(tree, `"current_node":"n4"`, `"current_node":"gone"`, 1),
	} {
		if cs, ps := readAll(t, broken, Options{}); len(cs) != 0 || len(ps) != 1 {
			t.Errorf("%s: %d conversations, %v", name, len(cs), ps)
		}
	}
}

func TestTheFormatIsDetected(t *testing.T) {
	for text, want := range map[string]Format{
		`{"session":"a","role":"user","text":"x"}`:    JSONL,
		"\ufeff\n {\"role\":\"user\",\"text\":\"x\"}": JSONL,
		`[` + locomoSample + `]`:                      LoCoMo,
		`[{"role":"user","content":"x"}]`:             OpenAI,
		`[7,{"mapping":{}}]`:                          OpenAI,
		"{\n\"messages\": []}":                        OpenAI,
		"{\"bro\n{\"session\":\"a\",\"text\":\"x\"}":  JSONL,
		"":          "",
		"hello":     "",
		"[]":        "",
		`{"a":1}`:   "",
		`["a","b"]`: "",
	} {
		got, err := Detect(strings.NewReader(text))
		if got != want || (want == "") != (tenet.KindOf(err) == tenet.Invalid && err != nil) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestTheWholeOfLoCoMoIsRead(t *testing.T) {
	f, err := os.Open("../../shared/data/locomo/locomo10.json")
	if err != nil {
		t.Skip("the shared data is not here")
	}
	defer f.Close()
	users, turns := map[string]bool{}, 0
	for c, err := range Read(f, Options{Participants: all(t)}) {
		if err != nil {
			t.Fatal(err)
		}
		users[c.User] = true
		turns += len(c.Messages)
	}
	if len(users) != 10 || turns != 5882 {
		t.Errorf("%d users, %d turns", len(users), turns)
	}
}
