package policy

import "github.com/tenet-memory/tenet"

// Config is what a tenant can set. The zero Config is the default policy.
// Whatever it says, it can only tighten the gate's floor. A file format is
// the business of whoever reads the file: this package takes the struct.
type Config struct {
	// Keys add to the registry or replace its entries of the same key.
	Keys []KeySpec `json:"keys,omitempty"`
	// UnknownKeys is what happens to a fact whose key the registry does not
	// know: allow (the default), hold or reject.
	UnknownKeys Action `json:"unknown_keys,omitempty"`
	// PII adds to the default table; later rules win.
	PII []PIIRule `json:"pii,omitempty"`
}

// filled returns the configuration with the defaults in it, or an Invalid
// error that names what cannot be.
func (c Config) filled() (Config, error) {
	if c.UnknownKeys == "" {
		c.UnknownKeys = Allow
	}
	switch c.UnknownKeys {
	case Allow, Hold, Reject:
	default:
		return c, tenet.Errorf(tenet.Invalid, "policy", "unknown_keys: %q is not allow, hold or reject", c.UnknownKeys)
	}
	for _, r := range c.PII {
		known := false
		for _, k := range categories {
			known = known || k == r.Category
		}
		if !known {
			return c, tenet.Errorf(tenet.Invalid, "policy", "pii: there is no category %q", r.Category)
		}
		switch r.Action {
		case Allow, Hold, RedactSpan, Reject:
		default:
			return c, tenet.Errorf(tenet.Invalid, "policy", "pii %s: %q is not an action", r.Category, r.Action)
		}
		if r.Tier > tenet.TierDocument {
			return c, tenet.Errorf(tenet.Invalid, "policy", "pii %s: there is no such tier", r.Category)
		}
		if r.From != 0 && (r.Action != Allow || !r.From.Known()) {
			return c, tenet.Errorf(tenet.Invalid, "policy", "pii %s: from goes with allow and a label", r.Category)
		}
	}
	for _, k := range c.Keys {
		if protected(k.Key + "x") {
			return c, tenet.Errorf(tenet.Invalid, "policy", "key %s: the prefix belongs to operators", k.Key)
		}
		if k.Revalidate < 0 {
			return c, tenet.Errorf(tenet.Invalid, "policy", "key %s: revalidate is negative", k.Key)
		}
		if k.Keep < 0 {
			return c, tenet.Errorf(tenet.Invalid, "policy", "key %s: keep is negative", k.Key)
		}
		for _, w := range k.Writers {
			if w < tenet.Agent || w > tenet.Operator {
				return c, tenet.Errorf(tenet.Invalid, "policy", "key %s: no such writer", k.Key)
			}
		}
	}
	c.PII = append(defaultPII(), c.PII...)
	c.Keys = append(defaultKeys(), c.Keys...)
	return c, nil
}
