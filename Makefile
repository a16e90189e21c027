# Everything this project needs it installs itself, into .uv and .venv beside this file.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
READY := .venv/.ready
# Twice as many as CI has cores: many tests wait for processes that they started.
TEST_PROCESSES ?= 4

.PHONY: help setup web up test test-fast check fix snapshots screenshots lock bench soak clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## install what is needed, nothing else
$(READY): requirements-dev.lock requirements-uv.lock pyproject.toml tools/setup
	@tools/setup

web: $(READY) ## build the web app, where it has changed
	@tools/web-build

up: web ## start everything on embedded defaults; Ctrl-C stops it
	@exec $(BIN)/comfyfleet up $(ARGS)

test: web ## all tests: SQLite, PostgreSQL, S3, browser
	@tools/system-packages
	@tools/web-build test
	EDGE_ON_ONE_ENGINE=1 $(BIN)/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: $(READY) ## unit tests, and database tests on SQLite only
	$(BIN)/pytest -q tests/unit tests/database -k "not postgresql" $(ARGS)

check: $(READY) ## format, lint, types, import contracts, dependencies, snapshots fresh
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .
	$(BIN)/python -m tools.snapshots --check
	@tools/web-build check

fix: $(READY) ## format, and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

snapshots: $(READY) ## write golden SQL, the OpenAPI file and the generated reference pages anew
	$(BIN)/python -m tools.snapshots

screenshots: web ## take the pictures of the README anew
	@tools/system-packages
	$(BIN)/python tools/screenshots.py

lock: $(READY) ## resolve dependencies anew: for development, and the same versions for production
	@tools/lock --upgrade

bench: web ## measure: NAME=dispatch, comfy, jobs, worker, pipelines, scaling or web; ARGS="--quick" or "--json"
	@$(BIN)/python -m bench.$(or $(NAME),dispatch) $(ARGS)

soak: web ## the full counts of property, fuzz and chaos tests (hours)
	HYPOTHESIS_PROFILE=soak FUZZ_EXAMPLES=2000 UPLOAD_TEST_BYTES=2147483648 \
	  CHAOS_JOBS=10000 CHAOS_WORKERS=50 CHAOS_KILLS=120 \
	  DAY_SCALE=1 DAY_HOURS=24 \
	  PIPELINE_CANDIDATES=1000 PIPELINE_KILLS=100 PIPELINE_WORKERS=20 \
	  FLEET_JOBS=2000 FLEET_WORKERS=6 FLEET_MINUTES=30 FLEET_BLOWS=300 FLEET_LEASE_S=20 FLEET_PROGRESS=1 \
	  $(BIN)/pytest --timeout 7200 tests $(ARGS)

clean: ## remove the environment; data in .comfyfleet stays
	rm -rf web/node_modules web/src/client src/comfyfleet/_web .uv .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis test-results
