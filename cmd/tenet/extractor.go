package main

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
	_ "time/tzdata" // a subject's time zone is known in a container without a time zone database

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/anthropic"
	"github.com/tenet-memory/tenet/model/openai"
	"github.com/tenet-memory/tenet/model/prompted"
	"github.com/tenet-memory/tenet/model/rules"
	"github.com/tenet-memory/tenet/store"
)

// extractorOf is the extractor that the settings name. The rules read "yesterday"
// in the subject's time zone, which the ledger may know.
func extractorOf(name string, values map[string]string, facts store.Reader, now func() time.Time) model.Extractor {
	switch name {
	case "verbatim":
		return model.Verbatim{}
	case "anthropic", "openai":
		if x, err := modelExtractor(name, values); err == nil { // load has tried
			return x
		}
	}
	if now == nil {
		now = time.Now
	}
	return rules.Extractor{Zone: func(scope tenet.Scope) *time.Location { return zoneOf(facts, scope, now()) }}
}

// modelExtractor asks the configured model, within the configured budget.
func modelExtractor(name string, v map[string]string) (*prompted.Extractor, error) {
	budget, err := strconv.ParseInt(v["extractor_budget"], 10, 64)
	if err != nil || budget < 0 {
		return nil, tenet.Errorf(tenet.Invalid, "config", "extractor_budget: not a number of tokens")
	}
	o := prompted.Options{Budget: budget}
	if name == "anthropic" {
		return anthropic.New(anthropic.Config{APIKey: v["extractor_key"], Model: v["extractor_model"], BaseURL: v["extractor_url"], Options: o})
	}
	return openai.NewExtractor(openai.ExtractorConfig{APIKey: v["extractor_key"], Model: v["extractor_model"], BaseURL: v["extractor_url"], Options: o})
}

// zoneOf is what the subject's timezone fact names, UTC when there is none that
// can be read: a day read in the wrong zone is off by hours, a stretch that is
// not extracted is lost to memory.
func zoneOf(r store.Reader, scope tenet.Scope, now time.Time) *time.Location {
	facts, err := r.Facts(context.Background(), scope, tenet.AsOf{Valid: now})
	if err != nil {
		return time.UTC
	}
	for _, f := range facts {
		var name string
		if f.Key != "timezone" || json.Unmarshal(f.Value, &name) != nil || name == "Local" {
			continue
		}
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.UTC
}
