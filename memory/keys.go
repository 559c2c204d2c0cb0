package memory

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// Keyring makes, checks and revokes API keys. A secret is shown once; what is
// kept is an HMAC of it under the server's own secret, so that neither the
// database nor a copy of it lets anybody in.
//
// Each change of a key is a decision of the gate's: the key and its entry on
// the tenant's audit chain are one write.
type Keyring struct {
	keys   KeyStore
	gate   *gate.Gate
	secret []byte
	now    func() time.Time

	mu    sync.Mutex
	known map[string]knownKey // by secret's hash
	moved uint64              // counts changes: what was looked up before one is not remembered
}

// knownKey is a key as it was looked up a moment ago.
type knownKey struct {
	key tenet.Key
	by  tenet.Principal
	at  time.Time
}

// keyFresh is how long a looked-up key is trusted: a revocation by another
// process takes effect within it, one by this process at once.
const keyFresh = 2 * time.Second

// knownKeys bounds what is remembered.
const knownKeys = 10_000

// KeyStore finds keys and applies what the gate decides about them. A ledger
// that keeps keys is one.
type KeyStore interface {
	store.Keys
	Apply(ctx context.Context, ds []gate.Decision, again store.Rejudge) ([]store.Applied, error)
}

// NewKeyring makes a keyring over a store. Every process that shares the store
// needs the same secret.
func NewKeyring(keys KeyStore, g *gate.Gate, secret []byte, now func() time.Time) (*Keyring, error) {
	if keys == nil || g == nil || len(secret) < 16 {
		return nil, tenet.Errorf(tenet.Invalid, "keys", "no store, no gate, or a secret under 16 bytes")
	}
	if now == nil {
		now = time.Now
	}
	return &Keyring{keys: keys, gate: g, secret: bytes.Clone(secret), now: now, known: map[string]knownKey{}}, nil
}

// NewKey says what a key is for.
type NewKey struct {
	Kind     tenet.PrincipalKind
	Name     string          // who holds it: the principal's id
	Subjects []tenet.Subject // empty: the whole tenant
	Owns     []string        // a connector's fact keys
	For      time.Duration   // zero: until it is revoked
}

// secretPrefix starts every secret, so that scanners find a leaked one.
const secretPrefix = "tenet_"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret is "tenet_app_" and 32 random bytes in base 62.
func newSecret(kind tenet.PrincipalKind) string {
	raw := make([]byte, 32)
	rand.Read(raw)
	n, base, digit := new(big.Int).SetBytes(raw), big.NewInt(62), new(big.Int)
	var out []byte
	for range 43 {
		n.DivMod(n, base, digit)
		out = append(out, base62[digit.Int64()])
	}
	slices.Reverse(out)
	return secretPrefix + kind.String() + "_" + string(out)
}

func (k *Keyring) hash(secret string) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write([]byte("tenet api key\x00"))
	mac.Write([]byte(secret))
	return mac.Sum(nil)
}

// Issue makes a key for a tenant without asking who wants it: for the host
// that owns the store. It returns the secret, which is not kept.
func (k *Keyring) Issue(ctx context.Context, tenant string, n NewKey) (tenet.Key, string, error) {
	host, err := tenet.NewPrincipal(tenet.Admin, tenant, "host")
	if err != nil {
		return tenet.Key{}, "", err
	}
	return k.issue(ctx, host, n)
}

func (k *Keyring) issue(ctx context.Context, by tenet.Principal, n NewKey) (tenet.Key, string, error) {
	const op = "issue key"
	tenant := by.Tenant()
	if tenant == probeTenant {
		return tenet.Key{}, "", tenet.Errorf(tenet.Invalid, op, "the tenant's name is reserved")
	}
	if _, err := tenet.NewPrincipal(n.Kind, tenant, n.Name); err != nil {
		return tenet.Key{}, "", err
	}
	if len(n.Owns) > 0 && n.Kind != tenet.Connector {
		return tenet.Key{}, "", tenet.Errorf(tenet.Invalid, op, "only a connector owns fact keys")
	}
	if n.Kind == tenet.EndUser && len(n.Subjects) == 0 {
		return tenet.Key{}, "", tenet.Errorf(tenet.Invalid, op, "a user's key names its subjects: a person speaks for themselves")
	}
	if n.For < 0 || len(n.Subjects) > tenet.MaxCites || len(n.Owns) > tenet.MaxCites {
		return tenet.Key{}, "", tenet.Errorf(tenet.Invalid, op, "a negative duration, or more than %d subjects or owned keys", tenet.MaxCites)
	}
	key := tenet.Key{ID: newID(), Tenant: tenant, Kind: n.Kind, Name: n.Name, Owns: slices.Clone(n.Owns), CreatedAt: tenet.Micros(k.now())}
	for _, s := range n.Subjects {
		if _, err := tenet.NewScope(tenant, s); err != nil {
			return tenet.Key{}, "", err
		}
		key.Subjects = append(key.Subjects, s.String())
	}
	for _, o := range n.Owns {
		if err := checkName("owned key", o, tenet.MaxKey); err != nil {
			return tenet.Key{}, "", err
		}
	}
	if n.For > 0 {
		key.ExpiresAt = key.CreatedAt.Add(n.For)
	}
	secret := newSecret(n.Kind)
	key.Hash = k.hash(secret)
	return key, secret, k.change(ctx, by, key, gate.KeyMade)
}

// change writes a key with the entry that says what became of it.
func (k *Keyring) change(ctx context.Context, by tenet.Principal, key tenet.Key, what gate.KeyChange) error {
	d, err := k.gate.Access(by, key, what, tenet.Micros(k.now()))
	if err != nil {
		return err
	}
	_, err = k.keys.Apply(ctx, []gate.Decision{d}, nil)
	return err
}

// Create makes a key in the admin's tenant; Denied for any other principal.
func (k *Keyring) Create(ctx context.Context, by tenet.Principal, n NewKey) (tenet.Key, string, error) {
	if err := adminOnly("create key", by); err != nil {
		return tenet.Key{}, "", err
	}
	return k.issue(ctx, by, n)
}

// List returns the tenant's keys by id after the given one, at most limit.
func (k *Keyring) List(ctx context.Context, by tenet.Principal, after string, limit int) ([]tenet.Key, error) {
	if err := adminOnly("list keys", by); err != nil {
		return nil, err
	}
	return k.keys.KeysOf(ctx, by.Tenant(), after, limit)
}

// Rotate gives a key a new secret; the old one stops working at once.
func (k *Keyring) Rotate(ctx context.Context, by tenet.Principal, id string) (tenet.Key, string, error) {
	key, err := k.find(ctx, "rotate key", by, id)
	if err != nil {
		return tenet.Key{}, "", err
	}
	if !key.RevokedAt.IsZero() {
		return tenet.Key{}, "", tenet.Errorf(tenet.Conflict, "rotate key", "the key is revoked")
	}
	old, secret := string(key.Hash), newSecret(key.Kind)
	key.Hash = k.hash(secret)
	err = k.change(ctx, by, key, gate.KeyRotated)
	k.forget(old)
	return key, secret, err
}

// Expire gives a key another end: d from now, or, with zero, none until it is
// revoked. It returns a Conflict error when it is revoked already.
func (k *Keyring) Expire(ctx context.Context, by tenet.Principal, id string, d time.Duration) (tenet.Key, error) {
	const op = "key expiry"
	key, err := k.find(ctx, op, by, id)
	if err != nil {
		return tenet.Key{}, err
	}
	if d < 0 {
		return tenet.Key{}, tenet.Errorf(tenet.Invalid, op, "a negative duration")
	}
	if !key.RevokedAt.IsZero() {
		return tenet.Key{}, tenet.Errorf(tenet.Conflict, op, "the key is revoked")
	}
	key.ExpiresAt = time.Time{}
	if d > 0 {
		key.ExpiresAt = tenet.Micros(k.now()).Add(d)
	}
	err = k.change(ctx, by, key, gate.KeyExpiry)
	k.forget(string(key.Hash))
	return key, err
}

// Revoke ends a key for good. Revoking a revoked one changes nothing.
func (k *Keyring) Revoke(ctx context.Context, by tenet.Principal, id string) (tenet.Key, error) {
	key, err := k.find(ctx, "revoke key", by, id)
	if err != nil || !key.RevokedAt.IsZero() {
		return key, err
	}
	key.RevokedAt = tenet.Micros(k.now())
	err = k.change(ctx, by, key, gate.KeyRevoked)
	k.forget(string(key.Hash))
	if tenet.KindOf(err) == tenet.Conflict { // another was faster
		return k.find(ctx, "revoke key", by, id)
	}
	return key, err
}

// find looks a key of the admin's tenant up by id.
func (k *Keyring) find(ctx context.Context, op string, by tenet.Principal, id string) (tenet.Key, error) {
	if err := adminOnly(op, by); err != nil {
		return tenet.Key{}, err
	}
	for after := ""; ; {
		page, err := k.keys.KeysOf(ctx, by.Tenant(), after, 500)
		if err != nil {
			return tenet.Key{}, err
		}
		for _, key := range page {
			if key.ID == id {
				return key, nil
			}
		}
		if len(page) < 500 {
			return tenet.Key{}, tenet.Errorf(tenet.NotFound, op, "no such key")
		}
		after = page[len(page)-1].ID
	}
}

// None reports whether the tenant has no usable key of a kind.
func (k *Keyring) None(ctx context.Context, tenant string, kind tenet.PrincipalKind) (bool, error) {
	for after := ""; ; {
		page, err := k.keys.KeysOf(ctx, tenant, after, 500)
		if err != nil {
			return false, err
		}
		for _, key := range page {
			if key.Kind == kind && k.usable(key) {
				return false, nil
			}
		}
		if len(page) < 500 {
			return true, nil
		}
		after = page[len(page)-1].ID
	}
}

// Credential finds what a request is made with in its headers Authorization
// (which goes first, with the scheme Bearer or Token) and X-API-Key.
func Credential(authorization, apiKey string) string {
	if scheme, token, ok := strings.Cut(authorization, " "); ok && (strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Token")) {
		return strings.TrimSpace(token)
	}
	return apiKey
}

// Principal says who a secret speaks for. It returns a Denied error for a
// secret that is unknown, expired or revoked, and does not say which.
func (k *Keyring) Principal(ctx context.Context, secret string) (tenet.Principal, error) {
	if !strings.HasPrefix(secret, secretPrefix) || len(secret) > tenet.MaxID {
		return tenet.Principal{}, unknownKey()
	}
	hash := k.hash(secret)
	now := k.now()
	k.mu.Lock()
	known, ok := k.known[string(hash)]
	moved := k.moved
	k.mu.Unlock()
	if !ok || now.Sub(known.at) > keyFresh || now.Before(known.at) {
		key, err := k.keys.KeyByHash(ctx, hash)
		if err != nil && tenet.KindOf(err) == tenet.NotFound {
			return tenet.Principal{}, unknownKey()
		}
		if err != nil {
			return tenet.Principal{}, err
		}
		by, err := principalOf(key)
		if err != nil {
			return tenet.Principal{}, err
		}
		known = knownKey{key, by, now}
		k.mu.Lock()
		if len(k.known) >= knownKeys {
			clear(k.known)
		}
		if k.moved == moved {
			k.known[string(hash)] = known
		}
		k.mu.Unlock()
	}
	if !k.usable(known.key) {
		return tenet.Principal{}, unknownKey()
	}
	return known.by, nil
}

func (k *Keyring) usable(key tenet.Key) bool {
	return key.RevokedAt.IsZero() && (key.ExpiresAt.IsZero() || k.now().Before(key.ExpiresAt))
}

func (k *Keyring) forget(hash string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, hash)
	k.moved++
}

func principalOf(key tenet.Key) (tenet.Principal, error) {
	by, err := tenet.NewPrincipal(key.Kind, key.Tenant, key.Name)
	if err != nil {
		return by, err
	}
	if len(key.Subjects) > 0 {
		subjects := make([]tenet.Subject, 0, len(key.Subjects))
		for _, s := range key.Subjects {
			sub, err := tenet.ParseSubject(s)
			if err != nil {
				return by, err
			}
			subjects = append(subjects, sub)
		}
		by = by.For(subjects...)
	}
	if key.Kind == tenet.Connector {
		by = by.Owning(key.Owns...)
	}
	return by, nil
}

func unknownKey() error {
	return tenet.Errorf(tenet.Denied, "authenticate", "no such key, or not any more")
}

func adminOnly(op string, by tenet.Principal) error {
	if by.Kind() != tenet.Admin {
		return tenet.Errorf(tenet.Denied, op, "only an admin of the tenant manages keys")
	}
	return nil
}
