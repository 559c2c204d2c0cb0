/** The memory tool (memory_20250818) of Anthropic's SDK: betaMemoryTool(memoryHandlers(scope)). */
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";
import type { MemoryToolHandlers } from "@anthropic-ai/sdk/helpers/beta/memory";
import { Refused, type Scope } from "./client.js";

const fields = ["command", "path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text", "old_path", "new_path"];

/** Files are the agent's own documents; what the gate refuses is an error to the model. */
export function memoryHandlers(scope: Scope): MemoryToolHandlers {
  const run = async (command: object): Promise<string> => {
    const body = Object.fromEntries(Object.entries(command).filter(([k, v]) => fields.includes(k) && v !== undefined && v !== null));
    let reply;
    try {
      reply = await scope.memoryTool(body, "ts");
    } catch (e) {
      if (e instanceof Refused) throw new ToolError(`denied: ${e.code}`);
      throw e;
    }
    if (reply.is_error) throw new ToolError(reply.content);
    return reply.content;
  };
  return { view: run, create: run, str_replace: run, insert: run, delete: run, rename: run };
}
