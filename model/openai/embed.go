package openai

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// EmbedderConfig says which server and model, and nothing comes from the
// environment, which may be meant for another server.
type EmbedderConfig struct {
	BaseURL string // with the version: http://127.0.0.1:11434/v1
	Model   string // as the server calls it
	Key     string // sent as a bearer token; empty: none
	// Dim is the length of its vectors. Zero: NewEmbedder asks the server.
	Dim int
	// QueryPrefix and PassagePrefix are what the model was trained to see before
	// a question and before a passage ("query: " and "passage: " for the e5
	// family). The protocol has no other way to say which of the two a text is.
	QueryPrefix, PassagePrefix string
	// Timeout bounds one request. Default: 30 s.
	Timeout time.Duration
	// Batch is how many texts go into one request. Default: 64.
	Batch int
	// Retries is how often a request that failed on the way is sent again.
	// Default: 1.
	Retries int
}

// Embedder is an embedding model behind a server (Ollama, TEI, vLLM, llama.cpp,
// OpenAI, tenet model serve). Nothing that a server answers is taken on trust: a
// wrong count, order, dimension or number is an error, and the engine then
// recalls by words.
type Embedder struct {
	o       EmbedderConfig
	service sdk.EmbeddingService
	space   model.Space
}

const maxAnswer = 256 << 20

// NewEmbedder makes one. Without a dimension it embeds one word to learn it, so
// that the server must answer: otherwise Unavailable.
func NewEmbedder(ctx context.Context, o EmbedderConfig) (*Embedder, error) {
	const op = "openai.NewEmbedder"
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, tenet.Errorf(tenet.Invalid, op, "want a URL such as http://127.0.0.1:11434/v1")
	}
	if o.Model == "" || o.Dim < 0 || o.Batch < 0 || o.Retries < 0 || o.Timeout < 0 {
		return nil, tenet.Errorf(tenet.Invalid, op, "no model, or a negative number")
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Batch == 0 {
		o.Batch = 64
	}
	if o.Retries == 0 {
		o.Retries = 1
	}
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithMaxRetries(o.Retries), option.WithRequestTimeout(o.Timeout),
		option.WithMaxRetryDelay(time.Second), option.WithHTTPClient(&http.Client{Transport: limited{http.DefaultTransport}}),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	// The service and not the client: the latter reads keys and addresses from
	// the environment, meant for another server.
	c := &Embedder{o: o, service: sdk.NewEmbeddingService(opts...)}
	if o.Dim == 0 {
		vs, err := c.ask(ctx, []string{o.PassagePrefix + "dimension"})
		if err != nil {
			return nil, err
		}
		o.Dim = len(vs[0])
	}
	// The address is not part of the space: the same model may move.
	c.space = model.Space{Model: o.Model + "@" + o.QueryPrefix + "|" + o.PassagePrefix, Dim: o.Dim}
	return c, nil
}

// limited bounds what is read of an answer.
type limited struct{ next http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// Space names the model, its prefixes and the dimension.
func (c *Embedder) Space() model.Space { return c.space }

// Embed implements model.Embedder. Errors: Unavailable when the server is
// away, slow or overloaded, Internal when its answer is not what was asked for.
func (c *Embedder) Embed(ctx context.Context, use model.Use, texts ...string) ([][]float32, error) {
	prefix := c.o.PassagePrefix
	if use == model.Query {
		prefix = c.o.QueryPrefix
	}
	out := make([][]float32, len(texts))
	var ask []string
	var at []int
	for i, t := range texts {
		t = strings.ToValidUTF8(t, "")
		if strings.TrimSpace(t) == "" { // servers refuse empty texts
			out[i] = make([]float32, c.space.Dim)
			continue
		}
		ask, at = append(ask, prefix+t), append(at, i)
	}
	for from := 0; from < len(ask); from += c.o.Batch {
		to := min(from+c.o.Batch, len(ask))
		vs, err := c.ask(ctx, ask[from:to])
		if err != nil {
			return nil, err
		}
		for j, v := range vs {
			if len(v) != c.space.Dim {
				return nil, tenet.Errorf(tenet.Internal, "embed", "a vector has %d numbers, want %d", len(v), c.space.Dim)
			}
			out[at[from+j]] = v
		}
	}
	return out, nil
}

// ask is one request. It returns a vector of length 1 for each text.
func (c *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	const op = "embed"
	resp, err := c.service.New(ctx, sdk.EmbeddingNewParams{
		Model: c.o.Model, Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: sdk.EmbeddingNewParamsEncodingFormatFloat,
	})
	if err != nil {
		return nil, embedFailure(ctx, err)
	}
	if len(resp.Data) != len(texts) {
		return nil, tenet.Errorf(tenet.Internal, op, "%d vectors for %d texts", len(resp.Data), len(texts))
	}
	out := make([][]float32, len(texts))
	for _, e := range resp.Data {
		if e.Index < 0 || e.Index >= int64(len(out)) || out[e.Index] != nil {
			return nil, tenet.Errorf(tenet.Internal, op, "a vector is for no text, or a text has two")
		}
		v, ok := unit(e.Embedding)
		if !ok {
			return nil, tenet.Errorf(tenet.Internal, op, "a vector is empty or not finite")
		}
		out[e.Index] = v
	}
	return out, nil
}

// unit is the vector at length 1; all zeros stay zeros.
func unit(v []float64) ([]float32, bool) {
	if len(v) == 0 {
		return nil, false
	}
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, false
	}
	out := make([]float32, len(v))
	for i, x := range v {
		if sum > 0 {
			out[i] = float32(x / math.Sqrt(sum))
		}
	}
	return out, true
}

// embedFailure maps the SDK's errors. Their text may quote what was sent, so it is
// not passed on.
func embedFailure(ctx context.Context, err error) error {
	const op = "embed"
	var api *sdk.Error
	switch {
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return tenet.Errorf(tenet.Unavailable, op, "the server did not answer in time")
	case errors.As(err, &api) && (api.StatusCode >= 500 || api.StatusCode == http.StatusTooManyRequests):
		return tenet.Errorf(tenet.Unavailable, op, "the server answered %d", api.StatusCode)
	case errors.As(err, &api):
		return tenet.Errorf(tenet.Internal, op, "the server answered %d", api.StatusCode)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return tenet.Errorf(tenet.Unavailable, op, "the server cannot be reached")
	}
	return tenet.Errorf(tenet.Internal, op, "the answer cannot be read")
}
