// In place of the SDK's file system memory tool: Tenet's, with its documents laid out as files where the tests look.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { memoryHandlers } from "../dist/anthropic.js";
import { startServer } from "../tests/server.mjs";

const server = await startServer();
afterAll(() => server.end());

export class BetaLocalFilesystemMemoryTool {
  static async init(base) {
    const tool = new this();
    const scope = server.scope();
    for (const [name, run] of Object.entries(memoryHandlers(scope))) {
      tool[name] = async (command) => {
        try {
          return await run(command);
        } finally {
          rmSync(join(base, "memories"), { recursive: true, force: true });
          mkdirSync(join(base, "memories"), { recursive: true });
          for (const d of (await scope.documents("memories/")).items) {
            if (d.path.endsWith("/.keep")) continue;
            mkdirSync(dirname(join(base, d.path)), { recursive: true });
            writeFileSync(join(base, d.path), d.text);
          }
        }
      };
    }
    return tool;
  }
}
