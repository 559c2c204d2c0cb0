/** Claude Agent SDK over Tenet: transcripts in threads, memory by identity. */
import { batches, decode, encode } from "./bytes.js";
import { Conflict, NotFound, TenetError, esc, type Scope } from "./client.js";
import type { Blob } from "./types.js";

export interface SessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [k: string]: unknown;
}
export interface SessionSummaryEntry {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}
/** The SDK's foldSessionSummary, given by the caller so that this package needs no SDK. */
export type Fold = (prev: SessionSummaryEntry | undefined, key: SessionKey, entries: SessionStoreEntry[], options?: { mtime?: number }) => SessionSummaryEntry;

const projectPart = (projectKey: string): string => esc(projectKey).replaceAll(".", "%2E");
const thread = (k: SessionKey): string => `claude/${projectPart(k.projectKey)}/${esc(k.sessionId)}` + (k.subpath === undefined ? "" : "/" + esc(k.subpath));
const summary = (k: SessionKey): string => "claude-summary" + thread(k).slice("claude".length);
const millis = (stamp: string): number => new Date(stamp).getTime();

/**
 * A SessionStore. The project key separates transcripts within the scope only:
 * whose memory it is, the scope says. Without `fold` there are no summaries,
 * and the SDK loads transcripts instead.
 */
export class TenetSessionStore {
  listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
  constructor(private readonly scope: Scope, private readonly options: { fold?: Fold; record?: boolean } = {}) {
    if (options.fold) this.listSessionSummaries = (projectKey) => this.summaries(`claude-summary/${projectPart(projectKey)}/`);
  }

  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return;
    // The uuid is the entry's idempotency key; what has none is never the same twice.
    const versions = entries.map((e) => ({ id: e.uuid ? "u/" + e.uuid : "x/" + crypto.randomUUID(), data: encode(e) }));
    for (const batch of batches(versions)) await this.scope.putVersions(thread(key), batch);
    if (key.subpath !== undefined) return;
    if (this.options.fold) await this.fold(key, entries);
    const words = (this.options.record ?? true) ? entries.flatMap(answered) : [];
    for (let at = 0; at < words.length; at += 500) await this.scope.session(key.sessionId).append(...words.slice(at, at + 500));
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const entries: SessionStoreEntry[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.scope.versions(thread(key), cursor);
      entries.push(...(page.items ?? []).map((b) => decode<SessionStoreEntry>(b.data)));
      if (!(cursor = page.next ?? "")) return entries.length ? entries.reverse() : null;
    }
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const prefix = `claude/${projectPart(projectKey)}/`;
    const all = await this.names(prefix);
    return all.filter((t) => !t.name.slice(prefix.length).includes("/")).map((t) => ({ sessionId: decodeURIComponent(t.name.slice(prefix.length)), mtime: millis(t.newest_at) }));
  }

  async delete(key: SessionKey): Promise<void> {
    await this.scope.dropThread(thread(key));
    if (key.subpath !== undefined) return;
    await this.scope.dropThread(summary(key));
    for (const sub of await this.names(thread(key) + "/")) await this.scope.dropThread(sub.name);
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const prefix = thread({ projectKey: key.projectKey, sessionId: key.sessionId }) + "/";
    return (await this.names(prefix)).map((t) => decodeURIComponent(t.name.slice(prefix.length)));
  }

  private async names(prefix: string): Promise<{ name: string; newest_at: string }[]> {
    const out: { name: string; newest_at: string }[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.scope.threads(prefix, cursor);
      out.push(...(page.items ?? []));
      if (!(cursor = page.next ?? "")) return out;
    }
  }

  private async summaries(prefix: string): Promise<SessionSummaryEntry[]> {
    const heads = await Promise.all((await this.names(prefix)).map((t) => this.scope.version(t.name)));
    return heads.map(stamped);
  }

  private async fold(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const name = summary(key);
    for (;;) {
      const head = await this.scope.version(name).catch((e) => {
        if (e instanceof NotFound) return undefined;
        throw e;
      });
      const folded = this.options.fold!(head && stamped(head), key, entries);
      try {
        await this.scope.putVersion(name, crypto.randomUUID(), encode(folded), head?.id ?? "", true);
      } catch (e) {
        if (e instanceof Conflict) continue; // another process folded meanwhile
        throw e;
      }
      if (head) await this.scope.removeVersions(name, [head.id]);
      return;
    }
  }
}

const stamped = (b: Blob): SessionSummaryEntry => ({ ...decode<SessionSummaryEntry>(b.data), mtime: millis(b.created_at) });

function answered(e: SessionStoreEntry): { role: "assistant"; text: string; client_id: string }[] {
  const content = e.type === "assistant" ? (e.message as { content?: unknown } | undefined)?.content : undefined;
  const text = typeof content === "string" ? content : Array.isArray(content) ? content.filter((b) => b?.type === "text").map((b) => b.text).join("\n") : "";
  return text.trim() && e.uuid ? [{ role: "assistant", text, client_id: e.uuid }] : [];
}

/**
 * Hooks for query(). What the user typed is recorded before the model sees it,
 * and every prompt brings the context as it is now. When memory is away the
 * prompt is blocked.
 */
export function hooks(scope: Scope, options: { tokens?: number } = {}): { UserPromptSubmit: { hooks: ((input: any) => Promise<any>)[] }[] } {
  const submitted = async (input: { session_id: string; prompt: string }) => {
    try {
      const session = scope.session(input.session_id);
      await session.append({ role: "user", text: input.prompt });
      const { system } = await session.context(undefined, { tokens: options.tokens ?? 2000 });
      return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: system } };
    } catch (e) {
      if (!(e instanceof TenetError)) throw e;
      return { decision: "block", reason: `memory is not available (${e.name}); nothing was sent to the model` };
    }
  };
  return { UserPromptSubmit: [{ hooks: [submitted] }] };
}

/** The instructions, then what Tenet holds of the subject. Throws when memory is away. */
export async function systemPrompt(scope: Scope, session: string, instructions: string, tokens = 2000): Promise<string> {
  return `${instructions}\n\n${(await scope.session(session).context(instructions, { tokens })).system}`;
}
