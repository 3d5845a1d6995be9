# nbfn: `make lab` opens the tutorials, `make test` checks everything.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
# On Windows make is run by Git's shell, whose PATH has no drive letters.
BIN := $(if $(filter Windows_NT,$(OS)),$(shell pwd)/$(VENV)/Scripts,$(CURDIR)/$(VENV)/bin)
NPM := PATH="$(BIN):$$PATH" npm --prefix labextension
FRONT_SOURCES := $(shell find labextension/src labextension/style labextension/schema -type f) \
	labextension/package.json labextension/esbuild.mjs labextension/tsconfig.json
NODE_CHECK := const [a, b] = process.versions.node.split(".").map(Number); \
	process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)
NOTEBOOKS := $(wildcard notebooks/*.ipynb)

# TensorFlow's C++ log lines would otherwise stand in the outputs of notebooks.
QUIET := TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 JUPYTER_PREFER_ENV_PATH=1
# Hundreds of processes import nbfn: compiled once, if the environment says otherwise, too.
TESTING := $(QUIET) CUDA_VISIBLE_DEVICES=-1 PYTHONDONTWRITEBYTECODE=

.PHONY: lab test setup lint unit messages environments-test notebooks-test front-test versions coverage bench tf-tests \
	cells-tests wheel sdist dist release release-test binder-test notebooks docs protocol clean
.DEFAULT_GOAL := lab

lab: setup
	PATH="$(BIN):$$PATH" $(QUIET) $(BIN)/jupyter lab --LabApp.default_url=/lab/tree/notebooks/01-quickstart.ipynb \
		$(if $(DISPLAY)$(WAYLAND_DISPLAY),,--no-browser) $(if $(filter 0,$(shell id -u)),--allow-root)

# Linters and the front end's tests have a core each.
test: setup
	$(MAKE) -j2 $(if $(filter output-sync,$(.FEATURES)),-O) lint front-test
	$(MAKE) unit

setup: .make/python

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(NPM) run lint

front-test: setup
	$(NPM) test

# Tests wait for kernels, pages and proofs, so there is a process more than there are cores; with
# two more, kernels die while they start, and pages wait too long.
PROCESSES = $(shell $(BIN)/python -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')

# nbval runs the tutorials and compares their outputs; then they run twice more.
TUTORIALS := --nbval --nbval-current-env --nbval-cell-timeout=300 -p tests.harness.tutorials

# Files go to the processes as they come: those that take longest come first.
# Some wait for other processes, and one in thousands waits too long on a busy machine: a test that
# fails is run once more, and the summary lists it.
unit: setup .make/browser .make/environments/made
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m pytest --reruns 1 --rerun-show-tracebacks -raR --durations=30 \
		-n $(PROCESSES) --dist loadfile --no-loadscope-reorder $(TUTORIALS) notebooks tests

# Pins what nbfn says in tests/harness/messages.txt; of a part of the tests: make messages TESTS=tests/modules
messages: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile \
		$(if $(TESTS),--update-messages=some $(TESTS),--update-messages=all $$(grep -rl --include=*.py --exclude=test_messages.py "harness.messages import" tests))

# The tests of one more Python and IPython; `make unit` runs those of kernels.
environments-test: setup .make/environments/made
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python tests/programs/environments.py --test $(or $(TESTS),tests/functions tests/modules \
		tests/notebook tests/seeds tests/sessions tests/views)

notebooks-test: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m pytest $(TUTORIALS) -n logical --maxprocesses 4 --dist loadfile notebooks

# The tests of kernels, or the panel's, with other versions: make versions ONLY="tensorflow-2.19 jupyterlab-4.2"
versions: $(if $(ONLY),$(if $(filter jupyterlab-% notebook-%,$(ONLY)),setup .make/browser,.make/front),setup .make/browser)
	PATH="$(BIN):$$PATH" $(TESTING) NBFN_TESTS="$(TESTS)" $(BIN)/python tests/programs/environments.py --versions $(ONLY)

# What the tests reach, kernels and other processes included: make coverage TESTS=tests/functions
coverage: setup $(if $(TESTS),,.make/browser .make/environments/made)
	rm -rf .make/coverage
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/coverage run -m pytest \
		-n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(or $(TESTS),$(TUTORIALS) notebooks tests)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --sort=cover

# Prints every benchmark, and writes the table of the documentation.
bench: setup
	$(BIN)/python -m compileall -q nbfn
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m pytest tests/benchmarks --benchmark-only \
		--benchmark-group-by=group --benchmark-columns=min,median,iqr,rounds --benchmark-json=.make/speeds.json
	$(BIN)/python -m tests.programs.speeds .make/speeds.json docs/speed-table.md

# Others' own tests, with nbfn in the place of tf.function; tests/README.md says where they are:
# make tf-tests TF_TESTS="tensorflow=<folder> keras gpflow=<folder> probability=<folder>"
tf-tests: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.in_others_tests $(TF_TESTS)

# The cells of a folder of notebooks in segments and plainly: make cells-tests FOLDER=…
cells-tests: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.notebooks_in_segments $(FOLDER)

wheel: setup
	PATH="$(BIN):$$PATH" $(BIN)/uv build --wheel --out-dir dist

# The sdist, and a wheel built from it on a machine without Node.
sdist: setup
	PATH="$(BIN):$$PATH" $(BIN)/python -m tests.programs.release --sdist

# What a release publishes: built anew, and tried in an environment of its own.
dist: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.release --build $(VERSION)

# From a clean tree to a tagged commit: make release VERSION=1.2.3, with DRY=1 without the commit
release: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.release $(VERSION) $(if $(DRY),--dry-run)

release-test: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.release --rehearse

# Installs what Binder installs, runs the notebooks there, and says what they need.
binder-test: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python -m tests.programs.binder

# Runs the notebooks and stores their outputs, without widget state and times.
notebooks: setup
	PATH="$(BIN):$$PATH" $(TESTING) $(BIN)/python notebooks/run.py $(NOTEBOOKS)

# The user guide and the reference, as HTML in dist/docs; a warning is an error.
docs: setup
	$(TESTING) $(BIN)/python -m sphinx -W --keep-going -n -q docs dist/docs

# Writes the schema of the messages, and the TypeScript types made of it.
protocol: .make/venv .make/node
	$(BIN)/python -m nbfn.protocol > labextension/protocol.schema.json
	$(NPM) run protocol

clean:
	rm -rf $(VENV) .make dist nbfn/labextension nbfn/views/static labextension/lib \
		labextension/node_modules

# What the targets above stand on; each is made again when what it is made of has changed.

.make/venv:
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "nbfn needs Python 3.11 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv "jupyter-builder>=1.2,<2"
	@mkdir -p .make && touch $@

.make/node: labextension/package.json labextension/package-lock.json
	@node -e '$(NODE_CHECK)' || { echo "nbfn needs Node 20.19 or 22.12, or newer"; exit 1; }
	npm --prefix labextension ci --no-audit --no-fund
	@mkdir -p .make && touch $@

.make/front: .make/venv .make/node $(FRONT_SOURCES)
	$(NPM) run build:prod
	@touch $@

# Compiled once: where Python is told to write no bytecode, TensorFlow is imported in 4 s instead of 10,
# and nbfn in 0.3 s instead of 0.5.
.make/python: .make/front pyproject.toml
	SKIP_JUPYTER_BUILDER=1 $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable ".[docs,lab,test]"
	$(BIN)/python -m compileall -q nbfn
	PATH="$(BIN):$$PATH" $(BIN)/jupyter-builder develop . --overwrite
	@touch $@

.make/browser: .make/python
	$(BIN)/python tests/harness/chromium.py --install
	@touch $@

.make/environments/made: .make/python tests/programs/environments.py
	@mkdir -p $(@D)
	$(BIN)/python tests/programs/environments.py --install
	@touch $@
