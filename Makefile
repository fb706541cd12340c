# make demo   compare three real models and write demo/report.html
# make check  lint, types, import contracts and all tests
# Both set up .venv first; nothing is done twice.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo check format clean

help:
	@sed -n 's/^# make/make/p' Makefile

setup: $(SETUP)

$(SETUP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(f"cospace needs Python 3.11 or newer, found {sys.version.split()[0]}: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv (once; a few minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(SETUP)

demo: $(SETUP)
	@$(BIN)/cospace demo --into demo

check: $(SETUP)
	@$(BIN)/ruff format --check src tests benchmarks examples
	@$(BIN)/ruff check src tests benchmarks examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tests/browser.py
	@$(BIN)/python -m pytest
	@$(BIN)/python -m pytest benchmarks

format: $(SETUP)
	@$(BIN)/ruff format src tests benchmarks examples
	@$(BIN)/ruff check --fix src tests benchmarks examples

clean:
	rm -rf .venv demo
