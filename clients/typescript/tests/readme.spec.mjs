// The README's program, run against a real server.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it, vi } from "vitest";
import { root, startServer } from "./server.mjs";

const server = await startServer();
afterAll(() => server.end());

it("prints a context that holds the allergy", async () => {
  const client = join(root, "clients/typescript");
  const [, block] = /```ts\n(.*?)```/s.exec(readFileSync(join(client, "README.md"), "utf8"));
  const code = block.replace('"tenet-memory"', JSON.stringify(pathToFileURL(join(client, "dist/index.js")))).replace("http://127.0.0.1:7766", server.url);
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await import(/* @vite-ignore */ "data:text/javascript," + encodeURIComponent(`const key = ${JSON.stringify(server.key)};\n${code}`));
  expect(log.mock.calls.flat().join()).toContain("Severe shellfish");
  log.mockRestore();
});
