package main

// evalCmd measures.
type evalCmd struct {
	Gate evalGateCmd `cmd:"" help:"Offer every text of a folder's *.jsonl files on every channel and count what the gate did."`
}
