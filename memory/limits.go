package memory

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tenet-memory/tenet"
)

// CodeTooMany is why a call is turned away that comes too soon after others.
const CodeTooMany tenet.Code = "TOO_MANY_REQUESTS"

// Authenticator says who a credential speaks for; Denied for nobody.
type Authenticator func(ctx context.Context, credential string) (tenet.Principal, error)

// Limits bound how many requests a second are answered, in this process: for
// each principal, and for all of a tenant's together. 0 is no bound. Two seconds'
// worth may come at once, and ten at least.
type Limits struct {
	Principal float64
	Tenant    float64
}

// Around puts the limits behind an authenticator, so that every transport that
// asks it keeps them: what is over is Unavailable with CodeTooMany and says
// when to come again. A stranger costs nobody's allowance.
func (l Limits) Around(auth Authenticator) Authenticator {
	if l.Principal <= 0 && l.Tenant <= 0 {
		return auth
	}
	each, all := buckets{rate: l.Principal}, buckets{rate: l.Tenant}
	return func(ctx context.Context, credential string) (tenet.Principal, error) {
		by, err := auth(ctx, credential)
		if err != nil {
			return by, err
		}
		now := time.Now()
		wait := each.take(by.Tenant()+"\x00"+by.String(), now)
		if wait == 0 { // what the principal may not send does not use up the tenant's
			wait = all.take(by.Tenant(), now)
		}
		if wait > 0 {
			return tenet.Principal{}, &tenet.Error{Kind: tenet.Unavailable, Op: "authenticate", Code: CodeTooMany, After: wait, Reason: "too many requests; wait as long as Retry-After says"}
		}
		return by, nil
	}
}

// buckets are token buckets by name. Full ones are as good as none and are
// dropped when there are many.
type buckets struct {
	rate float64
	mu   sync.Mutex
	of   map[string]*rate.Limiter
}

// maxBuckets is how many are kept before full ones are looked for.
const maxBuckets = 4096

// take takes a token, or says how long until there is one.
func (b *buckets) take(name string, now time.Time) time.Duration {
	if b.rate <= 0 {
		return 0
	}
	burst := max(int(2*b.rate), 10)
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[name]
	if l == nil {
		if len(b.of) >= maxBuckets {
			for n, l := range b.of {
				if l.TokensAt(now) >= float64(burst) {
					delete(b.of, n)
				}
			}
		}
		if b.of == nil {
			b.of = map[string]*rate.Limiter{}
		}
		l = rate.NewLimiter(rate.Limit(b.rate), burst)
		b.of[name] = l
	}
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
