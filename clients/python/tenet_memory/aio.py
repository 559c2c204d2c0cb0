"""The async client: made from client.py by clients/generate.py; do not edit."""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

import httpx

from . import types
from ._wire import Params, Request, Unavailable, answer, esc, once, settings, without_none


class AsyncTenet:
    """A server. The key decides the tenant; url and key default to TENET_SERVER and TENET_API_KEY."""

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, *, timeout: float = 60.0, http: Optional[httpx.AsyncClient] = None):
        base, headers = settings(url, key)
        self.http = http or httpx.AsyncClient(timeout=timeout)
        self._base, self._headers = base, headers

    def user(self, id: str) -> AsyncScope:
        return AsyncScope(self, f"/v1/users/{esc(id)}", f"user:{id}")

    def project(self, id: str) -> AsyncScope:
        return AsyncScope(self, f"/v1/projects/{esc(id)}", f"project:{id}")

    def tenant(self) -> AsyncScope:
        return AsyncScope(self, "/v1/tenant", "tenant")

    async def me(self) -> types.PrincipalOut:
        return await self.send(Request("GET", "/v1/me"))

    async def create_key(self, kind: str, name: str, subjects: Sequence[str] = ()) -> types.KeyOut:
        return await self.send(Request("POST", "/v1/keys", {"kind": kind, "name": name, "subjects": list(subjects)}))

    async def send(self, r: Request) -> Any:
        """Makes one call. A failure of the transport is Unavailable."""
        try:
            response = await self.http.request(
                r.method, self._base + r.path, json=r.body, params=r.params, headers={**self._headers, **(r.headers or {})}
            )
        except httpx.TransportError as e:
            raise Unavailable(0, "UNREACHABLE", type(e).__name__) from e
        return answer(response)

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> AsyncTenet:
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.close()


class AsyncScope:
    """One subject's memory: a user, a project or the whole tenant."""

    def __init__(self, client: AsyncTenet, path: str, name: str):
        self._client, self.path, self.name = client, path, name

    async def _send(self, method: str, path: str, body: Any = None, params: Params = None, headers: Any = None) -> Any:
        return await self._client.send(Request(method, self.path + path, body, params, headers))

    def session(self, id: str) -> AsyncSession:
        return AsyncSession(self, id)

    # Facts: by identity, complete and exact.

    async def facts(self, *, project: Optional[str] = None, tenant: bool = False) -> List[types.Fact]:
        got = await self._send("GET", "/facts", params=without_none({"project": project, "tenant": "true" if tenant else None}))
        return got["facts"] or []

    async def history(self, key: str) -> List[types.Record]:
        got = await self._send("GET", f"/facts/{esc(key)}/history")
        return got["records"] or []

    async def remember(self, text: str, *, tier: str, key: Optional[str] = None, quote: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> types.Verdict:
        """Remembers and returns the verdict. Raises Refused when the gate refuses."""
        body = without_none({"text": text, "tier": tier, "key": key, "quote": quote, "cites": list(cites) or None, **more})
        got = await self._send("POST", "/memories", body, headers=once())
        return got["verdict"]

    async def vet(self, text: str, *, tier: str, key: Optional[str] = None, quote: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> types.Verdict:
        """What remember would decide, without the write."""
        body = without_none({"text": text, "tier": tier, "key": key, "quote": quote, "cites": list(cites) or None, **more})
        got = await self._send("POST", "/vet", body)
        return got["verdict"]

    async def retract(self, key: str, *, why: str = "") -> None:
        await self._send("DELETE", f"/facts/{esc(key)}", params={"why": why}, headers=once())

    async def end_fact(self, key: str, *, why: str = "") -> None:
        await self._send("POST", f"/facts/{esc(key)}/end", {"why": why}, headers=once())

    # Recall: by meaning, may miss.

    async def recall(self, query: str, *, k: int = 10, project: Optional[str] = None) -> types.Found:
        return await self._send("POST", "/recall", {"query": query, "k": k}, without_none({"project": project}))

    async def outcome(self, records: Sequence[str], success: bool) -> Any:
        return await self._send("POST", "/outcomes", {"records": list(records), "success": success}, headers=once())

    async def quarantine(self, *, limit: int = 50) -> List[types.Held]:
        got = await self._send("GET", "/quarantine", params={"limit": limit})
        return got["items"]

    # Documents: what an agent files for itself.

    async def document(self, path: str) -> types.Document:
        return await self._send("GET", f"/documents/{esc(path)}")

    async def put_document(self, path: str, text: str, *, if_sha256: Optional[str] = None, if_new: bool = False) -> types.Document:
        headers = once()
        if if_new:
            headers["If-None-Match"] = "*"
        if if_sha256:
            headers["If-Match"] = f'"{if_sha256}"'
        return await self._send("PUT", f"/documents/{esc(path)}", {"text": text}, headers=headers)

    async def delete_document(self, path: str, *, if_sha256: Optional[str] = None) -> None:
        headers = once()
        if if_sha256:
            headers["If-Match"] = f'"{if_sha256}"'
        await self._send("DELETE", f"/documents/{esc(path)}", headers=headers)

    async def documents(self, prefix: str = "", *, cursor: str = "", limit: int = 500) -> types.PageDocument:
        return await self._send("GET", "/documents", params={"prefix": prefix, "cursor": cursor, "limit": limit})

    async def search_documents(self, query: str, prefix: str = "", *, k: int = 10) -> List[types.DocumentHit]:
        got = await self._send("POST", "/documents-search", {"prefix": prefix, "query": query, "k": k})
        return got["hits"]

    # Threads: a framework's own state, byte for byte. Data is base64.

    async def threads(self, prefix: str = "", *, cursor: str = "", limit: int = 500) -> types.PageThread:
        return await self._send("GET", "/threads", params={"prefix": prefix, "cursor": cursor, "limit": limit})

    async def put_versions(self, thread: str, versions: Sequence[types.VersionIn]) -> None:
        await self._send("POST", f"/threads/{esc(thread)}/versions", {"versions": list(versions)})

    async def put_version(self, thread: str, id: str, data: str, *, parent: str = "", strict: bool = False) -> types.Blob:
        return await self._send("PUT", f"/threads/{esc(thread)}/versions/{esc(id)}", {"data": data, "parent": parent, "strict": strict})

    async def version(self, thread: str, id: str = "") -> types.Blob:
        """A version, or the newest. Raises NotFound."""
        return await self._send("GET", f"/threads/{esc(thread)}" + (f"/versions/{esc(id)}" if id else ""))

    async def versions(self, thread: str, *, cursor: str = "", limit: int = 100) -> types.PageBlob:
        return await self._send("GET", f"/threads/{esc(thread)}/versions", params={"cursor": cursor, "limit": limit})

    async def find_versions(self, thread: str, *, prefix: str = "", below: str = "", limit: int = 100, ids: Sequence[str] = ()) -> List[types.Blob]:
        body = {"ids": list(ids)} if ids else {"prefix": prefix, "below": below, "limit": limit}
        got = await self._send("POST", f"/threads/{esc(thread)}/find", body)
        return got["versions"]

    async def remove_versions(self, thread: str, ids: Sequence[str]) -> int:
        got = await self._send("POST", f"/threads/{esc(thread)}/remove", {"ids": list(ids)})
        return got["dropped"]

    async def drop_thread(self, thread: str) -> int:
        got = await self._send("DELETE", f"/threads/{esc(thread)}")
        return got["dropped"]

    async def memory_tool(self, command: Mapping[str, Any], *, dialect: str = "docs") -> types.Reply:
        """A command of the memory tool (memory_20250818), as the model wrote it."""
        return await self._send("POST", "/memory-tool", dict(command), {"dialect": dialect})


class AsyncSession:
    """One conversation: the hot path."""

    def __init__(self, scope: AsyncScope, id: str):
        self.scope, self.id = scope, id
        self._client, self.path = scope._client, f"{scope.path}/sessions/{esc(id)}"

    async def _send(self, method: str, path: str, body: Any = None, params: Params = None, headers: Any = None) -> Any:
        return await self._client.send(Request(method, self.path + path, body, params, headers))

    async def open(self, reads: Sequence[str] = ()) -> types.Session:
        return await self._send("PUT", "", {"reads": list(reads)})

    async def append(self, role: str, text: str, **more: Any) -> types.Message:
        got = await self._send("POST", "/messages", {"messages": [without_none({"role": role, "text": text, **more})]}, headers=once())
        return got["messages"][0]

    async def append_all(self, messages: Sequence[types.MessageIn]) -> List[types.Message]:
        got = await self._send("POST", "/messages", {"messages": list(messages)}, headers=once())
        return got["messages"]

    async def messages(self, *, after: int = 0, limit: int = 100) -> List[types.Message]:
        got = await self._send("GET", "/messages", params={"after": after, "limit": limit})
        return got["messages"] or []

    async def context(self, query: str = "", *, tokens: Optional[int] = None, recall: Optional[int] = None) -> types.Window:
        """Working memory for the next model call; system is the block to show the model."""
        return await self._send("POST", "/context", without_none({"query": query or None, "tokens": tokens, "recall": recall}))

    async def recall(self, query: str, *, k: int = 10) -> types.Found:
        return await self._send("POST", "/recall", {"query": query, "k": k})

    async def propose(self, text: str, *, tier: str, key: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> str:
        """Proposes a record; it is judged when the conversation is consolidated."""
        body = without_none({"text": text, "tier": tier, "key": key, "cites": list(cites) or None, **more})
        got = await self._send("POST", "/proposals", body, headers=once())
        return got["id"]

    async def consolidate(self) -> types.Report:
        return await self._send("POST", "/consolidate")

    async def end(self, *, wait: bool = False) -> types.Report:
        return await self._send("POST", "/end", params={"wait": "true" if wait else "false"})

    async def delete(self) -> None:
        await self._send("DELETE", "", headers=once())
