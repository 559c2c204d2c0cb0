"""Claude Agent SDK over Tenet: transcripts in threads, memory by identity.

TenetSessionStore keeps what the CLI mirrors, entry for entry, and appends the
assistant's text to the Tenet session of the same id. hooks() records what the
user typed - from the hook's prompt, which no tool result reaches - and puts
Tenet's context block before the model. The key should be an app's, and the
model can't read it: it lives in the host's process.
"""
from __future__ import annotations

import asyncio
import uuid
from datetime import datetime
from typing import Any, Dict, List, Optional

from claude_agent_sdk import HookMatcher, SessionStore, fold_session_summary

from ._both import Both, Step
from ._wire import Conflict, NotFound, TenetError, decode, encode, esc
from .client import Scope

BATCH = 500
BATCH_BYTES = 1_200_000


def project_part(project_key: str) -> str:
    return esc(project_key).replace(".", "%2E")


def millis(stamp: str) -> int:
    return int(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)


class TenetSessionStore(SessionStore):
    """TenetSessionStore(Tenet(...).user("sarah")).

    The project key is the CLI's own (its working folder) and separates
    transcripts within the scope only: whose memory it is, the scope says.
    """

    def __init__(self, scope: Scope, *, record: bool = True):
        self._both, self._record = Both(scope), record

    async def append(self, key: Any, entries: List[Any]) -> None:
        if entries:
            await self._both.arun(self._append(key, entries))

    async def load(self, key: Any) -> Optional[List[Any]]:
        entries = await self._both.arun(self._load(thread(key)))
        return entries or None

    async def list_sessions(self, project_key: str) -> List[Any]:
        prefix = f"claude/{project_part(project_key)}/"
        return [{"session_id": n[len(prefix) :], "mtime": at} for n, at in await self._both.arun(self._names(prefix)) if "/" not in n[len(prefix) :]]

    async def list_session_summaries(self, project_key: str) -> List[Any]:
        return await self._both.arun(self._summaries(f"claude-summary/{project_part(project_key)}/"))

    async def delete(self, key: Any) -> None:
        await self._both.arun(self._delete(key))

    async def list_subkeys(self, key: Any) -> List[str]:
        from urllib.parse import unquote

        prefix = thread({"project_key": key["project_key"], "session_id": key["session_id"]}) + "/"
        return [unquote(n[len(prefix) :]) for n, _ in await self._both.arun(self._names(prefix))]

    def _append(self, key: Any, entries: List[Any]) -> Step[None]:
        name, batch, size = thread(key), [], 0
        for e in entries:
            # The uuid is the entry's idempotency key; what has none is never the same twice.
            version = {"id": "u/" + e["uuid"] if e.get("uuid") else "x/" + uuid.uuid4().hex, "data": encode(e)}
            if batch and (size + len(version["data"]) > BATCH_BYTES or len(batch) == BATCH):
                yield lambda s: s.put_versions(name, batch)
                batch, size = [], 0
            batch.append(version)
            size += len(version["data"])
        yield lambda s: s.put_versions(name, batch)
        if key.get("subpath") is None:
            yield from self._fold(key, entries)
            words = answered(entries) if self._record else []
            for at in range(0, len(words), BATCH):
                yield lambda s: s.session(key["session_id"]).append_all(words[at : at + BATCH])

    def _fold(self, key: Any, entries: List[Any]) -> Step[None]:
        name = "claude-summary" + thread(key)[len("claude") :]
        while True:
            try:
                head = yield lambda s: s.version(name)
            except NotFound:
                head = None
            prev = {**decode(head["data"]), "mtime": millis(head["created_at"])} if head else None
            folded = fold_session_summary(prev, key, entries)
            try:
                yield lambda s: s.put_version(name, uuid.uuid4().hex, encode(folded), parent=head["id"] if head else "", strict=True)
            except Conflict:
                continue  # another process folded meanwhile
            if head:
                yield lambda s: s.remove_versions(name, [head["id"]])
            return

    def _load(self, name: str) -> Step[List[Any]]:
        entries, cursor = [], ""
        while True:
            page = yield lambda s: s.versions(name, cursor=cursor)
            entries += [decode(b["data"]) for b in page["items"]]
            cursor = page.get("next", "")
            if not cursor:
                return entries[::-1]

    def _names(self, prefix: str) -> Step[List[Any]]:
        names, cursor = [], ""
        while True:
            page = yield lambda s: s.threads(prefix, cursor=cursor)
            names += [(t["name"], millis(t["newest_at"])) for t in page["items"]]
            cursor = page.get("next", "")
            if not cursor:
                return names

    def _summaries(self, prefix: str) -> Step[List[Any]]:
        out = []
        for name, _ in (yield from self._names(prefix)):
            head = yield lambda s: s.version(name)
            out.append({**decode(head["data"]), "mtime": millis(head["created_at"])})
        return out

    def _delete(self, key: Any) -> Step[None]:
        name = thread(key)
        yield lambda s: s.drop_thread(name)
        if key.get("subpath") is None:
            yield lambda s: s.drop_thread("claude-summary" + name[len("claude") :])
            for sub, _ in (yield from self._names(name + "/")):
                yield lambda s: s.drop_thread(sub)


def thread(key: Any) -> str:
    sub = key.get("subpath")
    return f"claude/{project_part(key['project_key'])}/{esc(key['session_id'])}" + ("/" + esc(sub) if sub is not None else "")


def answered(entries: List[Any]) -> List[Dict[str, str]]:
    out = []
    for e in entries:
        content = (e.get("message") or {}).get("content") if e.get("type") == "assistant" else None
        blocks = [content] if isinstance(content, str) else [b.get("text", "") for b in content or [] if isinstance(b, dict) and b.get("type") == "text"]
        text = "\n".join(b for b in blocks if b)
        if text.strip() and e.get("uuid"):
            out.append({"role": "assistant", "text": text, "client_id": e["uuid"]})
    return out


def system_prompt(scope: Scope, session: str, instructions: str = "", *, tokens: int = 2000) -> str:
    """The instructions, then what Tenet holds of the subject. Raises when memory is away: an agent without it is not started."""
    block = scope.session(session).context(instructions or "start", tokens=tokens)["system"]
    return f"{instructions}\n\n{block}" if instructions else block


def hooks(scope: Scope, *, tokens: int = 2000, timeout: float = 20.0) -> Dict[Any, List[HookMatcher]]:
    """Hooks for ClaudeAgentOptions. The user's prompt is recorded before the model sees it, and every prompt brings
    the context as it is now, so a superseded fact does not live on. When memory is away the prompt is blocked."""
    both = Both(scope)

    async def submitted(input: Any, tool_use_id: Optional[str], context: Any) -> Any:
        def steps() -> Step[str]:
            session = input["session_id"]
            yield lambda s: s.session(session).append("user", input["prompt"])
            window = yield lambda s: s.session(session).context(tokens=tokens)
            return window["system"]

        try:
            block = await asyncio.wait_for(both.arun(steps()), timeout)
        except (TenetError, TimeoutError) as e:
            return {"decision": "block", "reason": f"memory is not available ({type(e).__name__}); nothing was sent to the model"}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": block}}

    return {"UserPromptSubmit": [HookMatcher(hooks=[submitted], timeout=timeout + 5)]}
