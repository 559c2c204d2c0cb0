// The client. No dependency beyond fetch.
import type * as t from "./types.js";

/** An answer that is not a success. It names fields and never holds memory text. */
export class TenetError extends Error {
  constructor(readonly status: number, readonly code: string, readonly detail: string, readonly verdict?: t.Verdict) {
    super(`${status} ${code || "error"}: ${detail}`);
    this.name = new.target.name;
  }
}
/** 404: not in this scope. */
export class NotFound extends TenetError {}
/** 409 or 412: the state moved. */
export class Conflict extends TenetError {}
/** 422: the gate refused; verdict says why. */
export class Refused extends TenetError {}
/** The server is away or a store behind it is. */
export class Unavailable extends TenetError {}

const byStatus: Record<number, typeof TenetError> = { 404: NotFound, 409: Conflict, 412: Conflict, 422: Refused, 502: Unavailable, 503: Unavailable, 504: Unavailable };

export const esc = (part: string): string => encodeURIComponent(part).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
const once = (): Record<string, string> => ({ "Idempotency-Key": crypto.randomUUID() });

export interface Options {
  /** Default: TENET_SERVER, or http://127.0.0.1:7766. */
  url?: string;
  /** Default: TENET_API_KEY. It decides the tenant. */
  key?: string;
  /** Of one call, in milliseconds. Default: 60 000. */
  timeout?: number;
  fetch?: typeof fetch;
}

type Query = Record<string, string | number | boolean | undefined>;

/** A server. */
export class Tenet {
  private readonly url: string;
  private readonly key: string;
  constructor(private readonly options: Options = {}) {
    const env = globalThis.process?.env ?? {};
    this.url = (options.url ?? env.TENET_SERVER ?? "http://127.0.0.1:7766").replace(/\/+$/, "");
    this.key = options.key ?? env.TENET_API_KEY ?? "";
    if (!this.key) throw new TypeError("no API key: give key or set TENET_API_KEY");
  }

  user(id: string): Scope {
    return new Scope(this, `/v1/users/${esc(id)}`);
  }
  project(id: string): Scope {
    return new Scope(this, `/v1/projects/${esc(id)}`);
  }
  tenant(): Scope {
    return new Scope(this, "/v1/tenant");
  }
  me(): Promise<t.PrincipalOut> {
    return this.send("GET", "/v1/me");
  }

  /** Makes one call. A failure of the transport is Unavailable. */
  async send<T>(method: string, path: string, body?: unknown, query: Query = {}, headers: Record<string, string> = {}): Promise<T> {
    const params = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => [k, String(v)]));
    const url = this.url + path + (params.size ? `?${params}` : "");
    let response: Response;
    let text: string;
    try {
      response = await (this.options.fetch ?? fetch)(url, {
        method,
        headers: { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json", ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(this.options.timeout ?? 60_000),
      });
      text = await response.text();
    } catch (e) {
      throw new Unavailable(0, "UNREACHABLE", (e as Error).name);
    }
    if (response.status === 204 || response.status === 304) return undefined as T;
    if (response.ok) return JSON.parse(text) as T;
    let problem: Partial<t.Problem> = {};
    try {
      problem = JSON.parse(text);
    } catch {}
    const error = byStatus[response.status] ?? TenetError;
    throw new error(response.status, problem.code || problem.verdict?.codes?.join(",") || "", problem.detail ?? response.statusText, problem.verdict as t.Verdict | undefined);
  }
}

export interface Remembering {
  tier: "fact" | "note";
  key?: string;
  quote?: string;
  cites?: string[];
  safety?: boolean;
}

/** One subject's memory: a user, a project or the whole tenant. */
export class Scope {
  constructor(readonly client: Tenet, readonly path: string) {}
  private send<T>(method: string, path: string, body?: unknown, query?: Query, headers?: Record<string, string>): Promise<T> {
    return this.client.send<T>(method, this.path + path, body, query, headers);
  }

  session(id: string): Session {
    return new Session(this, id);
  }

  // Facts: by identity, complete and exact.
  async facts(): Promise<t.Fact[]> {
    return (await this.send<t.Facts>("GET", "/facts")).facts ?? [];
  }
  /** Remembers and returns the verdict. Throws Refused when the gate refuses. */
  async remember(text: string, how: Remembering): Promise<t.Verdict> {
    return (await this.send<t.Decision>("POST", "/memories", { text, ...how }, {}, once())).verdict;
  }
  /** What remember would decide, without the write. */
  async vet(text: string, how: Remembering): Promise<t.Verdict> {
    return (await this.send<t.Decision>("POST", "/vet", { text, ...how })).verdict;
  }
  async retract(key: string, why = ""): Promise<void> {
    await this.send("DELETE", `/facts/${esc(key)}`, undefined, { why }, once());
  }
  // Recall: by meaning, may miss.
  recall(query: string, k = 10): Promise<t.Found> {
    return this.send("POST", "/recall", { query, k });
  }

  // Documents: what an agent files for itself.
  document(path: string): Promise<t.Document> {
    return this.send("GET", `/documents/${esc(path)}`);
  }
  putDocument(path: string, text: string, condition: { sha256?: string; isNew?: boolean } = {}): Promise<t.Document> {
    const headers = once();
    if (condition.isNew) headers["If-None-Match"] = "*";
    if (condition.sha256) headers["If-Match"] = `"${condition.sha256}"`;
    return this.send("PUT", `/documents/${esc(path)}`, { text }, {}, headers);
  }
  async deleteDocument(path: string): Promise<void> {
    await this.send("DELETE", `/documents/${esc(path)}`, undefined, {}, once());
  }
  documents(prefix = "", cursor = "", limit = 500): Promise<t.PageDocument> {
    return this.send("GET", "/documents", undefined, { prefix, cursor, limit });
  }
  async searchDocuments(query: string, prefix = "", k = 10): Promise<t.DocumentHit[]> {
    return (await this.send<t.DocumentHits>("POST", "/documents-search", { prefix, query, k })).hits ?? [];
  }

  // Threads: a framework's own state, byte for byte. Data is base64.
  threads(prefix = "", cursor = "", limit = 500): Promise<t.PageThread> {
    return this.send("GET", "/threads", undefined, { prefix, cursor, limit });
  }
  async putVersions(thread: string, versions: t.VersionIn[]): Promise<void> {
    await this.send("POST", `/threads/${esc(thread)}/versions`, { versions });
  }
  putVersion(thread: string, id: string, data: string, parent = "", strict = false): Promise<t.Blob> {
    return this.send("PUT", `/threads/${esc(thread)}/versions/${esc(id)}`, { data, parent, strict });
  }
  /** A version, or the newest. Throws NotFound. */
  version(thread: string, id = ""): Promise<t.Blob> {
    return this.send("GET", `/threads/${esc(thread)}${id ? `/versions/${esc(id)}` : ""}`);
  }
  versions(thread: string, cursor = "", limit = 100): Promise<t.PageBlob> {
    return this.send("GET", `/threads/${esc(thread)}/versions`, undefined, { cursor, limit });
  }
  async findVersions(thread: string, what: { prefix?: string; below?: string; limit?: number; ids?: string[] }): Promise<t.Blob[]> {
    return (await this.send<t.Versions>("POST", `/threads/${esc(thread)}/find`, what)).versions ?? [];
  }
  async removeVersions(thread: string, ids: string[]): Promise<number> {
    return (await this.send<t.Dropped>("POST", `/threads/${esc(thread)}/remove`, { ids })).dropped;
  }
  async dropThread(thread: string): Promise<number> {
    return (await this.send<t.Dropped>("DELETE", `/threads/${esc(thread)}`)).dropped;
  }

  /** A command of the memory tool (memory_20250818). */
  memoryTool(command: Record<string, unknown>, dialect: "docs" | "py" | "ts" = "docs"): Promise<t.Reply> {
    return this.send("POST", "/memory-tool", command, { dialect });
  }
}

/** One conversation: the hot path. */
export class Session {
  readonly path: string;
  constructor(readonly scope: Scope, readonly id: string) {
    this.path = `${scope.path}/sessions/${esc(id)}`;
  }
  private send<T>(method: string, path: string, body?: unknown, query?: Query, headers?: Record<string, string>): Promise<T> {
    return this.scope.client.send<T>(method, this.path + path, body, query, headers);
  }

  async append(...messages: t.MessageIn[]): Promise<t.Message[]> {
    return (await this.send<t.Messages>("POST", "/messages", { messages }, {}, once())).messages ?? [];
  }
  async messages(after = 0, limit = 100): Promise<t.Message[]> {
    return (await this.send<t.Messages>("GET", "/messages", undefined, { after, limit })).messages ?? [];
  }
  /** Working memory for the next model call; system is the block to show the model. */
  context(query?: string, budget: { tokens?: number; recall?: number } = {}): Promise<t.Window> {
    return this.send("POST", "/context", { ...(query ? { query } : {}), ...budget });
  }
  recall(query: string, k = 10): Promise<t.Found> {
    return this.send("POST", "/recall", { query, k });
  }
  /** Proposes a record; it is judged when the conversation is consolidated. */
  async propose(text: string, how: Remembering): Promise<string> {
    return (await this.send<t.ProposalOut>("POST", "/proposals", { text, ...how }, {}, once())).id;
  }
  end(wait = false): Promise<t.Report> {
    return this.send("POST", "/end", undefined, { wait });
  }
}
