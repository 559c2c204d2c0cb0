package httpapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/memory"
)

// Headers of the idempotency contract.
const (
	onceHeader      = "Idempotency-Key"
	replayedHeader  = "Idempotency-Replayed"
	retentionHeader = "Idempotency-Retention" // seconds
	maxOnceKey      = 255
)

// inFlight are the keys whose first request has not been answered yet by this
// process. Another process meets the record of the same transaction instead.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]bool
}

func (f *inFlight) begin(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys[key] {
		return false
	}
	f.keys[key] = true
	return true
}

func (f *inFlight) end(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
}

// onceFor puts the request's Idempotency-Key into the context, where the
// engine finds it. The key belongs to tenant, caller and operation: the same
// characters of another caller are another key.
func (a *API) onceFor(ctx context.Context, w http.ResponseWriter, r *http.Request, op operation, c call, body []byte) (_ context.Context, landed func(), _ error) {
	nothing := func() {}
	if op.once == onceIgnored {
		return ctx, nothing, nil
	}
	w.Header().Set(retentionHeader, strconv.FormatInt(int64(a.cfg.OnceFor.Seconds()), 10))
	key, err := onceKey(r.Header.Values(onceHeader))
	if err != nil {
		return nil, nil, err
	}
	if key == "" {
		if op.once == onceRequired {
			return nil, nil, &tenet.Error{Kind: tenet.Invalid, Op: string(op.id), Code: "ONCE_MISSING",
				Reason: "this call needs an Idempotency-Key: a retry with the same key has no second effect"}
		}
		return ctx, nothing, nil
	}
	flight := fmt.Sprintf("%q %q %q %q", c.by.Tenant(), c.by.String(), string(op.id), key)
	if !a.inFlight.begin(flight) {
		return nil, nil, &problemError{status: http.StatusConflict, code: "ONCE_IN_FLIGHT",
			detail: "the first request with this key is still being answered", header: http.Header{"Retry-After": {"1"}}}
	}
	call := &memory.Call{Route: string(op.id), Key: key, Fingerprint: fingerprint(r, body), KeepFor: a.cfg.OnceFor}
	return memory.WithCall(ctx, call), func() { a.inFlight.end(flight) }, nil
}

// onceKey reads the header: a structured-field string in quotes, or bare.
func onceKey(values []string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	bad := &tenet.Error{Kind: tenet.Invalid, Op: "idempotency", Code: "ONCE_KEY",
		Reason: "the Idempotency-Key is one string of 1 to 255 printable ASCII characters, quoted or bare"}
	key := strings.TrimSpace(values[0])
	if len(values) > 1 {
		return "", bad
	}
	if strings.HasPrefix(key, `"`) {
		if len(key) < 2 || !strings.HasSuffix(key, `"`) {
			return "", bad
		}
		var out strings.Builder
		for inner := key[1 : len(key)-1]; inner != ""; inner = inner[1:] {
			if inner[0] == '\\' {
				if inner = inner[1:]; inner == "" || inner[0] != '"' && inner[0] != '\\' {
					return "", bad
				}
			} else if inner[0] == '"' {
				return "", bad
			}
			out.WriteByte(inner[0])
		}
		key = out.String()
	}
	if key == "" || len(key) > maxOnceKey {
		return "", bad
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return "", bad
		}
	}
	return key, nil
}

// fingerprint is of all of the request that decides about its effect.
func fingerprint(r *http.Request, body []byte) []byte {
	h := sha256.New()
	for _, s := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("If-Match"), r.Header.Get("If-None-Match"), string(body)} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return h.Sum(nil)
}
