// Package supersede measures updates and duplicates on the development sets,
// through the engine a host uses: newest value served, older ones history,
// deletions gone, contradictions never merged. It holds tests only.
package supersede

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/memory"
	"github.com/tenet-memory/tenet/policy"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/sqlite"
	"github.com/tenet-memory/tenet/store/storetest"
)

func dataDir() string {
	if d := os.Getenv("TENET_DATA"); d != "" {
		return d
	}
	return filepath.Join("..", "..", "..", "shared", "data")
}

// lines decodes a JSON Lines file; it skips the test when the data is absent.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(filepath.Join(dataDir(), path))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s under %s", path, dataDir())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n') // texts hold U+2028: only \n ends a record
		if len(line) > 1 {
			var v T
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatal(path, err)
			}
			out = append(out, v)
		}
		if err != nil {
			return out
		}
	}
}

// engine is a memory whose clock the test sets.
type engine struct {
	*memory.Memory
	now time.Time
	app tenet.Principal
}

// backends runs a measurement on the oracle and on SQLite, with the shipped
// policy. The persistent limit is raised: chains of whole chat turns are
// longer than facts are.
func backends(t *testing.T, measure func(*testing.T, *engine), changes ...func(*memory.Config)) {
	open := map[string]func(*testing.T) (store.Ledger, store.Sessions){
		"oracle": func(*testing.T) (store.Ledger, store.Sessions) { o := storetest.NewOracle(); return o, o },
		"sqlite": func(t *testing.T) (store.Ledger, store.Sessions) {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "eval.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return db, db
		},
	}
	for _, name := range []string{"oracle", "sqlite"} {
		t.Run(name, func(t *testing.T) {
			e := &engine{now: time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)}
			ledger, sessions := open[name](t)
			g := gate.New(policy.Default(), policy.Keys(), gate.WithLimits(gate.Limits{Rows: 2000, Bytes: 1 << 20, Value: 32 << 10}))
			var err error
			if e.app, err = tenet.ParsePrincipal("acme", tenet.App.String()+":eval"); err != nil {
				t.Fatal(err)
			}
			cfg := memory.Config{Ledger: ledger, Sessions: sessions, Gate: g, Now: func() time.Time { return e.now }}
			for _, change := range changes {
				change(&cfg)
			}
			if e.Memory, err = memory.Open(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			measure(t, e)
		})
	}
}

func user(t *testing.T, id string) tenet.Scope {
	t.Helper()
	s, err := tenet.NewScope("acme", tenet.User(id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at moves the clock to a statement's time; it never runs back.
func (e *engine) at(when time.Time) {
	if when.After(e.now) {
		e.now = when
	}
	e.now = e.now.Add(time.Second)
}

// tell has the user say a text and keeps what fact makes of it under a key.
func (e *engine) tell(ctx context.Context, t *testing.T, c tenet.Candidate) tenet.Verdict {
	t.Helper()
	s, err := e.Session(ctx, e.app, c.Scope, tenet.SessionID(fmt.Sprint("s", e.now.UnixNano())))
	if err != nil {
		t.Fatal(err)
	}
	ms, err := s.Append(ctx, tenet.UserMessage(c.Text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Remember(ctx, e.app, c.Citing(ms[0].ID))
	if err != nil && tenet.KindOf(err) != tenet.Refused {
		t.Fatal(err)
	}
	return v
}

func (e *engine) served(t *testing.T, scope tenet.Scope, key string) []string {
	t.Helper()
	facts, err := e.Facts(t.Context(), e.app, tenet.AsOf{}, scope)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range facts {
		if f.Key == key {
			out = append(out, f.Text)
		}
	}
	return out
}

// A chain is the statements about one thing, oldest first.
type chain struct {
	scope tenet.Scope
	key   string
	texts []string
	at    []time.Time
}

func chainsOfLongMemEval(t *testing.T) []chain {
	var out []chain
	for _, r := range lines[struct {
		ID         string
		Statements []struct{ Date, Text string }
		Current    int
	}](t, "supersede/lme_knowledge_update.jsonl") {
		c := chain{scope: user(t, "lme "+r.ID), key: "lme.update"}
		for i, s := range r.Statements {
			when, err := time.Parse("2006/01/02 (Mon) 15:04", s.Date)
			if err != nil {
				t.Fatal(err)
			}
			c.texts = append(c.texts, s.Text)
			c.at = append(c.at, when.Add(time.Duration(i)*time.Second)) // statements of one turn keep their order
		}
		if r.Current != len(r.Statements)-1 {
			t.Fatalf("%s: the newest is not the last", r.ID)
		}
		out = append(out, c)
	}
	return out
}

func chainsOfBeam(t *testing.T) []chain {
	type said struct{ Text string }
	var out []chain
	for _, r := range lines[struct {
		ID                string
		Original, Updated []said
	}](t, "supersede/beam_updates.jsonl") {
		c := chain{scope: user(t, "beam "+r.ID), key: "beam.update"}
		for i, s := range append(r.Original, r.Updated...) {
			if !slices.Contains(c.texts, s.Text) { // some rows name one turn twice
				c.texts = append(c.texts, s.Text)
				c.at = append(c.at, time.Date(2023, 1, 1+i, 0, 0, 0, 0, time.UTC))
			}
		}
		out = append(out, c)
	}
	return out
}

// TestTheNewestOfAKeyedChainIsServedAndTheOlderAreHistory writes each chain in
// date order, as turns that a host files under one key.
func TestTheNewestOfAKeyedChainIsServedAndTheOlderAreHistory(t *testing.T) {
	for name, chains := range map[string]func(*testing.T) []chain{"longmemeval": chainsOfLongMemEval, "beam": chainsOfBeam} {
		t.Run(name, func(t *testing.T) {
			backends(t, func(t *testing.T, e *engine) {
				var newest, absent, older, history, n, held int
				for _, c := range chains(t) {
					refused := false
					for i, text := range c.texts {
						e.now = c.at[i]
						v := e.tell(t.Context(), t, tenet.Fact(c.scope, c.key, text))
						refused = refused || !v.Outcome.Kept()
						if !v.Outcome.Kept() {
							t.Logf("%s, statement %d: %s %v", c.scope, i, v.Outcome, v.Codes)
						}
					}
					if refused {
						held++
						continue
					}
					n++
					e.now = c.at[len(c.at)-1].AddDate(1, 0, 0)
					last := c.texts[len(c.texts)-1]
					got := e.served(t, c.scope, c.key)
					if len(got) == 1 && got[0] == strings.TrimSpace(last) {
						newest++
					}
					records, err := e.History(t.Context(), e.app, c.scope, c.key)
					if err != nil {
						t.Fatal(err)
					}
					for i, text := range c.texts[:len(c.texts)-1] {
						older++
						if !slices.Contains(got, text) {
							absent++
						}
						// believed today: true from when it was said until the next
						if slices.ContainsFunc(records, func(r tenet.Record) bool {
							return r.Text == strings.TrimSpace(text) && r.Known.Open() && r.Valid.From.Equal(c.at[i]) && r.Valid.To.Equal(c.at[i+1])
						}) {
							history++
						}
					}
				}
				t.Logf("%d chains: newest served %d; %d older statements: absent %d, in history with their interval %d; held by policy %d",
					n, newest, older, absent, history, held)
				if newest != n || absent != older || history != older {
					t.Error("want all of each")
				}
			})
		})
	}
}

type preference struct {
	Points []struct {
		Type string `json:"type"`
		Item string `json:"specific_item"`
	} `json:"memory_points"`
}

type change struct {
	User, Key, Direction, Reason string
	Step                         int
	Before, After                preference
}

// TestAChangedPreferenceIsServedNewAndADeletedOneIsGone replays HaluMem's
// changes per user. Each preference is one value of a key with many; a Modify
// ends the old value and states the new, a Delete only ends it.
func TestAChangedPreferenceIsServedNewAndADeletedOneIsGone(t *testing.T) {
	backends(t, func(t *testing.T, e *engine) {
		var modified, newest, olderGone, deleted, gone, history, held int
		for _, r := range lines[change](t, "supersede/halumem_preference_updates.jsonl") {
			scope := user(t, "halumem "+r.User)
			key := "halumem." + strings.ReplaceAll(strings.ToLower(r.Key), " ", "_")
			old := r.Before.Points[0].Item
			say := func(op tenet.Op, value, text string) bool {
				e.at(e.now)
				c := tenet.Candidate{Scope: scope, Tier: tenet.TierFact, Key: key, Op: op, Multi: true, Text: text}
				c.Value, _ = json.Marshal(value)
				v := e.tell(t.Context(), t, c)
				if !v.Outcome.Kept() {
					t.Logf("step %d: %s %v", r.Step, v.Outcome, v.Codes)
				}
				return v.Outcome.Kept()
			}
			// The harness says the value with the words around it, so that the
			// span proof has them.
			if !say(tenet.OpAssert, old, "I like "+old) || !say(tenet.OpEnd, old, "I no longer like "+old) {
				held++
				continue
			}
			next := ""
			if r.Direction == "Modify" {
				next = r.After.Points[0].Item
				if !say(tenet.OpAssert, next, "I like "+next) {
					held++
					continue
				}
			}
			open := e.served(t, scope, key)
			has := func(item string) bool { return slices.Contains(open, "I like "+item) }
			records, err := e.History(t.Context(), e.app, scope, key)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(records, func(x tenet.Record) bool {
				return x.Text == "I like "+old && x.Known.Open() && !x.Valid.To.IsZero() && x.Valid.From.Before(x.Valid.To)
			}) {
				history++
			}
			if r.Direction == "Delete" {
				deleted++
				if !has(old) {
					gone++
				}
				continue
			}
			modified++
			if has(next) {
				newest++
			}
			if !has(old) || old == next {
				olderGone++
			}
		}
		t.Logf("modify %d: new value served %d, old absent %d; delete %d: no open value %d; old values in history with their end %d; held by policy %d",
			modified, newest, olderGone, deleted, gone, history, held)
		if newest != modified || olderGone != modified || gone != deleted || history != modified+deleted {
			t.Error("want all of each")
		}
	})
}
