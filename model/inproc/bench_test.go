package inproc

import (
	"context"
	"testing"

	"github.com/tenet-memory/tenet/model"
)

// The sentence has 23 tokens with its prefix, a short chat turn.
const sentence = "Caroline: I went to the support group yesterday and the stories people told there were so powerful."

func BenchmarkPassages(b *testing.B) {
	for _, k := range kernels() {
		b.Run(k.name, func(b *testing.B) { benchmark(b, k, 64) })
	}
}

func BenchmarkQuery(b *testing.B) { benchmark(b, kernels()[0], 1) }

func benchmark(b *testing.B, k kernel, batch int) {
	m, err := open(packed(b), Options{}, k)
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, batch)
	for i := range texts {
		texts[i] = sentence
	}
	for b.Loop() {
		if _, err := m.Embed(context.Background(), model.Passage, texts...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "texts/s")
}

func BenchmarkOpen(b *testing.B) {
	path := packed(b)
	for b.Loop() {
		if _, err := Open(path, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
