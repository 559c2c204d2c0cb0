#!/bin/sh
# Installs what the tests need and the machine lacks: with apt-get, as root, a C
# compiler for the race detector, Python for the clients and the API's fuzzer, and
# the servers. Elsewhere it says what is missing, and the tests fail on it.
set -eu
cd "$(dirname "$0")/.."

if ! command -v go >/dev/null 2>&1; then
	echo "test-deps: Go is not installed; go.mod says which version is needed" >&2
	exit 1
fi

lacking=
{ command -v cc || command -v gcc; } >/dev/null 2>&1 || lacking="gcc libc6-dev"
command -v curl >/dev/null 2>&1 || lacking="$lacking curl"
python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || lacking="$lacking python3 python3-venv"
if [ -n "$lacking" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "test-deps: installing $lacking"
		{ apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking; } >&2
	else
		echo "test-deps: missing: $lacking" >&2
	fi
fi

# PostgreSQL, its proxy and Redis, from the distribution's packages.
scripts/test-servers.sh install

# The API's fuzzer, in a venv of its own under .cache.
if ! scripts/fuzz-api.sh install; then
	echo "test-deps: schemathesis cannot be had" >&2
fi

# The quality tests with an embedder, and the parity tests of its code, need the
# weights; where they cannot be had, those tests say that they were skipped.
"$(dirname "$0")/model.sh" --if-possible
