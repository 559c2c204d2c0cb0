// Package anthropic asks Claude, through Anthropic's own Go client, what a
// finished stretch of a conversation says about the user (see model/prompted).
//
// It imports tenet, model/prompted and the vendor's client. Only cmd, and a
// host that wants it, imports it: the engine knows no vendor.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model/prompted"
)

// Config says which model, where and how patiently.
type Config struct {
	APIKey  string
	Model   string        // default claude-haiku-5-5
	BaseURL string        // default Anthropic's
	Timeout time.Duration // of one try; default 60 s
	Retries int           // after a rate limit, overload or lost connection; default 2, negative: none
	HTTP    *http.Client
	prompted.Options
}

// New makes an extractor. It returns an Invalid error without a key.
func New(c Config) (*prompted.Extractor, error) {
	if c.APIKey == "" {
		return nil, tenet.Errorf(tenet.Invalid, "anthropic", "no API key")
	}
	if c.Model == "" {
		c.Model = string(anthropic.ModelClaudeHaiku5_5)
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // what is configured, and nothing that lies about
		option.WithEnvironmentProduction(), option.WithAPIKey(c.APIKey),
		option.WithRequestTimeout(c.Timeout), option.WithMaxRetries(max(c.Retries, 0)),
	}
	if c.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(c.BaseURL))
	}
	if c.HTTP != nil {
		opts = append(opts, option.WithHTTPClient(c.HTTP))
	}
	return prompted.New(&claude{anthropic.NewClient(opts...), c.Model}, c.Options), nil
}

type claude struct {
	client anthropic.Client
	model  string
}

func (c *claude) Name() string { return "anthropic/" + c.model }

// Complete implements prompted.Model.
func (c *claude) Complete(ctx context.Context, r prompted.Request) (prompted.Answer, error) {
	m, err := c.client.Messages.New(ctx, anthropic.MessageNewParams{
		Model:     anthropic.Model(c.model),
		MaxTokens: r.MaxTokens,
		System:    []anthropic.TextBlockParam{{Text: r.System}},
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(r.Input))},
		OutputConfig: anthropic.OutputConfigParam{
			Format: anthropic.JSONOutputFormatParam{Schema: r.Schema},
		},
	})
	if err != nil {
		return prompted.Answer{}, failure(err)
	}
	a := prompted.Answer{In: m.Usage.InputTokens + m.Usage.CacheCreationInputTokens + m.Usage.CacheReadInputTokens, Out: m.Usage.OutputTokens}
	for _, b := range m.Content {
		if b.Type == "text" {
			a.Text += b.Text
		}
	}
	switch m.StopReason {
	case anthropic.StopReasonRefusal:
		a.Refused = true
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		a.Truncated = true
	}
	return a, nil
}

// failure keeps the status and drops the vendor's text, which may quote what
// was sent.
func failure(err error) error {
	var e *anthropic.Error
	if errors.As(err, &e) {
		return tenet.Errorf(tenet.Unavailable, "anthropic", "the API answered %d", e.StatusCode)
	}
	return tenet.Errorf(tenet.Unavailable, "anthropic", "no answer from the API")
}
