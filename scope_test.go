package tenet_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tenet-memory/tenet"
)

// hostile draws ids out of what a careless key would mix up.
var hostile = rapid.OneOf(
	rapid.StringOfN(rapid.SampledFrom([]rune(`ab1:/|%_.-{}"\' user`)), 0, 8, -1),
	rapid.SampledFrom([]string{"", "a", "1:a", "a/user/1:b", "user", "tenant", "project", "\u00e9", "e\u0301", "\x00", "\n", "\xff", strings.Repeat("x", 256), strings.Repeat("x", 257)}),
	rapid.String(),
)

func scopeOf(tenant, kind, id string) (tenet.Scope, error) {
	s := tenet.User(id)
	switch kind {
	case "project":
		s = tenet.Project(id)
	case "tenant":
		s = tenet.WholeTenant()
	}
	return tenet.NewScope(tenant, s)
}

func TestScopeKeyIsInjective(t *testing.T) {
	t.Parallel()
	kind := rapid.SampledFrom([]string{"user", "project", "tenant"})
	rapid.Check(t, func(t *rapid.T) {
		a, errA := scopeOf(hostile.Draw(t, "tenant"), kind.Draw(t, "kind"), hostile.Draw(t, "id"))
		b, errB := scopeOf(hostile.Draw(t, "tenant"), kind.Draw(t, "kind"), hostile.Draw(t, "id"))
		if errA == nil && errB == nil && (a == b) != (a.Key() == b.Key()) {
			t.Fatalf("%q and %q: keys %q and %q", a, b, a.Key(), b.Key())
		}
	})
}

// unkey reads a key back, which an injective form allows.
func unkey(key string) (tenant, kind, id string, ok bool) {
	take := func(s string) (string, string, bool) {
		num, rest, ok := strings.Cut(s, ":")
		n := 0
		for _, c := range []byte(num) {
			if c < '0' || c > '9' {
				return "", "", false
			}
			n = n*10 + int(c-'0')
		}
		if !ok || num == "" || n > len(rest) {
			return "", "", false
		}
		return rest[:n], rest[n:], true
	}
	tenant, rest, ok := take(key)
	if !ok || !strings.HasPrefix(rest, "/") {
		return "", "", "", false
	}
	kind, rest, _ = strings.Cut(rest[1:], "/")
	id, rest, ok = take(rest)
	return tenant, kind, id, ok && rest == ""
}

func FuzzScopeKey(f *testing.F) {
	for _, s := range [][3]string{{"acme", "user", "sarah"}, {"a/user/1:b", "tenant", ""}, {"1:a", "project", "1:b"}, {"\xff", "user", "\xed\xa0\x80"}, {"e\u0301", "user", "\u00e9"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, tenant, kind, id string) {
		s, err := scopeOf(tenant, kind, id)
		if err != nil {
			if tenet.KindOf(err) != tenet.Invalid || !s.IsZero() {
				t.Fatalf("%v, %v", s, err)
			}
			return
		}
		gotTenant, gotKind, gotID, ok := unkey(s.Key())
		if !ok || gotTenant != tenant || gotKind != s.Subject().Kind().String() || gotID != s.Subject().ID() {
			t.Fatalf("the key %q of %q does not read back", s.Key(), s)
		}
		if !utf8.ValidString(s.Key()) {
			t.Fatal("a key that is not UTF-8")
		}
		sub, err := tenet.ParseSubject(s.Subject().String())
		if err != nil || sub != s.Subject() {
			t.Fatalf("subject %q reads back as %q: %v", s.Subject(), sub, err)
		}
	})
}

func TestUnusableScopesAreInvalid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tenant string
		s      tenet.Subject
	}{
		{"", tenet.User("a")}, {"a", tenet.User("")}, {"a", tenet.Subject{}}, {"a\x00", tenet.User("a")}, {"a", tenet.User("a\nb")}, {"a", tenet.User("\u0085")},
		{"\xff", tenet.User("a")}, {"a", tenet.User("\xed\xa0\x80")}, {strings.Repeat("x", 257), tenet.User("a")}, {"a", tenet.Project(strings.Repeat("x", 257))},
	} {
		if s, err := tenet.NewScope(c.tenant, c.s); tenet.KindOf(err) != tenet.Invalid || !s.IsZero() {
			t.Errorf("%q %q: %v, %v", c.tenant, c.s, s, err)
		}
	}
	for _, s := range []string{"", "user", "user:", "User:a", "tenant:", "tenant:a", "tenant ", "group:a", ":a", "user:a\nb"} {
		if got, err := tenet.ParseSubject(s); tenet.KindOf(err) != tenet.Invalid || got != (tenet.Subject{}) {
			t.Errorf("subject %q: %v, %v", s, got, err)
		}
	}
	if b, err := json.Marshal(tenet.Record{Scope: tenet.Scope{}}); err == nil && strings.Contains(string(b), "user:") {
		t.Errorf("the zero scope encodes as %s", b)
	}
}

func TestPrincipalsNeverWiden(t *testing.T) {
	t.Parallel()
	p, err := tenet.NewPrincipal(tenet.App, "acme", "bot")
	if err != nil {
		t.Fatal(err)
	}
	scope := func(tenant string, s tenet.Subject) tenet.Scope {
		out, err := tenet.NewScope(tenant, s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := tenet.User("a"), tenet.User("b")
	narrow := p.For(a).For(a, b)
	admin, _ := tenet.NewPrincipal(tenet.Admin, "acme", "root")
	for _, c := range []struct {
		name string
		p    tenet.Principal
		s    tenet.Scope
		may  bool
	}{
		{"its tenant", p, scope("acme", a), true}, {"another tenant", p, scope("Acme", a), false}, {"a subject it has", narrow, scope("acme", a), true},
		{"one it asked for later", narrow, scope("acme", b), false}, {"a project of that id", narrow, scope("acme", tenet.Project("a")), false},
		{"the tenant itself", narrow, scope("acme", tenet.WholeTenant()), false}, {"nothing at all", p.For(), scope("acme", a), false},
		{"nothing, then something", p.For().For(a), scope("acme", a), false}, {"an admin", admin, scope("acme", a), false},
		{"the zero principal", tenet.Principal{}, scope("acme", a), false}, {"the zero scope", p, tenet.Scope{}, false},
	} {
		if got := c.p.MayReach(c.s); got != c.may {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if p.Owning("k").Owns("k") {
		t.Error("an app owns a key; only connectors do")
	}
}
