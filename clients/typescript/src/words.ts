// Which words of a graph's state somebody said: the user's are those that the
// caller handed to invoke, the model's the text of the AI messages that tasks
// wrote. A human message that a node adds later is not the user's word.
import { createHash } from "node:crypto";

export interface Words {
  role: "user" | "assistant";
  text: string;
  client_id: string;
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((p) => (typeof p === "string" ? p : p?.type === "text" ? p.text ?? "" : "")).filter(Boolean).join("\n");
}

function roleAndText(m: any): [string, string] {
  if (typeof m === "string") return ["user", m];
  if (Array.isArray(m)) return [String(m[0]), textOf(m[1])];
  const role = m?.getType?.() ?? m?._getType?.() ?? m?.role ?? m?.type ?? "";
  return [String(role), textOf(m?.content)];
}

const listed = (v: any): any[] => (v === undefined || v === null ? [] : Array.isArray(v) ? v : [v]);

export function said(values: Record<string, any>, checkpointId: string): Words[] {
  return listed(values.__start__?.messages).flatMap((m, i) => {
    const [role, text] = roleAndText(m);
    return (role === "user" || role === "human") && text.trim() ? [{ role: "user" as const, text, client_id: `${checkpointId}/${i}` }] : [];
  });
}

export function answered(writes: [string, any][]): Words[] {
  return writes.filter(([channel]) => channel === "messages").flatMap(([, value]) => listed(value?.value ?? value)).flatMap((m) => {
    const [role, text] = roleAndText(m);
    if ((role !== "assistant" && role !== "ai") || !m.id || !text.trim()) return [];
    return [{ role: "assistant" as const, text, client_id: `${m.id}/${createHash("sha256").update(text).digest("hex").slice(0, 16)}` }];
  });
}
