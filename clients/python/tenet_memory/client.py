"""The sync client. aio.py is made from this file by clients/generate.py."""
from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence

import httpx

from . import types
from ._wire import Params, Request, Unavailable, answer, esc, once, settings, without_none


class Tenet:
    """A server. The key decides the tenant; url and key default to TENET_SERVER and TENET_API_KEY."""

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, *, timeout: float = 60.0, http: Optional[httpx.Client] = None):
        base, headers = settings(url, key)
        self.http = http or httpx.Client(timeout=timeout)
        self._base, self._headers = base, headers

    def user(self, id: str) -> Scope:
        return Scope(self, f"/v1/users/{esc(id)}", f"user:{id}")

    def project(self, id: str) -> Scope:
        return Scope(self, f"/v1/projects/{esc(id)}", f"project:{id}")

    def tenant(self) -> Scope:
        return Scope(self, "/v1/tenant", "tenant")

    def me(self) -> types.PrincipalOut:
        return self.send(Request("GET", "/v1/me"))

    def create_key(self, kind: str, name: str, subjects: Sequence[str] = ()) -> types.KeyOut:
        return self.send(Request("POST", "/v1/keys", {"kind": kind, "name": name, "subjects": list(subjects)}))

    def send(self, r: Request) -> Any:
        """Makes one call. A failure of the transport is Unavailable."""
        try:
            response = self.http.request(
                r.method, self._base + r.path, json=r.body, params=r.params, headers={**self._headers, **(r.headers or {})}
            )
        except httpx.TransportError as e:
            raise Unavailable(0, "UNREACHABLE", type(e).__name__) from e
        return answer(response)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Tenet:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


class Scope:
    """One subject's memory: a user, a project or the whole tenant."""

    def __init__(self, client: Tenet, path: str, name: str):
        self._client, self.path, self.name = client, path, name

    def _send(self, method: str, path: str, body: Any = None, params: Params = None, headers: Any = None) -> Any:
        return self._client.send(Request(method, self.path + path, body, params, headers))

    def session(self, id: str) -> Session:
        return Session(self, id)

    # Facts: by identity, complete and exact.

    def facts(self, *, project: Optional[str] = None, tenant: bool = False) -> List[types.Fact]:
        got = self._send("GET", "/facts", params=without_none({"project": project, "tenant": "true" if tenant else None}))
        return got["facts"] or []

    def history(self, key: str) -> List[types.Record]:
        got = self._send("GET", f"/facts/{esc(key)}/history")
        return got["records"] or []

    def remember(self, text: str, *, tier: str, key: Optional[str] = None, quote: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> types.Verdict:
        """Remembers and returns the verdict. Raises Refused when the gate refuses."""
        body = without_none({"text": text, "tier": tier, "key": key, "quote": quote, "cites": list(cites) or None, **more})
        got = self._send("POST", "/memories", body, headers=once())
        return got["verdict"]

    def vet(self, text: str, *, tier: str, key: Optional[str] = None, quote: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> types.Verdict:
        """What remember would decide, without the write."""
        body = without_none({"text": text, "tier": tier, "key": key, "quote": quote, "cites": list(cites) or None, **more})
        got = self._send("POST", "/vet", body)
        return got["verdict"]

    def retract(self, key: str, *, why: str = "") -> None:
        self._send("DELETE", f"/facts/{esc(key)}", params={"why": why}, headers=once())

    def end_fact(self, key: str, *, why: str = "") -> None:
        self._send("POST", f"/facts/{esc(key)}/end", {"why": why}, headers=once())

    # Recall: by meaning, may miss.

    def recall(self, query: str, *, k: int = 10, project: Optional[str] = None) -> types.Found:
        return self._send("POST", "/recall", {"query": query, "k": k}, without_none({"project": project}))

    def outcome(self, records: Sequence[str], success: bool) -> Any:
        return self._send("POST", "/outcomes", {"records": list(records), "success": success}, headers=once())

    def quarantine(self, *, limit: int = 50) -> List[types.Held]:
        got = self._send("GET", "/quarantine", params={"limit": limit})
        return got["items"]

    # Documents: what an agent files for itself.

    def document(self, path: str) -> types.Document:
        return self._send("GET", f"/documents/{esc(path)}")

    def put_document(self, path: str, text: str, *, if_sha256: Optional[str] = None, if_new: bool = False) -> types.Document:
        headers = once()
        if if_new:
            headers["If-None-Match"] = "*"
        if if_sha256:
            headers["If-Match"] = f'"{if_sha256}"'
        return self._send("PUT", f"/documents/{esc(path)}", {"text": text}, headers=headers)

    def delete_document(self, path: str, *, if_sha256: Optional[str] = None) -> None:
        headers = once()
        if if_sha256:
            headers["If-Match"] = f'"{if_sha256}"'
        self._send("DELETE", f"/documents/{esc(path)}", headers=headers)

    def documents(self, prefix: str = "", *, cursor: str = "", limit: int = 500) -> types.PageDocument:
        return self._send("GET", "/documents", params={"prefix": prefix, "cursor": cursor, "limit": limit})

    def search_documents(self, query: str, prefix: str = "", *, k: int = 10) -> List[types.DocumentHit]:
        got = self._send("POST", "/documents-search", {"prefix": prefix, "query": query, "k": k})
        return got["hits"]

    # Threads: a framework's own state, byte for byte. Data is base64.

    def threads(self, prefix: str = "", *, cursor: str = "", limit: int = 500) -> types.PageThread:
        return self._send("GET", "/threads", params={"prefix": prefix, "cursor": cursor, "limit": limit})

    def put_versions(self, thread: str, versions: Sequence[types.VersionIn]) -> None:
        self._send("POST", f"/threads/{esc(thread)}/versions", {"versions": list(versions)})

    def put_version(self, thread: str, id: str, data: str, *, parent: str = "", strict: bool = False) -> types.Blob:
        return self._send("PUT", f"/threads/{esc(thread)}/versions/{esc(id)}", {"data": data, "parent": parent, "strict": strict})

    def version(self, thread: str, id: str = "") -> types.Blob:
        """A version, or the newest. Raises NotFound."""
        return self._send("GET", f"/threads/{esc(thread)}" + (f"/versions/{esc(id)}" if id else ""))

    def versions(self, thread: str, *, cursor: str = "", limit: int = 100) -> types.PageBlob:
        return self._send("GET", f"/threads/{esc(thread)}/versions", params={"cursor": cursor, "limit": limit})

    def find_versions(self, thread: str, *, prefix: str = "", below: str = "", limit: int = 100, ids: Sequence[str] = ()) -> List[types.Blob]:
        body = {"ids": list(ids)} if ids else {"prefix": prefix, "below": below, "limit": limit}
        got = self._send("POST", f"/threads/{esc(thread)}/find", body)
        return got["versions"]

    def remove_versions(self, thread: str, ids: Sequence[str]) -> int:
        got = self._send("POST", f"/threads/{esc(thread)}/remove", {"ids": list(ids)})
        return got["dropped"]

    def drop_thread(self, thread: str) -> int:
        got = self._send("DELETE", f"/threads/{esc(thread)}")
        return got["dropped"]

    def memory_tool(self, command: Mapping[str, Any], *, dialect: str = "docs") -> types.Reply:
        """A command of the memory tool (memory_20250818), as the model wrote it."""
        return self._send("POST", "/memory-tool", dict(command), {"dialect": dialect})


class Session:
    """One conversation: the hot path."""

    def __init__(self, scope: Scope, id: str):
        self.scope, self.id = scope, id
        self._client, self.path = scope._client, f"{scope.path}/sessions/{esc(id)}"

    def _send(self, method: str, path: str, body: Any = None, params: Params = None, headers: Any = None) -> Any:
        return self._client.send(Request(method, self.path + path, body, params, headers))

    def open(self, reads: Sequence[str] = ()) -> types.Session:
        return self._send("PUT", "", {"reads": list(reads)})

    def append(self, role: str, text: str, **more: Any) -> types.Message:
        got = self._send("POST", "/messages", {"messages": [without_none({"role": role, "text": text, **more})]}, headers=once())
        return got["messages"][0]

    def append_all(self, messages: Sequence[types.MessageIn]) -> List[types.Message]:
        got = self._send("POST", "/messages", {"messages": list(messages)}, headers=once())
        return got["messages"]

    def messages(self, *, after: int = 0, limit: int = 100) -> List[types.Message]:
        got = self._send("GET", "/messages", params={"after": after, "limit": limit})
        return got["messages"] or []

    def context(self, query: str = "", *, tokens: Optional[int] = None, recall: Optional[int] = None) -> types.Window:
        """Working memory for the next model call; system is the block to show the model."""
        return self._send("POST", "/context", without_none({"query": query or None, "tokens": tokens, "recall": recall}))

    def recall(self, query: str, *, k: int = 10) -> types.Found:
        return self._send("POST", "/recall", {"query": query, "k": k})

    def propose(self, text: str, *, tier: str, key: Optional[str] = None, cites: Sequence[str] = (), **more: Any) -> str:
        """Proposes a record; it is judged when the conversation is consolidated."""
        body = without_none({"text": text, "tier": tier, "key": key, "cites": list(cites) or None, **more})
        got = self._send("POST", "/proposals", body, headers=once())
        return got["id"]

    def consolidate(self) -> types.Report:
        return self._send("POST", "/consolidate")

    def end(self, *, wait: bool = False) -> types.Report:
        return self._send("POST", "/end", params={"wait": "true" if wait else "false"})

    def delete(self) -> None:
        self._send("DELETE", "", headers=once())
