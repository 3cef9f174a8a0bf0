# `make` alone prints the targets. Each target sets up what it needs.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PORT ?= 8787
RUN := .venv/bin/python tests/run.py

.PHONY: help
help: ## print this list
	@printf 'Tenantry: ChatGPT plugins for many tenants, serverless, in Python\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## make .venv from the locks and build the page of `platform dev`
	@.ci/setup
	@$(if $(filter setup,$(MAKECMDGOALS)),printf '  %-11s %s\n' done "next: make demo; or .venv/bin/platform init FOLDER",:)

.PHONY: demo
demo: setup ## publish every example, call each, and serve them on http://localhost:8787 until Ctrl-C
	@.venv/bin/platform dev tenants/examples --tenant demo --store .tenantry/demo --port $(PORT) --try --no-open

.PHONY: test
test: setup-test ## every test, two suites at a time
	@$(RUN) test $(SUITES)

.PHONY: test-fast
test-fast: setup-test ## the tests that take less than three minutes
	@$(RUN) fast

.PHONY: soak
soak: setup-test ## the long versions: hours, not minutes
	@$(RUN) soak $(SUITES)

.PHONY: check
check: setup-test ## style, types, import rules, house rules, and full branch coverage of the four rooms
	@$(RUN) check

.PHONY: bench
bench: setup-test ## what a cold start and a warm call cost beside a bare route, as JSON lines
	@PYTHONPATH=tests .venv/bin/python tests/bench/run.py

.PHONY: conformance
conformance: setup-test ## the official MCP conformance suite against a hosted plugin
	@$(RUN) test conformance

.PHONY: deploy-local
deploy-local: setup-test ## the real CDK CLI deploys everything to a local emulator, and it is used
	@$(RUN) test deploy-local

# Hash-pinned and free of index addresses: what was resolved is what every machine installs.
.PHONY: lock
lock: ## resolve the dependencies again and write infra/locks/dev.txt
	@uv pip compile pyproject.toml infra/locks/dev.in --extra server --extra cli --extra aws --universal \
	  --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url -o infra/locks/dev.txt

.PHONY: docs
docs: setup ## make the generated pages again: commands, settings, plans, plugin.toml, coverage
	@.venv/bin/cog -r docs/cli.md docs/settings.md docs/operate.md docs/plugin-toml.md && .venv/bin/python tests/house/coverage.py

.PHONY: format
format: setup ## put the source into the house's form
	@.venv/bin/ruff check --fix -q . && .venv/bin/ruff format -q .

.PHONY: setup-test
setup-test:
	@.ci/setup --test
