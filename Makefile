# `make lab` opens the lab, `make test` proves it. Needs Python 3.11 or later and make; the rest it gets (see .ci/setup).
# ARGS="..." goes to what a command starts: make test ARGS="-k fusion", make lab ARGS="--no-browser".

PY := .venv/bin/python
ARGS :=

.PHONY: help lab demo test test-browser test-mutants notebooks reset lint model lock env
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

lab: env  ## open JupyterLab on notebook 00, in your working copy my-lab/
	@$(PY) -m labsupport.lesson.launch $(ARGS)

demo: env  ## open JupyterLab on notebook 05, the two worlds, for a room
	@$(PY) -m labsupport.lesson.launch 05 $(ARGS)

test: env  ## run the whole suite: the tests, and every notebook in a fresh kernel, its outputs compared
	@$(PY) -m pytest --nbval $(ARGS)

test-browser: env  ## drive the notebooks in JupyterLab in a real browser (needs Chromium)
	@$(PY) -m pytest -n 0 -m browser tests/browser $(ARGS)

test-mutants: env  ## put wrong designs into a copy of labsupport: a test and a notebook must go red for each
	@$(PY) -m pytest -m mutants tests/mutation $(ARGS)

notebooks: env  ## execute every notebook in place; on a clean tree `git diff` stays empty
	@$(PY) -m labsupport.lesson.execute $(or $(ARGS),notebooks/*.ipynb)

reset: env  ## renew my-lab/ from notebooks/, after asking: your answers there are lost
	@$(PY) -m labsupport.lesson.launch --reset

lint: env  ## what ruff has to say
	@$(PY) -m ruff check .

model: ## add the real embedding model (92 MB) to .venv
	@.ci/setup model

lock: env  ## resolve pyproject.toml into requirements.lock (ARGS=--upgrade takes the latest versions)
	@.uv/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --fork-strategy fewest --extra model \
	    --group test --group lock --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
	    --output-file requirements.lock $(ARGS)

env:  ## make .venv, or leave it alone where it is up to date
	@.ci/setup
