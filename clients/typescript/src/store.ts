// A LangGraph store over Tenet documents: the twin of the Python client's, and
// the items are the same ones. An item is one document; its path is made of
// the namespace's labels and the key, each percent-encoded.
import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { NotFound, esc, type Scope } from "./client.js";
import type { Document } from "./types.js";

const RANKED = 200;
const special: Record<string, string> = { "": "%", ".": "%2E", "..": "%2E%2E" };
const part = (label: string): string => special[label] ?? esc(label);
const unpart = (p: string): string => (p === "%" ? "" : decodeURIComponent(p));

interface Kept {
  v: Record<string, any>;
  c?: string;
  x?: number;
  ttl?: number;
  i?: false | string[];
}

export class TenetStore extends BaseStore {
  private readonly root: string;
  constructor(private readonly scope: Scope, options: { root?: string } = {}) {
    super();
    this.root = (options.root ?? "store") + "/";
  }

  /** Reads see the state before the batch's puts; of several puts to one item the last wins. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    const puts = new Map<string, PutOperation>();
    for (const op of operations) {
      if ("value" in op) {
        puts.set(this.path(op.namespace, op.key), op);
        results.push(undefined);
      } else if ("namespacePrefix" in op) results.push(await this.find(op));
      else if ("key" in op) results.push(await this.read(op));
      else results.push(await this.list(op as ListNamespacesOperation));
    }
    for (const [path, op] of puts) await this.file(path, op);
    return results as OperationResults<Op>;
  }

  private under(namespace: string[]): string {
    return this.root + namespace.map((label) => part(label) + "/").join("");
  }
  private path(namespace: string[], key: string): string {
    return this.under(namespace) + part(key);
  }

  private entry(d: Document): { item: Item; ranked: boolean; over: boolean } {
    const kept = JSON.parse(d.text) as Kept;
    const parts = d.path.slice(this.root.length).split("/").map(unpart);
    const updatedAt = new Date(d.valid.from!);
    const item = { value: kept.v, key: parts.pop()!, namespace: parts, createdAt: kept.c ? new Date(kept.c) : updatedAt, updatedAt };
    return { item, ranked: kept.i !== false, over: kept.x !== undefined && kept.x * 1000 <= Date.now() };
  }

  private async read(op: GetOperation): Promise<Item | null> {
    try {
      const e = this.entry(await this.scope.document(this.path(op.namespace, op.key)));
      return e.over ? null : e.item;
    } catch (e) {
      if (e instanceof NotFound) return null;
      throw e;
    }
  }

  private async file(path: string, op: PutOperation): Promise<void> {
    if (op.value === null) {
      await this.scope.deleteDocument(path).catch((e) => {
        if (!(e instanceof NotFound)) throw e;
      });
      return;
    }
    const had = await this.read(op);
    const kept: Kept = { v: op.value, c: (had?.createdAt ?? new Date()).toISOString(), ...(op.index !== undefined ? { i: op.index } : {}) };
    await this.scope.putDocument(path, JSON.stringify(kept));
  }

  private async all(prefix: string): Promise<Item[]> {
    const out: Item[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.scope.documents(prefix, cursor);
      out.push(...(page.items ?? []).map((d) => this.entry(d)).filter((e) => !e.over).map((e) => e.item));
      if (!(cursor = page.next ?? "")) return out;
    }
  }

  private async find(op: SearchOperation): Promise<SearchItem[]> {
    checkFilter(op.filter);
    const { limit = 10, offset = 0 } = op;
    const prefix = this.under(op.namespacePrefix);
    let found: SearchItem[] = [];
    if (op.query?.trim()) {
      const hits = await this.scope.searchDocuments(op.query, prefix, RANKED);
      found = hits.map((h) => ({ ...this.entry(h), score: h.score })).filter((e) => e.ranked && !e.over && matches(e.item.value, op.filter)).map((e) => ({ ...e.item, score: e.score }));
    }
    if (found.length < offset + limit) {
      const id = (i: Item) => this.path(i.namespace, i.key);
      const seen = new Set(found.map(id));
      const rest = (await this.all(prefix)).filter((i) => !seen.has(id(i)) && matches(i.value, op.filter));
      rest.sort((a, b) => b.updatedAt.getTime() - a.updatedAt.getTime() || (id(a) < id(b) ? -1 : 1));
      found.push(...rest);
    }
    return found.slice(offset, offset + limit);
  }

  private async list(op: ListNamespacesOperation): Promise<string[][]> {
    const namespaces = new Map<string, string[]>();
    for (const { namespace } of await this.all(this.root)) {
      if (!(op.matchConditions ?? []).every((c) => aligned(namespace, c))) continue;
      const cut = op.maxDepth !== undefined ? namespace.slice(0, op.maxDepth) : namespace;
      namespaces.set(JSON.stringify(cut), cut);
    }
    const sorted = [...namespaces.values()].sort((a, b) => (this.under(a) < this.under(b) ? -1 : 1));
    return sorted.slice(op.offset ?? 0, (op.offset ?? 0) + (op.limit ?? 100));
  }
}

function aligned(namespace: string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > namespace.length) return false;
  const labels = matchType === "prefix" ? namespace.slice(0, path.length) : namespace.slice(namespace.length - path.length);
  return path.every((want, i) => want === "*" || want === labels[i]);
}

const comparable = (a: unknown, b: unknown): boolean => typeof a === typeof b && (typeof a === "number" || typeof a === "string");
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const operators: Record<string, (a: any, b: any) => boolean> = {
  $eq: same,
  $ne: (a, b) => !same(a, b),
  $gt: (a, b) => comparable(a, b) && a > b,
  $gte: (a, b) => comparable(a, b) && a >= b,
  $lt: (a, b) => comparable(a, b) && a < b,
  $lte: (a, b) => comparable(a, b) && a <= b,
  $in: (a, b) => b.some((x: unknown) => same(a, x)),
  $nin: (a, b) => !b.some((x: unknown) => same(a, x)),
};
const isObject = (v: unknown): v is Record<string, any> => typeof v === "object" && v !== null && !Array.isArray(v);

function checkFilter(filter?: Record<string, any>): void {
  for (const [key, want] of Object.entries(filter ?? {})) {
    if (!/^[A-Za-z0-9_.-]+$/.test(key)) throw new Error(`Invalid filter key: ${JSON.stringify(key)}`);
    for (const op of isObject(want) ? Object.keys(want) : []) if (op.startsWith("$") && !(op in operators)) throw new Error(`Unsupported operator: ${op}`);
  }
}

/** Comparisons are typed, and a missing field matches nothing. */
function matches(value: Record<string, any>, filter?: Record<string, any>): boolean {
  return Object.entries(filter ?? {}).every(([key, want]) => holds(Object.hasOwn(value, key) ? value[key] : key.split(".").reduce<any>((v, p) => (isObject(v) && Object.hasOwn(v, p) ? v[p] : undefined), value), want));
}
function holds(have: unknown, want: unknown): boolean {
  if (have === undefined) return false;
  if (!isObject(want)) return same(have, want);
  const keys = Object.keys(want);
  if (keys.length > 0 && keys.every((k) => k.startsWith("$"))) return keys.every((k) => operators[k](have, want[k]));
  return isObject(have) && keys.every((k) => Object.hasOwn(have, k) && holds(have[k], want[k]));
}
