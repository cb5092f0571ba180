# Everything runs in .venv, which is made on first use and kept up to date with pyproject.toml.
# Needs Python 3.11 or newer (with venv and pip) and make.

PYTHON ?= python3
# Processes that run tests; 0 for this one.
WORKERS ?= auto
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# The lowest versions in pyproject.toml, which run on the lowest Python, and the tests that meet them.
LOWEST := .venv-lowest
LOWEST_PYTHON ?= $(shell command -v python3.11 || echo $(PYTHON))
LOWEST_TESTS := $(addprefix tests/,apps/cli/test_cli.py io/export evaluation/plots _utils \
	data/actions/test_space.py data/costs/test_fitted.py data/test_datasets.py data/test_encoder.py)

# Tests and benchmarks on the real data read it here when nobody said otherwise.
ifndef RACT_DATA_HOME
ifneq ($(wildcard ../shared/data/.),)
export RACT_DATA_HOME := $(CURDIR)/../shared/data
endif
endif

# The authors' recorded results, for the same reason.
ifndef RACT_RECORDED
ifneq ($(wildcard ../shared/reference/.),)
export RACT_RECORDED := $(CURDIR)/../shared/reference
endif
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

.PHONY: help
help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

.PHONY: install
install: $(VENV)/.installed-dev ## set up .venv with everything that development needs

.PHONY: demo
demo: $(VENV)/.installed-core ## run the demonstration (installs the core only)
	$(BIN)/ract demo

.PHONY: test
test: $(VENV)/.installed-test ## run the tests and the examples in docstrings
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

.PHONY: test-slow
test-slow: $(VENV)/.installed-test ## run the tests marked slow
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m slow

.PHONY: test-lowest
test-lowest: $(LOWEST)/.installed ## run tests of other libraries on the lowest versions declared
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile \
		-W ignore::DeprecationWarning -W ignore::FutureWarning $(LOWEST_TESTS)

.PHONY: coverage
coverage: $(VENV)/.installed-test ## run the tests with kernels as plain Python and report coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile --cov

.PHONY: lint
lint: $(VENV)/.installed-lint ## check style, format, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: bench
bench: $(VENV)/.installed-bench ## run every benchmark in turn
	@set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; $(BIN)/python "$$script"; \
	done

.PHONY: results
results: $(VENV)/.installed-test ## run all experiments into results/ (hours) and write docs/results.md
	$(BIN)/python -m experiments.benchmark --n-jobs 2 --output results
	-$(BIN)/python -m experiments.benchmark --beside-rabit --n-folds 3 --output results # if RABIT's tables are there
	$(BIN)/python -m experiments.reproduce --n-jobs 2 --output results --report docs/results.md

.PHONY: docs
docs: $(VENV)/.installed-docs ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

.PHONY: clean
clean: ## remove the virtual environment, caches and everything built
	rm -rf $(VENV) $(LOWEST) build dist docs/_build .coverage .coverage.* htmlcov
	rm -rf .hypothesis .numba_cache .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ract needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# One stamp per set of extras, so that each is installed once and again after a change.
$(VENV)/.installed-core: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet -e .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet -e ".[$*]"
	@touch $@

$(LOWEST)/.installed: pyproject.toml
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
		--resolution lowest-direct -e ".[test]"
	@touch $@
