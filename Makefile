PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench record clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed  ## Compare an FP32 and an AMP training run, recorded on an H200; write the page
	@mkdir -p demo
	@$(BIN)/tcprof compare fixtures/mnist_fp32.sqlite fixtures/mnist_amp.sqlite --filter 'epoch 1' -o demo/mnist.html

test: $(VENV)/installed-dev  ## Set up and run all tests; those that need a GPU, nsys or Chromium say when they are skipped
	$(BIN)/python -m pytest

check: $(VENV)/installed-dev  ## What CI runs: format, lint, types, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/installed-dev  ## Format, and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-dev  ## Time and memory of 'tcprof ranges' and of the fit, and the error of the kernels' figures
	$(BIN)/python benchmarks/ranges.py
	$(BIN)/python benchmarks/fit.py
	$(BIN)/python benchmarks/accuracy.py

record:  ## Record the fixtures anew; needs an NVIDIA GPU, nsys and permission to read its counters
	sh fixtures/record.sh

clean:  ## Remove what make has made
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
