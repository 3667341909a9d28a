# Each target is for a newcomer to read: `make train` needs Go alone, `make cuda` sets libtorch up.
SHELL   := /bin/bash
GO      ?= go
CONFIG  ?= configs/sizing/attmf.yaml
RUN     ?= runs/sizing-attmf-s1
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X github.com/stoker-rl/stoker/cli.version=$(VERSION) -X github.com/stoker-rl/stoker/cli.commit=$(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BUILD   := $(GO) build -trimpath -ldflags '$(LDFLAGS)'
TOOLS   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stoker/tools
# QUICK=1 makes the main job small: a smoke test of every part, not a result.
SETTINGS := $(if $(QUICK),--set train.steps=4000 --set train.evaluate.every=2000 --set train.evaluate.episodes=2 --set eval.seeds=1-3 --set eval.resamples=1000 --name quick,)
QUICKRUN := $(if $(QUICK),runs/quick,$(RUN))

.PHONY: all build train eval test cuda test-torch bench verify verify-status lint lint-go lint-torch clean tools

all: build

build: ## bin/stoker: the whole workbench, without cgo
	CGO_ENABLED=0 $(BUILD) -o bin/stoker .

train: build ## the main job: train, then evaluate with table and plots
	$(if $(QUICK),rm -rf runs/quick,)
	bin/stoker train $(CONFIG) $(SETTINGS)
	bin/stoker eval $(QUICKRUN)

eval: build ## evaluate RUN again
	bin/stoker eval $(RUN)

test: ## every test that needs only Go (STOKER_DATA=folder adds those on real data)
	CGO_ENABLED=0 $(GO) test ./...

cuda: ## find or fetch a libtorch, fit gotch to it, build bin/stoker-torch
	$(GO) run ./nets/libtorch/setup
	CGO_ENABLED=1 $(GO) build -ldflags '$(LDFLAGS)' -tags libtorch -o bin/stoker-torch .

test-torch: cuda ## the tests of the torch engine and of its agreement with the native one
	CGO_ENABLED=1 OMP_WAIT_POLICY=PASSIVE $(GO) test -tags libtorch ./nets/...

bench: build ## every measurement that the binary can make by itself
	bin/stoker bench

verify: ## the long proofs, one target each; results go to docs/results
	@echo "there are: $(VERIFY)"; $(MAKE) $(VERIFY)

lint: lint-go lint-torch ## gofmt, vet, staticcheck, golangci-lint, with and without libtorch

lint-go: tools
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'gofmt -w these files'; exit 1; }
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(TOOLS)/staticcheck ./...
	CGO_ENABLED=0 $(TOOLS)/golangci-lint run ./...

lint-torch: tools cuda
	CGO_ENABLED=1 $(GO) vet -tags libtorch ./nets/... .
	CGO_ENABLED=1 $(TOOLS)/staticcheck -tags libtorch ./nets/... .
	CGO_ENABLED=1 $(TOOLS)/golangci-lint run --build-tags libtorch ./nets/...

tools: $(TOOLS)/staticcheck-0.8.2 $(TOOLS)/golangci-lint-2.15.0

$(TOOLS)/staticcheck-0.8.2:
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS= GOWORK=off $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2 && touch $@

$(TOOLS)/golangci-lint-2.15.0:
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS= GOWORK=off $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 && touch $@

clean: ## what was built here; runs and the libtorch cache stay
	rm -rf bin go.work go.work.sum nets/torch/zz_*
