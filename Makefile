# Everything on a fresh machine with Python 3.11+: `make demo`, `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test test-sssom test-wheel chromium lint bench clean

demo: .venv/installed
	$(BIN)/dualmatch demo

# Two processes share the tests; each computes in one thread, or four would fight for two cores. A third process takes
# longer: the tests are bound by the processor. They write bytecode, whatever the environment says: without it every
# process that a test starts compiles dualmatch anew.
WORKERS ?= 2
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 POLARS_MAX_THREADS=1
test: .venv/installed-for-tests lint chromium
	PYTHONDONTWRITEBYTECODE= $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# The site, from docs/ and the docstrings; the notebooks are run. A warning fails it.
docs: .venv/installed-for-tests
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/trees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# The browser tests' Chromium, where it is missing and apt-get can bring it; where not, they skip and say so.
APT_GET := DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20
chromium:
	@if [ -z "$$DUALMATCH_CHROMIUM" ] && ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null \
	    && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium for the browser tests"; \
	  { $(APT_GET) update; $(APT_GET) install -y --no-install-recommends chromium; } >/dev/null \
	    || echo "Chromium could not be installed; the browser tests will skip"; \
	fi

# sssom-py pulls a hundred packages, so it has an environment of its own.
test-sssom:
	$(PYTHON) -m venv .venv-sssom
	.venv-sssom/bin/pip install --quiet --disable-pip-version-check --editable '.[sssom]' pytest hypothesis
	.venv-sssom/bin/python -m pytest tests/links/test_write.py

# The wheel as users get it, without extras, in a fresh environment; PYTHON=… says of which Python.
test-wheel:
	rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir .venv-wheel/dist .
	.venv-wheel/bin/pip install --quiet --disable-pip-version-check .venv-wheel/dist/*.whl
	cd .venv-wheel && bin/python -I ../tests/check_wheel.py

lint: .venv/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/installed
	$(BIN)/python benchmarks/temporal.py
	$(BIN)/python benchmarks/reading.py

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("dualmatch needs Python 3.11 or newer; set PYTHON=…" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# With the page that the demo proposes next.
.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[review]'
	touch $@

# torch first and pinned: a CPU build, where a range may pull gigabytes of CUDA.
.venv/installed-for-tests: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check 'torch==2.13.0'
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs,gnn,test]'
	touch $@ .venv/installed

clean:
	rm -rf .venv .venv-sssom .venv-wheel demo-out docs/_build
