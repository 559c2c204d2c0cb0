// A LangGraph checkpointer over Tenet threads. Each LangGraph thread is one
// Tenet thread; its versions are checkpoints (c/), channel values (b/) and
// writes (w/), told apart by the shape of their ids. The server keeps opaque
// bytes: what they mean is the serde's business alone. What the caller gave as
// the user's words, and the text that the model answered, are appended to the
// Tenet session of the same id, so that they are consolidated.
import { createHash } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  WRITES_IDX_MAP,
  compareWritesSortKeys,
  getCheckpointId,
  maxChannelVersion,
  writesSortKey,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { batches, decode, encode, fromBase64, toBase64 } from "./bytes.js";
import type { Scope } from "./client.js";
import type { Blob, VersionIn } from "./types.js";
import { answered, said, type Words } from "./words.js";

const TASKS = "__pregel_tasks";
const PAGE = 500;
/** Bytes of a value in one version; a larger value has further versions, its id with ~1, ~2 ... */
const PART = 800_000;

interface Kept {
  thread: string;
  ns: string;
  id: string;
  parent?: string;
  metadata: string;
  parts: string[]; // of large values
}
interface Write {
  task: string;
  channel: string;
  idx: number;
  path: string;
  value: unknown;
}

function digest(...parts: string[]): string {
  const h = createHash("sha256");
  for (const p of parts) {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(Buffer.byteLength(p));
    h.update(size).update(p);
  }
  return h.digest("hex").slice(0, 40);
}
const plain = (id: string): boolean => !/[\u0000-\u001f\u007f]/.test(id) && Buffer.byteLength(id) <= 200;
const threadName = (id: string): string => (plain(id) ? `langgraph/${id}` : `langgraph#${digest(id)}`);
const space = (ns: string): string => (ns ? digest(ns).slice(0, 20) : "-");
const blobId = (ns: string, channel: string, version: number | string): string => `b/${space(ns)}/${digest(channel, typeof version, String(version))}`;
const configOf = (thread_id: string, checkpoint_ns: string, checkpoint_id: string): RunnableConfig => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });

const partsOf = (b: Blob): string[] => Array.from({ length: b.meta ? (decode<{ parts?: number }>(b.meta).parts ?? 0) : 0 }, (_, i) => `${b.id}~${i + 1}`);

export class TenetSaver extends BaseCheckpointSaver {
  private readonly told = new Set<string>();
  constructor(private readonly scope: Scope, options: { serde?: SerializerProtocol; record?: boolean } = {}) {
    super(options.serde);
    this.record = options.record ?? true;
  }
  private readonly record: boolean;

  private async pack(value: unknown): Promise<string> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return toBase64(Buffer.concat([Buffer.from(type + "\0"), bytes]));
  }
  private async unpack<T>(data: string | null | undefined): Promise<T> {
    const bytes = fromBase64(data);
    const at = bytes.indexOf(0);
    return (await this.serde.loadsTyped(Buffer.from(bytes.subarray(0, at)).toString(), bytes.subarray(at + 1))) as T;
  }

  /** A value as versions: its parts, then the first of it under the id itself, which says how many parts follow. */
  private async spread(id: string, value: unknown, fields: object, replace: boolean): Promise<VersionIn[]> {
    const raw = fromBase64(await this.pack(value));
    const rows: VersionIn[] = [];
    for (let i = 1; i * PART < raw.length; i++) rows.push({ id: `${id}~${i}`, data: toBase64(raw.subarray(i * PART, (i + 1) * PART)), replace });
    const said = { ...fields, ...(rows.length > 0 ? { parts: rows.length } : {}) };
    return [...rows, { id, data: toBase64(raw.subarray(0, PART)), replace, ...(Object.keys(said).length > 0 ? { meta: encode(said) } : {}) }];
  }
  private async whole(b: Blob, rows: Map<string, Blob>): Promise<unknown> {
    const parts = [b];
    for (const id of partsOf(b)) {
      const part = rows.get(id);
      if (!part) throw new Error("a part of a stored value is gone");
      parts.push(part);
    }
    return this.unpack(toBase64(Buffer.concat(parts.map((p) => fromBase64(p.data)))));
  }
  private async named(thread: string, ids: string[]): Promise<Blob[]> {
    const out: Blob[] = [];
    for (let i = 0; i < ids.length; i += PAGE) out.push(...(await this.scope.findVersions(thread, { ids: ids.slice(i, i + PAGE) })));
    return out;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns = "" } = config.configurable ?? {};
    if (thread_id === undefined) return undefined;
    const prefix = `c/${space(checkpoint_ns)}/`;
    const wanted = getCheckpointId(config);
    const [row] = await this.scope.findVersions(threadName(thread_id), wanted ? { ids: [prefix + wanted] } : { prefix, limit: 1 });
    return row && this.tuple(row);
  }

  private async tuple(row: Blob): Promise<CheckpointTuple> {
    const kept = decode<Kept>(row.meta);
    const checkpoint = await this.unpack<Checkpoint>(row.data);
    const [values, writes, metadata] = await Promise.all([
      this.values(row.thread, kept.ns, checkpoint.channel_versions),
      this.writes(row.thread, kept.ns, kept.id),
      this.unpack<CheckpointMetadata>(kept.metadata),
    ]);
    checkpoint.channel_values = values;
    if (checkpoint.v < 4 && kept.parent !== undefined) {
      const sends = (await this.writes(row.thread, kept.ns, kept.parent)).filter((w) => w.channel === TASKS);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_values[TASKS] = sends.map((w) => w.value);
      checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }
    const tuple: CheckpointTuple = {
      config: configOf(kept.thread, kept.ns, kept.id),
      checkpoint,
      metadata,
      pendingWrites: writes.map((w) => [w.task, w.channel, w.value] as [string, string, unknown]),
    };
    if (kept.parent !== undefined) tuple.parentConfig = configOf(kept.thread, kept.ns, kept.parent);
    return tuple;
  }

  private async values(thread: string, ns: string, versions: ChannelVersions): Promise<Record<string, unknown>> {
    const channels = new Map(Object.entries(versions ?? {}).map(([c, v]) => [blobId(ns, c, v), c]));
    const found = await this.named(thread, [...channels.keys()]);
    const parts = new Map((await this.named(thread, found.flatMap(partsOf))).map((b) => [b.id, b]));
    const values: Record<string, unknown> = {};
    for (const b of found) values[channels.get(b.id)!] = await this.whole(b, parts);
    return values;
  }

  private async writes(thread: string, ns: string, checkpointId: string): Promise<Write[]> {
    const rows = new Map((await this.all(thread, `w/${space(ns)}/${checkpointId}/`)).map((b) => [b.id, b]));
    const heads = [...rows.values()].filter((b) => !b.id.slice(b.id.lastIndexOf("/")).includes("~"));
    const writes = await Promise.all(heads.map(async (b) => ({ ...decode<Omit<Write, "value">>(b.meta), value: await this.whole(b, rows) })));
    return writes.sort((a, b) => compareWritesSortKeys(writesSortKey(a.path, a.task, a.idx), writesSortKey(b.path, b.task, b.idx)));
  }

  private async all(thread: string, prefix: string): Promise<Blob[]> {
    const out: Blob[] = [];
    for (;;) {
      const rows = await this.scope.findVersions(thread, { prefix, below: out.at(-1)?.id ?? "", limit: PAGE });
      out.push(...rows);
      if (rows.length < PAGE) return out;
    }
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const names: string[] = thread_id !== undefined ? [threadName(thread_id)] : [];
    for (let cursor = ""; thread_id === undefined; ) {
      const page = await this.scope.threads("langgraph", cursor);
      names.push(...(page.items ?? []).map((t) => t.name));
      if (!(cursor = page.next ?? "")) break;
    }
    const below = options.before && getCheckpointId(options.before);
    const found: { id: string; row: Blob }[] = [];
    for (const name of names) {
      for (const row of await this.all(name, checkpoint_ns !== undefined ? `c/${space(checkpoint_ns)}/` : "c/")) {
        const kept = decode<Kept>(row.meta);
        if ((checkpoint_id && kept.id !== checkpoint_id) || (below && kept.id >= below)) continue;
        if (options.filter) {
          const metadata = await this.unpack<Record<string, unknown>>(kept.metadata);
          if (!Object.entries(options.filter).every(([k, v]) => JSON.stringify(metadata[k]) === JSON.stringify(v))) continue;
        }
        found.push({ id: kept.id, row });
      }
    }
    found.sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0));
    for (const { row } of found.slice(0, Math.max(0, options.limit ?? found.length))) yield await this.tuple(row);
  }

  async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns: ns = "", checkpoint_id: parent } = config.configurable ?? {};
    if (thread_id === undefined) throw new Error('Failed to put checkpoint. The passed RunnableConfig is missing a required "thread_id" field in its "configurable" property.');
    const { channel_values: values, ...body } = checkpoint;
    const versions: VersionIn[] = [];
    for (const [channel, version] of Object.entries(newVersions)) {
      if (channel in values && values[channel] !== undefined) versions.push(...(await this.spread(blobId(ns, channel, version), values[channel], {}, false)));
    }
    const kept: Kept = { thread: thread_id, ns, id: checkpoint.id, parent, metadata: await this.pack(metadata), parts: versions.map((v) => v.id).filter((id) => id.includes("~")) };
    versions.push({ id: `c/${space(ns)}/${checkpoint.id}`, parent: parent ?? "", data: await this.pack(body), meta: encode(kept), replace: true }); // last: never there without its values
    await this.keep(threadName(thread_id), versions);
    if (this.record && !ns && metadata.source === "input") await this.tell(thread_id, said(values, checkpoint.id));
    return configOf(thread_id, ns, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const { thread_id, checkpoint_ns: ns = "", checkpoint_id } = config.configurable ?? {};
    for (const [name, value] of Object.entries({ thread_id, checkpoint_id })) {
      if (value === undefined) throw new Error(`Failed to put writes. The passed RunnableConfig is missing a required "${name}" field in its "configurable" property.`);
    }
    const versions = await Promise.all(
      writes.map(([channel, value], i) => {
        const idx = WRITES_IDX_MAP[channel] ?? i;
        return this.spread(`w/${space(ns)}/${checkpoint_id}/${digest(taskId, String(idx))}`, value, { task: taskId, channel, idx, path: taskPath }, idx < 0);
      }),
    );
    await this.keep(threadName(thread_id), versions.flat());
    if (this.record && !ns) await this.tell(thread_id, answered(writes));
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.scope.dropThread(threadName(threadId));
  }

  private async keep(thread: string, versions: VersionIn[]): Promise<void> {
    for (const batch of batches(versions)) await this.scope.putVersions(thread, batch);
  }

  private async tell(thread: string, messages: Words[]): Promise<void> {
    const fresh = messages.filter((m) => !this.told.has(thread + m.client_id));
    if (fresh.length === 0) return;
    await this.scope.session(plain(thread) ? thread : digest(thread)).append(...fresh);
    if (this.told.size > 10_000) this.told.clear();
    for (const m of fresh) this.told.add(thread + m.client_id);
  }
}
