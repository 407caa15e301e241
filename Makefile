# Everything that contributors and CI run. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_VERSION := v2.15.0
# The version is part of the file's name, so a new version is a missing file and is built.
GOLANGCI := .tools/bin/golangci-lint-$(GOLANGCI_VERSION)
GOVULNCHECK_VERSION := v1.9.0

# Tools in Python and for Node.js, each in its own folder because their dependencies conflict. .ci/install installs them, `make locks`
# updates the lock files in .ci.
PYTHON ?= python3
EMULATOR := .tools/emulator/installed
SAM := .tools/sam/installed
CHECKOV := .tools/checkov/installed
# The vendor's clients of the API of 2019-03-15, for Python, Node.js and Go, and the AWS CLI.
CLIENTS := .tools/clients/installed .tools/fnf-npm/installed .tools/fnf-go/installed
# Headless Chromium for the tests of pages.
BROWSER := .tools/browser/installed
# Services that the emulator of AWS does not have: DMS, and durable functions with their SDK.
BESIDE := .tools/dms/installed .tools/durable/installed .tools/durable-sdk/installed
UV := .tools/uv/installed

FUZZTIME ?= 10s
# How long `make test` simulates random seeds, and the seed that `make sim` replays.
SIMTIME ?= 1m
SEED ?= 1
# The processor of the deployed functions. The command is built for this machine.
LAMBDA_ARCH ?= arm64
# The folder and the port of the emulator of `make stack`, and the name of its stack.
STACK_DIR ?= .tools/stack
STACK_PORT ?= 4566
STACK_NAME ?= waitless
# Parameters of its template: make stack PARAMS="Options=status-events,debug".
PARAMS ?=

BUILD_FLAGS := -trimpath -ldflags="-s -w"
GO_DIRS := $(wildcard events functions pkg)
FUNCTIONS := $(notdir $(patsubst %/,%,$(dir $(wildcard functions/*/main.go))))

# `make unit` leaves out packages that link an HTTP server, the Lambda runtime or the durable store: these take longer to compile
# than all others together.
UNIT_PACKAGES = $(shell go list ./... | grep -v -e /functions/ -e /pkg/aws/ -e /pkg/httpapi/ -e /pkg/local/disk -e /pkg/internal/cli -e /pkg/cmd/)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Its program links neither AWS nor the durable store, which take longest to compile.
.PHONY: run
run: ## Run the polling sample on this machine, waits skipped
	@go run ./pkg/cmd/try run events/polling/flow.yaml --input @events/polling/input.json --skip-time

.PHONY: unit
unit: ## Run the fast tests (Go alone, seconds)
	go test -short $(UNIT_PACKAGES)

# Tests make much garbage and keep little, so it is collected less often: the simulation and the tests of the machine take a third
# less CPU time.
unit test conformance: export GOGC ?= 400

# The longest packages begin first, so that none is left alone at the end. `go test` vets as `go vet` does.
LONGEST := $(wildcard ./pkg/aws/stack ./pkg/internal/cli ./pkg/internal/sim)

# Modules of their own below pkg, so that the product's go.mod has nothing that only they need: programs for those who work on
# Waitless, and measurements from outside.
MODULES := pkg/tools pkg/bench
TOOLS := go -C pkg/tools
BENCH := go -C pkg/bench

.PHONY: test
test: tools ## Vet, run all tests and a minute of simulation
	$(TOOLS) test -vet=all ./...
	$(BENCH) test -vet=all ./...
	go test -timeout 15m -vet=all -json $(LONGEST) ./... | $(TOOLS) run ./conformance -differences
	go test -count=1 ./pkg/internal/sim -run '^TestRandomSeeds$$' -random $(SIMTIME)

# Emulators and clients that the tests need. They install at the same time.
.PHONY: tools
tools:
	@$(MAKE) --no-print-directory -j8 $(EMULATOR) $(SAM) $(BESIDE) $(CLIENTS) $(BROWSER)

# Each store runs the same suites. A store that fails a case, or does not run it, fails the target.
STORES := $(addprefix ./pkg/,local/store local/disk aws/dynamo)

# CASES and SAMPLES are files of recorded cases and of sample machines, which are not part of the project.
.PHONY: recorded
recorded: ## Run recorded cases of the Amazon States Language: CASES=FILE, or SAMPLES=FILE
	@$(TOOLS) run ./recorded $(if $(CASES),-cases $(abspath $(CASES)),-samples $(abspath $(SAMPLES)))

.PHONY: conformance
conformance: $(EMULATOR) ## Run the tests of all stores and print their cases side by side
	go test -timeout 10m -json $(STORES) | $(TOOLS) run ./conformance

# Its kills and late wakes wait for a minute and a half, an upgrade builds another release, the tables of a stack are lost, and
# a flow starts itself without end, so `make test` leaves them out. Such a flow takes all processors, so its test runs alone.
.PHONY: test-faults
test-faults: $(EMULATOR) $(SAM) $(BESIDE) $(CLIENTS) ## Kill the functions of a stack between their effects, lose and double messages, upgrade, restore, stop a growing family
	go test -count=1 -timeout 15m -v ./pkg/aws/stack -run '^Test(Faults|Upgrade|Restore)' -faults | grep -v -e '^=== '
	go test -count=1 -timeout 15m -v ./pkg/aws/stack -run '^TestGrowingFamilies' -faults | grep -v -e '^=== '

.PHONY: screenshots
screenshots: $(BROWSER) ## Take pictures of all pages into bin/screenshots: wide and narrow, light and dark
	rm -rf bin/screenshots
	mkdir -p bin/screenshots
	go test -count=1 ./pkg/internal/cli -run InABrowser -screenshots "$(CURDIR)/bin/screenshots"

.PHONY: test-sam
test-sam: $(EMULATOR) $(SAM) ## Run the functions in containers, by `sam local` (Docker)
	@docker version >/dev/null 2>&1 && command -v busybox >/dev/null \
	|| { echo "this needs a Docker engine that answers 'docker version', and a static busybox (Debian: docker.io busybox-static)"; exit 1; }
	go test -count=1 -timeout 10m ./pkg/aws/samlocal -containers

.PHONY: test-rights
test-rights: $(EMULATOR) $(SAM) ## Remove each right of the deployed functions, and check what fails
	go test -count=1 -timeout 10m -v ./pkg/aws/stack -run '^TestRights$$' -rights

.PHONY: sim
sim: ## Replay the simulation of one seed, SEED=n, and print its trace
	@go test -count=1 ./pkg/internal/sim -run '^TestSeed$$' -v -seed $(SEED)

.PHONY: check
check: gofmt tidy toolchain lint templates tree subjects ## Check format, go.mod, the toolchain, lint, the templates, the rules of the tree, commit subjects

.PHONY: gofmt
gofmt:
	@unformatted=$$(gofmt -l $(GO_DIRS)); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; fi

.PHONY: tidy
tidy:
	go mod tidy -diff
	for module in $(MODULES); do go -C $$module mod tidy -diff; done

# With GOTOOLCHAIN=local an older Go builds, without the security fixes of the release in go.mod.
.PHONY: toolchain
toolchain:
	@want=$$(sed -n 's/^toolchain //p' go.mod); found=$$(go env GOVERSION); \
	if [ -z "$$want" ]; then echo "go.mod has no toolchain line; run 'go mod edit -toolchain=$$found'"; exit 1; fi; \
	if ! printf '%s\n' "$$want" "$$found" | sort -V -C; then echo "go.mod asks for $$want and $$found builds; run 'unset GOTOOLCHAIN'"; exit 1; fi

.PHONY: lint
lint: $(GOLANGCI)
	$(GOLANGCI) config verify
	$(GOLANGCI) run ./...
	for module in $(MODULES); do (cd $$module && $(CURDIR)/$(GOLANGCI) run ./...); done

# Asks the online database of the Go project, so CI does not run it.
.PHONY: vuln
vuln: ## Look for known vulnerabilities in the linked code (online)
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

TEMPLATES := template.yaml $(wildcard events/*/template.yaml)

# Exceptions from the rules, with their reasons, are in .ci/checkov.yaml and in the Metadata of resources.
.PHONY: templates
templates: export SAM_CLI_TELEMETRY = 0
templates: $(SAM) $(CHECKOV)
	.tools/sam/bin/cfn-lint $(TEMPLATES)
	.tools/sam/bin/sam validate --lint --region us-east-1
	.tools/checkov/bin/checkov --config-file .ci/checkov.yaml --file $(TEMPLATES)

# The tests of package pkg check imports and the tree. `make test` runs the tests of all packages.
.PHONY: tree
tree:
	go test -count=1 ./pkg

# The commits that are not published yet. In a clone without the branch there are none.
SINCE ?= origin/main

.PHONY: subjects
subjects:
	@git rev-parse --quiet --verify '$(SINCE)^{commit}' >/dev/null || exit 0; \
	bad=$$(git log --no-merges --format=%s '$(SINCE)..HEAD' | awk 'length($$0) > 72 || !/^[a-z0-9\/._, -]+: [a-z]/'); \
	if [ -n "$$bad" ]; then echo "commit subjects are 'area: imperative', at most 72 characters; reword:"; echo "$$bad"; exit 1; fi

.PHONY: lines
lines: ## Count the lines with code of each package
	@$(TOOLS) run ./lines "$(CURDIR)"

# Files of cases: one JSON object a line, as pkg/tools/jsonata/main.go says.
CASES ?=
DATASETS ?=

.PHONY: jsonata
jsonata: ## Run cases of the JSONata language: CASES=FILE DATASETS=FILE
	@$(TOOLS) run ./jsonata -cases "$(abspath $(CASES))" -datasets "$(abspath $(DATASETS))"

.PHONY: catalogue
catalogue: $(EMULATOR) $(SAM) ## Generate the catalogue of services of AWS from the vendor's models
	$(TOOLS) run ./catalogue "$(CURDIR)/pkg/aws/call/catalogue/catalogue.bin"

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

RESTATE := .tools/restate/installed
TEMPORAL_VERSION := v1.5.1
TEMPORAL := .tools/bin/temporal-$(TEMPORAL_VERSION)
# PostgreSQL is the machine's own (Debian: postgresql).
POSTGRES ?= $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin)))
# More flags of pkg/bench: make bench-peers BENCH_FLAGS="-rounds 9 -length 10s".
BENCH_FLAGS ?=

# Go decides what is up to date.
.PHONY: bin/bench
bin/bench:
	$(BENCH) build -o "$(CURDIR)/$@" .

.PHONY: bench-dev
bench-dev: bin/waitless bin/bench ## Measure waitless dev, and Waitless in process, and print the table
	bin/bench -waitless bin/waitless -only Waitless -revision "$$(git describe --always --dirty)" $(BENCH_FLAGS)

# A peer that cannot be installed is named in the table.
.PHONY: bench-peers
bench-peers: bin/waitless bin/bench ## Measure Waitless beside other engines and write the tables into the docs
	-$(MAKE) --no-print-directory --keep-going $(RESTATE) $(TEMPORAL)
	bin/bench -waitless bin/waitless -restate "$$(ls .tools/restate/node_modules/@restatedev/*/bin/restate-server)" -temporal $(TEMPORAL) \
		-postgres "$(POSTGRES)" -revision "$$(git describe --always --dirty)" \
		-page pkg/docs/reference/peers.md -dev-page pkg/docs/reference/dev.md $(BENCH_FLAGS)

JSONATA_JS := .tools/jsonata/node_modules/jsonata/jsonata.js
$(JSONATA_JS):
	npm install --silent --no-save --prefix .tools/jsonata jsonata@2.0.6

.PHONY: bench-jsonata
bench-jsonata: $(JSONATA_JS) ## Measure JSONata beside the reference implementation in an engine for JavaScript
	JSONATA_JS="$(abspath $(JSONATA_JS))" $(BENCH) test -run '^$$' -bench JSONata .

.PHONY: fmt
fmt: $(GOLANGCI) ## Format the code and sort the imports
	$(GOLANGCI) fmt ./...

# `go test -fuzz` accepts one target of one package, so the targets are listed first.
.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (10s)
	@go test -list '^Fuzz' ./... \
	| awk '/^Fuzz/ { name[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, name[i]; n = 0 }' \
	| while read -r package target; do \
		echo "fuzz $$package $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
	done

.PHONY: build
build: $(FUNCTIONS:%=bin/%/bootstrap) bin/waitless ## Build the functions and the command into bin/

# Go decides what is up to date, so these targets always run.
.PHONY: $(FUNCTIONS:%=bin/%/bootstrap) bin/waitless
$(FUNCTIONS:%=bin/%/bootstrap): bin/%/bootstrap:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(LAMBDA_ARCH) go build $(BUILD_FLAGS) -tags lambda.norpc -o $@ ./functions/$*

bin/waitless:
	CGO_ENABLED=0 go build $(BUILD_FLAGS) -o $@ ./pkg/cmd/waitless

# `sam build` runs these targets, named by the logical ids of template.yaml. LAMBDA_ARCH must match the stack's parameter Arch:
# amd64 for x86_64.
build-StartJobFunction: FUNCTION := startjob
build-CallServiceFunction: FUNCTION := callservice
build-GetJobStatusFunction: FUNCTION := getjobstatus
build-EchoFunction: FUNCTION := echo
build-InterpreterFunction: FUNCTION := interpreter
build-TaskRunnerFunction: FUNCTION := taskrunner
build-JobEventsFunction: FUNCTION := jobevents
build-ApiFunction: FUNCTION := api
build-CallbackFunction: FUNCTION := callback
build-JanitorFunction: FUNCTION := janitor
build-FnfFunction: FUNCTION := fnf
build-SfnFunction: FUNCTION := sfn
build-%Function:
	$(MAKE) bin/$(FUNCTION)/bootstrap
	cp bin/$(FUNCTION)/bootstrap "$(ARTIFACTS_DIR)/bootstrap"

# The bytes follow from the commit and the Go toolchain alone. `make release RELEASE_DIR=DIR` writes another folder.
RELEASE_DIR ?= bin/release
# A file with the SSH key that signs the checksums. Without one the release is not signed.
RELEASE_KEY ?=

.PHONY: release
release: ## Build the archives, checksums and SBOM of a release into bin/release
	@if [ -n "$$(git status --porcelain --untracked-files=no)" ]; then echo "files differ from the commit; commit them, or 'git stash'" >&2; exit 1; fi
	$(TOOLS) run ./release -C "$(CURDIR)" -out "$(RELEASE_DIR)" -commit "$$(git rev-parse HEAD)" -time "$$(git log -1 --format=%ct)" -key "$(RELEASE_KEY)"
	@cd "$(RELEASE_DIR)" && cat SHA256SUMS

# Tests compare with the recorded commit of each version. The tag of a version is set on its commit.
.PHONY: record
record: ## Record this commit as that of the version in pkg/release/release.go
	@version=$$(sed -n 's/^const Version = "\(.*\)"$$/\1/p' pkg/release/release.go); file=pkg/release/released.txt; \
	recorded=$$(awk -v version="$$version" '$$1 != version' $$file); \
	printf '%s\n' $${recorded:+"$$recorded"} "$$version $$(git rev-parse HEAD)" >$$file; cat $$file

# A test of pkg/tools/release does the same with the command for one platform.
.PHONY: release-check
release-check: ## Build the release twice, in two folders, and compare
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	git clone --quiet . "$$dir/one"; git clone --quiet "$$dir/one" "$$dir/another-folder"; \
	for folder in one another-folder; do \
		$(MAKE) --no-print-directory -C "$$dir/$$folder" release RELEASE_DIR="$$dir/$$folder-files"; \
	done; \
	diff -r "$$dir/one-files" "$$dir/another-folder-files" && echo "the two releases are identical"

# An emulator runs functions on this machine, so they are built for it.
HOST_ARCH = $(shell go env GOARCH)
STACK_ENDPOINT := http://127.0.0.1:$(STACK_PORT)
STACK_VARIABLES := AWS_ENDPOINT_URL=$(STACK_ENDPOINT) AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test

.PHONY: stack
stack: ## Deploy to an emulator of AWS on this machine, with PARAMS: eval "$$(make stack)"
	@$(MAKE) --no-print-directory $(EMULATOR) $(SAM) >&2
	@if test -e $(STACK_DIR)/pid; then echo "there is a stack in $(STACK_DIR) already; 'make destroy' ends it" >&2; exit 1; fi
	@echo "deploying the stack $(STACK_NAME) to an emulator, which takes half a minute" >&2
	@mkdir -p $(STACK_DIR)/s3
	@env -i PATH="$$PATH" HOME="$$(cd $(STACK_DIR) && pwd)" TMPDIR="$$(cd $(STACK_DIR) && pwd)" S3_DATA_DIR="$$(cd $(STACK_DIR) && pwd)/s3" \
		BIND_HOST=127.0.0.1 GATEWAY_PORT=$(STACK_PORT) AWS_ENDPOINT_URL=$(STACK_ENDPOINT) AWS_REGION=us-east-1 AUTH=true IOT_MTLS_ENABLED=0 \
		nohup .tools/emulator/bin/python pkg/aws/emulator/run_ministack.py </dev/null >$(STACK_DIR)/emulator.log 2>&1 & echo $$! >$(STACK_DIR)/pid
	@$(MAKE) --no-print-directory deployed-stack >$(STACK_DIR)/deploy.log 2>&1 \
	|| { cat $(STACK_DIR)/emulator.log $(STACK_DIR)/deploy.log >&2; $(MAKE) --no-print-directory destroy >&2; exit 1; }
	@echo "export $(STACK_VARIABLES) WAITLESS_STACK=$(STACK_NAME)"

.PHONY: deployed-stack
deployed-stack: export LAMBDA_ARCH = $(HOST_ARCH)
deployed-stack: export SAM_CLI_TELEMETRY = 0
deployed-stack:
	until .tools/emulator/bin/python -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1])' $(STACK_ENDPOINT)/_ministack/health; do \
		kill -0 $$(cat $(STACK_DIR)/pid); sleep 0.2; \
	done
	kill -0 $$(cat $(STACK_DIR)/pid) # another process may own the port and respond
	.tools/sam/bin/sam build --parameter-overrides Arch=$(HOST_ARCH:amd64=x86_64)
	env $(STACK_VARIABLES) .tools/sam/bin/sam deploy --stack-name $(STACK_NAME) --region us-east-1 --no-confirm-changeset --no-progressbar \
		--parameter-overrides Arch=$(HOST_ARCH:amd64=x86_64) Samples=on $(PARAMS)
	env $(STACK_VARIABLES) .tools/sam/bin/python .ci/allow_without_tls.py $(STACK_NAME) $(STACK_ENDPOINT)
	env $(STACK_VARIABLES) .tools/sam/bin/python .ci/allow_on_emulator.py $(STACK_NAME) $(STACK_ENDPOINT)

# `sam local invoke` passes a function the variables of the shell that the template names.
.PHONY: local-env
local-env: ## Print the variables of the stack STACK_NAME for `sam local invoke`: eval "$$(make local-env)"
	@$(MAKE) --no-print-directory $(SAM) >&2 # the output of the target is evaluated
	@.tools/sam/bin/python .ci/local_env.py $(STACK_NAME)

# A sample with a template is another engine that waits, which imports the exports of the stack. The others are flows.
SAMPLES = $(sort $(patsubst events/%/input.json,%,$(wildcard events/*/input.json)))
SAMPLE_FILE := $(firstword $(wildcard $(addprefix events/$(NAME)/,template.yaml flow.yaml)))

.PHONY: sample sample-template.yaml sample-flow.yaml sample-
sample: sample-$(notdir $(SAMPLE_FILE)) ## Run a sample on the stack STACK_NAME: NAME=polling ("waitless samples" lists them)

sample-template.yaml: export SAM_CLI_TELEMETRY = 0
sample-template.yaml: $(SAM)
	.tools/sam/bin/sam build --template events/$(NAME)/template.yaml --build-dir .aws-sam/samples/$(NAME) --no-build-in-source
	.tools/sam/bin/sam deploy --template-file .aws-sam/samples/$(NAME)/template.yaml --stack-name $(STACK_NAME)-$(NAME) \
		--resolve-s3 --capabilities CAPABILITY_IAM --no-confirm-changeset --no-progressbar --parameter-overrides Stack=$(STACK_NAME)

sample-flow.yaml: bin/waitless
	bin/waitless start events/$(NAME)/flow.yaml --input @events/$(NAME)/input.json --stack $(STACK_NAME)

sample-:
	@echo "there is no sample \"$(NAME)\"; use NAME=, one of: $(SAMPLES)" >&2; exit 2

.PHONY: destroy
destroy: ## End the emulator of `make stack` and delete its data
	@if test -e $(STACK_DIR)/pid; then \
		pid=$$(cat $(STACK_DIR)/pid); \
		kill $$pid 2>/dev/null || true; \
		while kill -0 $$pid 2>/dev/null; do sleep 0.2; done; \
	fi
	@rm -rf $(STACK_DIR)

.PHONY: clean
clean: ## Remove build output and tools
	rm -rf bin .tools

# The script decides whether to install, by the contents of the lock files.
.tools/%/installed: always
	@PYTHON="$(PYTHON)" .ci/install $* $(@D)

.PHONY: always
always:

.PHONY: locks
locks: $(UV) ## Update the lock files of .ci/*.in and of the packages for Node.js
	for lock in .ci/*.in; do \
		.tools/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
			--no-emit-index-url --no-header --no-annotate "$$lock" -o "$${lock%.in}.txt"; \
	done
	for lock in .ci/*/package.json; do \
		npm install --prefix "$${lock%/*}" --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error; \
	done

$(GOLANGCI):
	GOBIN=$(CURDIR)/.tools/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/bin/golangci-lint $@

$(TEMPORAL):
	GOBIN=$(CURDIR)/.tools/bin go install github.com/temporalio/cli/cmd/temporal@$(TEMPORAL_VERSION)
	mv .tools/bin/temporal $@
