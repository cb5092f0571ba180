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

# The one folder outside of this repository that is looked at, if it is there: data/ with the real
# data sets and reference/ with the authors' recorded results. Nothing is looked at with RACT_SHARED= .
RACT_SHARED ?= ../shared
SHARED := $(if $(RACT_SHARED),$(abspath $(RACT_SHARED)))
ifneq ($(and $(SHARED),$(wildcard $(SHARED)/data/.)),)
export RACT_DATA_HOME ?= $(SHARED)/data
endif
ifneq ($(and $(SHARED),$(wildcard $(SHARED)/reference/.)),)
export RACT_RECORDED ?= $(SHARED)/reference
endif

# Compiled modules are kept: without them each process that tests start would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

# Archives are dated by the last commit, so that building twice gives the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
# The environment into which what was built is installed, apart from this repository.
CLEAN := build/clean

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

.PHONY: help
help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

# What a set of extras leaves behind when it is installed; after `make install` there is nothing to add.
installed = $(VENV)/.installed-$(if $(wildcard $(VENV)/.installed-dev),dev,$(1))

.PHONY: install
install: $(VENV)/.installed-dev ## set up .venv with everything that development needs

.PHONY: demo
demo: $(call installed,core) ## run the demonstration (installs the core only)
	$(BIN)/ract demo

.PHONY: test
test: $(call installed,test) ## run the tests and the examples in docstrings
	$(BIN)/pytest -n $(WORKERS) --dist loadfile

.PHONY: test-slow
test-slow: $(call installed,test) ## run the tests marked slow
	$(BIN)/pytest -n $(WORKERS) --dist loadfile -m slow

.PHONY: test-lowest
test-lowest: $(LOWEST)/.installed ## run tests of other libraries on the lowest versions declared
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile \
		-W ignore::DeprecationWarning -W ignore::FutureWarning $(LOWEST_TESTS)

.PHONY: coverage
coverage: $(call installed,test) ## run the tests with kernels as plain Python and report coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile --cov

.PHONY: lint
lint: $(call installed,lint) ## check style, format, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: bench
bench: $(call installed,bench) ## run every benchmark in turn
	@set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; $(BIN)/python "$$script"; \
	done

.PHONY: results
results: $(call installed,test) ## run all experiments into results/ (hours) and write docs/results.md
	$(BIN)/python -m experiments.benchmark --n-jobs 2 --output results
	-$(BIN)/python -m experiments.benchmark --beside-rabit --n-folds 3 --output results # if RABIT's tables are there
	$(BIN)/python -m experiments.reproduce --n-jobs 2 --output results --report docs/results.md

.PHONY: docs
docs: $(call installed,docs) ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

.PHONY: notebooks
notebooks: $(call installed,docs) ## run the notebooks and keep what they print (make docs runs them too)
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

.PHONY: dist
dist: $(call installed,release) ## build wheel and source archive into dist/, twice, and compare the bytes
	rm -rf dist build/again
	$(BIN)/python -m build --no-isolation --quiet --outdir dist
	$(BIN)/python -m build --no-isolation --quiet --outdir build/again
	cd dist && sha256sum * | tee ../build/SHA256SUMS
	cd build/again && sha256sum --check --quiet ../SHA256SUMS

.PHONY: dist-check
dist-check: dist ## install the wheel, then the source archive, apart from this checkout; run the demonstration
	$(PYTHON) -m venv --clear $(CLEAN)
	$(CLEAN)/bin/python -m pip --disable-pip-version-check install --quiet dist/*.whl
	cd $(CLEAN) && env -u PYTHONPATH bin/ract demo --n-people 1 > demo.txt && tail -n 6 demo.txt
	$(CLEAN)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --force-reinstall dist/*.tar.gz
	cd $(CLEAN) && env -u PYTHONPATH bin/ract --version

.PHONY: sbom
sbom: dist-check ## list what an installed wheel consists of in dist/sbom.json (CycloneDX)
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file dist/sbom.json $(CLEAN)/bin/python
	$(BIN)/python -c 'import json, pathlib, ract; p = pathlib.Path("dist/sbom.json"); \
		d = json.loads(p.read_text()); d["metadata"]["component"]["version"] = ract.__version__; \
		p.write_text(json.dumps(d, indent=1))'

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
