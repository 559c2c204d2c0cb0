import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "bun:test": "vitest" } },
  test: { globals: true, include: ["{tests,upstream}/*.spec.mjs"], testTimeout: 60_000, hookTimeout: 60_000, maxWorkers: 1, fileParallelism: false },
});
