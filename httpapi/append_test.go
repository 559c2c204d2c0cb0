package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Appended facts are what encoding/json writes, with every field set, with
// none, and with texts that need escaping.
func TestAppendedFactsAreTheSameJSON(t *testing.T) {
	t.Parallel()
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	full := memory.Fact{}
	for i, hard := range []string{"plain", `a "quoted" \ one`, "tab\tand\nline", "žluťoučký \u2028 <b>&", "\xff bad", "\u0007"} {
		set(t, reflect.ValueOf(&full).Elem(), hard)
		full.Scope, full.Tier, full.Label = scope, tenet.TierFact, tenet.LabelUserStated
		full.Value = json.RawMessage(`{"a": [1,2.50,"x"]}`)
		full.Valid.From = time.Date(2026, 1, 2, 3, 4, 5, i*1000, time.UTC)
		for _, f := range []facts{{}, {[]memory.Fact{}}, {[]memory.Fact{full}}, {[]memory.Fact{full, {Record: tenet.Record{Scope: scope, Tier: 1, Label: 4, Text: hard}}}}} {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(f); err != nil {
				t.Fatal(err)
			}
			got := string(f.appendJSON(nil))
			// encoding/json compacts raw values; ours are compact already.
			if spaced := strings.ReplaceAll(got, `{"a": [1`, `{"a":[1`); spaced != strings.TrimRight(want.String(), "\n") {
				i := 0
				for i < min(len(spaced), want.Len()) && spaced[i] == want.Bytes()[i] {
					i++
				}
				t.Errorf("differs at %q\nwant %s", spaced[max(0, i-40):], want.String()[max(0, i-40):])
			}
		}
	}
}

// set fills every field that it can, so that none is left out of the comparison.
func set(t *testing.T, v reflect.Value, text string) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			set(t, v.Index(i), text)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)))
			return
		}
		if v.Type() == reflect.TypeFor[tenet.Scope]() {
			return
		}
		for i := range v.NumField() {
			set(t, v.Field(i), text)
		}
	default:
		t.Fatalf("a field of kind %s: teach appendFact about it", v.Kind())
	}
}
