# make run    build, import a small conversation, show the context block, serve on 127.0.0.1:7766
# make test   install what the tests need, then run all of them
# make test-postgres, test-redis  start servers and run what needs them
# make soak   two servers, 64 clients, everything killed at random, for five minutes
# make model  install the embedding model that runs in process
# make embed-server  serve small models by OpenAI's embeddings protocol (tests and measurements); make test-embed-server
# make eval   measure retrieval on the sets in TENET_DATA, with and without the model
# make bench  benchmarks; make bench-recall recall through the engine on the SQLite ledger
# make bench-recall-postgres  the same on PostgreSQL, beside its own text search
# make fuzz   each fuzz target for FUZZTIME (one minute)
# make serve  serve that memory again
# make fuzz-api, bench-http, bench-checkpoint, crash   the server's long tests
# make bench-console  the console's pages with a million records
# make screenshots  a picture of each page of the console, in SCREENSHOTS (bin/screenshots)
# make lint   staticcheck, when it can be had

SHELL    := /bin/sh
STORE    ?= data/tenet.db
FUZZTIME ?= 60s

# A container may have no HOME, and Go needs a place for its caches.
export HOME    ?= /tmp
export GOFLAGS ?= -buildvcs=false

.PHONY: model eval bench-recall bench-recall-postgres run story build test test-postgres test-redis soak bench-postgres bench-redis bench-langgraph bench-scale bench-near bench fuzz lint clean serve fuzz-api bench-http bench-checkpoint crash

run: story
	@bin/tenet serve --store $(STORE)

story: build
	@mkdir -p $(dir $(STORE))
	@echo "== import a conversation (examples/data/sarah.jsonl)"
	@bin/tenet import --store $(STORE) examples/data/sarah.jsonl
	@echo
	@echo "== remember what must never be missed, with Sarah's own words as evidence"
	@bin/tenet remember --store $(STORE) --user sarah --id make-run-allergy --tier fact \
		--quote "I have a severe shellfish allergy, please flag any seafood promotions." \
		--valid-from 2026-01-12T09:01:10Z \
		allergy "Severe shellfish allergy. Flag any seafood promotions."
	@echo
	@echo "== the context block of a new session that asks for this week's promotions"
	@bin/tenet context --store $(STORE) --user sarah --session make-run "Show me this week's promotions."
	@echo
	@echo "Go on, in another terminal:"
	@echo "  bin/tenet demo                                             Sarah's story, in four acts"
	@echo "  bin/tenet recall --store $(STORE) --user sarah \"quiet hotel\"    find by meaning"
	@echo "  bin/tenet facts --store $(STORE) --user sarah                 load by identity"
	@echo "  bin/tenet audit list --store $(STORE) --user sarah            what was decided, and why"
	@echo "  bin/tenet --help                                           the rest"
	@echo
	@echo "== serving it (README.md, Over HTTP); Ctrl-C stops, make serve starts it again"

serve: build
	@mkdir -p $(dir $(STORE))
	bin/tenet serve --store $(STORE)

# Every operation of the OpenAPI document, with a key of each kind.
fuzz-api: build
	EXAMPLES=$${EXAMPLES:-200} scripts/fuzz-api.sh

# 1, 8 and 32 clients for a minute each; load by identity against a no-op.
bench-http:
	TENET_BENCH_SECONDS=$${SECONDS_EACH:-60} go test ./httpapi -count=1 -timeout 15m -v \
		-run 'TestConcurrentClients|TestReadModifyWrite|TestLoadByIdentity|TestWhatWasSaid' | grep -v '^==='

bench-checkpoint:
	scripts/bench-checkpoint.sh

# A worker killed at 200 random points of a run.
crash:
	TENET_KILLS=$${KILLS:-200} go test ./httpapi -count=1 -timeout 15m -v -run 'Dies|Killed|TwoWorkers' | grep -v '^==='

build:
	@mkdir -p bin
	go build -o bin/tenet ./cmd/tenet

test:
	@scripts/test-deps.sh
	@scripts/test.sh

# The PostgreSQL backend and the stories on it, on a server started for them.
test-postgres:
	@TENET_TEST_REQUIRE="postgres pgbouncer" scripts/test-servers.sh run sh -c \
		'go test -count=1 -timeout 15m ./store/postgres && go test -count=1 -timeout 15m -run "TestStories|TestRacing|TestACrash|TestNobody" ./memory'

# The Redis backend, alone and as a cluster, and the stories on it.
test-redis:
	@TENET_TEST_REQUIRE="redis postgres" scripts/test-servers.sh run sh -c \
		'go test -count=1 -timeout 15m ./store/redis && go test -count=1 -timeout 15m -run "TestStories|TestTheServers|TestAMemoryMoves|TestATenantMoves" ./memory'

# Bounded in make test; here as long as it takes to be believed.
soak:
	@TENET_SOAK_SECONDS=$${SOAK_SECONDS:-300} TENET_TEST_REQUIRE="redis postgres" scripts/test-servers.sh run \
		go test -count=1 -timeout 30m -v -run TestTwoServersLoseNothing ./cmd/tenet

# The same operations by hand in SQL beside the backend, on a server that flushes.
bench-postgres:
	@TENET_TEST_DURABLE=1 TENET_TEST_REQUIRE=postgres scripts/test-servers.sh run \
		go test -run '^$$' -bench . -benchtime 1s ./store/postgres

# The same beside Redis commands by hand; Tenet beside LangGraph on PostgreSQL.
bench-redis:
	@TENET_TEST_DURABLE=1 TENET_TEST_REQUIRE=redis scripts/test-servers.sh run \
		go test -run '^$$' -bench . -benchtime 1s ./store/redis

# A subject's facts among ten thousand rows and up to SCALE_ROWS; a million take some minutes.
bench-scale:
	@TENET_SCALE_ROWS=$${SCALE_ROWS:-1000000} TENET_TEST_REQUIRE=postgres scripts/test-servers.sh run \
		go test -count=1 -v -timeout 180m -run TestLoadByIdentityStaysFlat ./store/postgres

# A scope searched in the database: making the index, asking it, what it finds.
bench-near:
	@TENET_NEAR_ROWS=$${NEAR_ROWS:-100000} TENET_TEST_ONLY=postgres TENET_TEST_REQUIRE=postgres scripts/test-servers.sh run \
		go test -count=1 -v -timeout 120m -run TestHowWellALargeScopeIsSearched ./store/postgres

bench-langgraph:
	@TENET_TEST_DURABLE=1 scripts/bench-langgraph.sh

model:
	@scripts/model.sh

# Joined small models behind POST /v1/embeddings; EMBED_MODELS names them.
.PHONY: embed-server test-embed-server
embed-server:
	@scripts/embed-server.sh serve

test-embed-server:
	@scripts/embed-server.sh test

# Each set twice: by words alone, and with the installed model, compared.
eval: build
	@mkdir -p data/eval
	@for set in $${SETS:-locomo beam_100K_user lme_pool memdaily_zh}; do \
		dir=$${TENET_DATA:-../shared/data}/retrieval/$$set; \
		[ -d "$$dir" ] || { echo "eval: no $$dir"; continue; }; \
		bin/tenet eval retrieval "$$dir" --embedder none --run data/eval/$$set.words.run --json data/eval/$$set.words.json --plot data/eval/$$set.words.svg; \
		bin/tenet eval retrieval "$$dir" --vectors data/eval --run data/eval/$$set.dense.run --json data/eval/$$set.dense.json --plot data/eval/$$set.dense.svg \
			--compare data/eval/$$set.words.run; \
	done

# On a quiet machine: the figures are microseconds. Prints the load beside them.
bench-recall:
	TENET_BENCH_RECALL=1 go test -run TestRecallThroughTheEngineIsFast -v -timeout 60m -cpu 1 ./memory

bench-recall-postgres:
	@TENET_BENCH_RECALL=1 TENET_TEST_ONLY=postgres scripts/test-servers.sh run \
		go test -count=1 -run TestRecallBesideTheDatabasesOwnSearch -v -timeout 30m ./memory

bench:
	go test -run '^$$' -bench . -benchtime 1s ./...

# kill -9 at 200 random points of a 2,000-message consolidation, with an
# extractor that repeats itself and with one that does not.
crash-consolidation:
	TENET_KILLS=$${TENET_KILLS:-200} go test ./memory -run TestAKillAtAnyPointOfAConsolidation -v -timeout 120m

# A turn beside consolidation costs at most 1.2 times a turn alone (p50, one run).
bench-hotpath:
	TENET_HOTPATH=1 go test ./memory -run TestTheHotPathBesideConsolidation -v

# One target at a time: go test takes one per run.
fuzz:
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

lint:
	@if go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -version >/dev/null 2>&1; then \
		go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...; \
	else \
		echo "lint: staticcheck cannot be had here; go vet is part of make test"; \
	fi

# The console's pages with 1,000 subjects and a million records in a SQLite file.
.PHONY: bench-console
bench-console:
	TENET_CONSOLE_RECORDS=$${CONSOLE_RECORDS:-1000000} go test -count=1 -v -timeout 60m -run TestEveryLinkLeadsSomewhereInTime ./console | grep -v '^==='

# Each page, light and dark, on a desktop and a phone.
SCREENSHOTS ?= $(CURDIR)/bin/screenshots
.PHONY: screenshots
screenshots:
	@mkdir -p $(SCREENSHOTS)
	TENET_SCREENSHOTS=$(abspath $(SCREENSHOTS)) TENET_TEST_REQUIRE="chromium axe" go test -count=1 -run TestEveryPageLooksRight ./console
	@ls $(SCREENSHOTS)

clean:
	rm -rf bin

# The stores and the engine under the race detector: about 20 minutes on two cores.
.PHONY: race
race:
	CGO_ENABLED=1 go test -race -short -timeout 60m ./memory ./store/...

# The protocol's conformance suite of two revisions, and the inspector's CLI. npm.
.PHONY: test-mcp
test-mcp:
	@scripts/test-mcp.sh

# The clients of Python and TypeScript (scripts/clients.sh says more).
.PHONY: clients generate-clients test-clients test-integrations test-upstream
clients:
	@scripts/clients.sh package
generate-clients:
	@scripts/clients.sh generate
test-clients:
	@scripts/clients.sh fast
test-integrations:
	@scripts/clients.sh integrations
test-upstream:
	@scripts/clients.sh upstream
