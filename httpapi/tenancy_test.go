package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"

	"github.com/tenet-memory/tenet/httpapi/spectest"
)

// op is one operation as the document has it.
type op struct {
	method, path string
	spec         obj
}

func (o op) name() string { return o.spec["operationId"].(string) }

// allows reports whether the document lists the kind.
func (o op) allows(kind string) bool {
	_, list, _ := strings.Cut(o.spec["description"].(string), "Kinds of key: ")
	for k := range strings.SplitSeq(strings.TrimSuffix(list, "."), ", ") {
		if k == kind {
			return true
		}
	}
	return false
}

func (w *world) document() (ops []op, schemas obj) {
	w.Helper()
	var doc obj
	ok(w.TB, json.Unmarshal(w.api.Document(), &doc))
	for path, item := range doc["paths"].(obj) {
		for method, spec := range item.(obj) {
			ops = append(ops, op{strings.ToUpper(method), path, spec.(obj)})
		}
	}
	return ops, doc["components"].(obj)["schemas"].(obj)
}

// attack is a request to an operation with a value in every field that takes
// text: path (but for the subject), query, headers and body.
func (c as) attack(o op, schemas obj, subject, value string) answer {
	c.Helper()
	path := o.path
	query := url.Values{}
	headers := []with{c.key()}
	params, _ := o.spec["parameters"].([]any)
	for _, raw := range params {
		p := raw.(obj)
		name, schema := p["name"].(string), p["schema"].(obj)
		v := value
		switch {
		case schema["type"] == "integer":
			v = "1"
		case schema["type"] == "boolean":
			v = "true"
		case schema["format"] == "date-time":
			v = time.Now().UTC().Format(time.RFC3339)
		case name == "user" || name == "project" && p["in"] == "path":
			v = subject
		}
		switch p["in"] {
		case "path":
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(v), 1)
		case "query":
			query.Set(name, v)
		case "header":
			if strings.HasPrefix(name, "If-") {
				headers = append(headers, with{name, `"` + v + `"`})
			}
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var body any
	if b, has := o.spec["requestBody"].(obj); has {
		body = spectest.Fill(b["content"].(obj)["application/json"].(obj)["schema"].(obj), schemas, value)
	}
	return c.do(o.method, path, body, headers...)
}

const zebra = "zebra crossing"

// seed fills acme's tenant with texts that hold the marker, and returns the
// ids under which they are kept.
func (w *world) seed() []string {
	w.Helper()
	app := w.as("app")
	base := "/v1/users/sarah"
	said := w.want(app.do("POST", base+"/sessions/chat-1/messages", say("user", "I like the "+zebra+"."), w.key()), 201)
	fact := w.want(app.do("POST", base+"/memories", obj{"tier": "fact", "key": "likes", "text": "I like the " + zebra + ".", "quote": "I like the " + zebra + "."}, w.key()), 201)
	w.want(app.do("PUT", base+"/documents/doc", obj{"text": zebra}), 200)
	w.want(app.do("PUT", base+"/threads/thread/versions/v1", obj{"data": []byte(zebra)}), 200)
	w.want(app.do("POST", base+"/sessions/chat-1/checkpoints", obj{"version": 1, "step": 1, "state": []byte(zebra)}, w.key()), 201)
	w.want(app.do("POST", base+"/sessions/chat-1/effects/pay/claim", obj{}), 200)
	w.want(app.do("POST", base+"/sessions/chat-1/effects/pay/complete", obj{"attempt": 1, "outcome": zebra}, w.key()), 200)
	w.want(app.do("PUT", base+"/documents/doc2", obj{"text": zebra}), 200)
	cursor := w.want(app.do("GET", base+"/documents?limit=1", nil), 200)
	keys := w.want(w.as("admin").do("GET", "/v1/keys", nil), 200)
	return []string{
		"sarah", "user:sarah", "acme", "chat-1", "likes", "doc", "thread", "pay", "v1",
		said.at("messages.0.id").(string), fact.at("verdict.record").(string), cursor.at("next").(string), keys.at("items.0.id").(string),
	}
}

// state is all of a tenant that its keys can read.
func (w *world) state(tenant string) string {
	w.Helper()
	var out strings.Builder
	read := func(kind string, paths ...string) {
		for _, p := range paths {
			fmt.Fprintln(&out, p, w.as(tenant+"/"+kind).do("GET", p, nil).String())
		}
	}
	base := "/v1/users/sarah"
	read("operator", base+"/facts", base+"/documents", base+"/sessions/chat-1", base+"/sessions/chat-1/messages", base+"/sessions/chat-1/run",
		base+"/sessions/chat-1/effects", base+"/threads/thread/versions", base+"/quarantine", base+"/audit?limit=500", "/v1/tenant/audit?limit=500", base+"/verify")
	read("admin", "/v1/keys")
	return out.String()
}

// Every operation, every kind of key of another tenant, the first tenant's ids
// in every field: nothing of it is read or changed.
func TestNoFieldReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.seed()
	before := w.state("acme")
	if !strings.Contains(before, zebra) {
		t.Fatal("nothing to find")
	}
	ops, schemas := w.document()
	encoded := base64.StdEncoding.EncodeToString([]byte(zebra))[:16]
	if testing.Short() {
		ids = ids[len(ids)-3:]
	}
	asked, reached := 0, map[int]int{}
	for _, o := range ops {
		if o.name() == "revokeKey" || o.name() == "rotateKey" {
			continue // below: their own ids would end this test's keys
		}
		for _, kind := range kinds {
			for _, id := range ids {
				a := w.as("globex/"+kind.String()).attack(o, schemas, "sarah", id)
				asked++
				reached[a.status]++
				if strings.Contains(string(a.body), zebra) || strings.Contains(string(a.body), encoded) {
					t.Errorf("%s as %s with %q: another tenant's text in %v", o.name(), kind, id, a)
				}
				if a.status >= 500 {
					t.Errorf("%s as %s with %q: %v", o.name(), kind, id, a)
				}
			}
		}
	}
	for _, id := range ids {
		w.want(w.as("globex/admin").do("DELETE", "/v1/keys/"+url.PathEscape(id), nil), 404)
		w.want(w.as("globex/admin").do("POST", "/v1/keys/"+url.PathEscape(id)+"/rotate", nil), 404)
	}
	if after := w.state("acme"); after != before {
		t.Errorf("acme changed:\n%s\n--- was\n%s", after, before)
	}
	t.Logf("%d requests by status: %v", asked, reached)
}

// Every operation with every kind of key that its document does not list, and
// every scoped one for a subject that the key was not made for: 403, and on
// record in the caller's own tenant.
func TestWrongKindsAndSubjectsAreDeniedAndAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops, schemas := w.document()
	denied := 0
	for _, o := range ops {
		for _, kind := range kinds {
			if !o.allows(kind.String()) {
				denied++
				w.want(w.as(kind.String()).attack(o, schemas, "sarah", "x"), 403)
			}
		}
		if strings.HasPrefix(o.path, "/v1/users") || strings.HasPrefix(o.path, "/v1/projects") || strings.HasPrefix(o.path, "/v1/tenant") {
			denied++
			w.want(w.as("user").attack(o, schemas, "bob", "x"), 403)
		}
	}
	// What the path allows, a body or query must not widen.
	user := w.as("user")
	for _, a := range []answer{
		user.do("PUT", "/v1/users/sarah/sessions/s", obj{"reads": []string{"user:bob"}}),
		user.do("PUT", "/v1/users/sarah/sessions/s", obj{"reads": []string{"tenant"}}),
		user.do("GET", "/v1/users/sarah/facts?project=atlas", nil),
		user.do("GET", "/v1/users/sarah/facts?tenant=true", nil),
		user.do("POST", "/v1/users/sarah/recall?tenant=true", obj{"query": "x"}),
	} {
		denied++
		w.want(a, 403)
	}
	time.Sleep(1100 * time.Millisecond) // what the limiter held back is counted in the next entry
	denied++
	w.want(w.as("agent").do("GET", "/v1/keys", nil), 403)

	recorded := 0
	for cursor := ""; ; {
		p := w.want(w.as("operator").do("GET", "/v1/tenant/audit?limit=500&cursor="+cursor, nil), 200)
		for i := range p.at("items").([]any) {
			if p.at(fmt.Sprintf("items.%d.action", i)) != "deny" {
				continue
			}
			more := 0
			if why, _ := p.at(fmt.Sprintf("items.%d.why", i)).(string); why != "" {
				fmt.Sscanf(why, "and %d more", &more)
			}
			recorded += 1 + more
		}
		if cursor, _ = p.at("next").(string); cursor == "" {
			break
		}
	}
	if recorded != denied {
		t.Errorf("%d attempts were denied, %d are on record", denied, recorded)
	}
	if v := w.want(w.as("operator").do("GET", "/v1/tenant/verify", nil), 200); v.at("ok") != true {
		t.Errorf("the chain: %v", v)
	}
	if a := w.want(w.as("globex/operator").do("GET", "/v1/tenant/audit", nil), 200); len(a.at("items").([]any)) != len(kinds) || strings.Contains(string(a.body), `"deny"`) {
		t.Errorf("another tenant's chain holds more than its keys: %v", a)
	}
	t.Logf("%d attempts denied and on record", denied)
}

// The document is the surface: every operation wants a key.
func TestEveryOperationWantsAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops, schemas := w.document()
	if len(ops) < 100 {
		t.Fatalf("only %d operations", len(ops))
	}
	for _, o := range ops {
		for _, secret := range []string{"", "tenet_app_unknown", "x"} {
			if a := (as{w, secret}).attack(o, schemas, "sarah", "x"); a.status != 401 || a.header.Get("Www-Authenticate") == "" {
				t.Errorf("%s with key %q: %v", o.name(), secret, a)
			}
		}
	}
}

// A handle's kind is the server's business: what an agent's key appends is
// agent_inferred whatever role it names.
func TestAnAgentCannotSpeakForTheUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.want(w.as("agent").do("POST", "/v1/users/sarah/sessions/s/messages", say("user", allergy), w.key()), 201)
	if a.at("messages.0.label") != tenet.LabelAgentInferred.String() {
		t.Errorf("label %v", a.at("messages.0.label"))
	}
}
