package memory

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/recall"
	"github.com/tenet-memory/tenet/store"
	"github.com/tenet-memory/tenet/store/storetest"
)

// TestASessionHoldsNoWriter walks everything a Session holds. Nothing on the
// way may have an Apply method or be a Memory or Operator. It stops at the
// views of package store, whose own test is that a type assertion finds no
// ledger behind them, and at finish, the one function that has this session
// consolidated by rules.
func TestASessionHoldsNoWriter(t *testing.T) {
	t.Parallel()
	oracle := storetest.NewOracle()
	m, err := Open(t.Context(), Config{Ledger: oracle, Sessions: oracle, Gate: gate.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	app, err := tenet.NewPrincipal(tenet.App, "acme", "shop")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Session(t.Context(), app, scope, "chat")
	if err != nil {
		t.Fatal(err)
	}
	if found := writers(reflect.ValueOf(s), "Session", map[uintptr]bool{}); len(found) > 0 {
		t.Errorf("a session reaches the write side by %v", found)
	}
	type tainted struct {
		Session
		mem *Memory
	}
	if len(writers(reflect.ValueOf(&tainted{*s, m}), "tainted", map[uintptr]bool{})) == 0 {
		t.Error("the walk misses a Memory that a session would hold")
	}
	if _, ok := s.reader.(store.Ledger); ok {
		t.Error("the session's reader is a ledger to a type assertion")
	}
	if _, ok := s.log.(store.Ledger); ok {
		t.Error("the session's log is a ledger to a type assertion")
	}
}

// harmless are the function fields on the way: the clock, the token count, the
// gate's registry, the screen of texts, and finish.
var harmless = map[string]bool{"now": true, "tokens": true, "keys": true, "finish": true, "screen": true}

// writers names the paths from v to something that can write durable memory.
func writers(v reflect.Value, path string, seen map[uintptr]bool) []string {
	if !v.IsValid() {
		return nil
	}
	switch v.Type() {
	case reflect.TypeFor[*Memory](), reflect.TypeFor[*Operator](), reflect.TypeFor[Memory](), reflect.TypeFor[Operator]():
		return []string{path}
	}
	if _, applies := v.Type().MethodByName("Apply"); applies {
		return []string{path}
	}
	if v.Type().PkgPath() == "github.com/tenet-memory/tenet/store" {
		return nil // a view: it shows only the methods that are checked above
	}
	var out []string
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return nil
		}
		seen[v.Pointer()] = true
		out = writers(v.Elem(), path, seen)
	case reflect.Interface:
		out = writers(v.Elem(), path, seen)
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, writers(v.Field(i), path+"."+v.Type().Field(i).Name, seen)...)
		}
	case reflect.Map, reflect.Slice:
		if out = writers(reflect.Zero(v.Type().Elem()), path+"[]", seen); v.Kind() == reflect.Slice {
			for i := range v.Len() {
				out = append(out, writers(v.Index(i), path+"[]", seen)...)
			}
		}
	case reflect.Func:
		if name := path[strings.LastIndexByte(path, '.')+1:]; !v.IsNil() && !harmless[name] {
			out = []string{path + " (a function)"}
		}
	}
	return out
}

// TestAResetForgetsWordings: an erasure comes to an index as a reset, and no
// wording of what went stays, nor comes back from a copy made before.
func TestAResetForgetsWordings(t *testing.T) {
	t.Parallel()
	si := new(scopeIndex)
	note := tenet.Record{ID: "n", Tier: tenet.TierNote, Text: "I like tea."}
	if err := si.take(store.Changes{Reset: true, Added: []tenet.Record{note}}, recall.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	built := si.resets
	si.worded([]worded{{Record: note}}, built)
	if len(si.wordings) != 1 {
		t.Fatal("no wording is kept: the rest tests nothing")
	}
	if err := si.take(store.Changes{Reset: true}, recall.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if len(si.wordings) != 0 {
		t.Error("a wording is left after the reset")
	}
	if si.worded([]worded{{Record: note}}, built); len(si.wordings) != 0 {
		t.Error("a wording that was copied before the reset came back")
	}
}
