"""The Python of the pages, run against a real server."""
import re

import pytest
from conftest import ROOT

PAGES = ["README.md", "docs/integrations.md", "clients/python/README.md"]
BLOCKS = [
    pytest.param(block, id=f"{page}:{text[:at].count(chr(10)) + 1}")
    for page in PAGES
    for text in [(ROOT / page).read_text()]
    for at, block in [(m.start(), m.group(1)) for m in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)]
]
GIVEN = ["key", "model", "answer"]  # what a page says its reader has


@pytest.mark.parametrize("block", BLOCKS)
def test_the_block_runs(server, block, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none is called")
    given = dict(zip(GIVEN, [server.app_key, "anthropic:claude-sonnet-4-5", lambda state: {"messages": [("assistant", "None with shrimp.")]}]))
    exec(compile(block.replace("http://127.0.0.1:7766", server.url), "page", "exec"), given)


def test_every_kind_of_block_was_found():
    assert len(BLOCKS) >= 7
