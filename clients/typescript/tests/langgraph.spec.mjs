// LangGraph's own validation suite on the checkpointer, and the store contract, restated.
import { validate } from "@langchain/langgraph-checkpoint-validation";
import { afterAll, describe, expect, it } from "vitest";
import { TenetSaver, TenetStore } from "../dist/langgraph.js";
import { startServer } from "./server.mjs";

const server = await startServer();
afterAll(() => server.end());

validate({ checkpointerName: "Tenet", createCheckpointer: () => new TenetSaver(server.scope()) });

describe("the store", () => {
  const fresh = () => new TenetStore(server.scope());
  const keys = (items) => items.map((i) => i.key);

  it("puts, gets, keeps when it was made, and deletes", async () => {
    const s = fresh();
    await s.put(["a", "b"], "k", { x: 1, y: [null, "ü"] });
    const first = await s.get(["a", "b"], "k");
    expect(first.value).toEqual({ x: 1, y: [null, "ü"] });
    await s.put(["a", "b"], "k", { x: 2 });
    const second = await s.get(["a", "b"], "k");
    expect(second.value).toEqual({ x: 2 });
    expect(second.createdAt).toEqual(first.createdAt);
    await s.delete(["a", "b"], "k");
    await s.delete(["a", "b"], "k");
    expect(await s.get(["a", "b"], "k")).toBeNull();
  });

  it("keeps namespaces apart by structure", async () => {
    const s = fresh();
    const others = [["foobar"], ["Foo"], ["fo_"], ["foo%"], ["foo/bar"], ["*"], ["foo\nbar"]];
    await s.put(["foo"], "k", { n: 1 });
    await s.put(["foo", "bar"], "k", { n: 2 });
    for (const ns of others) await s.put(ns, "k", { n: 3 });
    expect((await s.search(["foo"])).map((i) => i.namespace).sort()).toEqual([["foo"], ["foo", "bar"]]);
    for (const ns of others) expect((await s.search(ns)).map((i) => i.namespace)).toEqual([ns]);
  });

  it("refuses bad namespaces", async () => {
    for (const ns of [[], ["a.b"], [""], ["langgraph"]]) await expect(fresh().put(ns, "k", {})).rejects.toThrow();
  });

  it("reads before it writes, and the last put wins", async () => {
    const s = fresh();
    await s.put(["n"], "old", { v: 1 });
    const got = await s.batch([
      { namespace: ["n"], key: "new", value: { v: 1 } },
      { namespace: ["n"], key: "new" },
      { namespace: ["n"], key: "new", value: { v: 2 } },
      { namespacePrefix: ["n"] },
      { matchConditions: undefined, limit: 10, offset: 0 },
    ]);
    expect(got[1]).toBeNull();
    expect(keys(got[3])).toEqual(["old"]);
    expect(got[4]).toEqual([["n"]]);
    expect((await s.get(["n"], "new")).value).toEqual({ v: 2 });
  });

  it("filters by type", async () => {
    const s = fresh();
    await s.put(["n"], "one", { n: 1, deep: { a: 1, b: 2 } });
    await s.put(["n"], "ten", { n: 10, s: "x" });
    await s.put(["n"], "text", { n: "9" });
    const find = async (filter) => keys(await s.search(["n"], { filter })).sort();
    expect(await find({ n: 1 })).toEqual(["one"]);
    expect(await find({ n: { $gt: 1 } })).toEqual(["ten"]);
    expect(await find({ n: { $in: [1, "9"] } })).toEqual(["one", "text"]);
    expect(await find({ "deep.a": 1 })).toEqual(["one"]);
    expect(await find({ missing: { $ne: 1 } })).toEqual([]);
    await expect(s.search(["n"], { filter: { "a'": 1 } })).rejects.toThrow("Invalid filter key");
  });

  it("ranks by meaning under the prefix, and pages newest first", async () => {
    const s = fresh();
    await s.put(["notes"], "hotel", { text: "prefers a quiet hotel" });
    await s.put(["notes"], "flight", { text: "flight AC118 was cancelled" });
    await s.put(["other"], "hotel", { text: "quiet hotel" });
    const got = await s.search(["notes"], { query: "quiet hotel" });
    expect(keys(got)).toEqual(["hotel", "flight"]);
    expect(got[0].score).toBeGreaterThan(0);
    expect(keys(await s.search(["notes"], { limit: 1 }))).toEqual(["flight"]);
    expect(await s.listNamespaces({ prefix: ["*"] })).toEqual([["notes"], ["other"]]);
  });
});

describe("what was said", () => {
  it("becomes messages of the session, the caller's words alone as the user's", async () => {
    const scope = server.scope();
    const saver = new TenetSaver(scope);
    const at = { configurable: { thread_id: "chat", checkpoint_ns: "" } };
    const checkpoint = (id, values) => ({ v: 4, id, ts: "2026-01-01T00:00:00Z", channel_values: values, channel_versions: { __start__: 1 }, versions_seen: {} });
    await saver.put(at, checkpoint("0001", { __start__: { messages: [{ role: "user", content: "I am allergic to shellfish." }] } }), { source: "input", step: -1, parents: {} }, { __start__: 1 });
    await saver.putWrites({ configurable: { ...at.configurable, checkpoint_id: "0001" } }, [["messages", [{ role: "assistant", content: "Noted.", id: "m1" }, { role: "user", content: "made up by a node", id: "m2" }]]], "task");
    const said = await scope.session("chat").messages();
    expect(said.map((m) => [m.role, m.text, m.label])).toEqual([["user", "I am allergic to shellfish.", "user_stated"], ["assistant", "Noted.", "agent_inferred"]]);
  });
});

it("keeps a value of several megabytes in parts", async () => {
  const saver = new TenetSaver(server.scope());
  const big = "ü".repeat(1_500_000);
  const checkpoint = { v: 4, id: "1", ts: "2026-01-01T00:00:00Z", channel_values: { c: big, d: 1 }, channel_versions: { c: 1, d: 1 }, versions_seen: {} };
  const at = await saver.put({ configurable: { thread_id: "t", checkpoint_ns: "" } }, checkpoint, { source: "loop", step: 1, parents: {} }, { c: 1, d: 1 });
  await saver.putWrites(at, [["c", big], ["d", 2]], "task");
  const got = await saver.getTuple({ configurable: { thread_id: "t" } });
  expect(got.checkpoint.channel_values).toEqual({ c: big, d: 1 });
  expect(got.pendingWrites).toEqual([["task", "c", big], ["task", "d", 2]]);
});
