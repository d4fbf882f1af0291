# Everything starts here; no other command is needed before any of these targets. POSIX sh and make only.
# Each step leaves a stamp, so that a second call costs nothing.

SHELL = /bin/sh
.DEFAULT_GOAL = help
.PHONY: help setup agents tools compiler run bytecode lint format check test test-compiled wheel bench tasks bench-tasks pins clean

# PYTHON: an interpreter of 3.11 or later; found by itself when empty. JOBS: processes that run tests.
PYTHON =
JOBS = 2
# MODEL: what the small coding tasks are given to; the scripted model plays their solutions.
MODEL = scripted
BIN = .venv/bin
UV = $(BIN)/uv --quiet
READY = .venv/.stamp
LOCAL_READY = .venv/.stamp-local
BENCH_READY = .venv-bench/.stamp
COMPILED_READY = .venv-compiled/.stamp
WHEEL = build/.stamp
SOURCES = pyproject.toml $(shell find src -name '*.py')
AGENTS = agents/node_modules
AGENTS_READY = $(AGENTS)/.stamp
NPM_FLAGS = --no-audit --no-fund --no-package-lock --no-update-notifier --ignore-scripts --loglevel=error
COMPILE = $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make pins" $(PINFLAGS)

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 16

setup: $(READY) ## make .venv with runwire (editable) and the pinned tools
	@:

$(READY): pyproject.toml constraints/bootstrap.txt constraints/dev.txt
	@python=''; \
	for name in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11; do \
		if test -n "$$name" && "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$name; break; \
		fi; \
	done; \
	if test -z "$$python"; then \
		echo 'runwire needs Python 3.11 or later: install it, or say where it is: make setup PYTHON=/path/to/python3' >&2; \
		exit 1; \
	fi; \
	if ! $(BIN)/python -c '' 2>/dev/null; then \
		rm -rf .venv; \
		"$$python" -m venv .venv || { \
			echo 'Python cannot make a virtual environment: install its venv module (Debian: python3-venv)' >&2; \
			rm -rf .venv; exit 1; \
		}; \
	fi
	@test -x $(BIN)/uv || $(BIN)/python -m pip --quiet --disable-pip-version-check install \
		--require-hashes --only-binary :all: -r constraints/bootstrap.txt
	@$(UV) pip sync --python $(BIN)/python --require-hashes --compile-bytecode \
		constraints/bootstrap.txt constraints/dev.txt
	@$(UV) pip install --python $(BIN)/python --no-deps --no-build-isolation --offline --editable .
	@touch $@

agents: $(AGENTS_READY) ## install the real agents (pinned) for the live tests, from npm
	@:

# Install scripts stay off: newer npm asks before it runs one, older npm does not. The one that is needed is called by
# hand; it puts Claude's native program in the place of a stub.
$(AGENTS_READY): agents/package.json
	@command -v npm >/dev/null || { \
		if command -v node >/dev/null; then \
			echo 'npm is missing beside node: install npm' >&2; exit 1; \
		elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
			apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends nodejs npm; \
		else \
			echo 'the live tests need Node.js (20 or later) with npm: install them, or run make check instead' >&2; exit 1; \
		fi; \
	}
	@rm -rf $(AGENTS)
	@npm install --prefix agents $(NPM_FLAGS)
	@node $(AGENTS)/@anthropic-ai/claude-code/install.cjs
	@$(AGENTS)/.bin/claude --version
	@$(AGENTS)/.bin/codex --version
	@touch $@

# The shells that completion is for, and what the native agent uses where it is there. Without them a few tests are
# skipped, so a machine where they cannot be installed is no failure.
tools:
	@missing=''; \
	for pair in zsh:zsh fish:fish bwrap:bubblewrap rg:ripgrep tmux:tmux; do \
		command -v "$${pair%%:*}" >/dev/null || missing="$$missing $${pair##*:}"; \
	done; \
	if test -n "$$missing" && test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qqy install --no-install-recommends $$missing; } \
			>/dev/null 2>&1 || echo "not installed:$$missing; the tests that need them are skipped" >&2; \
	fi

# What the compiled wheel is made with: a C compiler, and the headers of this Python.
compiler: $(READY)
	@python=$$($(BIN)/python -c 'import sys; print("python{}.{}".format(*sys.version_info))'); \
	header=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h; \
	if ! command -v cc >/dev/null || ! test -f "$$header"; then \
		if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
			apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qqy install --no-install-recommends \
				gcc libc6-dev $$(test -f "$$header" || echo "lib$$python-dev") >/dev/null; \
		else \
			echo 'the compiled wheel needs a C compiler and the headers of Python: install them (Debian: gcc, python3-dev)' >&2; \
			exit 1; \
		fi; \
	fi

run: $(READY) ## show our own agent at work on a scripted model; needs no key and no network
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && trap 'exit 130' INT TERM && \
	cp -R examples/sample-project/. "$$folder" && cd "$$folder" && \
	if test -t 1; then json=''; else json=--json; fi && \
	"$(CURDIR)/$(BIN)/runwire" run "fix the failing test" --model scripted/fix-add --approve full --no-store $$json && \
	echo 'The model was scripted, the tools were real. With a real one: --model anthropic/claude-sonnet-4-5 (or --harness claude)' >&2

# The tests start runwire a thousand times; where Python may not write byte code each of them would compile it again.
bytecode: $(READY)
	@$(BIN)/python -m compileall -q src

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(READY) ## let ruff repair what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

check: lint bytecode ## the gate: lint, format, types, architecture, tests that need nothing else (minutes)
	$(BIN)/pytest -q -n $(JOBS) -m "not live and not slow"

$(LOCAL_READY): $(READY) constraints/local.txt
	@$(UV) pip install --python $(BIN)/python --no-deps --require-hashes --compile-bytecode -r constraints/local.txt
	@touch $@

test: lint bytecode tools $(AGENTS_READY) $(LOCAL_READY) ## the gate and every test there is, also with the real agents
	$(BIN)/pytest -n $(JOBS)
	@if $(MAKE) --silent compiler; then $(MAKE) --no-print-directory test-compiled; else echo 'not tested compiled' >&2; fi

# Made from the source distribution, so that nothing compiled ever lies in `src`, and nothing is missing in what is
# published.
wheel: $(WHEEL) ## make dist/*.whl with the hot path compiled (mypyc); needs a C compiler
	@:

$(WHEEL): $(READY) $(SOURCES) | compiler
	@rm -rf build dist && mkdir build
	@$(BIN)/python -m hatchling build --target sdist --directory "$(CURDIR)/build" >/dev/null
	@tar -xzf build/runwire-*.tar.gz -C build
	@cd build/runwire-*/ && HATCH_BUILD_HOOKS_ENABLE=1 \
		"$(CURDIR)/$(BIN)/python" -m hatchling build --target wheel --directory "$(CURDIR)/dist" >/dev/null
	@touch $@

test-compiled: $(COMPILED_READY) ## the quick tests once more, on the compiled wheel
	RUNWIRE_COMPILED=1 .venv-compiled/bin/pytest -q -n $(JOBS) -m "not live and not slow" tests

$(COMPILED_READY): $(WHEEL) constraints/dev.txt
	@$(BIN)/python -m venv .venv-compiled
	@$(UV) pip sync --python .venv-compiled/bin/python --require-hashes --compile-bytecode \
		constraints/bootstrap.txt constraints/dev.txt
	@$(UV) pip install --python .venv-compiled/bin/python --no-deps --offline --reinstall --compile-bytecode dist/*.whl
	@touch $@

bench: $(BENCH_READY) ## measure the compiled wheel against the floor and the peers
	.venv-bench/bin/python bench/run.py

tasks: $(READY) ## ten small coding tasks on a model: make bench-tasks MODEL=anthropic/claude-sonnet-4-5
	$(BIN)/python bench/tasks.py --model "$(MODEL)"

bench-tasks: tasks

$(BENCH_READY): $(READY) $(SOURCES) constraints/bench.txt
	@$(UV) venv --allow-existing --python $(BIN)/python .venv-bench
	@$(UV) pip sync --python .venv-bench/bin/python --require-hashes --compile-bytecode constraints/bench.txt
	@if $(MAKE) --silent $(WHEEL); then \
		$(UV) pip install --python .venv-bench/bin/python --no-deps --offline --reinstall --compile-bytecode dist/*.whl; \
	else \
		echo 'what is measured is not compiled' >&2; \
		$(UV) pip install --python .venv-bench/bin/python --no-deps --no-build-isolation --offline --editable .; \
	fi
	@touch $@

pins: $(READY) ## write constraints/*.txt anew; PINFLAGS=--upgrade takes newer versions
	$(COMPILE) --output-file constraints/bootstrap.txt constraints/bootstrap.in
	$(COMPILE) --output-file constraints/dev.txt --group dev pyproject.toml
	$(COMPILE) --no-deps --output-file constraints/local.txt constraints/local.in
	$(COMPILE) --output-file constraints/bench.txt --group bench --constraints constraints/dev.txt pyproject.toml

clean: ## remove everything that was made here
	rm -rf .venv .venv-bench .venv-compiled $(AGENTS) dist build
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
