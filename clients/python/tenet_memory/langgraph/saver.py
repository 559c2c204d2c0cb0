"""A LangGraph checkpointer over Tenet threads.

Each LangGraph thread is one Tenet thread. Its versions are checkpoints
(c/), channel values (b/) and writes (w/), told apart by the shape of their
ids, so a checkpoint is read with three calls however long the thread is. The
server keeps opaque bytes: what they mean is the serde's business alone.

What the caller gave to the graph as the user's words, and the text that the
model answered, are appended to the Tenet session of the same id, so that they
are consolidated. Words that a node or a middleware made up are not.
"""
from __future__ import annotations

import base64
import hashlib
import json
from collections import OrderedDict
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)

from .._both import Both, Step
from ..client import Scope
from .words import answered, said

TASKS = "__pregel_tasks"
PAGE = 500  # versions in one answer
BATCH_BYTES = 1_200_000  # of one request, in base64; the server takes 2 MiB
PART = 800_000  # bytes of a value in one version; a larger value has further versions, its id with ~1, ~2 ...


def digest(*parts: str) -> str:
    h = hashlib.sha256()
    for p in parts:
        raw = p.encode()
        h.update(len(raw).to_bytes(4, "big") + raw)
    return h.hexdigest()[:40]


def thread_name(thread_id: str) -> str:
    """The Tenet thread of a LangGraph thread. Names that Tenet would not take are hashed."""
    plain = thread_id.isprintable() and len(thread_id.encode()) <= 200
    return "langgraph/" + thread_id if plain else "langgraph#" + digest(thread_id)


def session_id(thread_id: str) -> str:
    return thread_id if thread_id.isprintable() and len(thread_id.encode()) <= 200 else digest(thread_id)


def space(ns: str) -> str:
    return digest(ns)[:20] if ns else "-"


def blob_id(ns: str, channel: str, version: Any) -> str:
    return f"b/{space(ns)}/{digest(channel, type(version).__name__, str(version))}"


def pack(typed: Tuple[str, bytes]) -> str:
    return base64.b64encode(typed[0].encode() + b"\0" + typed[1]).decode()


def unpack(data: Optional[str]) -> Tuple[str, bytes]:
    kind, _, rest = base64.b64decode(data or "").partition(b"\0")
    return kind.decode(), rest


def spread(id: str, typed: Tuple[str, bytes], fields: Mapping[str, Any], replace: bool = False) -> List[dict]:
    """A value as versions: its parts, then the first of it under the id itself, which says how many parts follow."""
    raw = typed[0].encode() + b"\0" + typed[1]
    parts = [raw[i : i + PART] for i in range(0, len(raw), PART)]
    said = {**fields, **({"parts": len(parts) - 1} if len(parts) > 1 else {})}
    rows = [{"id": f"{id}~{i}", "data": base64.b64encode(p).decode(), "replace": replace} for i, p in enumerate(parts) if i]
    return rows + [{"id": id, "data": base64.b64encode(parts[0]).decode(), "replace": replace, **({"meta": meta(said)} if said else {})}]


def joined(b: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> Tuple[str, bytes]:
    try:
        parts = [b, *(rows[f"{b['id']}~{i}"] for i in range(1, read_meta(b).get("parts", 0) + 1))]
    except KeyError:
        raise LookupError("a part of a stored value is gone") from None
    kind, _, rest = b"".join(base64.b64decode(p["data"] or "") for p in parts).partition(b"\0")
    return kind.decode(), rest


def meta(fields: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode()


def read_meta(b: Mapping[str, Any]) -> Dict[str, Any]:
    return json.loads(base64.b64decode(b.get("meta") or "e30="))


def config_of(thread_id: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


class TenetSaver(BaseCheckpointSaver[str]):
    """Keeps checkpoints in one scope: TenetSaver(Tenet().user("sarah")).

    One saver can serve many people: give a function of the config instead,
    TenetSaver(lambda c: client.user(c["configurable"]["user_id"])); what has no
    config (deleting, copying, pruning) then needs a saver made for the subject.
    record=False appends nothing to sessions.
    """

    def __init__(self, scope: Union[Scope, Callable[[Any], Scope]], *, serde: Any = None, record: bool = True):
        super().__init__(serde=serde)
        self._both, self._record = Both(scope), record
        self._told: "OrderedDict[str, None]" = OrderedDict()  # messages appended lately

    # The contract, sync and async.

    def get_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        return self._both.run(self._get(config), config)

    async def aget_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        return await self._both.arun(self._get(config), config)

    def list(self, config: Optional[RunnableConfig], *, filter: Optional[Dict[str, Any]] = None, before: Optional[RunnableConfig] = None, limit: Optional[int] = None) -> Iterator[CheckpointTuple]:
        for b in self._both.run(self._found(config, filter, before, limit), config):
            yield self._both.run(self._tuple(b), config)

    async def alist(self, config: Optional[RunnableConfig], *, filter: Optional[Dict[str, Any]] = None, before: Optional[RunnableConfig] = None, limit: Optional[int] = None) -> AsyncIterator[CheckpointTuple]:
        for b in await self._both.arun(self._found(config, filter, before, limit), config):
            yield await self._both.arun(self._tuple(b), config)

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        return self._both.run(self._put(config, checkpoint, metadata, new_versions), config)

    async def aput(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        return await self._both.arun(self._put(config, checkpoint, metadata, new_versions), config)

    def put_writes(self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self._both.run(self._put_writes(config, writes, task_id, task_path), config)

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        await self._both.arun(self._put_writes(config, writes, task_id, task_path), config)

    def delete_thread(self, thread_id: str) -> None:
        self._both.run(self._drop(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._both.arun(self._drop(str(thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._both.run(self._delete_for_runs(set(run_ids)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._both.arun(self._delete_for_runs(set(run_ids)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._both.run(self._copy(source_thread_id, target_thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._both.arun(self._copy(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._both.run(self._prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._both.arun(self._prune(thread_ids, strategy))

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        return self._both.run(self._history(config, channels), config)

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        return await self._both.arun(self._history(config, channels), config)

    def get_next_version(self, current: Any, channel: None = None) -> str:
        """Counts up. Concurrent forks of one thread get versions of their own by the random part."""
        import random

        n = 0 if current is None else current if isinstance(current, int) else int(str(current).split(".")[0])
        return f"{n + 1:032}.{random.random():016}"

    # Reading.

    def _get(self, config: RunnableConfig) -> Step[Optional[CheckpointTuple]]:
        b = yield from self._row(config)
        return (yield from self._tuple(b)) if b else None

    def _row(self, config: RunnableConfig) -> Step[Optional[dict]]:
        c = config["configurable"]
        ns, name = c.get("checkpoint_ns", ""), thread_name(str(c["thread_id"]))
        prefix, wanted = f"c/{space(ns)}/", get_checkpoint_id(config)
        if wanted:
            rows = yield lambda s: s.find_versions(name, ids=[prefix + wanted])
        else:
            rows = yield lambda s: s.find_versions(name, prefix=prefix, limit=1)
        return rows[0] if rows else None

    def _tuple(self, b: dict) -> Step[CheckpointTuple]:
        m, name = read_meta(b), b["thread"]
        checkpoint = self.serde.loads_typed(unpack(b["data"]))
        values = yield from self._values(name, m["ns"], checkpoint["channel_versions"])
        writes = yield from self._writes(name, m["ns"], m["id"])
        if checkpoint.get("v", 4) < 4 and m.get("parent"):
            yield from self._migrate(name, m, checkpoint, values)
        return CheckpointTuple(
            config_of(m["thread"], m["ns"], m["id"]),
            {**checkpoint, "channel_values": values},
            self.serde.loads_typed(unpack(m["metadata"])),
            config_of(m["thread"], m["ns"], m["parent"]) if m.get("parent") else None,
            [(w["task"], w["channel"], self.serde.loads_typed(w["typed"])) for w in writes],
        )

    def _values(self, name: str, ns: str, versions: ChannelVersions) -> Step[Dict[str, Any]]:
        channels = {blob_id(ns, c, v): c for c, v in versions.items()}
        values = {}
        for ids in chunks(list(channels), PAGE):
            found = yield lambda s: s.find_versions(name, ids=ids)
            rest = [f"{b['id']}~{i}" for b in found for i in range(1, read_meta(b).get("parts", 0) + 1)]
            parts = {}
            for more in chunks(rest, PAGE):
                parts |= {p["id"]: p for p in (yield lambda s: s.find_versions(name, ids=more))}
            for b in found:
                typed = joined(b, parts)
                if typed[0] != "empty":
                    values[channels[b["id"]]] = self.serde.loads_typed(typed)
        return values

    def _writes(self, name: str, ns: str, checkpoint_id: str) -> Step[List[dict]]:
        rows = {b["id"]: b for b in (yield from self._all(name, f"w/{space(ns)}/{checkpoint_id}/"))}
        writes = [{**read_meta(b), "typed": joined(b, rows), "row": b["id"]} for b in rows.values() if "~" not in b["id"].rpartition("/")[2]]
        return sorted(writes, key=lambda w: writes_sort_key(w["path"], w["task"], w["idx"]))

    def _all(self, name: str, prefix: str) -> Step[List[dict]]:
        """Every version with the prefix, highest id first."""
        out: List[dict] = []
        while True:
            below = out[-1]["id"] if out else ""
            rows = yield lambda s: s.find_versions(name, prefix=prefix, below=below, limit=PAGE)
            out += rows
            if len(rows) < PAGE:
                return out

    def _migrate(self, name: str, m: dict, checkpoint: Checkpoint, values: dict) -> Step[None]:
        """Checkpoints before v4 had their parent's sends beside the channels."""
        sends = [self.serde.loads_typed(w["typed"]) for w in (yield from self._writes(name, m["ns"], m["parent"])) if w["channel"] == TASKS]
        if sends:
            values[TASKS] = sends
            versions = checkpoint["channel_versions"]
            versions[TASKS] = max(versions.values()) if versions else self.get_next_version(None)

    def _found(self, config: Optional[RunnableConfig], filter: Optional[dict], before: Optional[RunnableConfig], limit: Optional[int]) -> Step[List[dict]]:
        c = (config or {}).get("configurable", {})
        names = [thread_name(str(c["thread_id"]))] if "thread_id" in c else (yield from self._names())
        prefix = f"c/{space(c['checkpoint_ns'])}/" if c.get("checkpoint_ns") is not None else "c/"
        wanted, below = get_checkpoint_id(config) if config else None, get_checkpoint_id(before) if before else None
        found = []
        for name in names:
            for b in (yield from self._all(name, prefix)):
                m = read_meta(b)
                if wanted and m["id"] != wanted or below and m["id"] >= below:
                    continue
                if filter:
                    metadata = self.serde.loads_typed(unpack(m["metadata"]))
                    if any(k not in metadata or metadata[k] != v for k, v in filter.items()):
                        continue
                found.append((m["id"], b))
        found.sort(key=lambda f: f[0], reverse=True)
        return [b for _, b in found[: None if limit is None else max(0, limit)]]

    def _names(self) -> Step[List[str]]:
        names, cursor = [], ""
        while True:
            page = yield lambda s: s.threads("langgraph", cursor=cursor)
            names += [t["name"] for t in page["items"]]
            cursor = page.get("next", "")
            if not cursor:
                return names

    # Writing.

    def _put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions) -> Step[RunnableConfig]:
        c = config["configurable"]
        thread, ns, parent = str(c["thread_id"]), c.get("checkpoint_ns", ""), c.get("checkpoint_id")
        body: Dict[str, Any] = dict(checkpoint)
        values = body.pop("channel_values")
        versions: List[dict] = []
        for ch, v in new_versions.items():
            versions += spread(blob_id(ns, ch, v), self.serde.dumps_typed(values[ch]) if ch in values else ("empty", b""), {})
        kept = get_checkpoint_metadata(config, metadata)
        fields = {
            "thread": thread, "ns": ns, "id": checkpoint["id"], "parent": parent, "metadata": pack(self.serde.dumps_typed(kept)),
            "parts": [b["id"] for b in versions if "~" in b["id"]],  # so that pruning finds them
        }
        versions.append({  # last: a checkpoint is never there without its values
            "id": f"c/{space(ns)}/{checkpoint['id']}", "parent": parent or "", "data": pack(self.serde.dumps_typed(body)), "meta": meta(fields), "replace": True,
        })
        yield from self._keep(thread_name(thread), versions)
        if self._record and not ns and metadata.get("source") == "input":
            yield from self._tell(thread, said(values, checkpoint["id"]))
        return config_of(thread, ns, checkpoint["id"])

    def _put_writes(self, config: RunnableConfig, writes: Sequence[Tuple[str, Any]], task_id: str, task_path: str) -> Step[None]:
        c = config["configurable"]
        thread, ns, at = str(c["thread_id"]), c.get("checkpoint_ns", ""), c["checkpoint_id"]
        versions: List[dict] = []
        for i, (channel, value) in enumerate(writes):
            idx = WRITES_IDX_MAP.get(channel, i)
            fields = {"task": task_id, "channel": channel, "idx": idx, "path": task_path}
            # A retry of ordinary writes changes nothing; of special ones the last stands.
            versions += spread(f"w/{space(ns)}/{at}/{digest(task_id, str(idx))}", self.serde.dumps_typed(value), fields, replace=idx < 0)
        yield from self._keep(thread_name(thread), versions)
        if self._record and not ns:
            yield from self._tell(thread, answered(writes))

    def _keep(self, name: str, versions: List[dict]) -> Step[None]:
        batch: List[dict] = []
        size = 0
        for v in versions:
            n = len(v["data"]) + len(v.get("meta", ""))
            if batch and (size + n > BATCH_BYTES or len(batch) == PAGE):
                yield lambda s: s.put_versions(name, batch)
                batch, size = [], 0
            batch.append(v)
            size += n
        if batch:
            yield lambda s: s.put_versions(name, batch)

    def _tell(self, thread: str, messages: List[dict]) -> Step[None]:
        """Appends to the session. The message's own id makes a repetition harmless."""
        fresh = [m for m in messages if thread + m["client_id"] not in self._told]
        if not fresh:
            return
        yield lambda s: s.session(session_id(thread)).append_all(fresh)
        for m in fresh:
            self._told[thread + m["client_id"]] = None
        while len(self._told) > 10_000:
            self._told.popitem(last=False)

    # Removing and copying.

    def _drop(self, thread: str) -> Step[None]:
        yield lambda s: s.drop_thread(thread_name(thread))

    def _copy(self, source: str, target: str) -> Step[None]:
        """The whole tree, with its values and writes, so that no chain is cut."""
        for prefix in ("b/", "w/", "c/"):
            rows = yield from self._all(thread_name(source), prefix)
            copies = []
            for b in rows:
                m = read_meta(b)
                if "thread" in m:
                    m["thread"] = target
                copies.append({"id": b["id"], "parent": b.get("parent", ""), "data": b["data"], "replace": True, **({"meta": meta(m)} if m else {})})
            yield from self._keep(thread_name(target), copies)

    def _prune(self, threads: Sequence[str], strategy: str) -> Step[None]:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}: keep_latest or delete")
        for thread in threads:
            if strategy == "delete":
                yield from self._drop(thread)
                continue
            rows = yield from self._rows(thread_name(thread))
            latest: Dict[str, str] = {}
            for ns, id in rows:
                latest[ns] = max(latest.get(ns, ""), id)
            yield from self._reduce(thread_name(thread), rows, set(latest.items()))

    def _delete_for_runs(self, runs: Set[str]) -> Step[None]:
        for name in (yield from self._names()) if runs else []:
            rows = yield from self._rows(name)
            keep = {at for at, r in rows.items() if r["metadata"].get("run_id") not in runs}
            if len(keep) < len(rows):
                yield from self._reduce(name, rows, keep)

    def _rows(self, name: str) -> Step[Dict[Tuple[str, str], dict]]:
        rows = {}
        for b in (yield from self._all(name, "c/")):
            m = read_meta(b)
            rows[m["ns"], m["id"]] = {
                "row": b["id"], "parts": m.get("parts", []), "parent": m.get("parent"), "versions": self.serde.loads_typed(unpack(b["data"]))["channel_versions"],
                "metadata": self.serde.loads_typed(unpack(m["metadata"])),
            }
        return rows

    def _reduce(self, name: str, rows: Dict[Tuple[str, str], dict], keep: Set[Tuple[str, str]]) -> Step[None]:
        """Removes all but the kept, and what the delta channels of the kept are rebuilt from."""
        for ns, id in list(keep):
            keep |= yield from self._needed(name, rows, ns, id)
        blobs = {at: {blob_id(at[0], c, v) for c, v in r["versions"].items()} for at, r in rows.items()}
        parts = {p for r in rows.values() for p in r["parts"]}
        held = set().union(*(blobs[at] for at in keep)) if keep else set()
        gone: Set[str] = set()
        for at in rows.keys() - keep:
            gone |= {rows[at]["row"]} | (blobs[at] - held)
            gone |= {b["id"] for b in (yield from self._all(name, f"w/{space(at[0])}/{at[1]}/"))}
        gone |= {p for p in parts if p.rpartition("~")[0] in gone}
        for ids in chunks(sorted(gone, reverse=True), PAGE):  # writes, then checkpoints, then values
            yield lambda s: s.remove_versions(name, ids)

    def _needed(self, name: str, rows: Dict[Tuple[str, str], dict], ns: str, id: str) -> Step[Set[Tuple[str, str]]]:
        """The ancestors that channels without a value of their own are rebuilt from, back to the nearest that has one."""
        names = {c for c in rows[ns, id]["versions"] if not c.startswith(("__", "branch:"))}
        open_ = names - (yield from self._values(name, ns, {c: rows[ns, id]["versions"][c] for c in names})).keys()
        needed: Set[Tuple[str, str]] = set()
        passed: Set[Tuple[str, str]] = set()
        at = rows[ns, id]["parent"]
        while at and open_ and (ns, at) in rows:
            passed.add((ns, at))
            versions = {c: v for c, v in rows[ns, at]["versions"].items() if c in open_}
            ended = (yield from self._values(name, ns, versions)).keys()
            if ended or any(w["channel"] in open_ for w in (yield from self._writes(name, ns, at))):
                needed |= passed
            open_ -= ended
            at = rows[ns, at]["parent"]
        return needed

    def _history(self, config: RunnableConfig, channels: Sequence[str]) -> Step[Mapping[str, DeltaChannelHistory]]:
        """For each channel the writes of the ancestors, oldest first, back to the nearest stored value, which is the seed."""
        writes: Dict[str, list] = {c: [] for c in channels}
        seeds: Dict[str, Any] = {}
        left = set(channels)
        b = (yield from self._row(config)) if channels else None
        while b and left:
            m = read_meta(b)
            if not m.get("parent"):
                break
            b = yield from self._row(config_of(m["thread"], m["ns"], m["parent"]))
            if not b:
                break
            m = read_meta(b)
            for w in reversed((yield from self._writes(b["thread"], m["ns"], m["id"]))):
                if w["channel"] in left:
                    writes[w["channel"]].append((w["task"], w["channel"], self.serde.loads_typed(w["typed"])))
            versions = self.serde.loads_typed(unpack(b["data"]))["channel_versions"]
            stored = yield from self._values(b["thread"], m["ns"], {c: v for c, v in versions.items() if c in left})
            seeds.update(stored)
            left -= stored.keys()
        return {c: {"writes": writes[c][::-1], **({"seed": seeds[c]} if c in seeds else {})} for c in channels}


def chunks(items: List[Any], n: int) -> List[List[Any]]:
    return [items[i : i + n] for i in range(0, len(items), n)]
