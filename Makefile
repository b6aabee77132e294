# Every target makes .venv by itself, from a bare python3 (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
# How much of the long checks is run: 0.01 is a hundredth.
SCALE ?= 1

.PHONY: run test test-long lint bench data lab
.DELETE_ON_ERROR:

run: .venv/ready  ## private answers about the sample data
	$(BIN)/dpdb sample_data/people.csv -f sample_data/queries.sql

test: lint  ## lint, types, import floors and the whole suite
	$(BIN)/python -m pytest -n 2

test-long: .venv/ready  ## many random examples, and audits of 100,000 runs: half an hour
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/long --scale $(SCALE)

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready  ## speed, memory and accuracy, as ratios within one run
	$(BIN)/python scripts/bench.py

lab: .venv/ready  ## every attack as a page, linked from lab/index.html
	$(BIN)/dpdb lab --all --html lab

data: .venv/ready  ## make sample_data/*.csv anew
	$(BIN)/python scripts/make_sample_data.py

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@
