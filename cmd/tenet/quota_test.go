package main

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
)

// TestAQuotaIsSetSeenAndKept: from the settings to the answer, the metrics, stats,
// doctor and fsck.
func TestAQuotaIsSetSeenAndKept(t *testing.T) {
	env := map[string]string{"TENET_QUOTA_RECORDS": "100,default=10", "TENET_QUOTA_BYTES": "1MiB"}
	at, url := servingAs(t, func(k string) string { return env[k] })
	app := at("app")
	note := func(n int) []string {
		text := fmt.Sprint("The lantern of room ", n, " is blue.")
		return []string{"remember", "--user", "sarah", "--tier", "note", text, "--quote", text}
	}
	for n := range 10 {
		app.ok(note(n)...)
	}
	if r := app.fails(tenet.Unavailable, note(10)...); !strings.Contains(r.out+r.err, "quota of records") {
		t.Errorf("the eleventh says %q %q", r.out, r.err)
	}
	q, _ := http.NewRequest("POST", url+"/v1/users/sarah/memories", strings.NewReader(`{"tier":"note","text":"The stairs are red.","quote":"The stairs are red."}`))
	q.Header.Set("Authorization", "Bearer "+app.env["TENET_API_KEY"])
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Idempotency-Key", "one")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "" || !strings.Contains(string(body), `"QUOTA_RECORDS"`) || strings.Contains(string(body), "stairs") {
		t.Errorf("over HTTP: %d %s", resp.StatusCode, body)
	}
	metrics := func() string {
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	text := metrics()
	for _, want := range []string{`tenet_quota_refusals_total{limit="records"} 3`, `tenet_quota_used_ratio{limit="records",tenant="default"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, strings.Join(grepLines(text, "tenet_quota"), "\n"))
		}
	}
	local := &shell{t: t, store: servedStore, env: env}
	if out := local.ok("stats", "--user", "sarah"); !strings.Contains(out, "keeps 10 of 10 records") {
		t.Errorf("stats says %q", out)
	}
	if out := local.ok("doctor"); !strings.Contains(out, "100% of records: 10 of 10") || !strings.Contains(out, "raise quota_records") {
		t.Errorf("doctor says %q", out)
	}
	local.ok("fsck")
	raw, err := sql.Open("sqlite", servedStore)
	if err == nil {
		_, err = raw.Exec(`UPDATE heads SET records = records - 5, bytes = 0`)
		raw.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	local.fails(tenet.Internal, "fsck")
	if out := local.ok("fsck", "--recount"); !strings.Contains(out, "heads counted wrong") {
		t.Errorf("fsck --recount says %q", out)
	}
	local.ok("fsck")
}

func TestQuotasAreRead(t *testing.T) {
	for value, want := range map[string][2]int64{ // the default, and acme's
		"0": {0, 0}, "7": {7, 7}, "2KiB": {2048, 2048}, "7,acme=9": {7, 9}, "7, acme=0": {7, 0}, "1 GiB": {1 << 30, 1 << 30},
	} {
		s, err := load(globals{}, func(k string) string {
			return map[string]string{"TENET_QUOTA_BYTES": value, "TENET_QUOTA_RECORDS": "5,acme=6"}[k]
		})
		if err != nil || s.quotas.Default.Bytes != want[0] || s.quotas.For("acme").Bytes != want[1] || s.quotas.For("acme").Records != 6 || s.quotas.For("other").Records != 5 {
			t.Errorf("%q: %+v %v", value, s.quotas, err)
		}
	}
	for _, value := range []string{"-1", "many", "acme=9", "7,8", "7,acme", "7,=9", "9999999999GiB", "7,acme=x"} {
		if _, err := load(globals{}, func(k string) string { return map[string]string{"TENET_QUOTA_RECORDS": value}[k] }); tenet.KindOf(err) != tenet.Invalid || !strings.Contains(err.Error(), "quota_records") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func grepLines(text, part string) (out []string) {
	for l := range strings.Lines(text) {
		if strings.Contains(l, part) {
			out = append(out, l)
		}
	}
	return out
}
