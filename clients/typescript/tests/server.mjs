// A real server for a test file, on a database of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Tenet } from "../dist/index.js";

export const root = resolve(import.meta.dirname, "../../..");

const freePort = () =>
  new Promise((done) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

export async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), "tenet-"));
  const url = `http://127.0.0.1:${await freePort()}`;
  const self = { url, folder };
  self.start = async () => {
    self.process = spawn(process.env.TENET_BIN ?? join(root, "bin/tenet"), ["serve", "--store", join(folder, "t.db"), "--listen", url.slice(7), "--quiet"], { cwd: folder, stdio: "ignore" });
    for (let i = 0; i < 200; i++) {
      if (await fetch(url + "/healthz").then((r) => r.ok, () => false)) return;
      await new Promise((r) => setTimeout(r, 50));
    }
    throw new Error("the server does not answer");
  };
  self.stop = () =>
    new Promise((done) => {
      self.process.on("exit", done);
      self.process.kill("SIGTERM");
    });
  self.end = async () => {
    if (self.process.exitCode === null) await self.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  await self.start();
  self.key = readFileSync(join(folder, "t.db.app-key"), "utf8").trim();
  self.client = new Tenet({ url, key: self.key });
  self.scope = () => self.client.user("user-" + crypto.randomUUID());
  return self;
}
