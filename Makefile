# `make demo` and `make test` work on a fresh clone with Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help demo test test-all test-oldest test-newest coverage check bench papers torture wheel release-check clean

help:
	@echo "make demo      anonymize a real table and look at the result"
	@echo "make test      every check: ruff, mypy, import-linter, pytest"
	@echo "make test-all  the same, with the slow tests, the oldest dependencies and the newest Python"
	@echo "make coverage  make test, and which lines the tests run"
	@echo "make bench     measure speed and memory on this machine"
	@echo "make papers    measure the papers' experiments again, and write docs/papers"
	@echo "make torture   kill it, starve it, damage its files; write the results to docs/reliability.md"
	@echo "make wheel     a wheel for this system that carries its kernels compiled"
	@echo "make release-check  the version, the changelog, and the wheel installed alone"

demo: $(VENV)/.run
	$(BIN)/shoal warmup
	$(BIN)/shoal demo

test: check
	@sh tools/postgres.sh
	@sh tools/java.sh
	$(BIN)/shoal warmup
	$(BIN)/pytest -n auto --dist worksteal -m "not slow" $(COVERAGE)

test-all: check
	@sh tools/postgres.sh
	@sh tools/java.sh
	$(BIN)/shoal warmup
	$(BIN)/pytest -n auto --dist worksteal
	@$(MAKE) --no-print-directory test-oldest test-newest

# The tests marked `versions`, each in a venv of its own. What is new may tell what is old that it is, and the oldest
# PySpark leaves its sockets to whoever collects garbage.
test-oldest:
	@sh tools/elsewhere.sh 3.11 .venv-oldest constraints-oldest.txt -n auto -W ignore::DeprecationWarning -W 'ignore:unclosed <socket:ResourceWarning'

test-newest:
	@sh tools/elsewhere.sh 3.13 .venv-3.13 constraints.txt -n auto

# The same as `test`, with a figure at the end. On Python 3.11 tracing takes half as long again.
coverage: COVERAGE := --cov --cov-report=term:skip-covered
coverage: test

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.run
	$(BIN)/shoal bench $(NAMES)

papers: $(VENV)/.dev
	$(BIN)/shoal papers -o docs/papers $(NAMES)

torture: $(VENV)/.dev
	@sh tools/postgres.sh
	$(BIN)/python -m tests.torture --doc docs/reliability.md

wheel: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python tools/build_wheel.py

release-check: $(VENV)/.dev
	$(BIN)/python tools/release_check.py

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
	rm -rf $(VENV) $(VENV)-* build dist shoal-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
