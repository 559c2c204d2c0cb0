/** A Session of the OpenAI Agents SDK over Tenet threads. */
import type { AgentInputItem, Session } from "@openai/agents";
import { batches, decode, encode } from "./bytes.js";
import { NotFound, esc, type Scope } from "./client.js";

/** Items are kept as they are; the text of user and assistant messages is consolidated, too. */
export class TenetSession implements Session {
  private readonly thread: string;
  constructor(private readonly scope: Scope, private readonly id: string, private readonly options: { record?: boolean } = {}) {
    this.thread = "openai/" + esc(id);
  }

  async getSessionId(): Promise<string> {
    return this.id;
  }

  async getItems(limit = Infinity): Promise<AgentInputItem[]> {
    const items: AgentInputItem[] = [];
    for (let cursor = ""; items.length < limit; ) {
      const page = await this.scope.versions(this.thread, cursor);
      items.push(...(page.items ?? []).map((b) => decode<AgentInputItem>(b.data)));
      if (!(cursor = page.next ?? "")) break;
    }
    return items.slice(0, Math.max(0, limit)).reverse();
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    const versions = items.map((i) => ({ id: crypto.randomUUID(), data: encode(i) }));
    for (const batch of batches(versions)) await this.scope.putVersions(this.thread, batch);
    const words = (this.options.record ?? true) ? items.flatMap((item, i) => said(item, versions[i].id)) : [];
    for (let at = 0; at < words.length; at += 500) await this.scope.session(this.id).append(...words.slice(at, at + 500));
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    for (;;) {
      const head = await this.scope.version(this.thread).catch((e) => {
        if (e instanceof NotFound) return undefined;
        throw e;
      });
      if (!head) return undefined;
      if (await this.scope.removeVersions(this.thread, [head.id])) return decode<AgentInputItem>(head.data); // else another process took it
    }
  }

  async clearSession(): Promise<void> {
    await this.scope.dropThread(this.thread);
  }
}

function said(item: any, client_id: string): { role: "user" | "assistant"; text: string; client_id: string }[] {
  if (item.role !== "user" && item.role !== "assistant") return [];
  const text = typeof item.content === "string" ? item.content : (item.content ?? []).map((p: any) => p.text ?? "").filter(Boolean).join("\n");
  return text.trim() ? [{ role: item.role, text, client_id }] : [];
}
