# Everything a newcomer needs: `make run`, `make test`. Both set up .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.runtime
DEV := $(VENV)/.dev
TOOLS := $(VENV)/.tools
PAGES := $(VENV)-pages/.installed
UV := $(BIN)/python -m uv
WORKERS ?= logical
# Rewritten test modules are kept for the next run, also where Python is told to keep no bytecode.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PARALLEL := -n $(WORKERS) --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install run test test-all test-rest test-pages test-n8n test-searx test-redmine test-servers test-fleet test-scale attack attack-rounds attack-stalls check lint types coverage docs docs-check bench bench-profile bench-search bench-pages bench-scale bench-services load conformance sbom notices lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(RUN)  ## make .venv with the locked versions and .venv/bin/dogubako

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dogubako needs Python 3.11 or newer; say make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(RUN): $(VENV)/bin/python requirements.lock pyproject.toml
	@$(BIN)/python scripts/install_locked.py requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@$(BIN)/python scripts/install_locked.py requirements-dev.lock
	@touch $@

$(TOOLS): $(DEV) requirements-tools.lock
	@$(BIN)/python scripts/install_locked.py requirements-tools.lock
	@touch $@

$(PAGES): bench/pages/requirements.lock
	$(PYTHON) -m venv $(VENV)-pages
	@$(VENV)-pages/bin/python scripts/install_locked.py bench/pages/requirements.lock
	@touch $@

run: $(RUN)  ## start the server with everything built in; no account needed
	$(BIN)/dogubako serve --sandbox --tools examples/workbench.py

test: $(DEV)  ## the quick tests, in as many processes as there are processors; WORKERS=0 for one
	$(PYTEST) --quick $(PARALLEL) $(COVERAGE)

test-all: $(DEV) $(TOOLS)  ## all tests, also those marked slow, with every example of property tests and with coverage
	$(PYTEST) $(PARALLEL) --cov --cov-report=

test-rest: $(DEV) $(TOOLS)  ## what `make test` leaves out: the tests marked slow, and every example of property tests
	$(PYTEST) --rest $(PARALLEL) --cov --cov-report= --cov-append

check: lint types docs-check coverage  ## all that must hold before a push

lint: $(DEV)  ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## mypy, strictly
	$(BIN)/mypy

docs-check: $(DEV)  ## are the generated tables up to date?
	$(BIN)/python scripts/generate_docs.py --check

# CI has run `make test` with COVERAGE before, and says TESTS=rest.
TESTS ?= all
coverage: test-$(TESTS)  ## do all tests reach enough of contract, engine and response?
	$(BIN)/python scripts/coverage_gate.py

test-pages: $(DEV)  ## our pages in a real Chromium (Debian: chromium)
	$(BIN)/python -m pytest -m browser tests/pages

test-n8n: $(DEV)  ## the contract suite against a real n8n 2.41.1, or reading the one of N8N_URL
	$(BIN)/python -m pytest -m real_n8n tests/n8n_contract tests/n8n_faults

test-searx: $(DEV)  ## the SearXNG provider against a real search server (Debian: searx)
	$(BIN)/python -m pytest -m real_searx tests/searx

test-redmine: $(DEV)  ## the contract suite against a real Redmine (Debian's; root installs it when it is missing)
	$(BIN)/python -m pytest -m real_redmine tests/redmine_contract

test-servers: $(TOOLS)  ## real MCP servers of others that need no network, behind ours (npm and uv install them once)
	$(BIN)/python -m pytest -m real_servers tests/gateway

test-fleet: $(TOOLS)  ## all 24 real MCP servers, behind ours
	$(BIN)/python -m pytest -m 'real_servers or fleet' tests/gateway

test-scale: $(DEV)  ## three servers behind nginx with one Redis (Debian: redis-server, nginx); SHARED_SERVER=valkey for Valkey
	$(BIN)/python -m pytest -m scale tests/scale

# Two at once: a stall is judged by the processor time of its own process, and memory is counted per process.
# Each file of STALLS has a process of its own: in one process, what other tests have imported draws every logged error
# on the terminal, which takes longer.
# The longest begin first.
STALLS := tests/response/test_very_large_values.py tests/doors/test_loop_stalls.py tests/console/test_large.py \
  tests/packs/test_large_answers.py tests/response/test_loop_stalls.py tests/packs/web/providers/test_event_loop.py \
  tests/engine/search/test_searching_beside_the_loop.py tests/packs/n8n/test_large_files.py

attack: attack-rounds attack-stalls  ## hostile requests, crowds, a sick Redis, full disks, signals; a table of failures

attack-rounds: $(DEV)
	$(BIN)/python -m pytest -q -m attack -n 2 --dist worksteal tests/attack

attack-stalls: $(DEV)
	printf '%s\n' $(STALLS) | xargs -P 2 -n 1 $(BIN)/python -m pytest -q -m stall

docs: $(DEV)  ## write the generated tables again
	$(BIN)/python scripts/generate_docs.py

conformance: $(DEV)  ## the official MCP conformance suite and the inspector, against our server
	$(BIN)/python scripts/conformance.py

load: $(DEV)  ## a minute of 256 clients, some of which vanish, and a stop in the middle
	$(BIN)/python scripts/load.py

bench: $(TOOLS)  ## measure against the peers in ../shared/bench, in one run
	$(BIN)/python bench/run.py

bench-profile: $(DEV)  ## where the time of one call goes, by room of the house
	$(BIN)/python bench/profile_calls.py

bench-search: $(DEV)  ## how well and how fast tools are found, on the public sets in ../shared/eval/tool-search
	$(BIN)/python bench/search.py

bench-pages: $(DEV) $(PAGES)  ## fetch_page beside trafilatura and markitdown, on awkward pages of our own
	$(BIN)/python -m bench.pages.run --held-back

bench-scale: $(DEV)  ## several processes on one Redis: throughput, cost of shared state; tables in docs/scale.md
	$(BIN)/python -m bench.scale

bench-services: $(DEV)  ## HTTP APIs from their descriptions, beside FastMCP's importer; a table in docs/services.md
	$(BIN)/python -m bench.services

sbom: $(TOOLS)  ## a CycloneDX SBOM of the locked packages: dist/dogubako.cdx.json
	$(BIN)/python scripts/sbom.py

notices: $(DEV)  ## write the licences of the packages that we need: THIRD-PARTY-NOTICES.md
	$(BIN)/python scripts/third_party_notices.py

lock: $(TOOLS)  ## choose the newest allowed versions again, with the uv that requirements-tools.lock names
	$(UV) pip compile $(LOCK) --group build --extra standard --extra charts --extra files --extra openapi --extra redis --extra tasks pyproject.toml -o requirements.lock
	$(UV) pip compile $(LOCK) --group dev --extra standard --extra redis --extra charts --extra files --extra openapi --extra otel --extra tasks pyproject.toml -o requirements-dev.lock
	$(UV) pip compile $(LOCK) --group tools --constraint requirements-dev.lock -o requirements-tools.lock
	$(UV) pip compile $(LOCK) --group pages -o bench/pages/requirements.lock

LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

clean:  ## remove what was built
	rm -rf $(VENV) $(VENV)-pages build dist logs .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
