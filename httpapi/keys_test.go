package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each change of a key is an entry on the chain of its tenant: who, which key,
// what. The secret, its hash and the subjects are not in it.
func TestChangesOfKeysAreOnTheTenantsChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, chain := w.as("admin"), "/v1/tenant/audit?limit=500"
	before := len(w.want(w.as("operator").do("GET", chain, nil), 200).at("items").([]any))
	if before != len(kinds) {
		t.Errorf("%d entries for %d keys that the host made", before, len(kinds))
	}
	made := w.want(admin.do("POST", "/v1/keys", obj{"kind": "user", "name": "till", "subjects": []string{"user:" + zebra}}), 201)
	id, secret := made.at("key.id").(string), made.at("secret").(string)
	path := "/v1/keys/" + id
	second := w.want(admin.do("POST", path+"/rotate", nil), 200).at("secret").(string)
	w.want(admin.do("POST", path+"/expiry", obj{"seconds": 3600}), 200)
	w.want(admin.do("POST", path+"/expiry", obj{"seconds": 0}), 200)
	for _, kind := range kinds[:5] { // a refused attempt changes nothing and is no entry of this kind
		w.want(w.as(kind.String()).do("POST", path+"/expiry", obj{"seconds": 1}), 403)
	}
	w.want(w.as("globex/admin").do("POST", path+"/expiry", obj{"seconds": 1}), 404)
	for _, bad := range []any{obj{"seconds": -1}, obj{}, obj{"seconds": "1h"}, obj{"seconds": 1e12}} {
		w.want(admin.do("POST", path+"/expiry", bad), 400)
	}
	w.want(w.as("admin").do("DELETE", path, nil), 200)
	w.want(w.as("admin").do("DELETE", path, nil), 200) // again: nothing changes
	w.want(admin.do("POST", path+"/rotate", nil), 409)
	w.want(admin.do("POST", path+"/expiry", obj{"seconds": 1}), 409)

	p := w.want(w.as("operator").do("GET", chain, nil), 200)
	var got []string
	for i := range p.at("items").([]any) {
		at := func(name string) string { return fmt.Sprint(p.at(fmt.Sprintf("items.%d.%s", i, name))) }
		if i < before || at("action") != "access" {
			continue
		}
		if at("ref") != id || at("actor") != "admin:test-admin" {
			t.Errorf("entry %d: %v", i, p.at(fmt.Sprintf("items.%d", i)))
		}
		got = append(got, strings.Fields(at("why") + " .")[0])
	}
	if want := "create rotate expiry expiry revoke"; strings.Join(got, " ") != want {
		t.Errorf("the chain says %v, want %s", got, want)
	}
	for _, s := range []string{secret, second, zebra} {
		if strings.Contains(string(p.body), s) {
			t.Errorf("the chain holds %q", s)
		}
	}
	if v := w.want(w.as("operator").do("GET", "/v1/tenant/verify", nil), 200); v.at("ok") != true {
		t.Errorf("the chain: %v", v)
	}
}

// An expired key lets nobody in, and one that gets more time does again.
func TestAKeysExpiryTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.want(w.as("admin").do("POST", "/v1/keys", obj{"kind": "app", "name": "till", "seconds": 0.001}), 201)
	key := as{w, made.at("secret").(string)}
	time.Sleep(2 * time.Millisecond) // an answer can be faster than its time
	w.want(key.do("GET", "/v1/me", nil), 401)
	path := "/v1/keys/" + made.at("key.id").(string) + "/expiry"
	w.want(w.as("admin").do("POST", path, obj{"seconds": 3600}), 200)
	w.want(key.do("GET", "/v1/me", nil), 200)
	w.want(w.as("admin").do("POST", path, obj{"seconds": 0.000001}), 200)
	w.want(key.do("GET", "/v1/me", nil), 401)
}
