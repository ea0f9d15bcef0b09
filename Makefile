# Everything happens in .venv, which make builds from the locked requirements. Needed on the machine: Python 3.11,
# a JDK 17, Maven.

PYTHON  ?= python3.11
MINUTES ?= 10
SEEDS   ?= 100
FIRST   ?= 1
BIN     := .venv/bin
READY   := .venv/.ready
MODULES := web/node_modules/.ready
PAGES   := src/anabranch/service/static/index.html
COMPILE  = $(BIN)/uv pip compile --quiet $(UPGRADE) --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
           --universal --python-version 3.11 pyproject.toml

# Bytecode that is written once saves each of the many processes of a test run a second.
unexport PYTHONDONTWRITEBYTECODE
TIERS    = $(BIN)/python -m pytest --dist loadscope --no-loadscope-reorder

.PHONY: help demo test unit full simulate mutants lint lint-code lint-pages web bench soak jars lock clean
.DEFAULT_GOAL := help

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(READY) $(if $(filter 1,$(UI)),$(PAGES)) ## move running applications to another cluster, back and there again, and prove it, in under 4 minutes; UI=1: with the pages
	@UI=$(UI) $(BIN)/python -m examples.demo

test: $(READY) $(PAGES) ## what CI runs: real clusters, fixed seeds, short faults; some twenty minutes on two cores
	@$(TIERS) -n 3 --tier test --durations=25 --durations-min=20

unit: $(READY) ## the tests without processes and network, in a minute
	@$(TIERS) -n 2 --tier unit

full: $(READY) $(PAGES) ## everything, in chapters of half an hour; goes on where it was ended
	@$(BIN)/python -m tests.full $(CHAPTERS)

simulate: $(READY) ## the real worker on simulated clusters under faults, SEEDS=100 of each plan from FIRST=1; BRIEF=1 short lives, a thousand a minute
	@$(BIN)/python -m qa.simulation $(if $(BRIEF),--brief) --seeds $(SEEDS) --first $(FIRST)

mutants: $(READY) ## break the code in some hundreds of ways, one at a time, and see which breaks unit and simulation find
	@$(BIN)/python -m tests.mutants $(MUTANTS)

lint: lint-code lint-pages ## style, types, import contracts, published schemas, the pages' types

lint-code: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy -p anabranch -p qa -p examples.demo -p examples.api -p benchmarks
	$(BIN)/mypy --config-file tests/mypy.ini tests
	$(BIN)/lint-imports --no-logo
	@mkdir -p build/schemas
	$(BIN)/python -m anabranch.config.schemas build/schemas
	diff -r schemas build/schemas

lint-pages: $(READY) $(MODULES)
	cd web && npm run --silent api:check && npm run --silent check

web: $(PAGES) ## build the pages that `anabranch serve` shows

bench: $(READY) ## speed, latency, scale, translation, groups, comparing and moved applications beside MirrorMaker 2 and Kafka's followers; writes build/bench.json
	@$(BIN)/python -m benchmarks.run; rows=$$?; $(BIN)/python -m benchmarks.latency && $(BIN)/python -m benchmarks.standstill --times 3 && $(BIN)/python -m benchmarks.scale && $(BIN)/python -m benchmarks.control && $(BIN)/python -m benchmarks.runs && $(BIN)/python -m benchmarks.translate && $(BIN)/python -m benchmarks.groups && $(BIN)/python -m benchmarks.checkpoints && $(BIN)/python -m benchmarks.takeover && $(BIN)/python -m benchmarks.verify && $(BIN)/python -m benchmarks.sdk && $(BIN)/python -m benchmarks.switching && $(BIN)/python -m benchmarks.migrating && $(BIN)/python -m benchmarks.service && $(BIN)/python -m benchmarks.watching && $(BIN)/python -m benchmarks.exactly_once_sink && $(BIN)/python -m benchmarks.sql_job && exit $$rows

soak: $(READY) ## kills at random under load for MINUTES=10, and counts; then migrations back and forth whose engines are killed
	@$(BIN)/python -m qa.soak --minutes $(MINUTES)
	@$(BIN)/python -m tests.integration.kills.soak --minutes $(MINUTES)

jars: $(READY) ## bring the JVM parts by Maven, and archives of their classes, before something needs them
	@$(BIN)/python -m qa.bring_jars

lock: $(READY) ## write requirements/ from pyproject.toml; UPGRADE=--upgrade for newer versions
	$(COMPILE) -o requirements/base.txt
	$(COMPILE) --extra spark --extra service --extra streams --group dev -o requirements/dev.txt

clean: ## forget .venv, caches and builds; the jars stay in .anabranch
	rm -rf .venv build dist web/node_modules src/anabranch/service/static .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# What npm writes as it builds is of no interest, and its modules are as package-lock.json has them.
$(MODULES): web/package.json web/package-lock.json web/.npmrc
	cd web && npm ci --silent --no-progress
	@touch $@

$(PAGES): $(MODULES) web/index.html web/vite.config.ts web/tsconfig.json $(shell find web/src web/public -type f)
	cd web && npm run --silent build -- --logLevel warn

$(READY): requirements/dev.txt pyproject.toml
	@echo "building .venv (once; a few minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || python3 -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
