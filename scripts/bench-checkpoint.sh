#!/bin/sh
# A checkpoint of 10 KB: Tenet, the same rows by hand, and LangGraph's
# SqliteSaver at its own and at Tenet's durability, one after another.
set -eu
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-2000}
TOOL=.cache/langgraph
if [ ! -x "$TOOL/bin/python" ] || ! "$TOOL/bin/python" -c 'import langgraph.checkpoint.sqlite' 2>/dev/null; then
	python3 -m venv "$TOOL"
	"$TOOL/bin/pip" install -q "langgraph-checkpoint-sqlite==3.1.2"
fi
TENET_BENCH_ROUNDS=$ROUNDS go test ./store/sqlite -count=1 -run TestACheckpointCosts -v | grep -E 'put p50|FAIL|want'
"$TOOL/bin/python" scripts/langgraph_checkpoint.py "$ROUNDS"
"$TOOL/bin/python" scripts/langgraph_checkpoint.py "$ROUNDS" FULL
