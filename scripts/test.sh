#!/bin/sh
# Runs everything that has to pass, and says plainly what it does.
# TENET_SHORT=1 leaves out the race detector and the long tests.
set -eu
cd "$(dirname "$0")/.."

# The databases that some tests need are started once for all of them. Where one
# is missing its tests fail; they are not skipped.
if [ -z "${TENET_TEST_SERVERS:-}" ]; then
	export TENET_TEST_REQUIRE="${TENET_TEST_REQUIRE-postgres pgbouncer redis chromium axe}"
	exec scripts/test-servers.sh run scripts/test.sh
fi

# missing says what is not tested here. Where things are required, as they are
# unless TENET_TEST_REQUIRE is set to nothing, that is a failure.
missing() {
	echo "test: $1"
	[ -z "${TENET_TEST_REQUIRE:-}" ] || { echo "test: that is a failure; to go without: TENET_TEST_REQUIRE= scripts/test.sh"; exit 1; }
}

step() { printf '\n== %s\n' "$1"; }

step "formatting"
unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "run gofmt -w on:" && echo "$unformatted"
	exit 1
fi
echo "ok"

step "go vet"
go vet ./...
echo "ok"

step "go test"
if [ "${TENET_SHORT:-}" = 1 ]; then
	go test -short -timeout 10m ./...
	exit
fi
go test -timeout 25m ./...

# The race detector slows the numeric packages tenfold and finds nothing where
# nothing is shared: it runs where goroutines meet, and in short mode. The stores
# and the engine take too long under it for every run: make race.
if command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1; then
	step "go test -race"
	CGO_ENABLED=1 go test -race -short -timeout 25m $(go list ./... | grep -E '/(gate|transcript|httpapi|cmd)(/|$)')
else
	missing "no C compiler: the race detector does not run here"
fi

# Bounded: projects and the tenant have the same handlers as users.
if [ -x .cache/schemathesis/bin/schemathesis ]; then
	step "schemathesis over the OpenAPI document"
	TENET=$(mktemp -d)/tenet EXAMPLES=5 KINDS="operator admin" FUZZ_FLAGS="--exclude-path-regex ^/v1/(projects|tenant)" scripts/fuzz-api.sh
else
	missing "no schemathesis (see scripts/test-deps.sh): the API is not fuzzed here"
fi

if command -v python3 >/dev/null 2>&1; then
	step "the Python client (make test-integrations runs every adapter)"
	scripts/clients.sh fast
else
	missing "no python3: the clients are not tested here"
fi
