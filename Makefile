# `make bench` and `make test` set up all that they need in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SETUP  := $(VENV)/.installed
OUT    ?= results/bench

.PHONY: bench test test-wheel lint build docs notebooks lock nightly results reference clean

$(SETUP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@

## Run FFNSL and baselines on the three tasks at 0, 50 and 90 % shift and print the table.
bench: $(SETUP)
	$(BIN)/nsl-bench bench --out $(OUT)

## Three workers of one thread, on two cores too: each waits a quarter of its time for processes it started.
TESTS  := OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 3 --dist worksteal

test: lint
	$(TESTS)

## The tests against the built wheel in place of the working tree.
test-wheel: build
	rm -rf build/wheel
	$(BIN)/python -m pip install --quiet --no-deps --target build/wheel dist/*.whl
	PYTHONPATH=build/wheel $(TESTS)

lint: $(SETUP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/tree
	$(BIN)/python tests/one_tree.py build/tree
	cd build/tree && MYPY_CACHE_DIR=$(CURDIR)/.mypy_cache $(abspath $(BIN))/mypy nsl_bench

build: $(SETUP)
	rm -rf dist build/lib
	$(BIN)/python -m build --quiet --outdir dist .

$(VENV)/.docs: $(SETUP)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@

## The documentation as a site in build/site, with the board in build/site/board; both work from the disk.
docs: $(VENV)/.docs
	rm -rf build/site
	$(BIN)/python -m sphinx -W --keep-going -E -q -b html -d build/doctrees docs build/site
	$(BIN)/nsl-bench leaderboard build --out build/site/board

## What the notebooks show, made anew.
notebooks: $(VENV)/.docs
	$(BIN)/python docs/_ext/execute_notebooks.py

## The versions that `pip install -r requirements.lock` gives developers; nothing here installs from it.
lock: $(SETUP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-annotate \
		--upgrade --quiet --custom-compile-command 'make lock' --output-file requirements.lock

## The studies of docs/results/, which need the folder of real data.
SHARED ?= ../shared
results: $(SETUP)
	$(BIN)/python benchmarks/real_images.py decks leaves --shared $(SHARED)
	$(BIN)/python benchmarks/networks.py mnist --softmax softmax:images_per_concept=4000,epochs=2 --shared $(SHARED)
	$(BIN)/python benchmarks/networks.py drawn decks leaves --shared $(SHARED)
	$(BIN)/python benchmarks/networks.py rooms --also sasr --repeats 0
	$(BIN)/python benchmarks/networks.py digits --also mc_dropout --also temperature --also ensemble
	$(BIN)/python benchmarks/framework.py --shared $(SHARED)
	$(BIN)/python benchmarks/nsl.py --shared $(SHARED)
	$(BIN)/python benchmarks/structure.py --repeats 3
	$(BIN)/python benchmarks/studies.py data --shared $(SHARED)
	$(BIN)/python benchmarks/studies.py annotation
	$(BIN)/python benchmarks/tables.py --shared $(SHARED)
	$(BIN)/python benchmarks/neighbours.py --shared $(SHARED)
	$(BIN)/python benchmarks/ntoc.py --mnist $(SHARED)/data/mnist
	$(BIN)/python benchmarks/neuid3.py eleusis reuse tint
	$(BIN)/python benchmarks/neuid3.py eleusis --source emnist:$(SHARED)/data/mnist,letters=drawn
	NSL_BENCH_UCI=$(SHARED)/data/uci $(BIN)/python benchmarks/neuid3.py uci speed --repeats 10 \
		--source mnist:$(SHARED)/data/mnist
	for paper in ffnsl2023 ffnsl2021 nsl2020; do $(BIN)/nsl-bench reproduce $$paper --preset paper \
		--data $(SHARED)/data --out results/$$paper || exit; done
	$(BIN)/python benchmarks/papers.py --data $(SHARED)/data
	$(BIN)/python benchmarks/pages.py

## The board's reference submissions (an hour), and the site made of them.
reference: $(SETUP)
	$(BIN)/python benchmarks/reference.py --out results/reference
	$(BIN)/python benchmarks/rivals.py
	$(BIN)/python benchmarks/pages.py
	$(BIN)/nsl-bench leaderboard build --out results/site

## Slow studies, and the tests on the wheel.
nightly: test test-wheel
	$(BIN)/pytest -q -m slow

clean:
	rm -rf build dist $(VENV)
