package console

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/tenet-memory/tenet"
)

// TestEveryLinkLeadsSomewhereInTime follows every link from the overview with
// 1,000 subjects, some of whose names need encoding: each page answers, and 95
// of 100 do within 100 ms.
func TestEveryLinkLeadsSomewhereInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, err := tenet.NewPrincipal(tenet.App, "acme", "app")
	ok(t, err)
	for i := range 1000 {
		name := fmt.Sprintf("u%03d", i)
		if i%10 == 0 {
			name += ` &"<b>%/?#+é`
		}
		scope, err := tenet.NewScope("acme", tenet.User(name))
		ok(t, err)
		_, err = w.mem.Remember(t.Context(), app, tenet.Fact(scope, "diet", "No nuts.").Quoting("No nuts."))
		ok(t, err)
	}
	b := w.browser()
	b.signIn("acme/operator")
	href := regexp.MustCompile(`href="(/console/[^"]*)"`)
	seen, next, kinds := map[string]bool{}, []string{"/console/"}, map[string]int{}
	path := regexp.MustCompile(`^[^?]*`)
	var took []time.Duration
	for len(next) > 0 {
		to := next[0]
		next = next[1:]
		began := time.Now()
		resp, body := b.do("GET", to, nil)
		took = append(took, time.Since(began))
		if resp.StatusCode != 200 {
			t.Errorf("%s answers %d", to, resp.StatusCode)
		}
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			l := html.UnescapeString(m[1])
			kind := path.FindString(l)
			if seen[l] || kinds[kind] >= 100 && kind != "/console/subjects" {
				continue // a hundred of each kind, and every page of the list
			}
			seen[l] = true
			kinds[kind]++
			next = append(next, l)
		}
	}
	if kinds["/console/subjects"] < 20 || kinds["/console/fact"] < 50 || kinds["/console/taint"] < 20 {
		t.Errorf("the walk is broken: %v", kinds)
	}
	slices.Sort(took)
	p95 := took[len(took)*95/100]
	t.Logf("%d pages, p95 %v, slowest %v, %v", len(took), p95, took[len(took)-1], kinds)
	if p95 > 100*time.Millisecond {
		t.Errorf("p95 is %v", p95)
	}
}
