// The conformance suite of a checkout of the SDK's repository, given as TENET_UPSTREAM.
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { afterAll, describe } from "vitest";
import { TenetSessionStore } from "../dist/claude.js";
import { startServer } from "../tests/server.mjs";

const { runSessionStoreConformance } = await import(process.env.TENET_UPSTREAM + "/claude-agent-sdk-typescript/examples/session-stores/shared/conformance.ts");
const server = await startServer();
afterAll(() => server.end());
describe("Tenet", () => runSessionStoreConformance(async () => new TenetSessionStore(server.scope(), { fold: foldSessionSummary })));
