package storetest

import (
	"fmt"
	"testing"

	"github.com/tenet-memory/tenet"
	"github.com/tenet-memory/tenet/gate"
	"github.com/tenet-memory/tenet/store"
)

// stagedKeepTheirMessages: what a candidate cites is saved with it, byte for
// byte, until it has its verdict, and the session can be found by it alone.
func stagedKeepTheirMessages(t testing.TB, b Backend) {
	r := newRig(t, b, nil)
	ms := make([]tenet.Message, 3)
	for i := range ms {
		ms[i] = tenet.Message{
			ID: tenet.MessageID(fmt.Sprint("m", i)), Session: "chat", Seq: int64(i + 1), Role: tenet.RoleUser, Label: tenet.LabelUserStated,
			Text: fmt.Sprintf("number %d <&>   ", i), SaidAt: day(2025, 1, 1+i), RecordedBy: "app:test", RecordedAt: r.now,
			Speaker: "Sarah", Channel: tenet.ChannelPrefilled, ClientID: "c", ToolCalls: []string{"a", "b"}, ToolCallID: "t",
		}
	}
	one, two, none := r.note("one").Candidate, r.note("two").Candidate, r.note("none").Candidate
	one.Cites, two.Cites, none.Cites = []tenet.MessageID{"m1", "m0"}, []tenet.MessageID{"m1", "gone"}, nil
	cited := func(what string, want ...tenet.Message) {
		t.Helper()
		same(t, what, must2(r.l.StagedCited(ctx, r.scope, "chat"))(t), want)
	}
	unjudged := func(what string, want ...store.SessionRef) {
		t.Helper()
		var mine []store.SessionRef
		for _, ref := range must2(r.l.Unjudged(ctx, 1000))(t) {
			if ref.Scope == r.scope {
				mine = append(mine, ref)
			}
		}
		same(t, what, mine, want)
	}
	cited("before")
	unjudged("before")
	d, err := r.g.StageBatch(r.scope, gate.Staged{Session: "chat", From: 0, To: 3, Candidates: []tenet.Candidate{one, two, none}, Cited: ms}, r.now)
	must(t, err)
	r.apply(d)
	cited("staged", ms[1], ms[0])
	unjudged("staged", store.SessionRef{Scope: r.scope, Session: "chat"})
	same(t, "another session", len(must2(r.l.StagedCited(ctx, r.scope, "other"))(t)), 0)
	same(t, "at most as many as asked", len(must2(r.l.Unjudged(ctx, 0))(t)), 0)

	judge := func(c tenet.Candidate) {
		k := gate.Case{By: r.agent, Candidate: c, At: r.now, Evidence: ms}
		r.apply(r.blind(k))
	}
	judge(one)
	cited("one judged", ms[1])
	judge(two)
	cited("two judged")
	judge(none)
	unjudged("all judged")
	r.verified()
}
