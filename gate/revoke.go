package gate

import (
	"slices"
	"strconv"
	"time"

	"github.com/tenet-memory/tenet"
)

// Revocation takes back what came from a tainted source.
type Revocation struct {
	By     tenet.Principal
	Scope  tenet.Scope
	ID     string // makes it idempotent and names what is put back
	Close  []tenet.Record
	Reopen []Piece
	Why    string
	At     time.Time
}

// Piece puts a record back for a stretch of time: what a revoked one had
// pushed out, what was ended or retracted on tainted words, or what is left of
// one whose other origins are sound.
type Piece struct {
	Of      tenet.Record   `json:"of"`
	Valid   tenet.Interval `json:"valid"`
	Origins []tenet.Origin `json:"origins,omitempty"` // a part of the record's; nil: all
}

// Revoke decides to close records as revoked, whatever their label, and to put
// back what they had pushed out, as new records with the label and the words of
// the old ones. Only an operator may. No row goes: a revocation can be undone.
func (g *Gate) Revoke(r Revocation) (Decision, error) {
	if r.By.Kind() != tenet.Operator || !r.By.MayReach(r.Scope) {
		return Decision{}, tenet.Errorf(tenet.Denied, "revoke", "only an operator of the tenant may revoke")
	}
	if r.ID == "" || len(r.Close)+len(r.Reopen) == 0 {
		return Decision{}, tenet.Errorf(tenet.Invalid, "revoke", "no id, or nothing to revoke")
	}
	p := &Plan{Kind: Revoke, Scope: r.Scope, Actor: r.By.String(), At: tenet.Micros(r.At), Ref: r.ID, Why: r.Why}
	for _, rec := range r.Close {
		switch {
		case rec.Scope != r.Scope:
			return Decision{}, tenet.Errorf(tenet.Denied, "revoke", "a record of another scope")
		case !rec.Known.Open():
			return Decision{}, tenet.Errorf(tenet.Conflict, "revoke", "a record is closed already")
		}
		p.Close = append(p.Close, Close{Record: rec.ID, Reason: tenet.ClosedRevoked})
	}
	for i, piece := range r.Reopen {
		if piece.Of.Scope != r.Scope {
			return Decision{}, tenet.Errorf(tenet.Denied, "revoke", "a record of another scope")
		}
		for _, o := range piece.Origins {
			if !slices.Contains(piece.Of.Origins, o) {
				return Decision{}, tenet.Errorf(tenet.Invalid, "revoke", "an origin that the record does not have")
			}
		}
		f := fragment(piece.Of, tenet.RecordID(r.ID), "/reopened/"+strconv.Itoa(i+1), piece.Valid, p.At)
		if piece.Origins != nil {
			f.Origins, f.Seen = piece.Origins, 1
			o := piece.Origins[0]
			f.Session, f.Message, f.ToolCall = o.Session, o.Message, o.ToolCall
		}
		p.Insert = append(p.Insert, f)
	}
	return Decision{p}, nil
}
