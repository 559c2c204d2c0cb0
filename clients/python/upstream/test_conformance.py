"""The conformance suite as the repository has it: newer than the package, with delta channels."""
import asyncio
import os
import pathlib
import uuid

import langgraph.checkpoint as package

repo = pathlib.Path(os.environ["TENET_UPSTREAM"]) / "langgraph/libs/checkpoint-conformance/langgraph/checkpoint"
package.__path__.insert(0, str(repo)) if isinstance(package.__path__, list) else package.__path__._path.insert(0, str(repo))

from langgraph.checkpoint.conformance import checkpointer_test, validate  # noqa: E402

from tenet_memory.langgraph import TenetSaver  # noqa: E402
from tenet_swap import client  # noqa: E402


def test_the_repository_s_conformance():
    import langgraph.checkpoint.conformance as c

    assert str(repo) in c.__file__

    @checkpointer_test(name="TenetSaver")
    async def fresh():
        yield TenetSaver(client.user("conf-" + uuid.uuid4().hex))

    report = asyncio.run(validate(fresh))
    report.print_report()
    print("tests passed:", sum(r.tests_passed for r in report.results.values()), "of", len(report.results), "capabilities")
    assert all(r.detected for r in report.results.values()) and len(report.results) == 9
    assert report.passed_all(), {c: r.failures for c, r in report.results.items() if r.failures}
