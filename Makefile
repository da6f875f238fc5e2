# Each target sets up what it needs in .venv, inside the project. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := build/bench
ANNIF := build/annif
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
# The extension and the C++ tests share one build tree, so that the core is compiled once.
CORE := build/core

CORE_FILES := CMakeLists.txt $(filter-out cpp/tests/%,$(wildcard cpp/*/*))
PACKAGE_FILES := pyproject.toml $(shell find src -name '*.py' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.svg' -o -name py.typed)

CPP_FILES := $(wildcard cpp/*/*.cpp cpp/*/*.hpp benchmarks/*/*.cpp)

.PHONY: help
help:  ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install -q 'scikit-build-core>=0.11' 'nanobind>=2.7' --group serve
	touch $@

# More than a gigabyte, which `make demo` does without.
$(VENV)/tests: $(VENV)/tools
	$(BIN)/python -m pip install -q --group test
	touch $@

$(VENV)/linters: $(VENV)/tools
	$(BIN)/python -m pip install -q --group lint
	touch $@

$(VENV)/package: $(VENV)/tools $(CORE_FILES) $(PACKAGE_FILES)
	@test -d $(CORE) || echo "Compiling the core and the extension; this takes a few minutes."
	$(BIN)/python -m pip install -q --no-build-isolation -C build-dir=$(CORE) -C cmake.define.OPLT_BUILD_TESTS=ON .
	touch $@

.PHONY: build
build: $(VENV)/package  ## Build the package into .venv.

.PHONY: demo
demo: build  ## Watch a model learn from a stream in which new labels keep appearing.
	$(BIN)/oplt demo
	@echo && echo "These commands need oplt on the path: run  . $(BIN)/activate  first."

.PHONY: test
test: build $(VENV)/tests test-cpp  ## Build, then run the C++ tests, the Python tests, the examples of the docstrings, the README and docs/.
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal
	@if command -v chromium chromium-browser google-chrome > /dev/null; then \
	  $(MAKE) --no-print-directory test-page; \
	else \
	  echo "make test: the page of the server was NOT tested, because there is no Chromium; see make test-browser"; \
	fi

.PHONY: test-slow
test-slow: build $(VENV)/tests test-cpp  ## All tests, those marked slow and more Hypothesis examples included; then test-browser and test-annif.
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m '' --hypothesis-profile slow
	$(MAKE) --no-print-directory test-browser
	$(MAKE) --no-print-directory test-annif

$(ANNIF)/tools: pyproject.toml
	test -x $(ANNIF)/bin/python || $(PYTHON) -m venv $(ANNIF)
	@{ $(ANNIF)/bin/python -m pip install -q --upgrade 'pip>=25.1' && $(ANNIF)/bin/python -m pip install -q --group annif; } || \
	  { echo "make test-annif: Annif cannot be installed into $(ANNIF), so oplt.annif was NOT tested; pip says why above." \
	    "Annif 1.4 needs Python 3.10 to 3.13 and access to a package index." >&2; exit 1; }
	touch $@

# The wheel of what has been built for .venv: nothing is compiled again.
$(ANNIF)/package: $(ANNIF)/tools $(VENV)/package
	rm -rf $(ANNIF)/wheel
	$(BIN)/python -m pip wheel -q --no-build-isolation --no-deps -w $(ANNIF)/wheel .
	$(ANNIF)/bin/python -m pip install -q --force-reinstall --no-deps $(ANNIF)/wheel/*.whl
	$(ANNIF)/bin/python -m pip install -q $(ANNIF)/wheel/*.whl
	touch $@

.PHONY: test-annif
test-annif: $(ANNIF)/package  ## Test the backend for Annif, in an environment of its own, build/annif.
	$(ANNIF)/bin/python -m pytest -m '' tests/adapters/test_annif.py

$(VENV)/browser: $(VENV)/tests
	$(BIN)/python -m pip install -q --group browser
	touch $@

.PHONY: test-browser
test-browser: build $(VENV)/browser  ## Test the page of the server in Chromium, which root gets from Debian if it is missing.
	@if ! command -v chromium chromium-browser google-chrome > /dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	  else \
	    echo "make test-browser needs Chromium; on Debian: sudo apt-get install chromium" >&2; exit 1; \
	  fi; \
	fi
	$(BIN)/python -m pytest -m '' tests/browser

# One file of them.
.PHONY: test-page
test-page: build $(VENV)/browser
	$(BIN)/python -m pytest tests/browser/test_try.py

OLDEST := build/oldest
OLDEST_PYTHON ?= $(shell command -v python3.10 || echo $(PYTHON))

# Wheels of the oldest versions exist for old versions of Python only.
.PHONY: test-oldest
test-oldest: $(VENV)/tools  ## Run the unit tests with the oldest versions of the dependencies that pyproject.toml names: OLDEST_PYTHON=python3.10.
	test -x $(OLDEST)/bin/python || $(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install -q --upgrade 'pip>=25.1'
	$(BIN)/python tools/oldest.py parquet sklearn client > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install -q -r $(OLDEST)/requirements.txt 'scikit-build-core>=0.11' 'nanobind>=2.7' \
	  'pytest>=8' 'pytest-xdist>=3.5' 'hypothesis>=6.100' 'pandas==2.0.*' 'polars==1.0.*'
	$(OLDEST)/bin/python -m pip install -q --no-build-isolation --no-deps -C build-dir='$(OLDEST)/{wheel_tag}' .
	$(OLDEST)/bin/python -m pytest -n $(JOBS) --dist worksteal tests/unit tests/property tests/reference tests/compat

WHEELS := build/wheels
WHEEL_PYTHON ?= $(firstword $(foreach version,3.14 3.13 3.12,$(shell command -v python$(version))))

# A wheel for each platform, for Python 3.12 and later.
.PHONY: wheels
wheels:  ## Build wheels for Linux (x86-64 and ARM; glibc and musl) into dist: WHEEL_PYTHON=python3.12 PLATFORMS="musllinux_1_2_x86_64".
	@test -n "$(WHEEL_PYTHON)" || { echo "make wheels needs Python 3.12 or later; pass its path: WHEEL_PYTHON=/path/of/python3.12" >&2; exit 1; }
	test -x $(WHEELS)/bin/python || $(WHEEL_PYTHON) -m venv $(WHEELS)
	$(WHEELS)/bin/python -m pip install -q --upgrade 'pip>=25.1'
	$(WHEELS)/bin/python -m pip install -q --group wheels
	$(WHEELS)/bin/python tools/wheels.py dist $(PLATFORMS)
	$(WHEELS)/bin/auditwheel show dist/*manylinux*x86_64.whl

.PHONY: test-cpp
test-cpp: build  ## Run the tests of the core.
	cmake --build $(CORE) --target build_tests > /dev/null
	ctest --test-dir $(CORE) -j $(JOBS) --output-on-failure

# CMake runs the tests of a foreign machine by the emulator, which finds its libraries in the folder after -L.
.PHONY: test-arm
test-arm:  ## Cross-compile the core for 64-bit ARM and run its tests under QEMU: TESTS="kernels|same_bits" chooses some.
	@command -v aarch64-linux-gnu-g++ > /dev/null && command -v qemu-aarch64 > /dev/null || \
	  { echo "make test-arm needs a cross-compiler and QEMU; on Debian: sudo apt-get install g++-aarch64-linux-gnu qemu-user" >&2; exit 1; }
	cmake -S . -B build/arm -DOPLT_BUILD_TESTS=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
	  '-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu' > /dev/null
	cmake --build build/arm -j $(JOBS) --target build_tests > /dev/null
	ctest --test-dir build/arm --output-on-failure $(if $(TESTS),-R '$(TESTS)')

# mypy reads the types of the packages that the tests use.
.PHONY: lint
lint: build $(VENV)/tests $(VENV)/linters  ## ruff, mypy, import-linter, clang-format.
	$(BIN)/ruff check src tests benchmarks tools examples
	$(BIN)/ruff format --check src tests benchmarks tools examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_includes.py
	$(BIN)/clang-format --dry-run -Werror $(CPP_FILES)

.PHONY: format
format: $(VENV)/linters  ## Format the Python and C++ sources.
	$(BIN)/ruff check --fix-only -q src tests benchmarks tools examples
	$(BIN)/ruff format -q src tests benchmarks tools examples
	$(BIN)/clang-format -i $(CPP_FILES)

$(BENCH)/tools: pyproject.toml
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install -q --upgrade 'pip>=25.1'
	$(BENCH)/bin/python -m pip install -q 'scikit-build-core>=0.11' 'nanobind>=2.7' --group bench --group peers
	touch $@

$(BENCH)/package: $(BENCH)/tools $(CORE_FILES) $(PACKAGE_FILES)
	$(BENCH)/bin/python -m pip install -q --no-build-isolation -C build-dir='$(BENCH)/{wheel_tag}' .
	touch $@

.PHONY: bench
bench: $(BENCH)/package  ## Compare with other systems: DATA="nvd-cpe bibtex" OUT=folder, data from OPLT_DATA.
	$(BENCH)/bin/python benchmarks/peers/run.py $(DATA) --out $(or $(OUT),build/results/peers)

# Plots take megabytes; all peers take gigabytes.
$(VENV)/plots: $(VENV)/tools
	$(BIN)/python -m pip install -q --group bench
	touch $@

.PHONY: bench-scaling
bench-scaling: build $(VENV)/plots  ## Cost and memory as labels, examples, features and threads grow: OUT=folder OPTIONS="--most-examples 100000".
	$(BIN)/python benchmarks/scaling/run.py $(OPTIONS) --out $(or $(OUT),build/results/scaling)

.PHONY: bench-kernels
bench-kernels: build $(VENV)/plots  ## The kernels, compared with the memory bandwidth and with each other: DATA=nvd-cpe OUT=folder, data from OPLT_DATA.
	cmake -S . -B build/kernels -DOPLT_BUILD_BENCHMARKS=ON > /dev/null
	cmake --build build/kernels -j $(JOBS) --target bench_kernels > /dev/null
	$(BIN)/python benchmarks/micro/kernels.py --program build/kernels/bench_kernels \
		--data $(or $(DATA),nvd-cpe) --out $(or $(OUT),build/results/kernels)

# ruff formats the signatures of the reference.
$(VENV)/manual: $(VENV)/linters
	$(BIN)/python -m pip install -q --group docs
	touch $@

# Any warning is an error (`strict` in mkdocs.yml). The variable silences a notice of the theme.
.PHONY: docs
docs: build $(VENV)/manual  ## Build the manual into build/manual, with its generated reference; it needs no network.
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/figures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	$(BIN)/python tools/manual/check_site.py build/manual
	@echo "Now open build/manual/index.html."

# CMT and plots.
$(VENV)/paper: $(VENV)/tools
	$(BIN)/python -m pip install -q --group paper
	touch $@

.PHONY: paper
paper: build $(VENV)/paper  ## Tables and figures of the paper: TABLES="2 4" DATA="bibtex" SEEDS=5 OUT=folder, data from OPLT_DATA.
	$(BIN)/python benchmarks/paper/run.py $(if $(TABLES),--tables $(TABLES)) $(if $(FIGURE),--figure) \
		$(if $(DATA),--data $(DATA)) $(if $(SEEDS),--seeds $(SEEDS)) --out $(or $(OUT),build/results/paper)

.PHONY: sanitize
sanitize:  ## Run the C++ tests under the address, undefined-behavior and thread sanitizers.
	for kind in address,undefined thread; do \
	  cmake -S . -B build/$$kind -DOPLT_BUILD_TESTS=ON -DOPLT_SANITIZE=$$kind -DCMAKE_BUILD_TYPE=Debug > /dev/null && \
	  cmake --build build/$$kind -j $(JOBS) --target build_tests > /dev/null && \
	  ctest --test-dir build/$$kind --output-on-failure || exit 1; \
	done

FUZZ_TARGETS ?= model container parsers text
FUZZ_TIME ?= 60

# New inputs are kept in build/fuzz/corpus. Failing ones are written to build/fuzz; add them to tests/fuzz/corpus with the fix.
.PHONY: fuzz
fuzz: build $(VENV)/tests  ## Fuzz the loaders, the parsers, the text core and the API; needs clang: FUZZ_TIME=60 (seconds per target) FUZZ_TARGETS="model text".
	@echo 'int main() {}' | clang++ -fsanitize=fuzzer-no-link,address,undefined -x c++ - -o /dev/null 2> /dev/null || \
	  { echo "make fuzz needs clang++ with its sanitizers; on Debian: apt-get install clang libclang-rt-14-dev" >&2; exit 1; }
	cmake -S . -B build/fuzz -DOPLT_BUILD_FUZZERS=ON -DCMAKE_CXX_COMPILER=clang++ > /dev/null
	cmake --build build/fuzz -j $(JOBS) > /dev/null
	for target in $(FUZZ_TARGETS); do \
	  mkdir -p build/fuzz/corpus/$$target && \
	  build/fuzz/fuzz_$$target -max_total_time=$(FUZZ_TIME) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/fuzz/corpus/$$target || exit 1; \
	done
	$(BIN)/python -m tests.fuzz.harness --seconds $(FUZZ_TIME)
