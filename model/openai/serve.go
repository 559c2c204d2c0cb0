package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/model"
)

// Limits of one request to a Handler.
const (
	maxRequest = 8 << 20
	maxInputs  = 2048
)

// Handler serves an embedder by the protocol: POST /v1/embeddings and GET
// /v1/models. A text that begins with one of the prefixes is embedded as that,
// without it; any other is a passage. It keeps nothing and logs nothing.
func Handler(e model.Embedder, name, queryPrefix, passagePrefix string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"object": "list", "data": []map[string]any{{"id": name, "object": "model", "owned_by": "tenet"}}})
	})
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model  string          `json:"model"`
			Input  json.RawMessage `json:"input"`
			Format string          `json:"encoding_format"`
		}
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
			refuse(w, http.StatusBadRequest, "the body is not the expected object, or over 8 MiB")
			return
		}
		if req.Model != name {
			refuse(w, http.StatusNotFound, "no such model")
			return
		}
		texts, ok := inputs(req.Input)
		if !ok || len(texts) == 0 || len(texts) > maxInputs {
			refuse(w, http.StatusBadRequest, "input: want a text or 1 to 2048 texts")
			return
		}
		type item struct {
			Object    string `json:"object"`
			Index     int    `json:"index"`
			Embedding any    `json:"embedding"`
		}
		data := make([]item, len(texts))
		tokens := 0
		for use, prefix := range map[model.Use]string{model.Query: queryPrefix, model.Passage: passagePrefix} {
			var at []int
			var ask []string
			for i, t := range texts {
				tokens += len(t) / 4
				asked := queryPrefix != "" && strings.HasPrefix(t, queryPrefix)
				if asked == (use == model.Query) {
					at, ask = append(at, i), append(ask, strings.TrimPrefix(t, prefix))
				}
			}
			vs, err := e.Embed(r.Context(), use, ask...)
			if err != nil {
				status := http.StatusInternalServerError
				if tenet.KindOf(err) == tenet.Unavailable {
					status = http.StatusServiceUnavailable
				}
				refuse(w, status, "the model failed")
				return
			}
			for j, v := range vs {
				data[at[j]] = item{"embedding", at[j], v}
				if req.Format == "base64" {
					data[at[j]].Embedding = packed(v)
				}
			}
		}
		answer(w, http.StatusOK, map[string]any{
			"object": "list", "model": name, "data": data, "usage": map[string]int{"prompt_tokens": tokens / 2, "total_tokens": tokens / 2},
		})
	})
	return mux
}

func inputs(raw json.RawMessage) ([]string, bool) {
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many, true
	}
	var one string
	err := json.Unmarshal(raw, &one)
	return []string{one}, err == nil
}

func packed(v []float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]any{"error": map[string]any{"message": why, "type": "invalid_request_error", "code": nil, "param": nil}})
}
