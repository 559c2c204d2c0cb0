package store

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/tenet-memory/tenet"
)

// MasterKey wraps the subjects' data keys, and makes the digests of what no
// table may name. It is a ring: the first key wraps, all of them unwrap, so that
// a rotation can go on while others read. The digests are under a secret of
// their own, which rotations keep: the database's first master key.
type MasterKey struct {
	ring   []DataKey
	secret DataKey
}

// NewMasterKey makes a ring of keys of 32 bytes, one behind the other.
func NewMasterKey(raw []byte) (MasterKey, error) {
	var k MasterKey
	if len(raw) == 0 || len(raw)%len(DataKey{}) != 0 {
		return k, tenet.Errorf(tenet.Invalid, "open", "the master key is %d bytes, want 32, or a multiple for several keys", len(raw))
	}
	for ; len(raw) > 0; raw = raw[len(DataKey{}):] {
		k.ring = append(k.ring, DataKey(raw))
	}
	k.secret = k.ring[0]
	return k, nil
}

// Check tells a wrong key: a database keeps that of the key that wraps.
func (k MasterKey) Check() []byte { return k.ring[0].check() }

func (k DataKey) check() []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte("tenet master key"))
	return mac.Sum(nil)
}

// Open is the ring for a database: the key with that check value wraps. kept is
// the secret, as Kept sealed it; nil before the first rotation. It returns
// Invalid when the ring does not hold the key.
func (k MasterKey) Open(check, kept []byte) (MasterKey, error) {
	for i, one := range k.ring {
		if !hmac.Equal(one.check(), check) {
			continue
		}
		k.ring = slices.Concat([]DataKey{one}, k.ring[:i], k.ring[i+1:])
		k.secret = one
		if kept == nil {
			return k, nil
		}
		plain, err := one.Unseal(kept, aboutSecret)
		if err != nil || len(plain) != len(k.secret) {
			return k, tenet.Errorf(tenet.Invalid, "open", "the secret that digests are made with was altered")
		}
		k.secret = DataKey(plain)
		return k, nil
	}
	return k, tenet.Errorf(tenet.Invalid, "open", "the master key is not the one this database was made with, or was rotated to")
}

const aboutSecret = "tenet digest secret"

// Kept is the secret, sealed under the key that wraps, for Open.
func (k MasterKey) Kept() []byte { return k.Seal(k.secret[:], aboutSecret) }

// To is the ring in which the given key wraps, for a rotation.
func (k MasterKey) To(key DataKey) MasterKey {
	k.ring = append([]DataKey{key}, slices.DeleteFunc(slices.Clone(k.ring), func(one DataKey) bool { return one == key })...)
	return k
}

// Current reports whether the key that wraps is the one with that check value.
func (k MasterKey) Current(check []byte) bool { return hmac.Equal(k.Check(), check) }

// Wraps is the key that wraps, for a database that is to hold the same rows.
func (k MasterKey) Wraps() []byte { return bytes.Clone(k.ring[0][:]) }

// Rotated reports whether digests are made with another secret than that key.
func (k MasterKey) Rotated() bool { return k.secret != k.ring[0] }

// Seal seals with the first key; about binds what is sealed to its place.
func (k MasterKey) Seal(plain []byte, about string) []byte { return k.ring[0].Seal(plain, about) }

// Unseal reverses Seal with whichever key it was; old says that it was not the
// first.
func (k MasterKey) Unseal(sealed []byte, about string) (plain []byte, old bool, err error) {
	for i, one := range k.ring {
		if plain, err = one.Unseal(sealed, about); err == nil {
			return plain, i > 0, nil
		}
	}
	return nil, false, tenet.Errorf(tenet.Internal, "unwrap", "a subject's data key was altered, or is wrapped under another master key")
}

// Wrap seals a data key, bound to its surrogate.
func (k MasterKey) Wrap(scope int64, dk DataKey) []byte { return k.Seal(dk[:], aboutKey(scope)) }

// Unwrap reverses Wrap.
func (k MasterKey) Unwrap(scope int64, wrapped []byte) (DataKey, error) {
	dk, _, err := k.unwrap(scope, wrapped)
	return dk, err
}

// Rewrap wraps a data key under the first key; nil when it is already.
func (k MasterKey) Rewrap(scope int64, wrapped []byte) ([]byte, error) {
	dk, old, err := k.unwrap(scope, wrapped)
	if err != nil || !old {
		return nil, err
	}
	return k.Wrap(scope, dk), nil
}

func (k MasterKey) unwrap(scope int64, wrapped []byte) (dk DataKey, old bool, err error) {
	plain, old, err := k.Unseal(wrapped, aboutKey(scope))
	if err == nil && len(plain) != len(dk) {
		err = tenet.Errorf(tenet.Internal, "unwrap", "a subject's data key was altered")
	}
	copy(dk[:], plain)
	return dk, old, err
}

func aboutKey(scope int64) string {
	return string(binary.BigEndian.AppendUint64([]byte("tenet data key "), uint64(scope)))
}

// Keyed is a digest under the secret, so that what is looked up by it can't be
// guessed from the table.
func (k MasterKey) Keyed(domain string, parts ...string) []byte {
	mac := hmac.New(sha256.New, k.secret[:])
	var n [8]byte
	for _, p := range append([]string{"tenet " + domain}, parts...) {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		mac.Write(n[:])
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// Secret derives a secret for what a process has to recognise again: cursors,
// fences, API keys.
func (k MasterKey) Secret(purpose string) []byte { return k.Keyed("secret", purpose) }

// Digests of what no table may name.
func (k MasterKey) SubjectName(s tenet.Scope) string {
	return hex.EncodeToString(k.Keyed("subject name", s.Key()))
}

func (k MasterKey) GoneSubject(s tenet.Scope) []byte { return k.Keyed("gone subject", s.Key()) }

func (k MasterKey) GoneStatement(s tenet.Scope, statement string) []byte {
	return k.Keyed("gone statement", s.Key(), statement)
}

func (k MasterKey) Author(tenant, who string) []byte { return k.Keyed("author", tenant, who) }

func (k MasterKey) Owner(tenant string) []byte { return k.Keyed("owner", tenant) }

func (k MasterKey) OnceID(o *Once) []byte {
	return k.Keyed("once", o.Tenant, o.Caller, o.Route, o.Key)
}

func (k MasterKey) OnceFingerprint(o *Once) []byte {
	return k.Keyed("once fingerprint", string(o.Fingerprint))
}

// Surrogate draws a random positive id: nothing about a subject or session, nor
// their order or number, can be read from it.
func Surrogate() int64 {
	for {
		var b [8]byte
		rand.Read(b[:])
		if n := int64(binary.BigEndian.Uint64(b[:]) >> 1); n != 0 {
			return n
		}
	}
}
