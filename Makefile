# Each target is for a newcomer to read: `make train` needs Go alone, `make cuda` sets libtorch up.
SHELL   := /bin/bash
GO      ?= go
CONFIG  ?= configs/sizing/main.yaml
RUN     ?= runs/$(shell awk '/^name:/ { print $$2; exit }' $(CONFIG))-s1
NAME    ?=
CLI     := github.com/stoker-rl/stoker/cli
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X $(CLI).version=$(VERSION) -X $(CLI).commit=$(COMMIT)
# Plain Go: no C compiler, and no go.work that make cuda may have left. No tables for debuggers:
# a first build is a seventh shorter, and stack traces and profiles need none.
PLAIN   := CGO_ENABLED=0 GOWORK=off GOFLAGS='$(strip $(GOFLAGS) -gcflags=all=-dwarf=false)'
TESTS   := $(PLAIN) GOGC=400 .ci/in-memory $(GO) test -vet=off -ldflags=-s
TORCH   := CGO_ENABLED=1 OMP_WAIT_POLICY=PASSIVE
TOOLS   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stoker/tools
INSTALL := CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS= GOWORK=off $(GO) install
CHECK   := $(TOOLS)/golangci-lint-2.15.0
# QUICK=1 makes the main job small: a smoke test of every part, not a result.
ifdef QUICK
RUN      := runs/quick
SETTINGS := --name quick --set train.steps=4000 --set train.evaluate.every=2000 \
  --set train.evaluate.episodes=2 --set eval.seeds=1-3 --set eval.resamples=1000
endif
.PHONY: build train test cuda test-torch bench verify verify-status lint lint-go lint-torch wheels clean

# With the flags of the tests and of the builds inside tests: what one compiled, the others take from the cache.
# Tests are linked without symbols: some 140 programs, a tenth of a second each.
# GOGC=400 is for the compiler: a fifth less processor time, for some 120 MB more memory.
build: ## bin/stoker, without cgo; TAGS=farm adds workers on other machines, TAGS=gorgonia that engine
	$(PLAIN) GOGC=400 $(GO) build $(if $(TAGS),-tags '$(TAGS)') -ldflags '-w $(LDFLAGS)' -o bin/stoker .

train: build ## the main job: train, then evaluate with table and plots
	$(if $(QUICK),rm -rf $(RUN))
	if [ -d $(RUN) ]; then bin/stoker resume $(RUN); else bin/stoker train $(CONFIG) $(SETTINGS); fi
	bin/stoker eval $(RUN)

test: build ## every test that needs only Go; STOKER_DATA=folder adds those on real data, TAGS=farm those over NATS
	$(TESTS) ./...
	$(TESTS) -tags gorgonia -run '^TestOpen' ./nets/engines
	$(if $(filter farm,$(TAGS)),$(TESTS) -tags farm ./farm/jetstream)
	$(if $(filter farm,$(TAGS)),$(TESTS) -tags farm -run 'Workers$$' ./cli)

cuda: ## find or fetch a libtorch, fit gotch to it, build bin/stoker-torch
	GOWORK=off $(GO) run ./nets/libtorch/setup
	$(TORCH) $(GO) build -ldflags '$(LDFLAGS)' -tags libtorch -o bin/stoker-torch .

test-torch: cuda ## the tests of the torch engine and of its agreement with the native one
	$(TORCH) $(GO) test -tags libtorch ./nets/...
	$(TORCH) $(GO) test -tags libtorch ./train -run Torch

bench: build ## every measurement that the binary can make by itself, beside the recorded ones
	bin/stoker bench --beside docs/results/speed/recorded.jsonl

verify: ## all long proofs, or those of NAME=…; NAME=list lists them, NAME="list --json" for programs
	@$(PLAIN) $(GO) run ./tools/proof/verify $(NAME)

verify-status: ## which kept results still describe the code, by short runs (two minutes)
	$(PLAIN) $(GO) run ./tools/proof/verify status

lint: lint-go lint-torch ## gofmt, vet, golangci-lint (staticcheck in it), with and without libtorch

lint-go: $(CHECK) ## without libtorch; the environments compiled for arm64, which fuses products where it may
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'gofmt -w these files'; exit 1; }
	$(PLAIN) $(GO) vet ./...
	$(PLAIN) $(GO) vet -tags farm ./farm/... ./cli
	cd examples/extend && $(PLAIN) $(GO) vet ./...
	$(PLAIN) $(GO) test ./catalog -run '^TestNoFusedMultiplyAdd$$' -long
	$(PLAIN) $(TOOLS)/golangci-lint run ./...

lint-torch: $(CHECK) cuda ## with libtorch
	$(TORCH) $(GO) vet -tags libtorch ./nets/... .
	$(TORCH) $(TOOLS)/golangci-lint run --build-tags libtorch ./nets/...

$(TOOLS)/golangci-lint-2.15.0:
	$(INSTALL) github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 && touch $@

wheels: ## the Python package with the program in it, for Linux, macOS and Windows, into dist/
	python/wheels

clean: ## what was built here; runs and the libtorch cache stay
	rm -rf bin go.work go.work.sum nets/torch/zz_*
