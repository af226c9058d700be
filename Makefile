PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A file's tests run in one process: its fixtures are made once, and what its tests read is read once. Files go as they
# come, not those with the fewest tests last, since these take long.
PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# npm writes it last. Where the packages cannot be fetched this is said, and what needs them is skipped.
NODE_MODULES := web/node_modules/.package-lock.json

# Many images set it: then each of some hundred processes of the tests compiles all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-every test-cpu fuzz test-nsys test-lowest test-pythons test-integrations test-sdist check web docs format bench lessons screenshots record clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/installed $(VENV)/installed-test

$(NODE_MODULES): web/package.json web/package-lock.json
	@sh web/fetch.sh

demo: $(VENV)/installed  ## Compare an FP32 and an FP16 training run, recorded on an H200; write the page
	@mkdir -p demo
	@$(BIN)/tcprof compare fixtures/mlp_fp32.sqlite fixtures/mlp_fp16.sqlite -o demo/mlp.html

test: $(VENV)/installed-test  ## Set up and run the tests, each behaviour once: about 10 minutes on two cores
	$(BIN)/python -m pytest $(PARALLEL)

# Each with its name, so that what fails can be run alone.
PARTS := docs test-every test-cpu test-nsys test-lowest test-integrations test-sdist

test-all:  ## All that CI runs beyond 'make test' and 'make check': about 35 minutes on two cores
	@for part in $(PARTS); do printf '\n== make %s\n' $$part; $(MAKE) --no-print-directory $$part || exit; done

test-every: $(VENV)/installed-dev $(NODE_MODULES)  ## Run all tests, slow ones and those of torch, Chromium, Node.js and PostgreSQL too; what is absent is skipped aloud
	$(BIN)/python -m pytest $(PARALLEL) --all

test-cpu: $(VENV)/installed-dev  ## Run the tests of outputs once more with the sums of another CPU's BLAS
	@core=$$($(BIN)/python tests/core_types.py) || exit; \
	if [ -z "$$core" ]; then echo "SKIPPED: the outputs as on another CPU."; exit 0; fi; \
	echo "The outputs with the sums of $$core:"; \
	OPENBLAS_CORETYPE=$$core $(BIN)/python -m pytest $(PARALLEL) -m golden

CASES := 300
SEED := 0
fuzz: $(VENV)/installed-dev  ## Run commands on recordings that are changed by chance: make fuzz CASES=5000 SEED=1
	PYTHONPATH=tests $(BIN)/python -m fuzz --cases $(CASES) --seed $(SEED)

test-nsys: $(VENV)/installed-dev  ## Fetch Debian's nsys (about 190 MB, no root) unless NSYS names one, and run the tests that need one
	@nsys="$$NSYS"; status=0; \
	[ -n "$$nsys" ] || nsys=$$(sh tests/nsys/fetch.sh build/nsys) || status=$$?; \
	if [ $$status = 3 ]; then echo "SKIPPED: the tests with a real nsys, which could not be fetched."; exit 0; fi; \
	[ $$status = 0 ] && NSYS="$$nsys" $(BIN)/python -m pytest -m nsys

LOWEST := build/lowest/bin/python
test-lowest: $(VENV)/installed-dev  ## Install tcprof with the lowest versions that it takes, and run the tests of its commands
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/lowest
	$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct .
	$(BIN)/uv pip install --quiet --python $(LOWEST) --constraint constraints.txt hypothesis pytest pytest-timeout pytest-xdist
	build/lowest/bin/tcprof ranges fixtures/mlp_fp16.sqlite >/dev/null
	$(LOWEST) -m pytest -W default $(PARALLEL) tests/test_cli*.py tests/test_redact.py \
	  tests/test_fixtures.py tests/test_notebook.py tests/test_comparison_page.py tests/test_annotate_nvtx.py

test-pythons: $(VENV)/installed-dev  ## Install the wheel in each Python from 3.12 to 3.14 that is here or that Debian has, and run the tests of reading there
	rm -rf build/wheel
	$(BIN)/python -m build --no-isolation --wheel --outdir build/wheel >/dev/null
	PYTHON=$(BIN)/python UV=$(abspath $(BIN))/uv sh tests/pythons/run.sh build/wheel/*.whl

TRAINERS := build/trainers/bin/python
test-integrations: $(VENV)/installed-dev  ## Install accelerate beside the torch that is here, and run the tests of Capture
	$(BIN)/python -m venv --clear build/trainers
	export PYTHONPATH=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	$(TRAINERS) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt accelerate || \
	  { echo "SKIPPED: Capture with accelerate, which could not be fetched."; exit 0; }; \
	$(TRAINERS) -m pytest -W default tests/test_integrations.py

test-sdist: $(VENV)/installed-dev  ## Build what is published, and whether an index takes it; from the unpacked sdist run the demo, collect all tests, and run those of its files
	rm -rf build/sdist
	$(BIN)/python -m build --no-isolation --outdir build/sdist
	$(BIN)/twine check --strict build/sdist/*
	tar -xzf build/sdist/*.tar.gz -C build/sdist
	cd build/sdist/tcprof-*/ && $(MAKE) demo && $(abspath $(BIN))/python -m pytest --quiet --collect-only >/dev/null && \
	  $(abspath $(BIN))/python -m pytest $(PARALLEL) tests/test_layers.py tests/test_docs.py tests/test_fixtures.py tests/test_cli.py

check: $(VENV)/installed-dev $(NODE_MODULES)  ## Check format, lint, types, and whether the pages' scripts are built
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings web
	@if [ -e $(NODE_MODULES) ]; then npm --prefix web run --silent types && npm --prefix web run --silent fresh; fi

web: $(NODE_MODULES)  ## Build the pages' scripts from web/src into the package; needs Node.js 18 or newer and npm
	@[ -e $(NODE_MODULES) ] && npm --prefix web run --silent build

format: $(VENV)/installed-dev  ## Format, and fix what the linter can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/installed-dev  ## Build the site of the documentation into build/docs, with its gallery; no warning and no broken link passes
	rm -rf build/docs build/site
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs
	SITE=build/docs $(BIN)/python -m pytest --quiet tests/browser/test_site.py

bench: $(VENV)/installed-dev  ## Time and memory of the commands by size, of the fit, of the page; errors of kernels' figures and of comparisons
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/fit.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/synthetic.py
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/page.py

lessons: $(VENV)/installed  ## Fill the tables of docs/lessons.md from the fixtures
	$(BIN)/python docs/generate_lessons.py

screenshots: $(VENV)/installed-dev  ## Take the pictures of the pages anew; needs Chromium
	$(BIN)/python docs/generate_screenshots.py

record:  ## Record the fixtures anew; needs an NVIDIA GPU, nsys, permission to read its counters, torch, nvtx and tcprof
	$(PYTHON) fixtures/record.py

clean:  ## Remove what make has made
	rm -rf $(VENV) web/node_modules demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
