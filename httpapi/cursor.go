package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/tenet-memory/tenet"
)

// A cursor is the position after which a page starts, signed for the list it
// belongs to: the operation, the tenant and the scope. A changed one, or one
// of another list, is Invalid.
func (a *API) cursor(list string, c call, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(a.sign(list, c, position), position...))
}

const signed = 12 // bytes of the signature

func (a *API) sign(list string, c call, position string) []byte {
	mac := hmac.New(sha256.New, a.cfg.Secret)
	for _, s := range []string{"cursor", list, c.by.Tenant(), scopeKey(c.scope), position} {
		mac.Write([]byte(s))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)[:signed]
}

func scopeKey(s tenet.Scope) string {
	if s.IsZero() {
		return ""
	}
	return s.Key()
}

// position reads a cursor; the empty one is the start.
func (a *API) position(list string, c call, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= signed || !hmac.Equal(raw[:signed], a.sign(list, c, string(raw[signed:]))) {
		return "", &tenet.Error{Kind: tenet.Invalid, Op: list, Code: "CURSOR", Reason: "the cursor is not one of this list"}
	}
	return string(raw[signed:]), nil
}

// paging are the parameters of every list.
type paging struct {
	cursor string
	limit  int
}

// page is one stretch of a list in its stable order.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"pass it as cursor for what follows; absent at the end"`
}

// list answers one page: get is asked for one more item than the page holds,
// and at names an item's position.
func list[T any](a *API, name string, c call, p paging, get func(after string, limit int) ([]T, error), at func(T) string) (page[T], error) {
	after, err := a.position(name, c, p.cursor)
	if err != nil {
		return page[T]{}, err
	}
	orElse(&p.limit, 50)
	items, err := get(after, p.limit+1)
	if err != nil {
		return page[T]{}, err
	}
	out := page[T]{Items: items}
	if len(items) > p.limit {
		out.Items = items[:p.limit]
		out.Next = a.cursor(name, c, at(items[p.limit-1]))
	}
	if out.Items == nil {
		out.Items = []T{}
	}
	return out, nil
}
