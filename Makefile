SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
tool        := go tool -modfile=$(CURDIR)/internal/workshop/tools/go.mod
modules     := . internal/workshop internal/workshop/tools internal/workshop/bench/peers/pocketbase

DOCUMENT    ?= api/openapi.yaml
peers       := internal/workshop/bench/gen/made

# The release is built without cgo. Without it a C compiler is not needed, and the test
# binaries are linked in three quarters of the processor time. The race detector needs cgo.
export CGO_ENABLED := 0

help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## run the service on 127.0.0.1:8080; prints a token and a curl command; Ctrl-C stops it
	@go build -o .build/plantstore ./cmd/plantstore
	@exec .build/plantstore serve --print-token # go run reports Ctrl-C as an error

# GOGC is what serve sets; with the default of 100 the linker and the tests need a
# tenth more processor time. Many tests wait for a clock, so on two processors four packages
# at a time take 39 s where two take 46. -short leaves the longest tests to make check.
test: ## run the tests; needs only Go
	GOGC=400 go test -short $(if $(filter 1 2 3,$(shell getconf _NPROCESSORS_ONLN)),-p 4) ./...
	@[ -n "$${PLANTSTORE_TEST_POSTGRES:-}" ] || echo 'skipped: the tests that need PostgreSQL; make test-postgres runs them'

test-postgres: ## run the tests of the stores, the API and the program on a temporary PostgreSQL server
	@.ci/postgres $(MAKE) --no-print-directory test-given
	@isolation=serializable .ci/postgres $(MAKE) --no-print-directory test-given

test-given: # the same, on the server in PLANTSTORE_TEST_POSTGRES
	@export CGO_ENABLED=1; $(call unskipped,-count=1 -race ./internal/store/postgres)
	@$(call unskipped,-count=1 ./internal/httpapi ./internal/cli ./internal/system)

test-failover: ## test twenty crashes and a failover of PostgreSQL, and histories of two servers; prints the times
	@export PLANTSTORE_TEST_FAILOVER=1; $(call unskipped,-count=1 -run Drill ./internal/store/postgres ./internal/system)

test-oidc: internal/workshop/tools/node_modules ## test tokens of a real identity provider: late start, key rotation, a flood, a stop
	@PATH="$$PWD/internal/workshop/tools/node_modules/.bin:$$PATH" PLANTSTORE_TEST_OIDC=1 go test -count=1 -run '^TestIdentityProvider$$' -v ./internal/system

test-ha: ## break PostgreSQL under Patroni in seven ways while two servers run (5 minutes); FAULT=frozen for one fault; prints a table
	@PLANTSTORE_TEST_HA='$(or $(FAULT),.)' go test -count=1 -timeout 20m -v -run '^TestHA$$' ./internal/system | grep --line-buffered -a -v '^=== '

test-citus: ## test the stores and the API on PostgreSQL with Citus, then kill its nodes under load (15 minutes); prints a table
	@folder=$$(mktemp -d); trap '.ci/citus down "$$folder"; rm -rf "$$folder"' EXIT; \
	PLANTSTORE_TEST_CITUS=$$(FSYNC=off SHARDS=8 .ci/citus up "$$folder"); export PLANTSTORE_TEST_CITUS; \
	go test -count=1 -timeout 20m -run 'Sharded|Distribute|ShardsOf' ./internal/store/postgres; \
	go test -count=1 -timeout 20m -skip $(about_changes) ./internal/httpapi
	@PLANTSTORE_TEST_CITUS_DRILL='$(or $(FAULT),.)' go test -count=1 -timeout 20m -v -run '^TestCitus$$' ./internal/system | grep --line-buffered -a -v '^=== '

test-litestream: ## lose the machine forty times while Litestream copies the store to a folder and to S3, and measure (45 minutes, and a build at first); not part of make check
	@.ci/litestream go test -count=1 -timeout 60m -v -run '^TestLitestream' ./internal/system | grep --line-buffered -a -v '^=== '

test-webhook: ## run the receivers of webhooks in the operator's manual, in Go and in Python
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; python3 -m venv "$$tmp"; \
	"$$tmp/bin/pip" install --quiet --disable-pip-version-check standardwebhooks==1.1.0; \
	PLANTSTORE_TEST_PYTHON="$$tmp/bin/python" go test -count=1 -run '^TestWebhookReceivers$$' -v ./internal/system

# The tests of the feed of changes. A sharded store has none. What begins with a slash
# comes last: it matches the first part of every name, and then go test looks no further.
about_changes = 'Stream|StopEndsWait|NoMemoryForLarge|HeadDoesNotWait|HalfClosedClientGetsPage|WaitingNeedsNoPermit|RefusedPositions|/.*hanges|//changes'

contract-report: ## write contract-report.txt, .html and .xml (JUnit): each promise of the document and its test
	@CONTRACT_REPORT=$$PWD/contract-report go test -count 1 -v ./internal/httpapi | grep -a -E '^[a-zA-Z ]+ +[0-9]+ kept|^contract:|^see |FAIL'

contract: ## test a running service against api/openapi.yaml: make contract BASE_URL=http://… PLANTSTORE_TOKEN=…; writes contract-report.*
	@BASE_URL="$(or $(BASE_URL),$(error BASE_URL is needed, as in make contract BASE_URL=http://127.0.0.1:8080))" \
	CONTRACT_REPORT="$$PWD/contract-report" go test -count 1 -tags deployment -run TestDeployment ./internal/testing/plantcontract

foreign: ## hold the contract tests against seven services that are not ours, and Schemathesis beside them (10 minutes); ARGS=huma for one
	@internal/workshop/foreign/foreign $(ARGS)

bench: ## run the benchmarks (half an hour), except bench-postgres and bench-http
	go test -run '^$$' -bench . -timeout 1h ./...

bench-store: ## compare the SQLite store with and without group commit, and with plain SQLite
	go test -run '^$$' -bench SideBySide -timeout 1h ./internal/store/sqlite

bench-postgres: ## compare the PostgreSQL store with one INSERT per request, on a temporary server
	PLANTSTORE_TEST_FAILOVER=1 go test -run '^$$' -bench SideBySide ./internal/store/postgres

bench-streams: ## measure a thousand clients that stream the changes while plants are created
	go test -run '^$$' -bench Streams -benchtime 1x -timeout 10m ./internal/system

bench-start: ## measure the time from the start to the first response, and the memory after it
	go test -run '^$$' -bench Start -benchtime 20x ./internal/system

bench-http: $(peers) wrk ## compare the service with other implementations of the API; SHORT=1 for a quick run
	@cd internal/workshop/bench && go run . $(if $(SHORT),-rounds 1 -duration 1s -warm-up 1s) $(if $(JSON),-json $(abspath $(JSON)))

wrk: # installs the load generator
	@command -v wrk >/dev/null || $$([ "$$(id -u)" = 0 ] || echo sudo) apt-get install -qy --no-install-recommends wrk

# The code that bench and foreign generate.
$(peers): $(DOCUMENT) $(addprefix internal/workshop/,go.mod generate.go bench/strictserver/config.yaml foreign/petstore/config.yaml)
	cd internal/workshop && go generate . && touch bench/gen/made

# The platforms that the program is built for. Without cgo the program needs no
# library of the system. The tag urfave_cli_no_template replaces text/template,
# which keeps the linker from removing unused methods: 2.8 MB.
platforms ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
release   := -trimpath -buildvcs=auto -tags urfave_cli_no_template -pgo=$(CURDIR)/cmd/plantstore/release.pgo
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)

build: $(platforms:%=build/%) ## build the program for every platform, in .build/

build/%:
	GOOS=$(*D) GOARCH=$(*F) go build $(release) -ldflags '-s -w -X main.version=$(VERSION)' \
		-o .build/plantstore-$(*D)-$(*F)$(if $(filter windows,$(*D)),.exe) ./cmd/plantstore

# All files have the time of the commit, so that a second build gives the same bytes.
release: ## build archives, packages and images in .build/release: make release VERSION=v1.0.0
	@[[ '$(VERSION)' =~ ^v[0-9]+(\.[0-9]+){2}(-[0-9a-z.]+)?$$ ]] || { echo 'VERSION is needed, as in make release VERSION=v1.0.0' >&2; exit 1; }
	@$(MAKE) --no-print-directory build
	@cd internal/workshop/release && SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} go run . $(VERSION) $(platforms)

# The program is optimized with this profile: 4 % more creates per second in memory, for
# 0.2 MB. Renew it after a change of what happens in each request.
profile: wrk ## write cmd/plantstore/release.pgo, the profile for make build, with the load of bench-http
	@cd internal/workshop/bench && go run . -profile $(CURDIR)/cmd/plantstore/release.pgo -duration 10s

swagger-ui: ## unpack the version of Swagger UI that internal/workshop/tools/swagger-ui names
	internal/workshop/tools/swagger-ui

generate: ## generate gen/ from api/openapi.yaml
	go generate ./...

# The longest ones come first, so that two at a time (.ci/run) end together. These are mostly compilers:
vet staticcheck reproducible fuzz: export GOGC = 400
checks = vet test-race fuzz reproducible test-postgres staticcheck generate-check tidy-check format-check lint-api lint-workflows \
	client-check page-check compat compat-proof crash power schedules stop move test-failover schemathesis browser memory \
	kubernetes package-check test-oidc test-webhook client-faults paging allocations specfirst
check: $(checks) ## run every check that a change must pass

generate-check: ## fail if gen/ is stale
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	mkdir -p "$$tmp"/gen/{plantapi,plantjson,plantserver,plantclient}; \
	cp -r --parents api go.mod go.sum tools.go $(others) "$$tmp"; \
	(cd "$$tmp" && go generate ./...); \
	for made in gen $(others); do diff -r $$made "$$tmp/$$made" || { echo "$$made is stale: run make generate" >&2; exit 1; }; done
others := internal/testing/shelf cmd/specfirst/bookshelf

tidy-check: $(peers) ## fail if a go.mod or go.sum is not tidy
	@for m in $(modules); do (cd "$$m" && go mod tidy -diff) || exit 1; done

# The compiler does most of the work here. With the flags of the release, the packages for
# Windows are those of make reproducible (2.5 minutes of processor time); for macOS there is
# no other use, so they are compiled without optimization (0.6 minutes less).
vet: $(peers) ## run go vet, also for macOS and Windows
	@for m in $(modules); do (cd "$$m" && go vet ./...) || exit 1; done
	GOOS=darwin GOARCH=arm64 go vet -gcflags='all=-N -l' ./...
	GOOS=windows GOARCH=amd64 go vet $(release) ./...

format-check: ## fail if gofumpt would change a file
	@files=$$($(tool) gofumpt -l .); [ -z "$$files" ] || { echo "run gofumpt -w on: $$files" >&2; exit 1; }

staticcheck: $(peers) ## run staticcheck
	@for m in $(modules); do (cd "$$m" && $(tool) staticcheck ./...) || exit 1; done

lint-api: internal/workshop/tools/node_modules ## lint api/openapi.yaml
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
	PATH="$$PWD/internal/workshop/tools/node_modules/.bin:$$PATH" redocly lint --config api/redocly.yaml $(DOCUMENT)

lint-workflows: ## lint .github/workflows
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -shellcheck= -pyflakes= .github/workflows/*

client-check: internal/workshop/tools/node_modules ## fail if the TypeScript client does not compile
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	cp internal/workshop/tools/client/consumer.ts $(DOCUMENT) "$$tmp"; \
	export PATH="$$PWD/internal/workshop/tools/node_modules/.bin:$$PATH"; cd "$$tmp"; \
	openapi-typescript $$(basename $(DOCUMENT)) -o plantstore.d.ts >/dev/null; \
	tsc --noEmit --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2022 --lib es2022,dom,dom.iterable \
		--module es2022 --moduleResolution bundler consumer.ts && echo 'the TypeScript client compiles'

page-check: internal/workshop/tools/node_modules ## fail if the types of the page do not match the document
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	cp internal/page/types.d.ts internal/page/files/*.js $(DOCUMENT) "$$tmp"; \
	export PATH="$$PWD/internal/workshop/tools/node_modules/.bin:$$PATH"; cd "$$tmp"; \
	openapi-typescript $$(basename $(DOCUMENT)) -o plantstore.d.ts >/dev/null; \
	tsc --noEmit --allowJs --checkJs --strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --noUnusedLocals \
		--noPropertyAccessFromIndexSignature --target es2024 --lib es2024,dom,dom.iterable --module es2022 \
		--moduleResolution bundler *.js && echo 'the page compiles'

internal/workshop/tools/node_modules: internal/workshop/tools/package-lock.json
	cd internal/workshop/tools && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

compat: ## fail if api/openapi.yaml breaks clients of the seed or of the last release
	@.ci/compat $(DOCUMENT)

compat-proof: ## test that compat finds breaking changes
	cd internal/workshop/tools && go test -count=1 .

schemathesis: ## test the program with Schemathesis: with api/openapi.yaml and with the seed, on both stores
	@internal/workshop/tools/schemathesis sqlite::memory:
	@.ci/postgres bash -c 'internal/workshop/tools/schemathesis "$$PLANTSTORE_TEST_POSTGRES"'

in_browser = tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; go build -o "$$tmp" ./cmd/plantstore; \
	export PATH="$$PWD/internal/workshop/tools/node_modules/.bin:$$PATH"; cd internal/workshop/tools/browser
browser: internal/workshop/tools/node_modules ## test the pages / and /docs in Chromium; PICTURES=folder keeps screenshots, ONLY=text runs some tests of /
	@$(in_browser); node --test-reporter=spec page.mjs "$$tmp/plantstore" $(abspath $(PICTURES)); \
	node docs.mjs "$$tmp/plantstore" $(abspath $(PICTURES))

pictures: internal/workshop/tools/node_modules ## renew the pictures in the README: api/page.png and api/docs.png
	@$(in_browser); node pictures.mjs "$$tmp/plantstore" $(CURDIR)/api

page-figures: internal/workshop/tools/node_modules ## measure the page with a million plants: the first rows, and the memory after 10,000 rows
	@$(in_browser); node figures.mjs "$$tmp/plantstore" $(or $(PLANTS),1000000)

# On a busy machine httpapi alone takes ten minutes, the default timeout. The longest tests of the
# contract tests run without the race detector, which needs minutes for their wrong servers.
test-race: ## run the tests with the race detector; fails if a test is skipped
	@export CGO_ENABLED=1; $(call unskipped,-race -timeout 20m $$(go list ./... | grep -v contract) ./api/contract)
	@$(call unskipped,$(contracts))
	@CGO_ENABLED=1 go test -race -short -vet=off $(contracts)

contracts := ./api/contracttest ./cmd/contracttest ./internal/testing/plantcontract

fuzz: ## let the fuzzer of Go make 100,000 requests; compare the validation with plain kin-openapi
	go test -vet=off -run '^$$' -fuzz '^FuzzRequest$$' -fuzztime 100000x ./internal/httpapi
	PLANTSTORE_TEST_REQUESTS=100000 go test -vet=off -count=1 -run '^TestDifferencesToKinOpenAPI$$' -v ./api/contract

allocations: ## fail if a request allocates more often than before; the short form of bench-http
	go test -count=1 -run '^TestAllocations$$' -v ./internal/httpapi

specfirst: ## start a service in an empty folder without a network, change its document, and see the compiler and the contract test ask for it
	@go mod download
	PLANTSTORE_TEST_SPECFIRST=1 go test -count=1 -run '^Test(Loop|OwnDocument)$$' ./cmd/specfirst

paging: ## read 100,000 plants page by page
	PLANTSTORE_TEST_PAGING=100000 go test -count=1 -run '^TestPagingThroughAllPlants$$' -v ./internal/httpapi

client-faults: ## send 10,000 operations of the Go client through a proxy that fails
	PLANTSTORE_TEST_CLIENT_OPERATIONS=10000 go test -count=1 -run '^TestFaultProxy$$' -v ./api/client

crash: ## kill the store and the service 60 times while they write and webhook 30 times, change their files 40 times, and look for every acknowledged write
	PLANTSTORE_TEST_CRASH_ROUNDS=60 PLANTSTORE_TEST_CHANGED_ROUNDS=10 PLANTSTORE_TEST_WEBHOOK_KILLS=30 \
	go test -count=1 -run '^Test(Crash|StoreChanged|WebhookKilled)$$' -v ./internal/store/sqlite ./internal/system

# released='$(platforms)' does it for all of them; with empty caches that takes four minutes more.
power: ## cut the power at 2,000 moments, let each call of the disk fail, and look for every acknowledged write; prints what finds each missing fsync
	@export PLANTSTORE_TEST_POWER_IMAGES=2000; $(call unskipped,-count=1 -timeout 30m ./internal/system/powercut)

schedules: ## try 1,000 orders of writes, reads, changes and checkpoints on a fake clock, and look for lost and reordered ones
	@export PLANTSTORE_TEST_SCHEDULES=1000; $(call unskipped,-count=1 -run '^TestSchedules$$' ./internal/system/powercut)

reproducible: ## fail if two clones of this commit make different releases, for two platforms; test the release
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; version=$$(sed -n '0,/^## /s/^## //p' api/CHANGELOG.md); \
	for clone in "$$tmp/one" "$$tmp/another/place"; do git clone -q . "$$clone"; \
		$(MAKE) -s --no-print-directory -C "$$clone" release VERSION="$$version" platforms='$(released)'; done; \
	diff -r "$$tmp/one/.build" "$$tmp/another/place/.build"; echo 'two clones make the same release'; \
	(cd "$$tmp/one/internal/workshop/release" && go test -count=1 .); .ci/container "$$tmp"/one/.build/release/*-linux-$(here).image.tar
released ?= linux/$(here) windows/amd64

here := $(shell go env GOARCH)
package-check: build/linux/$(here) internal/workshop/tools/node_modules ## check the size of the program, the Dockerfile and the systemd units
	@size=$$(stat -c %s .build/plantstore-linux-$(here)); echo "the program has $$size bytes"; [ $$size -lt $$((32 << 20)) ]
	internal/workshop/tools/node_modules/.bin/dockerfile-utils lint cmd/plantstore/Dockerfile
	@left=$$(git ls-files -ci --exclude-from=.dockerignore); [ -z "$$left" ] || { echo ".dockerignore leaves out: $$left" >&2; exit 1; }
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	for unit in plantstore plantstore-litestream plantstore-webhook; do \
		sed -E "s#/usr/local/bin/(plantstore|litestream)#$$PWD/.build/plantstore-linux-$(here)#" cmd/plantstore/$$unit.service >"$$tmp/$$unit.service"; done; \
	cp cmd/plantstore/plantstore-backup.{service,timer} "$$tmp"; \
	systemd-analyze verify --man=no --recursive-errors=no "$$tmp"/plantstore{,-backup,-litestream,-webhook}.service "$$tmp/plantstore-backup.timer"; \
	for unit in plantstore plantstore-litestream plantstore-webhook; do \
		systemd-analyze security --offline=yes --threshold=15 --no-pager "$$tmp/$$unit.service" | tail -1; done

kubernetes: ## check the manifests for Kubernetes and the alert rules for Prometheus against the program
	@cd internal/workshop/tools && ../../../.ci/postgres go test -count=1 ./kubernetes

test-install: ## install a release as the README says, in four new Debians without a network; needs root and debootstrap
	@$(MAKE) -s --no-print-directory release VERSION="$$(sed -n '0,/^## /s/^## //p' api/CHANGELOG.md)" platforms=linux/$(here)
	@.ci/install

stop: ## stop the service 60 times under load, and look for lost requests and lost plants
	PLANTSTORE_TEST_STOP_ROUNDS=20 go test -count=1 -run '^TestStop(Unprivileged)?$$' -v ./internal/system
	PLANTSTORE_TEST_STOP_ROUNDS=4 go test -count=1 -run '^TestRollingRestart$$' -v ./internal/system
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; go test -c -o "$$tmp" ./internal/system; cd internal/system; \
	PLANTSTORE_TEST_STOP_ROUNDS=20 $(slowly) "$$tmp/system.test" -test.run '^TestStop$$' -test.v

# Runs a command without privileges in a network where packets wait up to 0.1 s.
slowly = PATH="$$PATH:/usr/sbin" unshare --user --map-root-user --net bash -c 'ip link set lo mtu 1500 up && \
	tc qdisc add dev lo root tbf rate 4mbit burst 3000 latency 1s && exec unshare --user --map-user=65534 "$$@"' -

move: ## move a store of 100,000 plants from SQLite to PostgreSQL while a client writes, and back
	PLANTSTORE_TEST_MOVE_PLANTS=100000 .ci/postgres go test -count=1 -run '^TestMove' -v ./internal/system

test-walk: ## follow a store of a million plants from nothing while others write and old changes are forgotten; PLANTS=5000000 for more
	PLANTSTORE_TEST_WALK_PLANTS=$(or $(PLANTS),1000000) go test -count=1 -timeout 30m -run '^TestWalk$$' -v ./internal/system

memory: ## check the memory with 128 bodies of 1 MiB at once, and 512 of the worst shapes, on both stores, and with clients that send slowly, or do not read lists and changes
	PLANTSTORE_TEST_MEMORY_CLIENTS=128 .ci/postgres go test -count=1 -run "^TestMemory" -v ./internal/system

# Runs go test and fails if a test is skipped, except tests that name make
# test-postgres, test-failover, test-ha, test-oidc, test-citus, test-litestream, test-webhook, test-walk, memory,
# crash or power, and those that need FUSE on a machine without it. -vet=off: make vet does it,
# and go test would vet all packages again for -race.
unskipped = log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	go test -v -vet=off $(1) >"$$log" 2>&1 || { grep -a -vE '^=== |^ *--- PASS' "$$log"; exit 1; }; \
	grep -a -E '^(ok|\?) ' "$$log"; grep -a -hoE 'figures: .*' "$$log" || true; \
	skipped=$$(grep -a -cE '^ *--- SKIP' "$$log" || true); \
	fuse=$$([ -w /dev/fuse ] && [ "$$(id -u)" = 0 ] || echo '|FUSE and root'); \
	elsewhere="needs (PostgreSQL.*|an identity provider|Citus|Litestream|Python|a minute$$fuse): make (test-)?(crash|failover|ha|memory|oidc|citus|litestream|webhook|power|specfirst|walk"; [ -n "$${PLANTSTORE_TEST_POSTGRES:-}" ] || elsewhere+='|postgres'; \
	[ "$$skipped" = "$$(grep -a -cE "$$elsewhere)" "$$log" || true)" ] || { grep -a -A 3 -E '^ *--- SKIP' "$$log"; exit 1; }

.PHONY: help run release test test-install test-ha test-citus test-litestream test-walk contract-report contract foreign bench bench-store bench-postgres bench-streams bench-start build \
	swagger-ui pictures page-figures bench-http profile wrk generate check $(checks) test-given
.DEFAULT_GOAL := help
