# Every target makes its own virtual environment in .venv if it is missing, and can be run twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-slow lint bench clean

demo: $(VENV)/.core
	$(BIN)/lengthwise reproduce whats-missing/dispersion whats-missing/averaging \
	  whats-missing/post-norm --scale quick --out demo

test: $(VENV)/.all
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.all
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.all
	@status=0; for script in benchmarks/[a-z]*.py; do \
	  echo "== $$script"; $(BIN)/python $$script || status=1; done; exit $$status

clean:
	rm -rf $(VENV) demo

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The package alone: what a user installs.
$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	@touch $@

# With every extra, for tests, linters and benchmarks.
$(VENV)/.all: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev,hf,lightning,bench]"
	@touch $@ $(VENV)/.core
