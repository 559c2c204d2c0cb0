// Package model holds the interfaces behind which the models stand that Tenet
// can use and never needs: recall works without any of them. The makes are in
// the sub-packages, imported by cmd (or by who wants them) only. This package
// imports tenet and the standard library and never touches a store.
package model

import (
	"context"
	"strconv"
)

// Use says what a text is embedded for. Most retrieval models are trained on
// two forms, a question and a passage, and lose recall when both get the same
// one (1.4 points of LoCoMo recall@10 for the in-process model); a model that
// makes no difference ignores it.
type Use uint8

const (
	Passage Use = iota // a text that is to be found
	Query              // a text that looks for others
)

// Space identifies what vectors can be compared with each other: those of one
// and the same space only. A different model, prefix, pooling or packing is a
// different space.
type Space struct {
	Model string // the model, its version and its packing
	Dim   int    // length of every vector
}

// Name is the space as one word, for tags: two spaces with one name are the
// same.
func (s Space) Name() string { return s.Model + "/" + strconv.Itoa(s.Dim) }

// Embedder turns texts into vectors whose dot product is the similarity.
//
// Embed answers one vector for each text, in order, each of Space().Dim
// finite numbers and of length 1 - or all zeros for a text in which there is
// nothing to compare (empty, white space, only symbols unknown to the model),
// so that it is similar to nothing. A text longer than the model reads is
// embedded by its beginning: the vector stands for that part, the text itself
// is never cut. Invalid UTF-8 is embedded without the invalid bytes.
//
// It is all or nothing: an error means no vectors. Errors are of the kinds
// Invalid (too many texts), Unavailable (model not there, ctx ended) and
// Internal. An Embedder is safe for concurrent use.
type Embedder interface {
	Space() Space
	Embed(ctx context.Context, use Use, texts ...string) ([][]float32, error)
}
