// Package sealing is how the SQL stores keep a sealed database: every text and
// every content a statement writes is sealed under its subject's data key, and
// opened where a row is read. The data keys are in a vault, apart from the
// database, so a copy of the database can't be read once a key is destroyed.
//
// A text is sealed so that equal texts of one subject are equal when sealed:
// constraints and look-ups work as on plain ones, order and prefixes do not.
// What a sealed value says without its key is its subject's surrogate, its length,
// and which other values of the subject it equals.
//
// It imports tenet, store and the standard library.
package sealing

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/store"
)

// Plain marks a text that stays as it is: a word of the vocabulary that SQL
// compares, or what is nobody's.
type Plain string

// Content marks bytes that are sealed as texts are. Bytes without the mark are
// digests, or sealed already.
type Content []byte

// Texts are several in one argument: a JSON array where the driver knows no
// other.
type Texts []string

// Value implements driver.Valuer.
func (t Texts) Value() (driver.Value, error) {
	b, err := json.Marshal([]string(t))
	return string(b), err
}

// The marks of what is sealed. No plain column of a sealed database can begin
// with the one of texts: what users say is sealed, and the words of the
// vocabulary are printable. That of contents is long enough not to be met by a
// digest.
const (
	textMark    = "\x01"
	contentMark = "\x00tenet\x01\x00"
)

// Nobody is a subject that has no rows: texts that are looked up under it are
// not there.
const Nobody = -1

// Everybody is the surrogate of what is no subject's: the names and subjects of
// API keys. Its data key is made with the database and outlasts every erasure.
const Everybody = 1

// Sealer seals and opens what statements write and read. Nil is the sealer of
// a database that is not sealed: it changes nothing.
type Sealer struct {
	vault  store.Vault
	unwrap func(scope int64, wrapped []byte) (store.DataKey, error)
	mu     sync.RWMutex
	held   map[int64]*held
}

// held is a data key in use.
type held struct {
	key   store.DataKey
	aead  cipher.AEAD
	nonce []byte // the key of the nonces
}

// heldKeys bounds how many keys are in memory: about 20 MB.
const heldKeys = 16 << 10

// New makes the sealer of a vault; unwrap opens its keys.
func New(v store.Vault, unwrap func(scope int64, wrapped []byte) (store.DataKey, error)) *Sealer {
	return &Sealer{vault: v, unwrap: unwrap, held: map[int64]*held{}}
}

// Keep makes a new subject's key durable, before any row needs it.
func (s *Sealer) Keep(ctx context.Context, scope int64, key store.DataKey, wrapped []byte) error {
	if err := s.vault.Keep(ctx, scope, wrapped); err != nil {
		return err
	}
	s.hold(scope, key)
	return nil
}

// Key is a subject's data key. It is Conflict when the key was destroyed.
func (s *Sealer) Key(ctx context.Context, scope int64) (store.DataKey, error) {
	h, err := s.find(ctx, scope)
	if err != nil {
		return store.DataKey{}, err
	}
	return h.key, nil
}

// Destroy destroys keys, here and in the vault.
func (s *Sealer) Destroy(ctx context.Context, scopes []int64) error {
	if err := s.vault.Destroy(ctx, scopes); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range scopes {
		delete(s.held, id)
	}
	return nil
}

// Rewrap wraps the vault's keys anew.
func (s *Sealer) Rewrap(ctx context.Context, wrap func(scope int64, wrapped []byte) ([]byte, error)) (int, error) {
	return s.vault.Rewrap(ctx, wrap)
}

func (s *Sealer) hold(scope int64, key store.DataKey) *held {
	derived := func(purpose string) []byte {
		mac := hmac.New(sha256.New, key[:])
		mac.Write([]byte("tenet sealed column: " + purpose))
		return mac.Sum(nil)
	}
	block, err := aes.NewCipher(derived("key"))
	if err != nil {
		panic(err) // a 32-byte key cannot fail
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	h := &held{key: key, aead: aead, nonce: derived("nonce")}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) >= heldKeys {
		clear(s.held)
	}
	s.held[scope] = h
	return h
}

func (s *Sealer) find(ctx context.Context, scope int64) (*held, error) {
	s.mu.RLock()
	h := s.held[scope]
	s.mu.RUnlock()
	if h != nil {
		return h, nil
	}
	wrapped, err := s.vault.Kept(ctx, scope)
	switch {
	case tenet.KindOf(err) == tenet.NotFound:
		return nil, tenet.Errorf(tenet.Unavailable, "unseal", "the vault does not hold a subject's data key: it is another database's, or an old copy")
	case err != nil:
		return nil, err
	case wrapped == nil:
		return nil, tenet.Errorf(tenet.Conflict, "unseal", "the subject was erased: its data key is destroyed")
	}
	key, err := s.unwrap(scope, wrapped)
	if err != nil {
		return nil, err
	}
	return s.hold(scope, key), nil
}

// seal is deterministic: the nonce is a digest of the text under a key of its
// own, so one nonce never meets two texts.
func (s *Sealer) seal(scope int64, plain []byte, kind string) ([]byte, error) {
	if scope == 0 {
		return nil, tenet.Errorf(tenet.Internal, "seal", "a text without its subject was to be written")
	}
	h, err := s.find(context.Background(), scope)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, h.nonce)
	mac.Write([]byte(kind))
	mac.Write(plain)
	nonce := mac.Sum(nil)[:h.aead.NonceSize()]
	out := make([]byte, 0, len(contentMark)+8+len(nonce)+len(plain)+h.aead.Overhead())
	if kind == contentMark {
		out = append(out, contentMark...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(scope))
	out = append(out, nonce...)
	return h.aead.Seal(out, nonce, plain, []byte(kind)), nil
}

func (s *Sealer) open(sealed []byte, kind string) ([]byte, error) {
	if len(sealed) < 8 {
		return nil, altered()
	}
	h, err := s.find(context.Background(), int64(binary.BigEndian.Uint64(sealed)))
	if err != nil {
		return nil, err
	}
	sealed = sealed[8:]
	n := h.aead.NonceSize()
	if len(sealed) < n {
		return nil, altered()
	}
	plain, err := h.aead.Open(nil, sealed[:n], sealed[n:], []byte(kind))
	if err != nil {
		return nil, altered()
	}
	return plain, nil
}

func altered() error {
	return tenet.Errorf(tenet.Internal, "unseal", "a sealed text was altered")
}

// Text seals a text; an empty one stays empty.
func (s *Sealer) Text(scope int64, text string) (string, error) {
	switch {
	case s == nil || text == "":
		return text, nil
	case scope == Nobody:
		return textMark, nil
	}
	b, err := s.seal(scope, []byte(text), textMark)
	if err != nil {
		return "", err
	}
	return textMark + base64.RawURLEncoding.EncodeToString(b), nil
}

// Open reverses Text; what is not sealed is returned as it is.
func (s *Sealer) Open(text string) (string, error) {
	if s == nil || len(text) == 0 || text[0] != textMark[0] {
		return text, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text[1:])
	if err != nil {
		return "", altered()
	}
	b, err = s.open(b, textMark)
	return string(b), err
}

func (s *Sealer) openContent(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte(contentMark)) {
		return b, nil
	}
	return s.open(b[len(contentMark):], contentMark)
}

// Args are a statement's arguments as they are written. scope is whose they
// are: 0 lets texts through that are marked as plain only.
func (s *Sealer) Args(scope int64, args []any) ([]any, error) {
	if s == nil {
		return args, nil
	}
	out := make([]any, len(args))
	for i, a := range args {
		var err error
		switch a := a.(type) {
		case Plain:
			out[i] = string(a)
		case string:
			out[i], err = s.Text(scope, a)
		case Texts:
			sealed := make(Texts, len(a))
			for i := range a {
				if sealed[i], err = s.Text(scope, a[i]); err != nil {
					return nil, err
				}
			}
			out[i] = sealed
		case Content:
			if out[i] = []byte(a); len(a) > 0 {
				out[i], err = s.seal(scope, a, contentMark)
			}
		default:
			out[i] = a
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Opened opens what a row was scanned into.
func (s *Sealer) Opened(dest []any) (err error) {
	if s == nil {
		return nil
	}
	for _, d := range dest {
		switch d := d.(type) {
		case *string:
			*d, err = s.Open(*d)
		case *[]byte:
			*d, err = s.openContent(*d)
		case *sql.RawBytes:
			*d, err = s.openContent(*d)
		case *sql.NullString:
			d.String, err = s.Open(d.String)
		case *int64, *uint64, *int, *bool, *any, *sql.NullInt64:
		default:
			if v := reflect.ValueOf(d).Elem(); v.Kind() == reflect.String {
				var text string
				if text, err = s.Open(v.String()); err == nil {
					v.SetString(text)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Match holds a vault against the id of the vault that a database was made with,
// nil when it is not sealed: what rests is sealed for every text or for none.
func Match(id []byte, v store.Vault) error {
	const op = "open"
	switch {
	case id == nil && v == nil:
		return nil
	case v == nil:
		return tenet.Errorf(tenet.Invalid, op, "the database is sealed: open it with its vault")
	case id == nil:
		return tenet.Errorf(tenet.Invalid, op, "the database is not sealed, and a vault was named: export it and import it into a new one")
	case !bytes.Equal(id, v.ID()):
		return tenet.Errorf(tenet.Invalid, op, "the vault is another database's")
	}
	return nil
}

// Unused refuses a vault that belongs to a database already for a new one.
func Unused(ctx context.Context, v store.Vault) error {
	_, err := v.Kept(ctx, Everybody)
	switch {
	case tenet.KindOf(err) == tenet.NotFound:
		return nil
	case err == nil:
		return tenet.Errorf(tenet.Invalid, "open", "the vault is another database's")
	}
	return err
}

// Begin makes the data key of what is no subject's, unless it is there.
func (s *Sealer) Begin(ctx context.Context, wrap func(scope int64, dk store.DataKey) []byte) error {
	_, err := s.vault.Kept(ctx, Everybody)
	if tenet.KindOf(err) != tenet.NotFound {
		return err
	}
	if err = s.vault.Keep(ctx, Everybody, wrap(Everybody, store.NewDataKey())); err != nil {
		_, err = s.vault.Kept(ctx, Everybody) // another process made it
	}
	return err
}

// Shredded calls f with the surrogates whose keys are destroyed, some at a time.
func (s *Sealer) Shredded(ctx context.Context, f func([]int64) error) error {
	for after := int64(0); ; {
		dead, err := s.vault.Destroyed(ctx, after, 1000)
		if err != nil || len(dead) == 0 {
			return err
		}
		after = dead[len(dead)-1]
		if err := f(dead); err != nil {
			return err
		}
	}
}

// Names are the arguments that find a scope's row among the subjects. In a
// sealed database it is found by a keyed digest.
func (s *Sealer) Names(k store.MasterKey, scope tenet.Scope) []any {
	id := scope.Subject().ID()
	if s != nil {
		id = k.SubjectName(scope)
	}
	return []any{Plain(scope.Tenant()), int64(scope.Subject().Kind()), Plain(id)}
}

// NameOf is the column of a subject's name in the table of that name in a query.
func NameOf(table string) string {
	return `CASE WHEN ` + table + `.name = '' THEN ` + table + `.external_id ELSE ` + table + `.name END`
}

// Most is the limit of a query whose order SQL can't make when the database is
// sealed: then all is read, and put in order and cut afterwards.
func (s *Sealer) Most(limit int) int {
	if s != nil {
		return math.MaxInt
	}
	return limit
}

// Compared is the argument of a comparison of order: in a sealed database it is
// made afterwards.
func (s *Sealer) Compared(text string) Plain {
	if s != nil {
		return ""
	}
	return Plain(text)
}

// InOrder names a scope of a tenant so that the order of names is that of
// scopes.
func InOrder(s tenet.Scope) string { return strconv.Itoa(int(s.Subject().Kind())) + s.Subject().ID() }

// Page is what ORDER BY and LIMIT make of names that SQL can read: those with
// the prefix that come after one, in order, at most limit.
func Page[T any](all []T, name func(T) string, prefix, after string, limit int) []T {
	all = slices.DeleteFunc(all, func(t T) bool { return !strings.HasPrefix(name(t), prefix) || name(t) <= after })
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	return all[:min(limit, len(all))]
}
