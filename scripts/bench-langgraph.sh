#!/bin/sh
# Checkpoints of 10 KB on one PostgreSQL that flushes: Tenet, then LangGraph's
# PostgresSaver and PostgresStore, one after another.
set -eu
cd "$(dirname "$0")/.."
TOOL=.cache/langgraph
if [ ! -x "$TOOL/bin/python" ] || ! "$TOOL/bin/python" -c 'import langgraph.checkpoint.postgres, psycopg_pool' 2>/dev/null; then
	[ -x "$TOOL/bin/python" ] || python3 -m venv "$TOOL"
	"$TOOL/bin/pip" install -q langgraph-checkpoint-postgres "psycopg[binary,pool]"
fi
export TENET_TEST_REQUIRE=postgres
exec scripts/test-servers.sh run sh -c \
	'out=$(go test ./store/postgres -count=1 -run TestCheckpointThroughput -v) || { echo "$out"; exit 1; }
	echo "$out" | grep clients && '"$TOOL"'/bin/python scripts/langgraph_postgres.py'
