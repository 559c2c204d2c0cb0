/** LangGraph over Tenet: a checkpointer over threads, a store over documents. */
export { TenetSaver } from "./saver.js";
export { TenetStore } from "./store.js";
