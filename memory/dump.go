package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/tenet-memory/tenet"
)

// DumpForm is a form of dump that other memories give out.
type DumpForm string

const (
	// DumpMem0 is what mem0's get_all returns: {"results": [...]}, or the list.
	DumpMem0 DumpForm = "mem0"
	// DumpLangGraph is the items of a LangGraph store: a list, {"items": [...]},
	// or one a line.
	DumpLangGraph DumpForm = "langgraph"
)

// Dumped is what became of a dump.
type Dumped struct {
	Items   int            `json:"items"`
	Kept    int            `json:"kept"`
	Refused map[string]int `json:"refused"` // what was held or refused, by its codes
	// Turned are the items that were not kept, by their ids, never their texts.
	Turned []Turned `json:"turned"`
}

// Turned is one item that was held, refused, or could not be read.
type Turned struct {
	Item  string `json:"item"`
	Codes string `json:"codes"`
}

// Codes of items that never came before the gate.
const (
	codeOtherSubject = "OTHER_SUBJECT" // it is about somebody else than the importer may write for
	codeNoSubject    = "NO_SUBJECT"    // it does not say whom it is about, and nor does the command
	codeUnreadable   = "UNREADABLE"    // it does not have the form of the dump
)

// dumpItem is one item on its way in.
type dumpItem struct {
	name  string
	user  string // whom it is about; empty: the command's subject
	offer Offer
	code  string // why it can't be offered
}

// sniffed is how much of a file is looked at to tell what it is.
const sniffed = 1 << 20

// DumpOf tells by its beginning which form of dump a file has; empty: none that
// is known.
func DumpOf(r io.Reader) DumpForm {
	d := json.NewDecoder(io.LimitReader(r, sniffed))
	tok, err := d.Token()
	if err != nil {
		return ""
	}
	fields := map[string]bool{}
	var first map[string]json.RawMessage
	switch tok {
	case json.Delim('['):
		if !d.More() || d.Decode(&first) != nil {
			return ""
		}
	case json.Delim('{'):
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return ""
			}
			field, _ := name.(string)
			fields[field] = true
			if field != "results" && field != "items" {
				var skipped json.RawMessage
				if d.Decode(&skipped) != nil {
					return ""
				}
				continue
			}
			if open, err := d.Token(); err != nil || open != json.Delim('[') || !d.More() || d.Decode(&first) != nil {
				return ""
			}
			break
		}
	}
	for name := range first {
		fields[name] = true
	}
	switch {
	case fields["namespace"] && fields["key"] && fields["value"]:
		return DumpLangGraph
	case fields["id"] && fields["memory"]:
		return DumpMem0
	}
	return ""
}

// ImportDump brings another memory's dump before the gate. Nobody's word stands
// behind it but a model's: memories of mem0 become notes, items of LangGraph
// documents, all of label agent_inferred, and none becomes a fact. An item goes
// to the user that it names, or else to scope, which may be zero. The same item
// again changes nothing.
//
// Errors: Invalid when the dump as a whole cannot be read; Denied, Unavailable.
func (m *Memory) ImportDump(ctx context.Context, by tenet.Principal, scope tenet.Scope, form DumpForm, data []byte) (Dumped, error) {
	out := Dumped{Refused: map[string]int{}, Turned: []Turned{}}
	if err := m.durable("import"); err != nil {
		return out, err
	}
	items, err := readDump(form, data)
	if err != nil {
		return out, err
	}
	turn := func(item, codes string) {
		out.Refused[codes]++
		out.Turned = append(out.Turned, Turned{item, codes})
	}
	type group struct {
		names  []string
		offers []Offer
	}
	groups := map[tenet.Scope]*group{}
	var order []tenet.Scope
	for _, it := range items {
		out.Items++
		to := scope
		if it.code == "" && it.user != "" {
			if to, err = tenet.NewScope(by.Tenant(), tenet.User(it.user)); err != nil {
				it.code = codeUnreadable
			}
		}
		switch {
		case it.code != "":
		case to.IsZero():
			it.code = codeNoSubject
		case !by.MayReach(to) || !scope.IsZero() && scope.Subject().Kind() == tenet.SubjectUser && to != scope:
			it.code = codeOtherSubject
		}
		if it.code == "" {
			c := it.offer.Candidate
			if c.Scope = to; c.Check() != nil {
				it.code = codeUnreadable
			}
		}
		if it.code != "" {
			turn(it.name, it.code)
			continue
		}
		if groups[to] == nil {
			groups[to] = &group{}
			order = append(order, to)
		}
		groups[to].names = append(groups[to].names, it.name)
		groups[to].offers = append(groups[to].offers, it.offer)
	}
	for _, to := range order {
		g := groups[to]
		vs, err := m.Offers(ctx, by, to, g.offers)
		for n, v := range vs {
			if v.Outcome.Kept() {
				out.Kept++
			} else {
				turn(g.names[n], codesOf(v))
			}
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// codesOf is a verdict's codes in one text.
func codesOf(v tenet.Verdict) string {
	if len(v.Codes) == 0 {
		return v.Outcome.String()
	}
	var words []string
	for _, c := range v.Codes {
		words = append(words, string(c))
	}
	return strings.Join(words, ", ")
}

func readDump(form DumpForm, data []byte) ([]dumpItem, error) {
	list, err := dumpList(data)
	if err != nil {
		return nil, err
	}
	var out []dumpItem
	for _, raw := range list {
		switch form {
		case DumpMem0:
			out = append(out, mem0Item(raw))
		case DumpLangGraph:
			out = append(out, langGraphItem(raw))
		default:
			return nil, tenet.Errorf(tenet.Invalid, "import", "the dump has a form that is not known")
		}
	}
	return out, nil
}

// dumpList finds the items: a list, a list in an object, or one a line.
func dumpList(data []byte) ([]json.RawMessage, error) {
	bad := func(why string) error { return tenet.Errorf(tenet.Invalid, "import", "the dump %s", why) }
	data = bytes.TrimSpace(data)
	var list []json.RawMessage
	if bytes.HasPrefix(data, []byte("[")) {
		if err := tenet.CheckJSON(data); err != nil || json.Unmarshal(data, &list) != nil {
			return nil, bad("is not whole JSON")
		}
		return list, nil
	}
	var object map[string]json.RawMessage
	if tenet.CheckJSON(data) == nil && json.Unmarshal(data, &object) == nil {
		for _, name := range []string{"results", "items"} {
			if json.Unmarshal(object[name], &list) == nil && list != nil {
				return list, nil
			}
		}
		return []json.RawMessage{data}, nil
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := tenet.CheckJSON(line); err != nil {
			return nil, tenet.Errorf(tenet.Invalid, "import", "line %d of the dump is not JSON, or is cut off", n+1)
		}
		list = append(list, line)
	}
	return list, nil
}

func mem0Item(raw []byte) dumpItem {
	var i struct {
		ID        string `json:"id"`
		Memory    string `json:"memory"`
		UserID    string `json:"user_id"`
		AgentID   string `json:"agent_id"`
		ActorID   string `json:"actor_id"`
		CreatedAt string `json:"created_at"`
		UpdatedAt string `json:"updated_at"`
	}
	if json.Unmarshal(raw, &i) != nil || i.ID == "" || len(i.ID) > tenet.MaxID || i.Memory == "" {
		return dumpItem{name: i.ID, code: codeUnreadable}
	}
	said, ok := dumpTime(i.UpdatedAt)
	if said.IsZero() && ok {
		said, ok = dumpTime(i.CreatedAt)
	}
	if !ok {
		return dumpItem{name: i.ID, code: codeUnreadable}
	}
	if i.ActorID == "" {
		i.ActorID = i.AgentID
	}
	c := tenet.Note(tenet.Scope{}, i.Memory)
	c.ID, c.Route, c.Speaker = OfferID("mem0", i.ID, i.Memory), "import: mem0", i.ActorID
	return dumpItem{name: i.ID, user: i.UserID, offer: offerOf(c, "mem0:"+i.ID, said)}
}

// langGraphItem is an item as the client's store keeps it, so that the store
// finds it again.
func langGraphItem(raw []byte) dumpItem {
	var i struct {
		Namespace []string        `json:"namespace"`
		Key       string          `json:"key"`
		Value     json.RawMessage `json:"value"`
		CreatedAt string          `json:"created_at"`
		UpdatedAt string          `json:"updated_at"`
	}
	if json.Unmarshal(raw, &i) != nil || len(i.Namespace) == 0 || len(i.Value) == 0 || i.Value[0] != '{' {
		return dumpItem{name: i.Key, code: codeUnreadable}
	}
	path := "store"
	for _, label := range append(i.Namespace, i.Key) {
		path += "/" + pathPart(label)
	}
	said, ok := dumpTime(i.UpdatedAt)
	created, also := dumpTime(i.CreatedAt)
	if !ok || !also || len(path) > MaxPath {
		return dumpItem{name: path, code: codeUnreadable}
	}
	kept := struct {
		Value   json.RawMessage `json:"v"`
		Created string          `json:"c,omitempty"`
	}{Value: i.Value}
	if !created.IsZero() {
		kept.Created = created.Format("2006-01-02T15:04:05.999999-07:00")
	}
	text, err := encodeLine(kept)
	if err != nil {
		return dumpItem{name: path, code: codeUnreadable}
	}
	c := tenet.Candidate{ID: OfferID("langgraph", path, string(text)), Tier: tenet.TierDocument, Key: path, Text: string(text), Route: "import: langgraph"}
	return dumpItem{name: path, offer: offerOf(c, "langgraph:"+string(OfferID(path)), said)}
}

// pathPart is a label as a part of a path: reversible, and never empty, "." or
// "..". The clients' stores write the same.
func pathPart(label string) string {
	switch label {
	case "":
		return "%"
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return strings.ReplaceAll(url.QueryEscape(label), "+", "%20")
}

// offerOf offers a candidate on its own words, as a model's.
func offerOf(c tenet.Candidate, id string, said time.Time) Offer {
	m := tenet.Message{ID: tenet.MessageID(id), Role: tenet.RoleAssistant, Label: tenet.LabelAgentInferred, Text: c.Text, SaidAt: said}
	if len(m.Text) > tenet.MaxMessage { // the gate says that it is too long
		m.Text = m.Text[:tenet.MaxMessage]
	}
	c.Cites = []tenet.MessageID{m.ID}
	return Offer{Candidate: c, Evidence: []tenet.Message{m}}
}

// dumpTime reads the times that dumps have, with and without a zone. None is the
// zero time; ok is false for what is no time, or one that no calendar has.
func dumpTime(s string) (t time.Time, ok bool) {
	if s == "" || s == "null" {
		return t, true
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999-07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(form, s); err == nil && t.Year() > 0 && t.Year() < 9999 {
			return tenet.Micros(t), true
		}
	}
	return t, false
}
