# `make demo` and `make test` work on a fresh clone with Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo test test-all check bench torture clean

help:
	@echo "make demo      anonymize a real table and look at the result"
	@echo "make test      every check: ruff, mypy, import-linter, pytest"
	@echo "make test-all  the same, with the slow tests"
	@echo "make bench     measure speed and memory on this machine"
	@echo "make torture   kill it, starve it, damage its files; write the results to docs/reliability.md"

demo: $(VENV)/.run
	$(BIN)/shoal demo

test: check
	@sh tools/postgres.sh
	$(BIN)/pytest -n auto -m "not slow"

test-all: check
	@sh tools/postgres.sh
	$(BIN)/pytest -n auto

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.run
	$(BIN)/shoal bench

torture: $(VENV)/.dev
	@sh tools/postgres.sh
	$(BIN)/python -m tests.torture --doc docs/reliability.md

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "shoal needs Python 3.11 or newer; say which with: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing shoal into $(VENV) …"
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing shoal and its checks into $(VENV) …"
	$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $(VENV)/.run $@

clean:
	rm -rf $(VENV) build dist shoal-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
