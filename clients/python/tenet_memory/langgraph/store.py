"""A LangGraph store over Tenet documents.

An item is one document. Its path is made of the namespace's labels and the
key, each percent-encoded, so a namespace is a structure and never a text that
another could be a prefix of. Documents pass the gate: a value with a secret in
it, or a text that gives orders, is refused and raises Refused. They are what
an agent filed, never an authority, and versions stay in history.

search(query=...) ranks by Tenet's recall, over the whole value; an item put
with index=False is not ranked. Without a query the order is newest update
first, then namespace, then key. A value takes at most 100 KiB as JSON, an
encoded path 512 bytes.
"""
from __future__ import annotations

import json
import math
import time
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from .._both import Both, Step
from .._wire import NotFound, esc
from ..client import Scope

Namespace = Tuple[str, ...]
RANKED = 200  # how many items a search by meaning ranks
RENEW = 0.02  # a read extends a time to live once this part of it has passed


def part(label: str) -> str:
    """A label or key as a part of a path: reversible, and never empty, "." or ".."."""
    if label in ("", ".", ".."):
        return {"": "%", ".": "%2E", "..": "%2E%2E"}[label]
    return esc(label)


def unpart(p: str) -> str:
    return "" if p == "%" else unquote(p)


class Entry:
    """An item as it is kept."""

    def __init__(self, namespace: Namespace, key: str, document: Mapping[str, Any]):
        kept = json.loads(document["text"])
        self.namespace, self.key, self.value = namespace, key, kept["v"]
        self.updated = stamp(document["valid"]["from"])
        self.created = stamp(kept["c"]) if "c" in kept else self.updated
        self.ttl: Optional[float] = kept.get("ttl")  # minutes
        self.expires: float = kept.get("x", math.inf)
        self.ranked = kept.get("i") is not False
        self.index = kept.get("i")

    def over(self) -> bool:
        return self.expires <= time.time()

    def item(self) -> Item:
        return Item(value=self.value, key=self.key, namespace=self.namespace, created_at=self.created, updated_at=self.updated)

    def found(self, score: Optional[float]) -> SearchItem:
        return SearchItem(self.namespace, self.key, self.value, self.created, self.updated, score)


def stamp(s: str) -> datetime:
    return datetime.fromisoformat(s.replace("Z", "+00:00"))


class TenetStore(BaseStore):
    """Keeps items in one scope: TenetStore(Tenet().user("sarah")).

    ttl sets default_ttl (minutes) and refresh_on_read, as for other stores.
    """

    supports_ttl = True

    def __init__(self, scope: Scope, *, ttl: Optional[TTLConfig] = None, root: str = "store"):
        self._both, self.ttl_config, self._root = Both(scope), ttl, root + "/"

    def batch(self, ops: Iterable[Op]) -> List[Result]:
        return self._both.run(self._batch(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> List[Result]:
        return await self._both.arun(self._batch(list(ops)))

    def sweep_ttl(self) -> int:
        """Deletes what is over; until then it is merely not seen. Returns how many."""
        return self._both.run(self._sweep())

    async def asweep_ttl(self) -> int:
        return await self._both.arun(self._sweep())

    # The logic, for both.

    def _batch(self, ops: List[Op]) -> Step[List[Result]]:
        """Reads see the state before the batch's puts; of several puts to one item the last wins."""
        results: List[Result] = [None] * len(ops)
        puts: Dict[Tuple[Namespace, str], PutOp] = {}
        for i, op in enumerate(ops):
            if isinstance(op, PutOp):
                puts.pop((op.namespace, op.key), None)
                puts[op.namespace, op.key] = op
            elif isinstance(op, GetOp):
                results[i] = yield from self._get(op)
            elif isinstance(op, SearchOp):
                results[i] = yield from self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[i] = yield from self._list(op)
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
        for op in puts.values():
            yield from self._put(op)
        return results

    def _path(self, namespace: Sequence[str], key: str) -> str:
        return self._under(namespace) + part(str(key))

    def _under(self, namespace: Sequence[str]) -> str:
        return self._root + "".join(part(label) + "/" for label in namespace)

    def _entry(self, document: Mapping[str, Any]) -> Entry:
        *labels, key = document["path"][len(self._root) :].split("/")
        return Entry(tuple(unpart(p) for p in labels), unpart(key), document)

    def _read(self, namespace: Namespace, key: str) -> Step[Optional[Entry]]:
        try:
            document = yield lambda s: s.document(self._path(namespace, key))
        except NotFound:
            return None
        entry = self._entry(document)
        return None if entry.over() else entry

    def _get(self, op: GetOp) -> Step[Optional[Item]]:
        entry = yield from self._read(op.namespace, op.key)
        if entry is None:
            return None
        if op.refresh_ttl:
            yield from self._renew(entry)
        return entry.item()

    def _put(self, op: PutOp) -> Step[None]:
        path = self._path(op.namespace, op.key)
        if op.value is None:
            try:
                yield lambda s: s.delete_document(path)
            except NotFound:
                pass
            return
        had = yield from self._read(op.namespace, op.key)
        created = had.created.isoformat() if had else datetime.now(timezone.utc).isoformat()
        yield from self._file(path, op.value, created, op.ttl, op.index)

    def _file(self, path: str, value: Mapping[str, Any], created: str, ttl: Optional[float], index: Any) -> Step[None]:
        kept: Dict[str, Any] = {"v": value, "c": created}
        if ttl is not None:
            kept |= {"ttl": ttl, "x": time.time() + ttl * 60}
        if index is not None:
            kept["i"] = index
        text = json.dumps(kept, ensure_ascii=False)
        yield lambda s: s.put_document(path, text)

    def _renew(self, e: Entry) -> Step[None]:
        if e.ttl is None or e.expires - time.time() > e.ttl * 60 * (1 - RENEW):
            return
        yield from self._file(self._path(e.namespace, e.key), e.value, e.created.isoformat(), e.ttl, e.index)

    def _all(self, prefix: str) -> Step[List[Entry]]:
        entries, cursor = [], ""
        while True:
            page = yield lambda s: s.documents(prefix, cursor=cursor)
            entries += [self._entry(d) for d in page["items"]]
            cursor = page.get("next", "")
            if not cursor:
                return [e for e in entries if not e.over()]

    def _search(self, op: SearchOp) -> Step[List[SearchItem]]:
        check_filter(op.filter)
        prefix, wanted = self._under(op.namespace_prefix), op.offset + op.limit
        ranked: List[Tuple[Entry, Optional[float]]] = []
        if op.query and op.query.strip():
            hits = yield lambda s: s.search_documents(op.query, prefix, k=RANKED)
            ranked = [(e, h["score"]) for h in hits for e in [self._entry(h)] if e.ranked and not e.over() and matches(e.value, op.filter)]
        if len(ranked) < wanted:  # what no word was found in comes last, without a score
            seen = {(e.namespace, e.key) for e, _ in ranked}
            rest = [e for e in (yield from self._all(prefix)) if (e.namespace, e.key) not in seen and matches(e.value, op.filter)]
            rest.sort(key=lambda e: (e.namespace, e.key))
            rest.sort(key=lambda e: e.updated, reverse=True)
            ranked += [(e, None) for e in rest]
        page = ranked[op.offset : wanted]
        if op.refresh_ttl:
            for e, _ in page:
                yield from self._renew(e)
        return [e.found(score) for e, score in page]

    def _list(self, op: ListNamespacesOp) -> Step[List[Namespace]]:
        namespaces = {e.namespace for e in (yield from self._all(self._root))}
        namespaces = {n for n in namespaces if all(aligned(n, c) for c in op.match_conditions or ())}
        if op.max_depth is not None:
            namespaces = {n[: op.max_depth] for n in namespaces}
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _sweep(self) -> Step[int]:
        cursor, gone = "", []
        while True:
            page = yield lambda s: s.documents(self._root, cursor=cursor)
            gone += [d["path"] for d in page["items"] if self._entry(d).over()]
            cursor = page.get("next", "")
            if not cursor:
                break
        for path in gone:
            try:
                yield lambda s: s.delete_document(path)
            except NotFound:
                pass
        return len(gone)


def aligned(namespace: Namespace, c: MatchCondition) -> bool:
    path = tuple(c.path)
    if len(path) > len(namespace):
        return False
    if c.match_type == "prefix":
        labels = namespace[: len(path)]
    elif c.match_type == "suffix":
        labels = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"Unsupported match type: {c.match_type}")
    return all(want in ("*", have) for want, have in zip(path, labels))


OPERATORS = {
    "$eq": lambda a, b: same(a, b),
    "$ne": lambda a, b: not same(a, b),
    "$gt": lambda a, b: comparable(a, b) and a > b,
    "$gte": lambda a, b: comparable(a, b) and a >= b,
    "$lt": lambda a, b: comparable(a, b) and a < b,
    "$lte": lambda a, b: comparable(a, b) and a <= b,
    "$in": lambda a, b: any(same(a, x) for x in b),
    "$nin": lambda a, b: not any(same(a, x) for x in b),
}
MISSING = object()


def number(v: Any) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def comparable(a: Any, b: Any) -> bool:
    return number(a) and number(b) or isinstance(a, str) and isinstance(b, str)


def same(a: Any, b: Any) -> bool:
    if number(a) and number(b):
        return a == b
    return type(a) is type(b) and a == b


def check_filter(f: Optional[Mapping[str, Any]]) -> None:
    for key, want in (f or {}).items():
        if not isinstance(key, str) or not key or not all(c.isalnum() and c.isascii() or c in "_.-" for c in key):
            raise ValueError(f"Invalid filter key: {key!r}")
        if isinstance(want, Mapping):
            for op in want:
                if str(op).startswith("$") and op not in OPERATORS:
                    raise ValueError(f"Unsupported operator: {op}")


def field(value: Any, path: str) -> Any:
    """A field by name, or by a dotted path where no field has the whole name."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for p in path.split("."):
        if not isinstance(value, Mapping) or p not in value:
            return MISSING
        value = value[p]
    return value


def matches(value: Mapping[str, Any], f: Optional[Mapping[str, Any]]) -> bool:
    return all(holds(field(value, key), want) for key, want in (f or {}).items())


def holds(have: Any, want: Any) -> bool:
    """Comparisons are typed, and a missing field matches nothing."""
    if have is MISSING:
        return False
    if isinstance(want, Mapping):
        if want and all(str(op).startswith("$") for op in want):
            return all(OPERATORS[op](have, v) for op, v in want.items())
        return isinstance(have, Mapping) and all(k in have and holds(have[k], v) for k, v in want.items())
    if isinstance(want, (list, tuple)):
        return isinstance(have, (list, tuple)) and len(have) == len(want) and all(holds(a, b) for a, b in zip(have, want))
    return same(have, want)
