package extract

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/model"
	"github.com/tenet-memory/tenet/model/rules"
	"github.com/tenet-memory/tenet/policy"
)

// An extraction is one fact or note proposed from a row.
type extraction struct {
	row row
	msg tenet.Message
	c   tenet.Candidate
}

// A label says whether an extraction is right. It is found by row, key and a
// digest of the value, so that an extraction that changes has no label and
// must be read again. Text is kept only of rows whose licence lets it.
type label struct {
	Row     string `json:"row"`
	Key     string `json:"key"`
	Value   string `json:"value"` // digest
	Correct bool   `json:"correct"`
	Why     string `json:"why,omitempty"`
	Text    string `json:"text,omitempty"`
}

func (l label) id() string { return l.Row + " " + l.Key + " " + l.Value }

func (e extraction) label() label {
	l := label{Row: e.row.id, Key: e.c.Key, Correct: true}
	if e.c.Tier == tenet.TierNote {
		l.Key = "note"
	}
	if e.c.Op != tenet.OpAssert {
		l.Key = e.c.Op.String() + " " + l.Key
	}
	said := string(e.c.Value)
	if said == "" {
		said = e.c.Text
	}
	sum := sha256.Sum256([]byte(said))
	l.Value = hex.EncodeToString(sum[:6])
	if open(e.row.licence) {
		l.Text = e.c.Text + " => " + said
	}
	return l
}

func open(licence string) bool { return licence == "MIT" }

// extractions runs the extractor over a row as a session of one user turn.
func extractions(t testing.TB, r row) []extraction {
	t.Helper()
	m := tenet.Message{
		ID: "m", Seq: 1, Role: tenet.RoleUser, Text: r.text, Label: tenet.LabelUserStated, RecordedBy: "app:eval",
		SaidAt: time.Date(2026, 4, 16, 12, 0, 0, 0, time.UTC),
	}
	cs, err := rules.Extractor{}.Extract(t.Context(), model.Stretch{Messages: []tenet.Message{m}})
	if err != nil {
		t.Fatal(err)
	}
	var out []extraction
	for _, c := range cs {
		if c.Tier == tenet.TierEpisode {
			continue
		}
		e := extraction{r, m, c}
		if n := len(out); n > 0 && out[n-1].label() == e.label() {
			continue // the same fact, "and so it is today"
		}
		out = append(out, e)
	}
	return out
}

// TestThePrecisionOfTheDefaultExtractor holds every extraction from the
// development texts against its label. TENET_RELABEL names a file to which a
// skeleton for the labeller is written.
func TestThePrecisionOfTheDefaultExtractor(t *testing.T) {
	labels := map[string]label{}
	f, err := os.Open("labels.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var l label
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		labels[l.id()] = l
	}
	type tally struct{ turns, withFact, made, correct, wrong, unread int }
	sets := map[string]*tally{}
	var total tally
	var skeleton []byte
	for _, r := range rows(t) {
		n := sets[r.set]
		if n == nil {
			n = &tally{}
			sets[r.set] = n
		}
		n.turns++
		es := extractions(t, r)
		if len(es) > 0 {
			n.withFact++
		}
		for _, e := range es {
			n.made++
			l, known := labels[e.label().id()]
			switch {
			case !known:
				n.unread++
				t.Logf("not labelled: %+v", e.label())
				l = e.label()
			case l.Correct:
				n.correct++
			default:
				n.wrong++
			}
			b, _ := json.Marshal(l)
			skeleton = append(append(skeleton, b...), '\n')
		}
	}
	names := make([]string, 0, len(sets))
	for name := range sets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n := sets[name]
		t.Logf("%-15s %5d turns, %3d with a fact (%.1f%%), %3d extractions: %3d correct, %d wrong, %d not labelled",
			name, n.turns, n.withFact, 100*float64(n.withFact)/float64(n.turns), n.made, n.correct, n.wrong, n.unread)
		if name == "longmemeval" || strings.HasPrefix(name, "persona") {
			total.made, total.correct, total.wrong, total.unread = total.made+n.made, total.correct+n.correct, total.wrong+n.wrong, total.unread+n.unread
		}
		if read := n.correct + n.wrong; read >= 20 && n.correct*100 < 95*read {
			t.Errorf("%s: %d of %d are correct", name, n.correct, read)
		}
	}
	if path := os.Getenv("TENET_RELABEL"); path != "" {
		if err := os.WriteFile(path, skeleton, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := total.correct + total.wrong
	t.Logf("LongMemEval and personas: %d of %d correct, %.3f", total.correct, read, float64(total.correct)/float64(max(read, 1)))
	if read < 300 || total.correct*100 < 95*read {
		t.Errorf("%d of %d labelled extractions are correct; 300 and 95%% are wanted", total.correct, read)
	}
	if total.unread*50 > total.made {
		t.Errorf("%d of %d extractions are not labelled: read them and add them to labels.jsonl", total.unread, total.made)
	}
}

// TestTheGateAdmitsWhatIsExtracted: what is proposed from the user's words is
// proven to be the user's, and the shipped policy lets it in.
func TestTheGateAdmitsWhatIsExtracted(t *testing.T) {
	g := gate.New(policy.Default(), policy.Keys())
	scope, err := tenet.NewScope("acme", tenet.User("sarah"))
	if err != nil {
		t.Fatal(err)
	}
	by, err := tenet.ParsePrincipal("acme", tenet.Agent.String()+":rules/2")
	if err != nil {
		t.Fatal(err)
	}
	n, held := 0, map[tenet.Code]int{}
	for _, r := range rows(t) {
		for _, e := range extractions(t, r) {
			e.c.Scope, e.c.ID = scope, "c"
			d, err := g.Judge(gate.Case{By: by, Candidate: e.c, Evidence: []tenet.Message{e.msg}, At: e.msg.SaidAt.Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			v := d.Verdict()
			if v.Label != tenet.LabelUserStated {
				t.Errorf("%s: %s is only %s", r.id, e.label().Key, v.Label)
			}
			n++
			if e.c.Op == tenet.OpAssert && !v.Outcome.Kept() {
				held[v.Codes[0]]++
				t.Logf("%s %s: %s %v", r.id, e.label().Key, v.Outcome, v.Codes)
			}
		}
	}
	t.Logf("%d judged, not kept: %v", n, held)
}

// TestTheKeysAgreeWithTheRegistry: where the shipped registry knows a key that
// the extractor writes, both say the same of it, and none is an operator's.
func TestTheKeysAgreeWithTheRegistry(t *testing.T) {
	p, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for _, k := range rules.Keys {
		name := k.Name
		if strings.HasSuffix(name, ".") {
			name += "x"
		}
		spec, known := p.Registry().Lookup(name)
		switch {
		case !known:
			unknown = append(unknown, k.Name)
		case spec.Many != k.Many || spec.Safety != k.Safety || len(spec.Writers) > 0:
			t.Errorf("%s: many %v, safety %v; the registry says %+v", k.Name, k.Many, k.Safety, spec)
		}
	}
	t.Logf("not in the registry, the candidate's own flags count: %v", unknown)
}
