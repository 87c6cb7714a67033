# Everything a builder types. `make test` is the daily proof; the rest is listed by `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# The machine's Go may be older than the one whose standard library has its known faults repaired. Exported here, so
# that what is built, tested and shipped is always that one, even where the environment says GOTOOLCHAIN=local.
export GOTOOLCHAIN := go1.27.3

# One set of flags for building, vetting and testing, so that the large libraries are compiled as few times as can be:
# one of them alone takes two gigabytes and minutes.
export GOFLAGS := -trimpath

VERSION ?= 0.1.0
LDFLAGS := -s -w -X main.version=$(VERSION)
GOBUILD := go build
# webkit2_41: with the older WebKit a POST arrives as a GET. desktop,production: without them Wails refuses to start.
WINDOW_TAGS := desktop,production,webkit2_41
GOPACKAGES := . ./app/... ./backend/... ./build/... ./frontend
FRONTEND := $(shell find frontend -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)
TOOLS := .cache/tools
STEPS ?=

.PHONY: help run test test-peers lint fmt bench soak build gallery package package-try generate clean deps page vulncheck cross

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-12s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

deps:
	@build/deps.sh test

run: build ## build and start the window; without a display, serve the same page
	@build/run.sh

test: deps $(TOOLS)/staticcheck ## the daily proof: everything, at most 15 minutes
	@go run ./build/check -tools $(TOOLS) -only "$(STEPS)"

# A peer that cannot be installed is named by the script, and fails its own tests only.
test-peers: deps build ## against programs nobody here wrote
	-@build/peers.sh
	go test -tags=peers -count=1 -timeout=20m $(GOPACKAGES)

lint: deps $(TOOLS)/staticcheck ## format, vet, staticcheck, types, biome, other systems, known vulnerabilities
	@test -z "$$(gofmt -l app backend build frontend/embed.go main.go | tee /dev/stderr)"
	go vet $(GOPACKAGES)
	$(TOOLS)/staticcheck $(GOPACKAGES)
	npm --prefix frontend run check
	npm --prefix frontend run lint
	$(MAKE) --no-print-directory cross vulncheck

# Compiles for the systems that cannot be run here: Windows whole, macOS without window and tray, which need its SDK.
cross:
	GOOS=windows CGO_ENABLED=0 go vet -tags desktop,production $(GOPACKAGES)
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet ./backend/... ./app/traymsg ./app/notify ./app/sessionbus

vulncheck: page $(TOOLS)/govulncheck .cache/vulndb/index.json
	$(TOOLS)/govulncheck -db "file://$(CURDIR)/.cache/vulndb" -tags $(WINDOW_TAGS) $(GOPACKAGES)

fmt: deps ## format all sources
	gofmt -w app backend build frontend/embed.go main.go
	npm --prefix frontend run format

generate: ## make generated files again: wire types, icons
	go run ./backend/protocol/tsgen
	go run ./build/icons

bench: deps build ## figures of the page and the host into bench.json
	@mkdir -p .cache
	npm --prefix frontend run --silent perf -- "$(CURDIR)/.cache/page.json"
	go run ./backend/testkit/bench -bin bin/countersign -also .cache/page.json -out bench.json

KILLS ?= 200
SEED ?= 1
soak: deps ## kill the real binary KILLS times from SEED
	go run ./backend/testkit/soak -kills $(KILLS) -seed $(SEED)

gallery: deps build ## every state of every screen, and the real window and tray, into gallery/
	npm --prefix frontend run gallery
	COUNTERSIGN_GALLERY=$(CURDIR)/gallery go test -count=1 -timeout=8m -tags=desktop_e2e ./app/windowtest/...

# The three programs. Only the window needs C; the two others must run where no GTK is.
build: page ## the three programs into bin/
	@build/deps.sh build
	$(GOBUILD) -tags $(WINDOW_TAGS) -ldflags "$(LDFLAGS)" -o bin/countersign-desktop .
	CGO_ENABLED=0 $(GOBUILD) -ldflags "$(LDFLAGS)" -o bin/countersign ./backend/cmd/countersign
	CGO_ENABLED=0 $(GOBUILD) -ldflags "$(LDFLAGS)" -o bin/countersign-tray ./app/tray

page: frontend/dist/index.html

frontend/dist/index.html: $(FRONTEND)
	@build/deps.sh build
	npm --prefix frontend run build
	@touch frontend/dist/.gitkeep $@

package: build ## .deb, Windows installer, macOS bundle script, into dist/
	@build/deps.sh package
	VERSION=$(VERSION) build/package/package.sh

package-try: ## install the .deb here, try it, remove it (root)
	build/package/try.sh

# Tools have a module of their own: they drag in many more modules than the product does.
$(TOOLS)/%: build/tools/go.mod build/tools/go.sum Makefile
	@mkdir -p $(TOOLS)
	go -C build/tools build -o $(CURDIR)/$@ $$(grep -oE '[a-z./0-9-]+/cmd/$*' build/tools/go.mod | head -1)

# The advisories come as a Go module, so this works without the vulnerability service.
.cache/vulndb/index.json: build/tools/go.mod $(TOOLS)/indexdb
	@rm -rf .cache/vulndb
	cd build/tools && ../../$(TOOLS)/indexdb -vulns "$$(go list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out ../../.cache/vulndb
	@mkdir -p .cache/vulndb/index && touch $@

clean: ## remove what was built
	rm -rf bin dist build/bin gallery .cache bench.json
	find frontend/dist -mindepth 1 -not -name .gitkeep -delete
