package memory

import (
	"context"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
)

// Classifier is an optional model's opinion. It can ask that a candidate be
// held for review and do nothing else: what it lets pass, the rules still
// judge. The name says which model it was; it goes into the verdict's code.
type Classifier interface {
	// Objects reports whether the candidate should be held, and by which model.
	Objects(ctx context.Context, c tenet.Candidate) (model string, objects bool, err error)
}

// object asks the classifier about cases that are not judged yet. All of them
// share its patience; an error, a time-out or a panic changes nothing.
func (m *Memory) object(ctx context.Context, cases []gate.Case) {
	if m.cfg.Classifier == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ClassifierPatience)
	defer cancel()
	type answer struct {
		i    int
		code tenet.Code
	}
	answers := make(chan answer, len(cases))
	asked := make([]tenet.Candidate, len(cases))
	for i, k := range cases {
		asked[i] = k.Candidate
	}
	go func() { // a classifier that ignores its context must not hold a worker
		defer close(answers)
		for i, c := range asked {
			if ctx.Err() != nil {
				return
			}
			if code := m.opinion(ctx, c); code != "" {
				answers <- answer{i, code}
			}
		}
	}()
	for {
		select {
		case a, more := <-answers:
			if !more {
				return
			}
			cases[a.i].Objections = append(cases[a.i].Objections, a.code)
		case <-ctx.Done():
			return
		}
	}
}

func (m *Memory) opinion(ctx context.Context, c tenet.Candidate) (code tenet.Code) {
	defer func() {
		if recover() != nil {
			code = ""
		}
	}()
	model, objects, err := m.cfg.Classifier.Objects(ctx, c)
	if err != nil || !objects {
		return ""
	}
	return tenet.Code("CLASSIFIER:" + model)
}
