package rules

import "strings"

// Key describes a key that the extractor proposes facts under. A trailing dot
// stands for every key below it.
type Key struct {
	Name   string
	Many   bool   // holds several values at once
	Safety bool   // must never be crowded out
	Value  string // what the JSON value is
}

// Keys is every key that the extractor writes.
var Keys = []Key{
	{"name", false, false, "the user's name"},
	{"preferred_name", false, false, "what the user wants to be called"},
	{"age", false, false, "whole years, a JSON number"},
	{"birthday", false, false, "a day, month or both, as said"},
	{"anniversary", false, false, "a day, month or both, as said"},
	{"home_city", false, false, "where the user lives, as said: a city, or the region or country when no city is named"},
	{"hometown", false, false, "where the user comes from, as said"},
	{"birthplace", false, false, "where the user was born, as said"},
	{"nationality", false, false, "a demonym"},
	{"spoken_language", true, false, "a language"},
	{"native_language", false, false, "a language"},
	{"occupation", false, false, "what the user does, lower case"},
	{"employer", false, false, "an organisation's name"},
	{"email", false, false, "an address"},
	{"work_email", false, false, "an address"},
	{"phone", false, false, "a number as said"},
	{"work_phone", false, false, "a number as said"},
	{"contact_preference", false, false, "a way to reach the user, lower case"},
	{"family.", false, false, "the person's first name; the key names the relation"}, // see Lookup
	{"pet.", true, false, "the pet's name; the key names the kind"},
	{"marital_status", false, false, "married, divorced, widowed, engaged or single"},
	{"allergy", true, true, "what it is against, lower case, singular"},
	{"intolerance", true, true, "what it is against, lower case, singular"},
	{"diet", false, true, "a diet, lower case"},
	{"dietary_restriction", true, true, "what is not eaten or drunk, or a rule kept (kosher), lower case, singular"},
	{"seat_preference", false, false, "aisle or window"},
	{"preference", true, false, "what is preferred (\"X over Y\"), as said"},
	{"preference.", false, false, "how the user takes it, as said"},
	{"favorite.", false, false, "the favourite, as said"},
	{"safety_note", true, true, "what the user asked to remember, word for word"},
}

// Lookup finds the entry for a key. Of relations such as brother somebody may
// have several, of wife one.
func Lookup(key string) (Key, bool) {
	if rel, ok := strings.CutPrefix(key, "family."); ok {
		return Key{Name: key, Many: relations[strings.ReplaceAll(rel, "_", " ")], Value: "the person's first name"}, true
	}
	head, _, below := strings.Cut(key, ".")
	for _, k := range Keys {
		if k.Name == key || below && k.Name == head+"." {
			return k, true
		}
	}
	return Key{}, false
}
