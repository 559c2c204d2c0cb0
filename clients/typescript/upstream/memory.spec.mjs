// The SDK's own tests of its memory tool, from a checkout given as TENET_UPSTREAM; vitest.config.mjs swaps the class.
await import(process.env.TENET_UPSTREAM + "/anthropic-sdk-typescript/tests/lib/tools/BetaLocalFilesystemMemoryTool.test.ts");
