"""LangGraph's own conformance suite on TenetSaver, and what it does not ask."""
import asyncio
import uuid

from langgraph.checkpoint.conformance import checkpointer_test, validate

from tenet_memory.langgraph import TenetSaver


def test_conformance(client):
    @checkpointer_test(name="TenetSaver")
    async def fresh():
        yield TenetSaver(client.user("conf-" + uuid.uuid4().hex))

    report = asyncio.run(validate(fresh))
    report.print_report()
    results = report.results
    detected = [c for c, r in results.items() if r.detected]
    assert len(detected) == len(results) == 8, detected
    assert report.passed_all_base() and report.passed_all(), {c: r.failures for c, r in results.items() if r.failures}
    print("conformance tests passed:", sum(r.tests_passed for r in results.values()))


def test_large_values_are_kept_in_parts_and_pruned_whole(scope):
    """A channel of several megabytes: written, read, and gone with its checkpoint."""
    saver, big = TenetSaver(scope), {"text": "ü" * 1_500_000}
    at = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for i in ("1", "2"):
        checkpoint = {"v": 4, "id": i, "ts": "2026-01-01T00:00:00Z", "channel_values": {"c": big, "d": i}, "channel_versions": {"c": i, "d": i}, "versions_seen": {}, "updated_channels": None}
        at = saver.put(at, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {"c": i, "d": i})
        saver.put_writes(at, [("c", big), ("d", i)], "task")
    got = saver.get_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    assert got.checkpoint["channel_values"] == {"c": big, "d": "2"} and got.pending_writes == [("task", "c", big), ("task", "d", "2")]
    saver.copy_thread("t", "copy")
    assert saver.get_tuple({"configurable": {"thread_id": "copy"}}).checkpoint["channel_values"]["c"] == big
    saver.prune(["t"])
    kept = {b["id"] for p in ("b/", "c/", "w/") for b in scope.find_versions("langgraph/t", prefix=p, limit=500)}
    assert len([k for k in kept if k.startswith("b/")]) == 2 + 3 and len([k for k in kept if k.startswith("w/")]) == 2 + 3 and len([k for k in kept if k.startswith("c/")]) == 1
    assert saver.get_tuple({"configurable": {"thread_id": "t"}}).checkpoint["channel_values"] == {"c": big, "d": "2"}


def test_a_real_graph_stops_resumes_and_is_said_once(client, scope):
    """Interrupt, a saver made anew, resume; the words are the caller's and the model's, each once."""
    from typing import Annotated, TypedDict

    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import END, START, StateGraph
    from langgraph.graph.message import add_messages
    from langgraph.types import Command, interrupt

    class State(TypedDict):
        messages: Annotated[list, add_messages]

    def ask(state):
        answer = interrupt("May I?")
        return {"messages": [HumanMessage("made up by a node"), AIMessage("You said " + answer, id="a1")]}

    def graph():
        g = StateGraph(State)
        g.add_node("ask", ask)
        g.add_edge(START, "ask")
        g.add_edge("ask", END)
        return g.compile(checkpointer=TenetSaver(scope))

    config = {"configurable": {"thread_id": "run"}}
    assert "__interrupt__" in graph().invoke({"messages": [{"role": "user", "content": "Rebook AC118."}]}, config)
    assert graph().get_state(config).next == ("ask",)
    done = graph().invoke(Command(resume="yes"), config)
    assert done["messages"][-1].content == "You said yes"
    assert len(list(graph().get_state_history(config))) == 3
    assert [(m["role"], m["text"]) for m in scope.session("run").messages()] == [("user", "Rebook AC118."), ("assistant", "You said yes")]
