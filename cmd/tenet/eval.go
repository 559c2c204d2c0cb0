package main

// evalCmd measures.
type evalCmd struct {
	Retrieval evalRetrievalCmd `cmd:"" help:"Import a set into a fresh memory, ask its queries, score the rankings."`
	Convert   evalConvertCmd   `cmd:"" help:"Turn a published file into a set."`
	Gate      evalGateCmd      `cmd:"" help:"Offer every text of a folder's *.jsonl files on every channel and count what the gate did."`
}
