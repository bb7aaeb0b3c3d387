# What there is to do with this project; `make help` lists it.
SHELL := /bin/bash
GO ?= go
PACKAGES := ./...
FLAGS ?=
# The packages that take longest come first, so that nothing waits for them in the end.
TESTED := ./test ./cmd/server ./internal/store ./internal/sync $(PACKAGES)
# Most tests wait for something, so that more of them run at once than there are processors. The tag makes hashing
# passwords cheap; `make check` tests it as it is released, and vets, which is not repeated here. Without paths in what
# is built, a second clone finds it in the build cache.
BUILT := -trimpath
TEST := .ci/in-memory $(GO) test -vet=off -tags reprisetest -count=1 -shuffle=on -p 3 -parallel 6
# SQLite's C as Go has no Go code's data in it, and watching it would double what the race detector costs.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

.DEFAULT_GOAL := help
.PHONY: help demo run build tags dist dist-check test quick soak fuzz check idle bench lighthouse tools

help: ## list what there is to do
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: ## serve with simulated services: everything can be seen working in a minute
	@trap 'exit 0' INT; $(GO) run ./cmd/server -demo

run: ## serve for real, with nothing to configure first
	@trap 'exit 0' INT; $(GO) run ./cmd/server

# Pages of gRPC's own traces, which nothing shows, would keep the linker from leaving out what is not called.
TAGS := grpcnotrace
# In bytes; it must not grow unnoticed. huma has its code once for each kind of request, 2.7 MB in all; MQTT with its
# websocket takes 0.4 MB, and passkeys with the attestations of their makers and OpenID Connect take 3.8 MB.
LARGEST := 63000000

OUT := bin/reprise
LINK :=

build: ## build bin/reprise
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w $(LINK)' -o $(OUT) ./cmd/server
	@size=$$(wc -c <$(OUT)); [ $(OUT) != bin/reprise ] || [ $$size -le $(LARGEST) ] || \
		{ echo "$(OUT) has $$size bytes, more than the $(LARGEST) that it may have"; exit 1; }

tags:
	@echo $(TAGS)

# The next release.
VERSION := 0.1.0

dist: ## build a release for all systems into dist/: programs, packages, image, SBOM, licences, checksums
	@VERSION=$(VERSION) .ci/dist

dist-check: ## go each way to install it, from nothing to the first listen, upgrade and removal; compare two builds
	@VERSION=$(VERSION) .ci/dist-check

test: tools ## install what tests need and run all of them
	GOFLAGS="$$GOFLAGS $(BUILT)" $(TEST) $(FLAGS) -timeout 15m $(TESTED)

quick: ## format, vet and test what changed and what depends on it, for the inner loop
	@.ci/quick

soak: tools ## all tests, with the endurance tests at full length
	SOAK=all GOFLAGS="$$GOFLAGS $(BUILT)" $(TEST) $(FLAGS) -timeout 60m $(TESTED)

fuzz: ## run every fuzz target for a minute, or for as long as FUZZTIME=10s says
	.ci/fuzz

check: tools ## formatting, vet, staticcheck, modernisation, tidiness, architecture, the API, race detector
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w on: $$unformatted"; exit 1; fi
	@$(GO) tool templ generate -log-level error && git diff --exit-code --stat -- '*_templ.go' || \
		{ echo "the pages are not generated from their templates; run go generate ./web/ui"; exit 1; }
	$(GO) vet $(PACKAGES)
	$(GO) tool staticcheck $(PACKAGES)
	$(GO) fix -diff $(PACKAGES)
	$(GO) mod tidy -diff
	$(GO) mod verify
	@$(MAKE) --no-print-directory build
	@.ci/api
	$(GO) test -count=1 ./internal ./internal/accounts
	GOFLAGS="$$GOFLAGS $(BUILT) $(UNWATCHED)" $(TEST) -race -short -timeout 15m $$(.ci/concurrent)

idle: build ## what a server costs while nothing happens: memory, processor, statements, start, binary
	IDLE=$(CURDIR)/bin/reprise $(GO) test -count=1 -tags reprisetest -timeout 30m -run TestIdleFigures ./test -v

bench: ## the speed of what has to be fast, beside its limits; with STRICT=yes it fails when one is missed
	@.ci/bench

lighthouse: ## what Lighthouse says of five pages; fails below 95 of 100 points
	@.ci/lighthouse

# What tests need: Chromium for those in a browser, supysonic as a real Subsonic server, ffmpeg for the music in it,
# Exim as a real mail server, Prometheus, Postgres, and two programs with a module of their own, built into Go's build
# cache: versitygw as a real S3 server, and oapi-codegen, which makes a client from the OpenAPI file.
tools:
	@GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 \
		$(GO) tool -C internal/s3test/testdata/versitygw -n versitygw >/dev/null
	@GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 $(GO) tool -C test/testdata/client -n oapi-codegen >/dev/null
	@.ci/tools
