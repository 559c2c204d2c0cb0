package openai

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model/prompted"
)

// ExtractorConfig says which model, where and how patiently. BaseURL may be
// any server that speaks the same protocol: vLLM, llama.cpp, Ollama.
type ExtractorConfig struct {
	APIKey  string        // may be empty for a local server
	Model   string        // required
	BaseURL string        // default OpenAI's
	Timeout time.Duration // of one try; default 60 s
	Retries int           // after a rate limit, overload or lost connection; default 2, negative: none
	HTTP    *http.Client
	prompted.Options
}

// NewExtractor makes an extractor. It returns an Invalid error without a model.
func NewExtractor(c ExtractorConfig) (*prompted.Extractor, error) {
	switch {
	case c.Model == "":
		return nil, tenet.Errorf(tenet.Invalid, "openai", "no model")
	case c.APIKey == "" && c.BaseURL == "":
		return nil, tenet.Errorf(tenet.Invalid, "openai", "no API key")
	}
	if c.BaseURL == "" {
		c.BaseURL = "https://api.openai.com/v1/"
	}
	if c.Timeout <= 0 {
		c.Timeout = time.Minute
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	opts := []option.RequestOption{
		option.WithAPIKey(c.APIKey), option.WithBaseURL(c.BaseURL), option.WithRequestTimeout(c.Timeout), option.WithMaxRetries(max(c.Retries, 0)),
		option.WithHeaderDel("OpenAI-Organization"), option.WithHeaderDel("OpenAI-Project"), // what is configured, not the environment
	}
	if c.APIKey == "" {
		opts = append(opts, option.WithHeaderDel("Authorization"))
	}
	if c.HTTP != nil {
		opts = append(opts, option.WithHTTPClient(c.HTTP))
	}
	return prompted.New(&chat{openai.NewClient(opts...), c.Model}, c.Options), nil
}

type chat struct {
	client openai.Client
	model  string
}

func (c *chat) Name() string { return "openai/" + c.model }

// Complete implements prompted.Model.
func (c *chat) Complete(ctx context.Context, r prompted.Request) (prompted.Answer, error) {
	res, err := c.client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:               c.model,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(r.System), openai.UserMessage(r.Input)},
		MaxCompletionTokens: openai.Int(r.MaxTokens),
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "statements", Strict: openai.Bool(true), Schema: r.Schema},
		}},
	})
	if err != nil {
		return prompted.Answer{}, failure(err)
	}
	a := prompted.Answer{In: res.Usage.PromptTokens, Out: res.Usage.CompletionTokens}
	if len(res.Choices) == 0 {
		return a, nil // no text: not of the form
	}
	first := res.Choices[0]
	a.Text = first.Message.Content
	a.Refused = first.Message.Refusal != "" || first.FinishReason == "content_filter"
	a.Truncated = first.FinishReason == "length"
	return a, nil
}

// failure keeps the status and drops the vendor's text, which may quote what
// was sent.
func failure(err error) error {
	var e *openai.Error
	if errors.As(err, &e) {
		return tenet.Errorf(tenet.Unavailable, "openai", "the API answered %d", e.StatusCode)
	}
	return tenet.Errorf(tenet.Unavailable, "openai", "no answer from the API")
}
