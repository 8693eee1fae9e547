# tailback: `make help` lists the targets. Everything is installed in .venv, nothing elsewhere.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
DEMO := build/demo
PYTEST := $(BIN)/python -m pytest
PYTEST_ARGS ?=
# Whole modules, in the order of tests/conftest.py: the long ones first. A process that dies ends the
# tests: with another in its place they would wait for ever.
BY_MODULE := --dist loadscope --no-loadscope-reorder --max-worker-restart 0
# Two processes more than cores: a third of the time of tests that are not slow is waiting for other
# processes, timers and sockets.
WORKERS := $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)
# The tests start Python some thousand times: without kept bytecode each start takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo dev test test-root test-slow test-trials test-fast integrity lint wheel-test bench count mutants \
  oracle-edits plan-mutants pages docs clean stalls

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The stamps make a second `make` start at once; they are older than pyproject.toml when it changed.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'tailback needs Python 3.11 or newer: sudo apt-get install python3.11-venv' \
	       '(or name one: make PYTHON=/path/to/python3.11)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing: sudo apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Up to 0.2.0 the distribution was called `tailback`; beside the new one its entry points count twice.
former_removed = $(BIN)/python -m pip uninstall -qq --yes --disable-pip-version-check tailback 2>/dev/null

$(VENV)/.run: pyproject.toml $(VENV)/.made
	@echo 'installing tailback in $(VENV) (once; a minute or two)' >&2
	@$(former_removed)
	@$(PIP) --editable . && touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.made
	@echo 'installing tailback and its development tools in $(VENV) (once; a minute or two)' >&2
	@$(former_removed)
	@$(PIP) --editable '.[dev]'
	@$(PIP) --editable '.[gateware]' || \
	  echo 'the tools of the gateware are not to be had here; tests that need them are skipped' >&2
	@$(PIP) --editable '.[ptf]' || \
	  echo 'PTF is not to be had here; tests that need it are skipped' >&2
	@touch $(VENV)/.run $@

demo: $(VENV)/.run  ## run a small plan, then NetFPGA-QCN, figure 11 on both targets; compare
	@rm -rf $(DEMO)
	$(BIN)/tailback run quickstart --out $(DEMO)/simulated
	$(BIN)/tailback run netfpga-fig11 --target simulated --out $(DEMO)/simulated
	@$(BIN)/tailback run netfpga-fig11 --target software --out $(DEMO)/software || code=$$?; \
	simulated=$$(echo $(DEMO)/simulated/netfpga-fig11/*/); \
	software=$$(echo $(DEMO)/software/netfpga-fig11/*/); \
	if [ -d "$$software" ]; then \
	  $(BIN)/tailback compare "$$simulated" "$$software" --seeds 12 --out $(DEMO)/compare \
	    || echo 'the two targets differ (see above); tailback doctor tells what disturbs this machine'; \
	  echo "reports: $${simulated}report.html $${software}report.html $(DEMO)/compare/"; \
	elif [ "$${code:-0}" = 2 ]; then \
	  echo 'This machine does not run real frames (see above); the simulated half is done.'; \
	  echo "report: $${simulated}report.html"; \
	else \
	  exit "$$code"; \
	fi

# Tests that measure real frames need the cores for themselves; all others run side by side.
SHARE_CORES := (not software or shares_cores) and not trials
NEED_CORES := (software and not shares_cores and not trials)
CHOSEN = $(if $(PART),--part $(PART)) $(PYTEST_ARGS)
# Code 5 of pytest: no test was chosen. Both halves are run, also when the first one has failures.
define tested
$(PYTEST) -m '$(SHARE_CORES) and $(1)' -n $(if $(filter not,$(1)),$(WORKERS),auto) $(BY_MODULE) \
  $(CHOSEN) || shared=$$?; \
$(PYTEST) -m '$(NEED_CORES) and $(1)' $(CHOSEN) || alone=$$?; \
for code in $${shared:-0} $${alone:-0}; do case $$code in 0|5) ;; *) exit 1 ;; esac; done
endef

# Four processes that find no compiled engine would each compile one: two processes do it before. A run
# that is refused here, or that a busy machine distorts, is no failure of the tests.
define compile_first
$(BIN)/tailback run quickstart --out build/compiled >/dev/null 2>&1 & \
$(BIN)/tailback run quickstart --target software --out build/compiled >/dev/null 2>&1 || :; \
wait; rm -rf build/compiled
endef

test: $(VENV)/.dev  ## the tests, of long ones a sample, some ten minutes on two cores (PYTEST_ARGS='-k name' to choose)
	@$(compile_first)
	@$(call tested,not slow and not unsampled)

test-root: $(VENV)/.dev  ## of the tests, those that need root: `make test` skips them for an ordinary user
	@$(call tested,not slow and root)

test-slow: $(VENV)/.dev  ## the slow ones and what the sample leaves out, an hour (PART=2/3: that third of the modules)
	@$(call tested,(slow or unsampled))

test-trials: $(VENV)/.dev  ## chaos and endurance against faults planted in tailback, and drawn values, an hour or two
	$(PYTEST) -m trials $(PYTEST_ARGS)

integrity: $(VENV)/.dev  ## is every distorted run found, and no quiet one: needs the machine for itself, 15 minutes
	$(BIN)/python -m tests.trials.integrity --out build/integrity \
	  $(if $(DRAW),--draw $(DRAW)) $(if $(SEED),--seed $(SEED)) $(ARGS)

stalls: $(VENV)/.dev  ## are stalls that are planted told, by cause and by what they did: as root, two minutes
	$(BIN)/python -m tests.trials.stalls --out build/stalls $(ARGS)

test-fast: $(VENV)/.dev  ## without what is slow and without real frames
	$(PYTEST) -m 'not slow and not software' -n $(WORKERS) $(BY_MODULE) $(PYTEST_ARGS)

dev: $(VENV)/.dev  ## install what tests, gateware and lint need, too

lint: $(VENV)/.dev  ## style and types
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel-test: $(VENV)/.dev  ## build sdist and wheel, and try the wheel in a fresh environment elsewhere
	$(BIN)/python tests/packaging/fresh_install.py

bench: $(VENV)/.dev  ## every figure of speed beside its peers and its aim, kept and as docs/speed.md: 15 minutes
	$(BIN)/python tests/benchmarks/board.py --page docs/speed.md
	$(BIN)/python -m pytest tests/benchmarks/bench_kernels.py tests/benchmarks/bench_metrics.py \
	  --benchmark-columns=min,mean,stddev

count: $(VENV)/.dev  ## instructions of the simulator: not 5 % more than kept (ARGS=--renew keeps)
	$(BIN)/python tests/benchmarks/instructions.py $(ARGS)

plan-mutants: $(VENV)/.run  ## do expectations notice what they are about: every mutant of every plan, some minutes (DRAW=200 [SEED=1] [PLANS=...]: drawn ones)
	$(BIN)/tailback mutate $(or $(PLANS),--all) $(if $(DRAW),--draw $(DRAW) --seed $(or $(SEED),1)) --out build/mutate

mutants: $(VENV)/.dev  ## does a test fail when a line is wrong: files that differ from main (ALL=1: all; DRAW=60 SEED=1 [PURE=1]: drawn over the tree)
ifdef DRAW
	$(BIN)/python -m tests.mutation.drawn --draw $(DRAW) --seed $(or $(SEED),1) $(if $(PURE),--pure) --out build/scores/faults-$(or $(SEED),1).json
else
	$(BIN)/python -m tests.mutation $(if $(ALL),--all) $(if $(AGAIN),--again) $(if $(QUICK),--quick) $(if $(SAMPLE),--sample $(SAMPLE)) $(FILES)
endif

oracle-edits: $(VENV)/.dev  ## does the oracle find and name edits of captures that a seed draws (DRAW=100 SEED=1): some minutes
	$(BIN)/python -m tests.trials.oracle_edits --draw $(or $(DRAW),100) --seed $(or $(SEED),1) --out build/scores/oracle-$(or $(SEED),1).json

$(VENV)/.docs: $(VENV)/.dev
	@$(PIP) --editable '.[docs]'
	@touch $@

pages: $(VENV)/.dev  ## renew the pages that are made from the code (a test tells when)
	$(BIN)/python -m orchestrator.pages
	$(BIN)/python -m firmware.registers
	$(BIN)/python -m firmware.compiler

docs: $(VENV)/.docs  ## the site, in build/site; a broken link is an error
	$(BIN)/zensical build --clean --strict

clean:  ## remove what was built and installed here; runs/ is kept
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
