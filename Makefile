# Everything a newcomer needs: `make run`, `make test`. Both set up .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.runtime
DEV := $(VENV)/.dev
TOOLS := $(VENV)/.tools
UV := $(BIN)/python -m uv
WORKERS ?= logical

.DEFAULT_GOAL := help
.PHONY: help install run test test-pages test-n8n test-searx test-redmine attack check lint types coverage docs docs-check bench bench-search load conformance sbom notices lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(RUN)  ## make .venv with the locked versions and .venv/bin/dogubako

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Dogubako needs Python 3.11 or newer; say make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(RUN): $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

$(TOOLS): $(DEV) requirements-tools.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-tools.lock
	@touch $@

run: $(RUN)  ## start the server with everything built in; no account needed
	$(BIN)/dogubako serve --sandbox --tools examples/workbench.py

test: $(DEV) $(TOOLS)  ## run the tests, in as many processes as there are processors; WORKERS=0 for one
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal --cov --cov-report=

check: lint types docs-check test coverage  ## all that must hold before a push

lint: $(DEV)  ## ruff: style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## mypy, strictly
	$(BIN)/mypy

docs-check: $(DEV)  ## are the generated tables up to date?
	$(BIN)/python scripts/generate_docs.py --check

coverage: $(DEV)  ## did the last tests reach enough of contract, engine and response?
	$(BIN)/python scripts/coverage_gate.py

test-pages: $(DEV)  ## our pages in a real Chromium (Debian: chromium)
	$(BIN)/python -m pytest -m browser tests/pages

test-n8n: $(DEV)  ## the contract suite against a real n8n 2.41.1, or reading the one of N8N_URL
	$(BIN)/python -m pytest -m real_n8n tests/n8n_contract

test-searx: $(DEV)  ## the SearXNG provider against a real search server (Debian: searx)
	$(BIN)/python -m pytest -m real_searx tests/searx

test-redmine: $(DEV)  ## the contract suite against a real Redmine (Debian's; root installs it when it is missing)
	$(BIN)/python -m pytest -m real_redmine tests/redmine_contract

# Run one after the other: what is measured is the server, and not its neighbours.
STALLS := tests/doors/test_loop_stalls.py tests/packs/test_large_answers.py \
  tests/packs/web/providers/test_event_loop.py tests/engine/search/test_searching_beside_the_loop.py

attack: $(DEV)  ## hostile requests, crowds, oversized answers, a sick Redis, full disks, signals; a table of failures
	$(BIN)/python -m pytest -m attack tests/attack
	for file in $(STALLS); do $(BIN)/python -m pytest -q -m stall $$file || exit 1; done

docs: $(DEV)  ## write the generated tables again
	$(BIN)/python scripts/generate_docs.py

conformance: $(DEV)  ## the official MCP conformance suite and the inspector, against our server
	$(BIN)/python scripts/conformance.py

load: $(DEV)  ## a minute of 256 clients, some of which vanish, and a stop in the middle
	$(BIN)/python scripts/load.py

bench: $(DEV)  ## measure against the peers in ../shared/bench, in one run
	$(BIN)/python bench/run.py

bench-search: $(DEV)  ## how well and how fast tools are found, on the public sets in ../shared/eval/tool-search
	$(BIN)/python bench/search.py

sbom: $(TOOLS)  ## a CycloneDX SBOM of the locked packages: dist/dogubako.cdx.json
	$(BIN)/python scripts/sbom.py

notices: $(DEV)  ## write the licences of the packages that we need: THIRD-PARTY-NOTICES.md
	$(BIN)/python scripts/third_party_notices.py

lock: $(TOOLS)  ## choose the newest allowed versions again, with the uv that requirements-tools.lock names
	$(UV) pip compile $(LOCK) --group build pyproject.toml -o requirements.lock
	$(UV) pip compile $(LOCK) --group dev --all-extras pyproject.toml -o requirements-dev.lock
	$(UV) pip compile $(LOCK) --group tools --constraint requirements-dev.lock -o requirements-tools.lock

LOCK := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

clean:  ## remove what was built
	rm -rf $(VENV) build dist logs .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
