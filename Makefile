# Every target makes .venv by itself, from a bare python3 (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
# How much of the long checks is run: 0.01 is a hundredth.
SCALE ?= 1

.PHONY: run test suite test-long lint bench data lab
.DELETE_ON_ERROR:

run: .venv/run  ## private answers about the sample data
	$(BIN)/dpdb sample_data/people.csv -f sample_data/queries.sql

# Types are checked while the suite begins, or one of two cores would be idle.
test: .venv/dev  ## lint, types, import floors and the whole suite
	$(MAKE) -j 2 lint suite

# A third worker has the two cores while others wait for terminals. To make every assert show its
# values takes each worker as long as to import all tests: only what failed is run with that.
suite: .venv/dev
	$(BIN)/python -m pytest -n 3 --dist worksteal --assert=plain || \
	{ $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; false; }

test-long: .venv/dev  ## many random examples, and audits of 100,000 runs: under half an hour
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/long --scale $(SCALE)

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev  ## speed and memory, as ratios within one run, and the errors of answers
	$(BIN)/python scripts/bench.py

lab: .venv/run  ## every attack as a page, linked from lab/index.html
	$(BIN)/dpdb lab --all --html lab

data: .venv/run  ## make the files of sample_data anew
	$(BIN)/python scripts/make_sample_data.py
	$(BIN)/python scripts/make_shop_data.py

# What running needs comes first and alone, so that the first answer is there soon.
.venv/run: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/dev: .venv/run
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@
