package mcpapi

import (
	"context"

	"github.com/tenet-memory/tenet"
)

type proposeIn struct {
	inSession
	keyed
	Tier   string   `json:"tier" jsonschema:"fact: loaded by identity, never missed. note: found by meaning. There is no default"`
	Name   string   `json:"key,omitempty" jsonschema:"the fact's key, such as diet or home_city"`
	Text   string   `json:"text" jsonschema:"the statement, in words that stand alone"`
	Cites  []string `json:"cites,omitempty" jsonschema:"ids of messages that say it, as context lists them. What the user said must be cited to count as the user's word"`
	Safety bool     `json:"safety,omitempty" jsonschema:"it must never be crowded out, such as an allergy"`
}

type proposed struct {
	ID   string `json:"id" jsonschema:"ask for its verdict under this id"`
	Said string `json:"said"`
}

type proposalIn struct {
	inSession
	ID string `json:"id" jsonschema:"of a proposal or a request to forget"`
}

type verdictOut struct {
	ID      string   `json:"id"`
	State   string   `json:"state" jsonschema:"stored, corroborated, superseded, quarantined or rejected; or where its session stands: waiting, due, failing, or dead until an operator looks after it"`
	Codes   []string `json:"codes" jsonschema:"why, as stable reason codes"`
	Record  string   `json:"record,omitempty"`
	Waiting bool     `json:"waiting"`
}

type forgetIn struct {
	inSession
	keyed
	What  string   `json:"what" jsonschema:"what is to be forgotten, in the user's words"`
	Name  string   `json:"key,omitempty" jsonschema:"the fact's key, when it is known"`
	Cites []string `json:"cites,omitempty" jsonschema:"ids of the messages in which the user asked for it"`
}

func cites(ids []string) []tenet.MessageID {
	var out []tenet.MessageID
	for _, id := range ids {
		out = append(out, tenet.MessageID(id))
	}
	return out
}

// proposing registers what asks for a durable change. It is judged when the
// session is consolidated, after the turn: the hot path writes session state only.
func (t *tools) proposing() {
	b := bounds{"tier": oneOf("fact", "note"), "key": chars(1, 128), "text": chars(1, 32768), "cites": items(64)}
	add(t, "propose", "Propose a memory", "Propose something to remember. It is judged after the turn by whose words it rests on; nothing is remembered because you say so. Cite the user's message.",
		hints{}, b, func(ctx context.Context, c *caller, in *proposeIn) (answer[proposed], error) {
			cand := tenet.Candidate{Scope: c.scope, Key: in.Name, Text: in.Text, Cites: cites(in.Cites), Safety: in.Safety}
			if err := cand.Tier.UnmarshalText([]byte(in.Tier)); err != nil {
				return answer[proposed]{}, err
			}
			id, err := t.mem.Propose(ctx, c.by, in.id(), cand)
			return answer[proposed]{out: proposed{string(id), "kept with the session; it is judged after the turn"}}, err
		})
	add(t, "proposal", "Look up a proposal", "What was decided about a proposal, and why. Name the session that it was made in.",
		hints{reads: true, idempotent: true}, bounds{"id": chars(1, 256)},
		func(ctx context.Context, c *caller, in *proposalIn) (answer[verdictOut], error) {
			v, state, err := t.mem.Proposal(ctx, c.by, c.scope, in.id(), tenet.CandidateID(in.ID))
			if err != nil || state != "" {
				return answer[verdictOut]{out: verdictOut{ID: in.ID, State: string(state), Codes: []string{}, Waiting: true}}, err
			}
			out := verdictOut{ID: in.ID, State: v.Outcome.String(), Codes: []string{}, Record: string(v.Record)}
			for _, code := range v.Codes {
				out.Codes = append(out.Codes, string(code))
			}
			return answer[verdictOut]{out: out}, nil
		})
	add(t, "request_forget", "Request forgetting", "Pass on that the user wants something forgotten. It applies when the user's own message asks for it and one fact matches; else it is listed for a person to decide.",
		hints{destroys: true, idempotent: true}, bounds{"what": chars(1, 2048), "key": chars(1, 128), "cites": items(64)},
		func(ctx context.Context, c *caller, in *forgetIn) (answer[proposed], error) {
			cand := tenet.Candidate{Scope: c.scope, Tier: tenet.TierFact, Op: tenet.OpRetract, Key: in.Name, Text: in.What, Cites: cites(in.Cites), Route: "retract: asked to forget over mcp"}
			if cand.Key == "" {
				cand.Key = tenet.KeyForget
			}
			id, err := t.mem.Propose(ctx, c.by, in.id(), cand)
			return answer[proposed]{out: proposed{string(id), "passed on; it is judged after the turn"}}, err
		})
}

type outcomesIn struct {
	Records []string `json:"records" jsonschema:"ids of recalled records, as context and recall list them"`
	Success bool     `json:"success" jsonschema:"whether the turn came out well"`
}

type outcomesOut struct {
	Counted int `json:"counted"`
}

// outcomes registers the report of how a turn came out, for keys that may make
// it: an agent that could would vouch for its own memory.
func (t *tools) outcomes() {
	add(t, "outcomes", "Report an outcome", "Report how a turn that used recalled records came out: their worth rises or falls with it.",
		hints{}, bounds{"records": items(64)},
		func(ctx context.Context, c *caller, in *outcomesIn) (answer[outcomesOut], error) {
			var ids []tenet.RecordID
			for _, id := range in.Records {
				ids = append(ids, tenet.RecordID(id))
			}
			err := t.mem.Outcomes(ctx, c.key, c.scope, ids, in.Success)
			return answer[outcomesOut]{out: outcomesOut{len(ids)}}, err
		})
}
