# Two commands do everything on a machine with Python 3.11+, pip and make: `make run`, `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
WORKERS ?= 2

.PHONY: run test quick lint types fresh audit benchmark figures clean

run: .venv/installed
	$(BIN)/accion reproduce

test: .venv/installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# A part of the tests that touches every room (tests/quick.txt).
quick: .venv/installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m quick

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed-dev
	$(BIN)/pyright

# The wheel with its default dependencies in an empty environment: the README, the tutorial, the
# commands, the gallery.
fresh:
	PYTHON=$(PYTHON) .ci/fresh

audit: .venv/installed-dev
	$(BIN)/python -m tests.verification.audit

benchmark: .venv/installed-dev
	$(BIN)/python benchmarks/step_cost.py
	$(BIN)/python benchmarks/first_call.py
	$(BIN)/python benchmarks/constraints.py
	$(BIN)/python benchmarks/symbolic.py
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/products.py
	$(BIN)/python benchmarks/reference.py
	$(BIN)/python benchmarks/attraction.py
	$(BIN)/python benchmarks/campaign.py
	$(BIN)/python benchmarks/control.py

figures: .venv/installed
	$(BIN)/python docs/figures.py

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	    'accion needs Python 3.11 or newer: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(PIP_INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv report .pytest_cache .ruff_cache .hypothesis
