#!/bin/sh
# Fuzzes every operation of the served OpenAPI document with schemathesis, once
# with a key of each kind: no 5xx, no undocumented status, answers that fit
# their schemas, no operation that forgets to ask for a key.
#
#   scripts/fuzz-api.sh install    fetches schemathesis only
#   scripts/fuzz-api.sh            EXAMPLES=100 KINDS="operator app agent admin"
set -eu
cd "$(dirname "$0")/.."
root=$PWD
EXAMPLES=${EXAMPLES:-100}
KINDS=${KINDS:-operator app agent admin}
TOOL=.cache/schemathesis
TENET=${TENET:-bin/tenet}

if [ ! -x "$TOOL/bin/schemathesis" ]; then
	python3 -m venv "$TOOL"
	"$TOOL/bin/pip" install -q "schemathesis==4.32.5" "openapi-spec-validator"
fi
[ "${1:-}" = install ] && exit 0
[ -x "$TENET" ] || go build -o "$TENET" ./cmd/tenet

ADDR=${ADDR:-127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
dir=$(mktemp -d)
"$TENET" serve --store "$dir/tenet.db" --listen "$ADDR" --quiet >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	curl -sf "http://$ADDR/healthz" >/dev/null && break
	sleep 0.2
done
admin=$(cat "$dir/tenet.db.admin-key")
curl -sf "http://$ADDR/openapi.json" >"$dir/openapi.json"
"$TOOL/bin/openapi-spec-validator" "$dir/openapi.json"

failed=0
for kind in $KINDS; do
	key=$admin
	if [ "$kind" != admin ]; then
		key=$(curl -sf "http://$ADDR/v1/keys" -H "Authorization: Bearer $admin" -H 'Content-Type: application/json' \
			-d "{\"kind\":\"$kind\",\"name\":\"fuzz-$kind\"}" | sed 's/.*"secret":"\([^"]*\)".*/\1/')
	fi
	echo "== $kind"
	(cd "$dir" && "$root/$TOOL/bin/schemathesis" run "http://$ADDR/openapi.json" -H "Authorization: Bearer $key" \
		--phases examples,coverage,fuzzing --max-examples "$EXAMPLES" --workers 1 --seed "${SEED:-1}" \
		--checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,negative_data_rejection \
		--warnings off --suppress-health-check all --no-color ${FUZZ_FLAGS:-}) || failed=1
done
if grep -q '"panic"' "$dir/log"; then
	echo "the server panicked:"
	grep '"panic"' "$dir/log" | head -5
	exit 1
fi
[ "$failed" = 0 ] || exit 1
echo "fuzz-api: no 5xx, no undocumented status"
