# Each target is for a newcomer to read: `make train` needs Go alone, `make cuda` sets libtorch up.
SHELL   := /bin/bash
GO      ?= go
PYTHON  ?= python3
CONFIG  ?= configs/sizing/attmf.yaml
RUN     ?= runs/sizing-attmf-s1
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -X github.com/stoker-rl/stoker/cli.version=$(VERSION) -X github.com/stoker-rl/stoker/cli.commit=$(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# Plain Go: no C compiler, and no go.work that make cuda may have left.
PLAIN   := CGO_ENABLED=0 GOWORK=off
TORCH   := CGO_ENABLED=1 OMP_WAIT_POLICY=PASSIVE
TOOLS   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stoker/tools
# QUICK=1 makes the main job small: a smoke test of every part, not a result.
SETTINGS := $(if $(QUICK),--set train.steps=4000 --set train.evaluate.every=2000 --set train.evaluate.episodes=2 --set eval.seeds=1-3 --set eval.resamples=1000 --name quick,)
QUICKRUN := $(if $(QUICK),runs/quick,$(RUN))

VERIFIED := verify-worlds verify-deeprm verify-nodes verify-arms verify-deeprmpolicy verify-deeprmpace verify-gnnfig1 verify-gnnfig3 verify-gnngeneralise verify-gnnpolicy verify-hops verify-hopslearned verify-hopsspeed verify-hopsgrid verify-switches verify-queues verify-laws verify-numerics verify-graphgradients verify-kernels verify-simspeed verify-speed verify-graph verify-gradients verify-statistics verify-pba verify-spread verify-reinforce verify-dqn verify-lqr verify-agents verify-torch verify-race verify-sizing verify-resume verify-damage verify-fuzz
.PHONY: all build train eval test cuda test-torch bench verify $(VERIFIED) verify-status lint lint-go lint-torch clean tools

all: build

build: ## bin/stoker: the whole workbench, without cgo
	$(PLAIN) $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/stoker .

train: build ## the main job: train, then evaluate with table and plots
	$(if $(QUICK),rm -rf $(QUICKRUN),)
	if [ -d $(QUICKRUN) ]; then bin/stoker resume $(QUICKRUN); else bin/stoker train $(CONFIG) $(SETTINGS); fi
	bin/stoker eval $(QUICKRUN)

eval: build ## evaluate RUN again
	bin/stoker eval $(RUN)

test: ## every test that needs only Go (STOKER_DATA=folder adds those on real data)
	$(PLAIN) $(GO) test ./...

cuda: ## find or fetch a libtorch, fit gotch to it, build bin/stoker-torch
	GOWORK=off $(GO) run ./nets/libtorch/setup
	$(TORCH) $(GO) build -ldflags '$(LDFLAGS)' -tags libtorch -o bin/stoker-torch .

test-torch: cuda ## the tests of the torch engine and of its agreement with the native one
	$(TORCH) $(GO) test -tags libtorch ./nets/...
	$(TORCH) $(GO) test -tags libtorch ./train -run Torch

bench: build ## every measurement that the binary can make by itself, beside the recorded ones
	bin/stoker bench --beside docs/results/speed/recorded.jsonl

verify: $(VERIFIED) ## the long proofs, one target each; results are kept under docs/results

verify-sizing: build ## the main job with three training seeds, evaluated (half an hour)
	rm -rf runs/verify-s1 runs/verify-s2 runs/verify-s3
	docs/results/keep sizing 'envs nets agents train eval configs/sizing' bin/stoker train $(CONFIG) --seeds 1-3 --name verify
	docs/results/keep sizing 'envs nets agents train eval configs/sizing' bin/stoker eval runs/verify-s1 runs/verify-s2 runs/verify-s3 --out docs/results/sizing

verify-simspeed: ## the simulator's speed, growth, memory and a day of 50,000 functions (PEER='simfaas-rate' adds SimFaaS)
	docs/results/keep simspeed 'envs/sim envs/workload rng bench/simday.go' env $(PLAIN) sh -c "$(GO) test ./envs/sim -run '^TestSpeed$$' -long -v -count=1 -timeout 1h -peer '$(PEER)' && $(GO) test ./bench -run '^TestWholeDay$$' -whole-day -v -count=1 -timeout 1h"

verify-speed: build ## the CPU engine in turn with PyTorch: PEER_PYTHON is a Python with torch, PEERS the folder of its scripts
	docs/results/keep speed 'nets/native agents/maddpg bench' docs/results/speed/measure $(PEER_PYTHON) $(PEERS)

verify-graph: build ## the graph policy in turn with PyTorch Geometric: PEER_PYTHON has torch and torch_geometric, PEERS the folder of pyg_gnn.py
	docs/results/keep graph 'nets/native nets/graph.go nets/graphbatch.go nets/graphnet.go bench/graph.go' docs/results/graph/measure $(PEER_PYTHON) $(PEERS)

verify-gradients: ## first gradients from PyTorch's own parameters and batch
	docs/results/keep gradients 'nets/native agents/maddpg' env $(PLAIN) $(GO) test ./agents/maddpg -run '^TestPeerGradients$$' -v -timeout 1h -peer-python $(PEER_PYTHON) -peer-script $(PEERS)/torch_attmf.py

verify-statistics: ## coverage, false verdicts, power, rliable's vectors (a few minutes)
	docs/results/keep statistics 'eval/stats rng' env $(PLAIN) $(GO) test ./eval/stats -run 'Rliable|Coverage|Holm|FamilyWise|Paired|Power' -long -v -timeout 3h

verify-pba: ## HOPS' pricer against theory and against the optimum of its demand (minutes)
	docs/results/keep spsa agents/spsa env $(PLAIN) $(GO) test ./agents/spsa -run 'Optimum|Estimator|Bias|MeanPath|Counterfactuals|Resume|NoAllocation' -long -v -timeout 1h

verify-spread: ## MADDPG learns simple_spread, ten seeds (ten minutes)
	docs/results/keep spread 'envs/classic nets/native agents/maddpg' env $(PLAIN) $(GO) test ./agents/maddpg -run Spread -long -v -timeout 0 -episodes 25000 -seeds 10

verify-reinforce: ## the policy gradient on a bandit and CartPole
	docs/results/keep reinforce 'agents/reinforce agents/choice envs/classic nets/native configs/classic/cartpole-reinforce.yaml' env $(PLAIN) $(GO) test ./agents/reinforce -run 'CartPole|Bandit|Variance' -long -v -timeout 2h

verify-dqn: ## DQN on CartPole, 20 seeds
	docs/results/keep dqn 'agents/dqn agents/choice envs/classic nets/native configs/classic/cartpole-dqn.yaml' env $(PLAIN) $(GO) test ./agents/dqn -run CartPole -long -v -timeout 2h

verify-lqr: ## DDPG against Riccati's control, five seeds
	docs/results/keep lqr 'agents/maddpg configs/classic envs/classic nets' env $(PLAIN) $(GO) test ./agents/maddpg -run LQR -long -v -timeout 0

verify-agents: ## equalities of the learner's forms, explanations, schema
	docs/results/keep agents 'agents nets eval/explain configs' env $(PLAIN) $(GO) test ./agents/maddpg ./eval/explain ./catalog/schema -run 'Uniform|OneAgent|Permutation|Linear|Agrees' -v -count=1

verify-torch: cuda ## runs on libtorch killed and resumed; its memory over 100,000 updates
	docs/results/keep torch 'nets/torch agents/maddpg checkpoints train' env $(TORCH) $(GO) test -tags libtorch ./train -run Torch -long -v -timeout 2h

verify-race: cuda ## every package under the race detector, cgo's pointer checks (an hour)
	docs/results/keep race . env $(TORCH) $(GO) test . -run TestDetectors -long -v -timeout 0

verify-laws: ## the sizing environment against FaaSConf's measurements (needs STOKER_DATA)
	docs/results/keep laws 'envs/sizing envs/perfmodel envs/sim envs/workload/users.go' env $(PLAIN) $(GO) test ./envs/sizing/calibrate -run 'TestLaws|TestMemory|TestPublished' -count=1 -v -timeout 1h

verify-worlds: ## environments: planted defects, golden traces, Gymnasium (PYTHON with gymnasium 1.4.0, mpe2 1.1.1, numpy)
	mkdir -p bin && $(PYTHON) envs/classic/testdata/record.py bin/cartpole.gz
	docs/results/keep worlds 'envs rng' env $(PLAIN) STOKER_GYMNASIUM=../../bin/cartpole.gz bash -ec '$(GO) test ./envs/envtest ./catalog ./envs/classic -run "EveryDefect|Entries|Golden|Workers|Gymnasium|MPE2|SpreadUnder" -count 1 -v; for a in GOARCH=386 GOAMD64=v3; do env $$a $(GO) test ./catalog -run Golden -count 1 -v; done'

verify-deeprm: ## DeepRM's cluster against its own code, and five rules at ten loads
	docs/results/keep deeprm 'envs/deeprm agents/baselines/deeprm rng' env $(PLAIN) bash -ec '$(GO) test ./envs/deeprm -run AsPublished -count 1 -v; $(GO) test ./agents/baselines/deeprm -run Loads -long -count 1 -v -timeout 1h'

verify-nodes: ## five rules of the cluster of unlike nodes at ten loads
	docs/results/keep nodes 'envs/placement agents/baselines/placement rng' env $(PLAIN) $(GO) test ./agents/baselines/placement -run NodesSweep -long -count 1 -v -timeout 2h

verify-deeprmpolicy: build ## DeepRM's policy learned and compared with the rules (hours)
	for s in 1 2 3; do for c in discount reinforce book; do [ -d runs/deeprm-$$c-s$$s ] || bin/stoker train configs/placement/deeprm-$$c.yaml --seed $$s; done; done
	[ -d runs/deeprm-dqn-s1 ] || bin/stoker train configs/placement/deeprm-dqn.yaml
	docs/results/keep deeprmpolicy 'agents/reinforce agents/choice agents/dqn agents/baselines/deeprm envs/deeprm configs/placement' env $(PLAIN) $(GO) test ./agents/reinforce/deeprm -run 'Compare|HeldBack' -count 1 -v -timeout 0 -runs ../../../runs

verify-deeprmpace: ## DeepRM's cluster in turn with its own Python code (DEEPRM='python3 ../../../envs/deeprm/testdata/steps.py CHECKOUT', numpy)
	docs/results/keep deeprmpace 'envs/deeprm agents/baselines/deeprm' env $(PLAIN) GOMAXPROCS=1 bash -c '$(GO) test ./agents/baselines/deeprm -run TestPace -count 1 -v -peer "$$DEEPRM"'

verify-gnnfig1: build ## Fig. 1 of the graph paper: seconds over edges (half a minute, idle machine)
	docs/results/keep gnnfig1 'eval/suites/gnn eval/suite bench nets/native' env $(PLAIN) bash -ec '$(GO) test ./eval/suites/gnn -run QuickFig1 -long -count 1 -v -timeout 0; bin/stoker suite gnn-fig1 --seeds 1-6 --out docs/results/gnnfig1'

verify-gnnfig3: build ## Fig. 3 of the graph paper and its prose (minutes)
	docs/results/keep gnnfig3 'eval/suites/gnn eval/suite envs/deeprm envs/placement agents/baselines/deeprm agents/baselines/placement checkpoints/zoo' env $(PLAIN) bash -ec '$(GO) test ./eval/suites/gnn -run QuickFig3 -long -count 1 -v -timeout 0; bin/stoker suite gnn-fig3 --out docs/results/gnnfig3'

verify-gnngeneralise: build ## the graph policy where it was not trained (minutes; STOKER_DATA adds TPC-H)
	docs/results/keep gnngeneralise 'eval/suites/gnn eval/suite envs/placement agents/baselines/placement checkpoints/zoo' env $(PLAIN) bash -ec '$(GO) test ./eval/suites/gnn -run QuickGeneralise -long -count 1 -v -timeout 0; bin/stoker suite gnn-generalise $${STOKER_DATA:+--data "$$STOKER_DATA"} --out docs/results/gnngeneralise'

verify-gnnpolicy: build ## the policy over graphs with three training seeds, and planners with and without foresight (half an hour)
	[ -d runs/gnn-placement-s3 ] || bin/stoker train configs/placement/gnn-twin.yaml --seeds 1-3
	docs/results/keep gnnpolicy 'agents/reinforce agents/graphs nets/native envs/placement agents/baselines/placement configs/placement/gnn-twin.yaml' bash -ec 'bin/stoker eval runs/gnn-placement-s1 runs/gnn-placement-s2 runs/gnn-placement-s3 --out docs/results/gnnpolicy; bin/stoker eval runs/gnn-placement-s1 runs/gnn-placement-s2 runs/gnn-placement-s3 --set "eval.rivals=[sjf-nodes, lookahead, {name: lookahead, futures: 1}, {name: lookahead, futures: 4}]" --out docs/results/gnnpolicy/planners; bin/stoker plot runs/gnn-placement-s1 runs/gnn-placement-s2 runs/gnn-placement-s3 --separate --metric eval/mean_reward --name curves --out docs/results/gnnpolicy --title "Return in evaluation, each seed on its own workloads"'

verify-hops: build ## HOPS' Figs. 2 to 4 on 20 seeds, the same rivals at other prices
	docs/results/keep hops 'eval/suite eval/suites/hops envs/pricing agents/spsa agents/baselines/pricing checkpoints/zoo/hops-pricer/policy checkpoints/zoo/hops-scheduler/policy' env $(PLAIN) bash -ec '$(GO) test ./eval/suites/hops -run Quick -long -count 1 -v -timeout 0; bin/stoker suite hops --out docs/results/hops'

verify-hopslearned: ## the zoo's pricer and scheduler against PBA, the best fixed prices and ARMS (minutes)
	docs/results/keep hopslearned 'envs/pricing agents/maddpg agents/dqn agents/spsa configs/pricing checkpoints/zoo' env $(PLAIN) $(GO) test ./checkpoints/zoo -run 'Shipped|Verdicts' -long -v -count=1 -timeout 1h

verify-hopsspeed: ## runs of HOPS' world from 64 to 65,536 vGPUs (half a minute, idle machine)
	docs/results/keep hopsspeed 'envs/pricing rng' bash -c '$(PLAIN) $(GO) test ./envs/pricing -run TestHOPSSpeed -long -count=1 -v || true'

verify-hopsgrid: ## HOPS' pricer against a grid in the full simulator (minutes)
	docs/results/keep hopsgrid 'envs/pricing agents/spsa rng' bash -c '$(PLAIN) $(GO) test ./agents/spsa -run TestHOPSGrid -long -count=1 -v -timeout 0 || true'

verify-switches: ## both counts of switches under every reading (a quarter of a minute)
	docs/results/keep switches 'envs/pricing agents/baselines/pricing agents/spsa rng' env $(PLAIN) $(GO) test ./agents/baselines/pricing -run TestSwitchCounts -long -count=1 -v

verify-arms: ## HOPS' scheduler against the exact optimum in small worlds (four minutes)
	docs/results/keep arms envs/pricing bash -c '$(PLAIN) $(GO) test ./envs/pricing -run ARMSOptimum -long -count=1 -v -timeout 1h || true'

verify-queues: ## the simulator against queueing theory and SimFaaS, long runs (an hour)
	docs/results/keep queues 'envs/sim rng' env $(PLAIN) $(GO) test ./envs/sim -run 'Queues|ErlangC|SimFaaS|Little|Model|Reference|Workers' -long -v -timeout 3h

verify-kernels: ## the CPU engine's kernels: bits, accuracy, and against the core's limits (idle machine, two minutes)
	docs/results/keep kernels 'nets/native/kernel nets/native/asm' env $(PLAIN) $(GO) test ./nets/native/kernel -count=1 -v -long

verify-numerics: cuda ## gradients, agreement and Adam of every engine
	docs/results/keep numerics nets env $(TORCH) $(GO) test -tags libtorch ./nets/engines ./nets/native -run 'Gradients|Agreement|AdamIsPyTorchs' -count=1 -v

verify-graphgradients: cuda ## networks over graphs against finite differences, on every engine
	docs/results/keep graphgradients nets env $(TORCH) $(GO) test -tags libtorch ./nets/engines -run '^TestGraphGradients$$' -long -v -timeout 1h

verify-resume: ## runs killed at every operation and at any moment, with any number of hands, end with the same bytes (half an hour)
	docs/results/keep resume 'train checkpoints agents envs' env $(PLAIN) $(GO) test ./train -run 'EveryOperation|AnyMoment|FullDisk|HandsChangeNothing|StoppedInEvaluation' -long -v -timeout 4h

verify-damage: ## every byte of a run flipped, every file cut: refused by name, or harmless
	docs/results/keep damage 'train checkpoints' env $(PLAIN) $(GO) test ./train -run DamagedRun -long -v -timeout 2h

verify-fuzz: ## every reader fuzzed for five minutes (over two hours)
	docs/results/keep fuzz 'configs envs checkpoints agents nets train' env $(PLAIN) $(GO) test ./internal/fuzzed -run Readers -long -v -timeout 6h

verify-status: ## which results are older than the code they cover
	@docs/results/keep status

lint: lint-go lint-torch ## gofmt, vet, staticcheck, golangci-lint, with and without libtorch

lint-go: tools
	@test -z "$$(gofmt -l . | tee /dev/stderr)" || { echo 'gofmt -w these files'; exit 1; }
	$(PLAIN) $(GO) vet ./...
	$(PLAIN) $(TOOLS)/staticcheck ./...
	$(PLAIN) $(TOOLS)/golangci-lint run ./...

lint-torch: tools cuda
	$(TORCH) $(GO) vet -tags libtorch ./nets/... .
	$(TORCH) $(TOOLS)/staticcheck -tags libtorch ./nets/... .
	$(TORCH) $(TOOLS)/golangci-lint run --build-tags libtorch ./nets/...

tools: $(TOOLS)/staticcheck-0.8.2 $(TOOLS)/golangci-lint-2.15.0

$(TOOLS)/staticcheck-0.8.2:
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS= GOWORK=off $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2 && touch $@

$(TOOLS)/golangci-lint-2.15.0:
	CGO_ENABLED=0 GOBIN=$(TOOLS) GOFLAGS= GOWORK=off $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 && touch $@

clean: ## what was built here; runs and the libtorch cache stay
	rm -rf bin go.work go.work.sum nets/torch/zz_*
