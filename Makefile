# Two commands do everything on a machine with Python 3.11+, pip and make: `make run`, `make test`.
PYTHON ?= python3
# The environment that all but `fresh` and `versions` work in.
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
WORKERS ?= 2
# Modules are compiled once, not by each of the many processes of the tests.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run test quick lint types docs fresh versions audit benchmark figures clean

run: $(VENV)/installed
	$(BIN)/accion reproduce

# Much of what the tests take is XLA's compilation of programs that run once: here without LLVM's
# optimisation, which takes half of that, and each program by one thread, as the workers have all
# cores. `make quick`, and so `make versions`, has XLA as users do.
XLA_OF_TESTS := --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1
test: $(VENV)/installed-dev
	XLA_FLAGS="$(XLA_FLAGS) $(XLA_OF_TESTS)" \
	    $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# A part of the tests that touches every room (tests/quick.txt).
quick: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m quick

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/pyright

# The site, docs/_build/html/index.html: notebooks are executed, warnings and links that lead nowhere
# are errors. What was drawn and executed is kept until accion changes.
docs: $(VENV)/installed-docs
	WORKERS=$(WORKERS) $(BIN)/python -m docs.making

# The wheel with its default dependencies in an empty environment: the README, the tutorial, the
# commands, the gallery.
fresh:
	PYTHON=$(PYTHON) .ci/fresh

# `make quick` with the lowest versions that pyproject.toml allows, and with the newest.
versions:
	PYTHON=$(PYTHON) WORKERS=$(WORKERS) .ci/versions

audit: $(VENV)/installed-dev
	$(BIN)/python -m tests.verification.audit

benchmark: $(VENV)/installed-dev
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
	$(BIN)/python benchmarks/optima.py
	$(BIN)/python benchmarks/receding.py
	$(BIN)/python benchmarks/work_precision.py
	$(BIN)/python benchmarks/long_run.py

figures: $(VENV)/installed
	$(BIN)/python docs/figures.py

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	    'accion needs Python 3.11 or newer: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP_INSTALL) --editable '.[dev]'
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP_INSTALL) --editable '.[docs]'
	touch $@

clean:
	rm -rf docs/_build docs/pages
	rm -rf .venv report .pytest_cache .ruff_cache .hypothesis
