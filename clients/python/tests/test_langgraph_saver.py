"""LangGraph's own conformance suite on TenetSaver, and what it does not ask."""
import asyncio
import uuid

import pytest

pytest.importorskip("langgraph.checkpoint.conformance")
from langgraph.checkpoint.conformance import checkpointer_test, validate  # noqa: E402

from tenet_memory.langgraph import TenetSaver  # noqa: E402


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
