#!/bin/sh
# Installs what the tests need and the machine lacks. Needs so far: Go alone.
# Later issues add servers here, by apt-get, each only when it is missing.
set -eu
cd "$(dirname "$0")/.."

if ! command -v go >/dev/null 2>&1; then
	echo "test-deps: Go is not installed; go.mod says which version is needed" >&2
	exit 1
fi

# The race detector needs a C compiler; without one the tests run without it.
if ! command -v cc >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1; then
	echo "test-deps: no C compiler: the tests run without the race detector"
fi

# PostgreSQL, its proxy and Redis, from the distribution's packages.
scripts/test-servers.sh install

# The API's fuzzer, in a venv of its own under .cache.
if ! scripts/fuzz-api.sh install; then
	echo "test-deps: schemathesis cannot be had: the API is not fuzzed here"
fi

# The quality tests with an embedder, and the parity tests of its code, need the
# weights; where they cannot be had, those tests say that they were skipped.
"$(dirname "$0")/model.sh" --if-possible
