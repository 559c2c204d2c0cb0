"""The memory tool (memory_20250818) of Anthropic's SDK over Tenet documents.

    client.beta.messages.tool_runner(tools=[TenetMemoryTool(Tenet().user("sarah"))], ...)

Files are the agent's own documents: read back exactly, versions kept, what the
gate refuses is an error to the model, and nothing in them becomes a fact.
"""
from __future__ import annotations

from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from ._wire import Refused, without_none
from .aio import AsyncScope
from .client import Scope

FIELDS = ("command", "path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text", "old_path", "new_path")


def fields(command: Any) -> dict:
    return without_none({f: getattr(command, f, None) for f in FIELDS})


def content(reply: Any) -> str:
    if reply["is_error"]:
        raise ToolError(reply["content"])
    return reply["content"]


class TenetMemoryTool(BetaAbstractMemoryTool):
    def __init__(self, scope: Scope, **kwargs: Any):
        super().__init__(**kwargs)
        self._scope = scope

    def _run(self, command: Any) -> str:
        try:
            return content(self._scope.memory_tool(fields(command), dialect="py"))
        except Refused as e:
            raise ToolError(f"denied: {e.code}") from None

    view = create = str_replace = insert = delete = rename = _run


class AsyncTenetMemoryTool(BetaAsyncAbstractMemoryTool):
    def __init__(self, scope: AsyncScope, **kwargs: Any):
        super().__init__(**kwargs)
        self._scope = scope

    async def _run(self, command: Any) -> str:
        try:
            return content(await self._scope.memory_tool(fields(command), dialect="py"))
        except Refused as e:
            raise ToolError(f"denied: {e.code}") from None

    view = create = str_replace = insert = delete = rename = _run
