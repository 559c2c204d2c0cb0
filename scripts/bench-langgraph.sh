#!/bin/sh
# Checkpoints of 10 KB on one PostgreSQL that flushes: Tenet beside LangGraph's
# PostgresSaver and one statement by hand, in slices of a second that take turns.
set -eu
cd "$(dirname "$0")/.."
TOOL=$PWD/.cache/langgraph
if [ ! -x "$TOOL/bin/python" ] || ! "$TOOL/bin/python" -c 'import langgraph.checkpoint.postgres, psycopg_pool' 2>/dev/null; then
	[ -x "$TOOL/bin/python" ] || python3 -m venv "$TOOL"
	"$TOOL/bin/pip" install -q langgraph-checkpoint-postgres "psycopg[binary,pool]"
fi
export TENET_TEST_REQUIRE=postgres TENET_TEST_ONLY=postgres
export TENET_BENCH_LANGGRAPH="$TOOL/bin/python $PWD/scripts/langgraph_postgres.py"
exec scripts/test-servers.sh run go test ./store/postgres -count=1 -run TestCheckpointThroughput -v -timeout 30m
