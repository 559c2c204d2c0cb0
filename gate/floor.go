package gate

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/tenet-memory/tenet"
)

// floorVersion names the compiled-in rules; it is part of the rule-set digest.
const floorVersion = "floor/2"

// floor is what no configuration can switch off, beside provenance and the
// matrix.
func floor(c Case, limits Limits) []Finding {
	cand := c.Candidate
	var fs []Finding
	add := func(check string, code tenet.Code, detail string) {
		f := refusal(check, code, reject)
		f.Detail = detail
		fs = append(fs, f)
	}
	switch {
	case cand.Tier == 0 && c.Extracted:
		fs = append(fs, refusal("tier", tenet.CodeUnrouted, hold))
	case cand.Tier < tenet.TierFact || cand.Tier > tenet.TierDocument:
		add("tier", tenet.CodeTierMissing, "")
	}
	if cand.Text == "" && cand.Tier != tenet.TierDocument {
		add("envelope", tenet.CodeEmpty, "")
	}
	keyed := cand.Tier == tenet.TierFact || cand.Tier == tenet.TierDocument
	switch {
	case keyed && cand.Key == "":
		add("envelope", tenet.CodeKeyMissing, "")
	case cand.Tier == tenet.TierFact && strings.ContainsFunc(cand.Key, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		add("envelope", tenet.CodeKeyForm, "a key has no spaces and no invisible characters")
	case len(cand.Key) > tenet.MaxKey && cand.Tier == tenet.TierFact:
		add("envelope", tenet.CodeSize, fmt.Sprintf("key is %d bytes, the limit is %d", len(cand.Key), tenet.MaxKey))
	}
	if size, limit := max(len(cand.Text), len(cand.Value)), tierCap(cand.Tier, limits); limit > 0 && size > limit {
		add("envelope", tenet.CodeSize, fmt.Sprintf("%d bytes, the limit is %d", size, limit))
	}
	if cand.Valid.From.After(c.At.Add(maxFuture)) {
		add("envelope", tenet.CodeClock, "valid time starts too far in the future")
	}
	known := map[tenet.MessageID]bool{}
	for _, m := range c.Evidence {
		known[m.ID] = true
		if m.RetainNone {
			f := refusal("retain", tenet.CodeRetainNone, reject)
			f.Mask = true
			fs = append(fs, f)
		}
	}
	for _, id := range cand.Cites {
		if !known[id] {
			add("provenance", tenet.CodeUnknownMessage, "")
			break
		}
	}
	return fs
}

// tierCap is the largest text and value together, in bytes.
func tierCap(t tenet.Tier, l Limits) int {
	switch t {
	case tenet.TierFact:
		return l.Value
	case tenet.TierNote, tenet.TierEpisode:
		return 32 << 10
	case tenet.TierDocument:
		return 100 << 10
	}
	return 0
}
