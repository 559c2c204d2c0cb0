"""A Session of the OpenAI Agents SDK over Tenet threads.

    Runner.run(agent, "...", session=TenetSession(Tenet().user("sarah"), "chat-1"))

Items are kept as they are. The text of user and assistant messages is appended
to the Tenet session of the same id, too, so that it is consolidated.
"""
from __future__ import annotations

import uuid
from typing import Any, List, Optional

from agents.memory.session import SessionABC

from ._both import Both, Step
from ._wire import NotFound, decode, encode, esc
from .client import Scope

BATCH = 500


class TenetSession(SessionABC):
    def __init__(self, scope: Scope, session_id: str, *, record: bool = True, session_settings: Any = None):
        self.session_id, self.session_settings = session_id, session_settings
        self._both, self._record, self._thread = Both(scope), record, "openai/" + esc(session_id)

    async def get_items(self, limit: Optional[int] = None) -> List[Any]:
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        return [] if limit is not None and limit <= 0 else await self._both.arun(self._get(limit))

    async def add_items(self, items: List[Any]) -> None:
        if items:
            await self._both.arun(self._add(items))

    async def pop_item(self) -> Optional[Any]:
        return await self._both.arun(self._pop())

    async def clear_session(self) -> None:
        await self._both.arun(self._clear())

    def _get(self, limit: Optional[int]) -> Step[List[Any]]:
        """The latest items, in the order they were added."""
        items: List[Any] = []
        cursor = ""
        while True:
            page = yield lambda s: s.versions(self._thread, cursor=cursor)
            items += [decode(b["data"]) for b in page["items"]]
            cursor = page.get("next", "")
            if not cursor or limit is not None and len(items) >= limit:
                return items[:limit][::-1]

    def _add(self, items: List[Any]) -> Step[None]:
        versions = [{"id": uuid.uuid4().hex, "data": encode(i)} for i in items]
        for at in range(0, len(versions), BATCH):
            yield lambda s: s.put_versions(self._thread, versions[at : at + BATCH])
        words = [w for i, v in zip(items, versions) if self._record for w in said(i, v["id"])]
        for at in range(0, len(words), BATCH):
            yield lambda s: s.session(self.session_id).append_all(words[at : at + BATCH])

    def _pop(self) -> Step[Optional[Any]]:
        while True:
            try:
                head = yield lambda s: s.version(self._thread)
            except NotFound:
                return None
            if (yield lambda s: s.remove_versions(self._thread, [head["id"]])):
                return decode(head["data"])  # else another process took it

    def _clear(self) -> Step[None]:
        yield lambda s: s.drop_thread(self._thread)


def said(item: Any, id: str) -> List[dict]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant"):
        return []
    parts = [content] if isinstance(content, str) else [p.get("text", "") for p in content or [] if isinstance(p, dict) and p.get("type") in ("input_text", "output_text", "text")]
    text = "\n".join(p for p in parts if p)
    return [{"role": role, "text": text, "client_id": id}] if text.strip() else []
