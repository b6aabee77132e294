# Every target makes .venv by itself, from a bare python3 (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
# How much of the long checks is run: 0.01 is a hundredth.
SCALE ?= 1
# Compiled modules are kept, whatever the environment says: hundreds of processes import them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test suite test-long test-spark lint bench data pictures lab
.DELETE_ON_ERROR:

run: .venv/run  ## private answers about the sample data
	$(BIN)/dpdb sample_data/people.csv -f sample_data/queries.sql

# Types are checked while the tools of the tests are installed, or one of two cores would be idle.
test: .venv/run  ## lint, types, import floors and the whole suite
	$(MAKE) -j 2 lint suite

# A third worker has the two cores while others wait for terminals. To make every assert show its
# values takes each worker as long as to import all tests: only what failed is run with that.
suite: .venv/dev
	$(BIN)/python -m compileall -q -j 2 dpdb tests
	$(BIN)/python -m pytest -n 3 --dist worksteal --assert=plain || \
	{ $(BIN)/python -m pytest --last-failed --last-failed-no-failures=none; false; }

test-long: .venv/dev  ## many random examples, and audits of 100,000 runs: about half an hour
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/long --scale $(SCALE)

test-spark: .venv/dev  ## the engine for Spark, in this machine; it needs Java and 500 MB
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[spark]'
	$(BIN)/python -m pytest -n 0 tests/spark

lint: .venv/lint
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
	$(BIN)/python scripts/make_examples.py

pictures: .venv/dev  ## draw the pictures of README anew
	$(BIN)/python scripts/make_pictures.py

# What running needs comes first and alone, so that the first answer is there soon. pip would compile
# all that it installs, though most of it is never imported. What is imported here is compiled for
# the processes that come after, so that several do not compile it at once.
.venv/run: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable .
	$(BIN)/python -c 'import matplotlib.figure, numpy, prompt_toolkit.shortcuts, rich.markdown, sqlglot'
	touch $@

.venv/lint: .venv/run
	$(BIN)/python -m pip install --quiet --no-compile --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --no-compile --group lint
	touch $@

.venv/dev: .venv/lint
	$(BIN)/python -m pip install --quiet --no-compile --group dev
	$(BIN)/python -c 'import dp_accounting, duckdb, hypothesis, IPython, opendp, pandas, pytest, scipy.stats'
	touch $@
