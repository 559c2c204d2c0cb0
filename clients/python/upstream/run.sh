#!/bin/sh
# Upstream's own tests with Tenet's classes in their place. It copies the test
# folders beside nothing else, so that the installed packages are imported.
#   run.sh PYTHON      TENET_UPSTREAM: a folder with checkouts of langgraph and anthropic-sdk-python
set -eu
PY=$1
HERE=$(cd "$(dirname "$0")" && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export PYTHONPATH="$HERE:$HERE/.."
status=0
suite() { # name, folder with tests/, files
	echo "== $1"
	name=$1 folder=$2
	shift 2
	mkdir -p "$WORK/$name"
	cp -r "$folder" "$WORK/$name/tests"
	(cd "$WORK/$name" && PYTHONPATH="$PYTHONPATH:." "$PY" -P -m pytest -q -p tenet_swap -o asyncio_mode=auto -c /dev/null --rootdir . --tb=line "$@") || status=1
}
echo "== langgraph checkpoint conformance, as the repository has it"
(cd "$HERE" && "$PY" -m pytest -q -s -p tenet_swap -c /dev/null --rootdir . test_conformance.py) || status=1
# Left out: scores and order by a caller's own embedding (Tenet ranks by its
# recall), and the inside of the SQLite engine. docs/integrations.md argues each.
suite store "$TENET_UPSTREAM/langgraph/libs/checkpoint/tests" tests/test_store.py \
	-k "not vector_update_with_embedding and not embed_with_path"
suite sqlite-store "$TENET_UPSTREAM/langgraph/libs/checkpoint-sqlite/tests" tests/test_store.py \
	-k "not vector_store_initialization and not vector_update_with_embedding and not embed_with_path and not test_scores and not nonnull_migrations"
# Left out: modes of directories and symbolic links, which documents have not, and
# a file of a million lines, which is over the 100 KiB of a document.
suite memory-tool "$TENET_UPSTREAM/anthropic-sdk-python/tests/lib/tools/memory_tools" tests/test_filesystem.py \
	-k "not symlink and not world_writable and not permissive_umask and not too_many_lines"
exit $status
