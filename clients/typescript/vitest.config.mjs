import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: [
      { find: "bun:test", replacement: "vitest" },
      { find: /^.*\/src\/tools\/memory\/node$/, replacement: resolve(import.meta.dirname, "upstream/memory_swap.mjs") },
    ],
  },
  test: { globals: true, include: ["{tests,upstream}/*.spec.mjs"], testTimeout: 60_000, hookTimeout: 60_000, maxWorkers: 1, fileParallelism: false },
});
