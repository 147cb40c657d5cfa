# Every target makes the environment it needs: .venv, from PYTHON, with doxa in place (editable)
# and the development tools. Delete .venv to start over.

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/installed
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-adapters check format bench bench-full bench-adapters bench-quality bench-peers torture oracle-long coverage wheel clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' \
		| expand -t 20

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "doxa needs Python 3.11 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)." >&2; \
		echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making the environment in .venv (once; about a minute)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

demo: $(STAMP)  ## doxa at work on a small example
	@$(BIN)/doxa demo

test: $(STAMP)  ## all tests
	@$(BIN)/pytest -n $(JOBS) --dist loadfile

# Each framework has an environment of its own, with its present release, in .venvs.
# What their tests need besides.
NEEDS_langchain := "langchain-classic>=1,<2"
NEEDS_graphiti := "kuzu>=0.11.3,<0.12"
FRAMEWORKS := graphrag langchain llamaindex haystack neo4j lightrag graphiti mcp
test-adapters: $(FRAMEWORKS:%=test-%)  ## the adapters, each with the framework itself

.venvs/%/installed: pyproject.toml $(STAMP)
	@echo "Making the environment of $* in .venvs" >&2
	@test -x .venvs/$*/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venvs/$*
	@$(BIN)/uv pip install --quiet --python .venvs/$*/bin/python --upgrade \
		--editable ".[$*]" --group adapters $(NEEDS_$*)
	@touch $@

$(FRAMEWORKS:%=test-%): test-%: .venvs/%/installed
	@echo "$*:" >&2
	@DOXA_FRAMEWORK=$* .venvs/$*/bin/python -m pytest -q tests/frameworks \
		tests/test_docs.py::test_the_examples_of_a_page_run_and_show_what_it_says

check: $(STAMP)  ## format, lint, types, import rules, documentation
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_layout.py tests/test_docs.py

format: $(STAMP)  ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(STAMP)  ## measure, at a size for a coffee break
	@$(BIN)/pytest doxa/bench --timeout 0 -o python_files="bench_*.py" \
		-o addopts="--import-mode=importlib --strict-config --strict-markers" \
		--benchmark-columns=median,iqr,min,rounds
	@$(BIN)/python -m doxa.bench $(BENCH_ARGS)

bench-full: $(STAMP)  ## measure at full size, and write docs/performance.md
	@$(BIN)/python -m doxa.bench --full --page docs/performance.md $(BENCH_ARGS)

INDEX ?= $(or $(DOXA_SHARED),$(dir $(CURDIR))shared)/data/graphrag_verbs
bench-adapters: $(STAMP) .venvs/langchain/installed .venvs/mcp/installed  ## what the adapters cost; INDEX names a GraphRAG index
	-@$(BIN)/python bench/graphrag_import.py $(INDEX)
	-@$(BIN)/python bench/git_import.py
	-@.venvs/langchain/bin/python bench/langchain_wrapping.py
	@.venvs/mcp/bin/python bench/mcp_roundtrip.py

bench-quality: $(STAMP)  ## what recall serves beside stores without a view: docs/quality.md
	@$(BIN)/python -m doxa.bench.quality --embedder doxa.adapters.embedders:local \
		--page docs/quality.md $(BENCH_ARGS)

bench-peers: $(STAMP)  ## install the peers that the measurements are compared with
	@$(BIN)/python -m doxa.bench.peers

torture: $(STAMP)  ## kill processes and damage files, many times over
	@$(BIN)/pytest -m torture --timeout 0

oracle-long: $(STAMP)  ## thousands of random histories, engine against oracle
	@HYPOTHESIS_PROFILE=long $(BIN)/pytest -k "oracle and not layout" -n $(JOBS) --timeout 0

coverage: $(STAMP)  ## which lines and branches the tests reach
	@$(BIN)/coverage run -m pytest -q
	@$(BIN)/coverage report --skip-covered --show-missing

wheel: $(STAMP)  ## build the wheel into dist/
	@rm -rf build dist
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build
	@ls dist

clean:  ## remove everything that was made, .venv too
	rm -rf .venv .venvs build dist *.egg-info .benchmarks .coverage .hypothesis \
		.pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
