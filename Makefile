# The same verbs for people and for CI. Everything is relative, so that a folder with a space in its name works.
SHELL := /bin/sh
PYTHON := .venv/bin/python
export PYTHONPATH := platform:.
export DEMO ?= 1

# the first of these that is a Python 3.11 able to make a virtual environment
FIND_PYTHON = for name in $(PYTHON311) python3.11 python3 /usr/bin/python3.11; do \
	  "$$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && { python=$$name; break; }; \
	done; \
	[ -n "$$python" ] || { echo "helicase: Python 3.11 with venv is needed, and none was found (set PYTHON311=/path/to/python3.11)" >&2; exit 2; }

.PHONY: help up test test-forced lint bench bench-stat bench-peers gpu-check model-card manage lock clean runtime development browser

help: ## list these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

up: runtime ## set up and start everything on this machine, with demo people and a demo order (DEMO=0: without)
	@exec $(PYTHON) -m supervisor up

test: browser ## set up and run every test, in two processes; ARGS="-k name" goes to pytest
	@exec $(PYTHON) -m pytest -n 2 $(ARGS)

test-forced: development ## the tests of the engine once more, where every engine is made to preempt in every second step; ARGS as above
	@exec $(PYTHON) -m pytest -n 2 tests/engine --forced-preemption $(ARGS)

# mypy's Django plugin loads the settings, which want an environment; nothing is connected to
lint: export SECRET_KEY := read-by-the-type-checker-only-and-never-used
lint: export DATABASE_URL := postgresql://nobody@localhost/none
lint: export REDIS_URL := redis://localhost/0
lint: export DEMO := 0
lint: development ## ruff, mypy --strict, import rules
	@# a file that is ignored and yet tracked takes the place of somebody's own: .venv would remove an environment
	@found=$$(git ls-files --cached --ignored --exclude-standard 2>/dev/null); [ -z "$$found" ] || { echo "ignored and yet tracked: $$found" >&2; exit 2; }
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy --strict platform engine kernels
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'

bench: runtime ## measure workloads against baselines; ARGS="mixed --quick" measures one of them
	@exec $(PYTHON) -m benchmarks $(ARGS)

bench-stat: runtime ## STAT beside a load that never ends, on the engine and through the platform, and decisions; ARGS="--quick"
	@exec $(PYTHON) -m benchmarks stat stat-platform reach --precision bf16 $(ARGS)

bench-peers: runtime ## install the engines that `make bench` compares with, each in an environment of its own
	@exec $(PYTHON) -m benchmarks.peers

gpu-check: ## the checks that need a GPU
	@echo "helicase: not built yet, it has its own issue" >&2; exit 1

model-card: development ## measure the bundled model again and rewrite its card
	@exec $(PYTHON) -m models.training.card

manage: ## a manage.py command beside the running processes: make manage CMD=demo_passwords
	@exec $(PYTHON) -m supervisor manage $(CMD)

lock: development ## resolve pyproject.toml again into the two lock files
	$(PYTHON) -m piptools compile $(LOCK_OPTIONS) --output-file requirements.lock pyproject.toml
	$(PYTHON) -m piptools compile $(LOCK_OPTIONS) --extra dev --output-file requirements-dev.lock pyproject.toml
	@# a build label such as +cpu depends on where the package was found, the version does not
	@sed -i -E 's/^(torch==[0-9.]+)\+[a-z0-9.]+/\1/' requirements.lock requirements-dev.lock
LOCK_OPTIONS = --quiet --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options

clean: ## remove the environment and caches; the data of `make up` stays (rm -r .run removes it)
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

runtime:
	@$(FIND_PYTHON); "$$python" -I platform/supervisor/install.py requirements.lock

browser:
	@$(FIND_PYTHON); "$$python" -I platform/supervisor/install.py requirements-dev.lock --browser

development:
	@$(FIND_PYTHON); "$$python" -I platform/supervisor/install.py requirements-dev.lock
