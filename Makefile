SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
tool        := go tool -modfile=$(CURDIR)/internal/workshop/tools/go.mod
modules     := . internal/workshop internal/workshop/tools internal/workshop/bench/peers/pocketbase
peers       := internal/workshop/bench/gen/made
DOCUMENT    ?= api/openapi.yaml

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
	@[ -n "$${PLANTSTORE_TEST_POSTGRES:-}" ] || echo 'skipped: tests that need PostgreSQL; make test-postgres runs them'

generate: ## generate gen/ from api/openapi.yaml
	go generate ./...

rename: ## make this repository your own: make rename MODULE=example.com/library RESOURCE=book
	@.ci/rename '$(MODULE)' '$(RESOURCE)' $(PLURAL)

# --- building

# The platforms that the programs are built for. Without cgo they need no library of the
# system. The tag urfave_cli_no_template replaces text/template, which keeps the linker
# from removing unused methods: 2.8 MB. All have the profile of plantstore: then the
# packages that they share are compiled once.
platforms ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
flags     := -trimpath -buildvcs=auto -tags urfave_cli_no_template -pgo=$(CURDIR)/cmd/plantstore/release.pgo
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)

build: $(platforms:%=build/%) ## build the programs for every platform, in .build/

build/%:
	GOOS=$(*D) GOARCH=$(*F) go build $(flags) -ldflags '-s -w -X main.version=$(VERSION)' \
		-o .build/$(*D)-$(*F)/ ./cmd/plantstore ./cmd/contracttest ./cmd/specfirst

# All files have the time of the commit, so that a second build gives the same bytes.
release: ## build archives, packages and images in .build/release: make release VERSION=v1.0.0
	@[[ '$(VERSION)' =~ ^v[0-9]+(\.[0-9]+){2}(-[0-9a-z.]+)?$$ ]] || \
		{ echo 'VERSION is needed, as in make release VERSION=v1.0.0' >&2; exit 1; }
	@grep -qxF '## $(VERSION)' api/CHANGELOG.md || \
		{ echo 'api/CHANGELOG.md has no section $(VERSION): write what changes for people' >&2; exit 1; }
	@$(MAKE) --no-print-directory build
	@cd internal/workshop/release && \
		SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} go run . $(VERSION) $(platforms)

# --- checks

# The longest ones come first, so that two at a time (.ci/run) end together. Make leaves what waits for another target
# to the end, so the code of the peers, which vet and staticcheck need, is made before all.
checks = test-race reproducible test-postgres vet staticcheck power differences generate-check tidy-check format-check \
	lint-api lint-workflows client-check page-check compat compat-proof crash stop move test-failover schemathesis \
	browser memory kubernetes package-check test-oidc test-webhook paging allocations specfirst gate
check: $(peers) $(checks) ## run every check that a change must pass
# These are mostly compilers:
vet staticcheck: export GOGC = 400

# The compiler does most of the work here. With the flags of the release, the packages for
# Windows are those of make reproducible (2.5 minutes of processor time); for macOS there is
# no other use, so they are compiled without optimization (0.6 minutes less).
vet: $(peers) ## run go vet, also for macOS and Windows
	@for m in $(modules); do (cd "$$m" && go vet ./...) || exit 1; done
	GOOS=darwin GOARCH=arm64 go vet -gcflags='all=-N -l' ./...
	GOOS=windows GOARCH=amd64 go vet $(flags) ./...

staticcheck: $(peers) ## run staticcheck
	@for m in $(modules); do (cd "$$m" && $(tool) staticcheck ./...) || exit 1; done

format-check: ## fail if gofumpt would change a file
	@files=$$($(tool) gofumpt -l .); [ -z "$$files" ] || { echo "run gofumpt -w on: $$files" >&2; exit 1; }

tidy-check: $(peers) ## fail if a go.mod or go.sum is not tidy, or a file is at the top level that does not belong there
	@for m in $(modules); do (cd "$$m" && go mod tidy -diff) || exit 1; done
	@more=$$(git ls-files | cut -d/ -f1 | sort -u | grep -vxE '[.].*|LICENSE|Makefile|README[.]md|api|cmd|gen|internal|go[.](mod|sum)|tools[.]go' || true); \
	[ -z "$$more" ] || { echo "these do not belong to the top level: $$more" >&2; exit 1; }

generate-check: ## fail if gen/ is stale
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	mkdir -p "$$tmp"/gen/{plantapi,plantjson,plantserver,plantclient}; \
	cp -r --parents api go.mod go.sum tools.go cmd/specfirst $(others) "$$tmp"; \
	(cd "$$tmp" && go generate ./...); \
	for made in gen $(others); do \
		diff -r $$made "$$tmp/$$made" || { echo "$$made is stale: run make generate" >&2; exit 1; }; done
others := internal/testing/shelf cmd/specfirst/bookshelf

lint-api: internal/workshop/tools/node_modules ## lint api/openapi.yaml
	@REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
		internal/workshop/tools/node_modules/.bin/redocly lint --config api/redocly.yaml $(DOCUMENT)

lint-workflows: ## lint .github/workflows
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -shellcheck= -pyflakes= \
		.github/workflows/* internal/workshop/gate/*/.github/workflows/*

compat: ## fail if api/openapi.yaml breaks clients of the seed or of the last release
	@.ci/compat $(DOCUMENT)

contract-report: ## write contract-report.txt, .html and .xml (JUnit): each promise of the document and its test
	@CONTRACT_REPORT=$$PWD/contract-report go test -count 1 -v ./internal/httpapi | \
		grep -a -E '^[a-zA-Z ]+ +[0-9]+ kept|^contract:|^see |FAIL'

contract: ## test a running service against the document: make contract BASE_URL=http://… PLANTSTORE_TOKEN=…
	@BASE_URL="$(or $(BASE_URL),$(error BASE_URL is needed, as in make contract BASE_URL=http://127.0.0.1:8080))" \
	CONTRACT_REPORT="$$PWD/contract-report" \
		go test -count 1 -tags deployment -run TestDeployment ./internal/testing/plantcontract

drills: ## list the drills, which take minutes or need more than Go; make NAME or .ci/drill NAME runs one
	@.ci/drill

# The names of the drills; .ci/drill says what they do.
drills := $(shell sed -nE 's/^([a-z-]+)\(\) \{ ##.*/\1/p' .ci/drill)
$(drills):
	@.ci/drill $@

# --- what checks and drills need

# The code that bench and foreign generate.
$(peers): $(DOCUMENT) $(addprefix internal/workshop/,go.mod generate.go) $(wildcard internal/workshop/*/*/config.yaml)
	cd internal/workshop && go generate . && touch bench/gen/made

internal/workshop/tools/node_modules: internal/workshop/tools/package-lock.json
	cd internal/workshop/tools && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Drills that run at the same time use them.
client-check page-check browser test-oidc package-check: internal/workshop/tools/node_modules

.PHONY: help run test generate rename build release check $(checks) $(drills) contract-report contract drills
