export * from "./client.js";
export type * as types from "./types.js";
