package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/httpapi"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
)

func TestAnExportComesBackOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed()
	op := w.as("operator")
	out := w.want(op.do("GET", "/v1/users/sarah/export", nil), 200)
	if ct := out.header.Get("Content-Type"); ct != "application/jsonl" {
		t.Errorf("an export is %q", ct)
	}
	lines := bytes.Split(bytes.TrimSuffix(out.body, []byte("\n")), []byte("\n"))
	for i, l := range lines {
		var v obj
		if json.Unmarshal(l, &v) != nil || v["sig"] == nil {
			t.Errorf("line %d is no signed JSON", i+1)
		}
	}
	if !bytes.Contains(out.body, []byte(zebra)) || !bytes.Contains(lines[len(lines)-1], []byte(`"line":"end"`)) {
		t.Error("the export is not whole")
	}
	if user := w.want(w.as("user").do("GET", "/v1/users/sarah/export", nil), 200); !bytes.Equal(user.body, out.body) {
		t.Error("the person is given something else than the operator")
	}
	report := w.want(w.as("user").do("GET", "/v1/users/sarah/report", nil), 200)
	if !strings.HasPrefix(report.header.Get("Content-Type"), "text/markdown") || !bytes.Contains(report.body, []byte(zebra)) {
		t.Errorf("the report: %s", report.header.Get("Content-Type"))
	}
	for _, kind := range []string{"agent", "app", "connector", "admin"} {
		for _, what := range []string{"/export", "/report"} {
			w.want(w.as(kind).do("GET", "/v1/users/sarah"+what, nil), 403)
		}
	}
	for path, status := range map[string]int{
		"/v1/users/bob/export": 403, "/v1/users/bob/report": 403, "/v1/tenant/export?all=true": 403, "/v1/users/sarah/export?all=true": 403,
	} {
		w.want(w.as("user").do("GET", path, nil), status)
	}
	w.want(op.do("GET", "/v1/users/nobody/export", nil), 404)
	w.want(op.do("GET", "/v1/users/nobody/report", nil), 404)
	if all := w.want(op.do("GET", "/v1/tenant/export?all=true", nil), 200); bytes.Count(all.body, []byte(`{"line":"header"`)) < 2 {
		t.Error("the tenant's export holds one subject")
	}

	// Back, where it is: nothing to do. In another tenant it is nobody's word but the importer's.
	back := w.want(op.do("POST", "/v1/users/sarah/import", obj{"form": "export", "file": string(out.body)}), 200)
	if back.at("export.own") != true || back.at("export.restored") != 0.0 || back.at("export.there") == 0.0 {
		t.Errorf("%v", back)
	}
	other := w.want(w.as("globex/operator").do("POST", "/v1/users/sarah/import", obj{"form": "export", "file": string(out.body)}), 200)
	if other.at("export.own") != false || other.at("export.restored") != 0.0 || other.at("export.kept") == 0.0 {
		t.Errorf("%v", other)
	}
	facts := w.want(w.as("globex/operator").do("GET", "/v1/users/sarah/facts", nil), 200)
	if !strings.Contains(string(facts.body), "user_stated") || strings.Contains(string(facts.body), `"acme"`) {
		t.Errorf("in the other tenant: %v", facts)
	}
	w.want(w.as("agent").do("POST", "/v1/users/sarah/import", obj{"form": "export", "file": string(out.body)}), 403)
	w.want(op.do("POST", "/v1/users/bob/import", obj{"form": "export", "file": string(out.body)}), 403)

	lines[2][20] ^= 1
	bad := op.do("POST", "/v1/users/sarah/import", obj{"form": "export", "file": string(bytes.Join(lines, []byte("\n"))) + "\n"})
	if w.want(bad, 400); !strings.Contains(bad.at("detail").(string), "line 3 ") || bytes.Contains(bad.body, []byte(zebra)) {
		t.Errorf("an altered file: %v", bad)
	}
	for name, file := range map[string]string{"empty": "", "noise": "zebra crossing\n", "half": string(out.body[:len(out.body)/2])} {
		if a := op.do("POST", "/v1/users/sarah/import", obj{"form": "export", "file": file}); a.status != 400 || strings.Contains(string(a.body), zebra) {
			t.Errorf("%s: %v", name, a)
		}
	}
	w.want(op.do("POST", "/v1/users/sarah/import", obj{"form": "tarball", "file": ""}), 400)
	// More than other calls take.
	var items []string
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"namespace": ["a"], "key": "%d", "value": {"x": %q}}`, i, strings.Repeat("y", 60_000)))
	}
	big := w.want(w.as("app").do("POST", "/v1/users/sarah/import", obj{"form": "langgraph", "file": strings.Join(items, "\n")}), 200)
	if big.at("dump.items") != 40.0 || big.at("dump.kept") != 40.0 {
		t.Errorf("%v", big)
	}
}

// breaking is a database that goes away.
type breaking struct {
	*sqlite.DB
	atOnce, later bool
}

func (b *breaking) Past(ctx context.Context, scope tenet.Scope, after uint64, limit int) ([]gate.Plan, uint64, error) {
	if b.atOnce {
		return nil, after, tenet.Errorf(tenet.Unavailable, "past", "the database is away")
	}
	return b.DB.Past(ctx, scope, after, limit)
}

func (b *breaking) Whole(ctx context.Context, scope tenet.Scope, id tenet.SessionID) (store.WholeSession, error) {
	if b.later {
		return store.WholeSession{}, tenet.Errorf(tenet.Unavailable, "whole", "the database is away")
	}
	return b.DB.Whole(ctx, scope, id)
}

func TestAnExportThatBreaksOffIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tenet.db"), sqlite.Options{})
	ok(t, err)
	t.Cleanup(func() { db.Close() })
	g := newGate(t)
	b := &breaking{DB: db}
	mem, err := memory.Open(t.Context(), memory.Config{Ledger: b, Sessions: b, Gate: g})
	ok(t, err)
	keys, err := memory.NewKeyring(db, g, db.Secret("api keys"), nil)
	ok(t, err)
	api, err := httpapi.New(httpapi.Config{Memory: mem, Keys: keys, Authenticate: keys.Principal})
	ok(t, err)
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	_, secret, err := keys.Issue(t.Context(), "acme", memory.NewKey{Kind: tenet.Operator, Name: "olga"})
	ok(t, err)
	sarah, err := tenet.NewScope("acme", tenet.User("sarah"))
	ok(t, err)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "shop")
	ok(t, err)
	for i := range 40 {
		text := fmt.Sprintf("note %d %s", i, strings.Repeat("x ", 2000))
		_, err := mem.Remember(t.Context(), app, tenet.Note(sarah, text).Quoting(text))
		ok(t, err)
	}
	_, err = mem.Append(t.Context(), app, sarah, "chat", tenet.UserMessage("hello"))
	ok(t, err)
	get := func() (int, []byte, error) {
		req, err := http.NewRequest("GET", srv.URL+"/v1/users/sarah/export", nil)
		ok(t, err)
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := http.DefaultClient.Do(req)
		ok(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.StatusCode, body, err
	}
	if status, body, err := get(); status != 200 || err != nil || !bytes.Contains(body, []byte(`"line":"end"`)) {
		t.Errorf("a whole one: %d, %d bytes, %v", status, len(body), err)
	}
	b.atOnce = true
	if status, body, err := get(); status != 503 || err != nil || bytes.Contains(body, []byte("note 1 ")) {
		t.Errorf("away at once: %d %.200s %v", status, body, err)
	}
	b.atOnce, b.later = false, true
	if _, body, err := get(); err == nil || bytes.Contains(body, []byte(`"line":"end"`)) {
		t.Errorf("away in the middle: %d bytes, %v", len(body), err)
	}
}
