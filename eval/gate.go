package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenet-memory/tenet"
)

// Offer judges one text that arrives on one channel. It is the caller's gate;
// policy.Offer is one with a gate bound to it.
type Offer func(channel, text string) (tenet.Verdict, error)

// GateRow is what became of one text on one channel.
type GateRow struct {
	File    string       `json:"file"`
	Row     int          `json:"row"` // from 1, blank lines counted
	Channel string       `json:"channel"`
	Verdict string       `json:"verdict"` // an outcome, or "invalid" for what cannot be judged at all
	Codes   []tenet.Code `json:"codes"`
	Effect  string       `json:"effect"`
	Label   string       `json:"label"` // the label that the gate derived
}

// GateRate is what became of one file's texts of one kind on one channel. Rates
// of different files or kinds are never added up: they measure different things.
type GateRate struct {
	File    string  `json:"file"`
	Label   string  `json:"label"` // inject or benign, as the file says
	Kind    string  `json:"kind,omitempty"`
	Channel string  `json:"channel"`
	N       int     `json:"n"`
	Allowed int     `json:"allowed"`
	Held    int     `json:"held"`
	Reject  int     `json:"rejected"`
	Invalid int     `json:"invalid,omitempty"`
	Stop    float64 `json:"stop"` // held or rejected, of N
	Hold    float64 `json:"hold"` // held, of N
}

// GateReport is a run over a folder.
type GateReport struct {
	RuleSet  string     `json:"ruleset"`
	Rates    []GateRate `json:"rates"`   // by file, label and channel
	ByKind   []GateRate `json:"by_kind"` // the same, split by the rows' kind
	Skipped  []Skipped  `json:"skipped"` // lines that hold no text to offer
	Texts    int        `json:"texts"`
	Channels []string   `json:"channels"`
}

// Skipped says which lines of a file were not offered, and why.
type Skipped struct {
	File string `json:"file"`
	Row  int    `json:"row"`
	Why  string `json:"why"`
}

// Gate offers every text of every *.jsonl file of a folder on every channel.
// Each row goes to each, in order of file, row and channel. Fields that the
// format does not know are ignored, and a line that holds no text is in the
// report, not an error: a corpus must not stop the run.
func Gate(dir string, channels []string, offer Offer, each func(GateRow) error) (GateReport, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		return GateReport{}, tenet.Errorf(tenet.NotFound, "eval gate", "the folder holds no .jsonl file")
	}
	slices.Sort(files)
	g := gateRun{GateReport: GateReport{Channels: channels, Skipped: []Skipped{}}, offer: offer, each: each, rates: map[rateKey]*GateRate{}}
	for _, f := range files {
		if err := g.file(f); err != nil {
			return GateReport{}, err
		}
	}
	for _, r := range g.rates {
		r.Stop, r.Hold = share(r.Held+r.Reject, r.N), share(r.Held, r.N)
		if r.Kind == "" {
			g.Rates = append(g.Rates, *r)
		} else {
			g.ByKind = append(g.ByKind, *r)
		}
	}
	for _, rs := range [][]GateRate{g.Rates, g.ByKind} {
		slices.SortFunc(rs, func(a, b GateRate) int {
			return strings.Compare(a.File+"\x00"+a.Label+"\x00"+a.Kind+"\x00"+a.Channel, b.File+"\x00"+b.Label+"\x00"+b.Kind+"\x00"+b.Channel)
		})
	}
	return g.GateReport, nil
}

func share(k, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

type gateRun struct {
	GateReport
	offer Offer
	each  func(GateRow) error
	rates map[rateKey]*GateRate
}

type rateKey struct{ file, label, kind, channel string }

// file offers the texts of one file. Records end at \n only: texts may hold
// U+2028 or U+0085.
func (g *gateRun) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return tenet.Errorf(tenet.NotFound, "eval gate", "%s cannot be opened", filepath.Base(path))
	}
	defer f.Close()
	name, in := filepath.Base(path), bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := g.row(name, n, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return tenet.Errorf(tenet.Unavailable, "eval gate", "%s cannot be read to its end", name)
		}
	}
}

func (g *gateRun) row(file string, n int, line []byte) error {
	if len(line) > maxLine {
		g.Skipped = append(g.Skipped, Skipped{file, n, "the line is too long"})
		return nil
	}
	// Field by field: a field of an unexpected type must not cost the row.
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		g.Skipped = append(g.Skipped, Skipped{file, n, "not a JSON object"})
		return nil
	}
	var text, label, kind string
	if json.Unmarshal(fields["text"], &text) != nil || text == "" {
		g.Skipped = append(g.Skipped, Skipped{file, n, "no text"})
		return nil
	}
	json.Unmarshal(fields["label"], &label)
	json.Unmarshal(fields["kind"], &kind)
	if label == "" {
		label = "unlabelled"
	}
	g.Texts++
	for _, ch := range g.Channels {
		row := GateRow{File: file, Row: n, Channel: ch, Verdict: "invalid", Codes: []tenet.Code{}}
		v, err := g.offer(ch, text)
		switch {
		case err == nil:
			row.Verdict, row.Effect = v.Outcome.String(), v.Effect
			row.Codes = append(row.Codes, v.Codes...)
			if v.Label != 0 {
				row.Label = v.Label.String()
			}
			g.RuleSet = v.RuleSet
		case tenet.KindOf(err) != tenet.Invalid:
			return err
		}
		g.count(rateKey{file, label, "", ch}, v, err)
		if kind != "" {
			g.count(rateKey{file, label, kind, ch}, v, err)
		}
		if g.each != nil {
			if err := g.each(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *gateRun) count(k rateKey, v tenet.Verdict, err error) {
	r := g.rates[k]
	if r == nil {
		r = &GateRate{File: k.file, Label: k.label, Kind: k.kind, Channel: k.channel}
		g.rates[k] = r
	}
	r.N++
	switch {
	case err != nil:
		r.Invalid++
	case v.Outcome.Kept():
		r.Allowed++
	case v.Outcome == tenet.Quarantined:
		r.Held++
	default:
		r.Reject++
	}
}
