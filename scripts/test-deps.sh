#!/bin/sh
# Installs what the tests need and the machine lacks: with apt-get, as root, a C
# compiler for the race detector, Python for the clients and the API's fuzzer, a
# browser, its driver and npm for the console, and the servers. Elsewhere it says
# what is missing, and the tests fail on it.
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
command -v chromedriver >/dev/null 2>&1 || lacking="$lacking chromium chromium-driver fonts-dejavu-core"
command -v npm >/dev/null 2>&1 || lacking="$lacking npm"
if [ -n "$lacking" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "test-deps: installing $lacking"
		{ apt-get update -qq || true; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking; } >&2
	else
		echo "test-deps: missing: $lacking" >&2
	fi
fi

# The accessibility checker that the browser tests run in each page: MPL, used as
# it comes and kept out of the repository.
if [ ! -s .cache/axe/axe.min.js ]; then
	at=$(mktemp -d)
	if (cd "$at" && npm pack --silent axe-core@4.14.1 >/dev/null && tar -xzf axe-core-4.14.1.tgz); then
		mkdir -p .cache/axe && cp "$at/package/axe.min.js" .cache/axe/axe.min.js
	else
		echo "test-deps: axe-core cannot be had" >&2
	fi
	rm -rf "$at"
fi

# PostgreSQL with pgvector, its proxy and Redis, from the distribution's packages.
scripts/test-servers.sh install

# The API's fuzzer, in a venv of its own under .cache.
if ! scripts/fuzz-api.sh install; then
	echo "test-deps: schemathesis cannot be had" >&2
fi

# The quality tests with an embedder, and the parity tests of its code, need the
# weights; where they cannot be had, those tests say that they were skipped.
"$(dirname "$0")/model.sh" --if-possible
