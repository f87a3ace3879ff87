# anymps: `make run` shows it, `make test` checks it; both set up what they need. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
# The PyTorch that is built against, and where pip takes it from: TORCH_PIP="--index-url <a CPU index>" names an index.
TORCH ?= torch==2.13.0
TORCH_PIP ?=
JOBS ?= $(shell nproc)
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

DEBIAN := build-essential cmake ninja-build ccache mold git python3-dev python3-venv valgrind \
          libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libgtest-dev \
          llvm-19 llvm-19-dev libclang-19-dev libpolly-19-dev systemtap-sdt-dev \
          libsqlite3-dev libarchive-dev libzstd-dev libacl1-dev openssh-client openssh-server \
          liblmdb-dev libpng-dev zlib1g-dev libturbojpeg0-dev libwebp-dev
DEBIAN_LINT := clang-format-19 clang-tidy-19
# The browser that reports are opened in.
DEBIAN_TEST := chromium
DEBIAN_FUZZ := clang-19
# How long a fuzzer looks.
FUZZ_SECONDS ?= 600
# How many programs `make fuzz-kernels` tries, and the first one's seed.
KERNELS ?= 2000
SEED ?= 1
# How long `make stress` goes on.
MINUTES ?= 30
SOURCES := $(shell find src data cmake python examples/cpp -type f -not -name '*.pyc') CMakeLists.txt pyproject.toml

export CCACHE_DIR ?= $(HOME)/.cache/ccache
# Clones in other folders find what this one compiled.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
# What ninja prints before each step.
export NINJA_STATUS ?= [%f of %t, %e s] 
ifndef ANYMPS_MAKE_BEGAN
export ANYMPS_MAKE_BEGAN := $(shell date +%s)
endif
say = @echo "== $(1) ($$(( $$(date +%s) - $(ANYMPS_MAKE_BEGAN) )) s so far)"

.PHONY: help run test test-full test-clients build dev wheel wheels test-wheel test-wheels cpp-tests bench lint format tidy asan asan-short tsan tsan-short fuzz-all fuzz-metallib fuzz-source fuzz-bundle fuzz-superres fuzz-logbook fuzz-trace fuzz-lmdb fuzz-kernels fuzz-air fuzz-air-compiler faults kills stress stress-queue clean
.DELETE_ON_ERROR:

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# Installs those of the Debian packages $(1) that are missing, so that a machine that has them needs no root.
define install_missing
$(call say,Debian packages)
@mkdir -p build
@missing=""; for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q "ok installed" || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing; fi
@touch $@
endef

build/.debian: Makefile
	$(call install_missing,$(DEBIAN))

build/.debian-test: Makefile
	$(call install_missing,$(DEBIAN_TEST))

build/.debian-fuzz: Makefile
	$(call install_missing,$(DEBIAN_FUZZ))

build/.debian-lint: Makefile
	$(call install_missing,$(DEBIAN_LINT))

# A torch that is already in the environment is kept, whichever build it is. MLX is what `anymps decide` is tried beside;
# where there is none of it, that test is skipped and says so.
$(VENV)/.ready: Makefile build/.debian
	$(call say,Python packages: torch and tools)
	[ -x $(VENV)/bin/python ] || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -c "import torch" 2>/dev/null || $(PIP) install $(TORCH_PIP) $(TORCH)
	$(PIP) install -q "scikit-build-core>=0.10" numpy pyyaml pytest expecttest ruff safetensors lmdb pillow
	-$(PIP) install -q "mlx[cpu]"
	@touch $@

# One tree for what is installed and for the C++ tests. tests/package makes its wheel from it, too.
RELEASE := build/release
configure = cmake -S . -B $(1) -G Ninja -DPython_EXECUTABLE=$(abspath $(VENV)/bin/python) -DANYMPS_BUILD_TESTS=ON \
  -DSKBUILD_SCRIPTS_DIR=$(abspath $(VENV)/bin) $(2) >/dev/null
$(RELEASE)/build.ninja: $(VENV)/.ready CMakeLists.txt
	$(call say,configure)
	$(call configure,$(RELEASE))

# The package's metadata and Python files by pip, what is compiled by CMake: so one changed file costs its compilation.
PYTHON_SOURCES := $(shell find python -name '*.py' -not -path '*/__pycache__/*') pyproject.toml README.md LICENSE
PIP_PACKAGE := $(PIP) install -q --no-build-isolation --no-deps --force-reinstall -C wheel.cmake=false
build/.package: $(VENV)/.ready $(PYTHON_SOURCES)
	$(call say,install the Python files)
	rm -f build/.editable
	$(PIP_PACKAGE) .
	@touch $@

build/.installed: build/.package $(RELEASE)/build.ninja $(SOURCES)
	$(call say,compile what is installed: a quarter of an hour of one core where nothing is cached)
	cmake --build $(RELEASE)
	$(call say,install it)
	$(VENV)/bin/python tools/install_tree.py $(RELEASE)
	@touch $@

build: build/.installed ## .venv with torch and anymps in it

# For those who work on it: Python files are used where they lie, and what is compiled lands beside them. One file is
# compiled at a time, so that a changed one is quick.
DEV := build/dev
build/.editable: $(VENV)/.ready pyproject.toml
	$(call say,install the package as editable)
	rm -f build/.package build/.installed
	$(PIP_PACKAGE) -C editable.mode=inplace -e .
	@touch $@

$(DEV)/build.ninja: $(VENV)/.ready CMakeLists.txt
	$(call configure,$(DEV),-DANYMPS_UNITY=OFF -DANYMPS_EDITABLE=ON -DCMAKE_BUILD_TYPE=Debug)

dev: build/.editable $(DEV)/build.ninja ## an editable install, rebuilt in place: for work on anymps itself
	$(call say,compile what changed)
	cmake --build $(DEV)
	$(VENV)/bin/python tools/install_tree.py $(DEV) --into python

# The wheel has libraries for these releases of PyTorch. Of those that are not installed here, pip brings the headers.
RELEASES ?= 2.11 2.12 2.13 2.14 2.15
INSTALLED_RELEASE = $(shell $(VENV)/bin/python cmake/torch_facts.py | cut -d';' -f2 | cut -d. -f1,2)
MORE_RELEASES = $(filter-out $(INSTALLED_RELEASE),$(RELEASES))
empty :=
space := $(empty) $(empty)
more_torches = $(subst $(space),;,$(MORE_RELEASES:%=$(CURDIR)/build/torch/%/torch))
# Other versions of Python that this machine has, with their headers. Of a shell that ends with 127, as it does where the
# last of them is not there, make takes no output.
PYTHONS ?= 3.10 3.11 3.12 3.13 3.14
OWN_PYTHON = $(shell $(VENV)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
FOUND_PYTHONS = $(shell for v in $(filter-out $(OWN_PYTHON),$(PYTHONS)); do for p in python$$v $$(pyenv root 2>/dev/null)/versions/$$v.*/bin/python$$v; do \
  $$p -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null && command -v $$p && break; done; done; true)
# $(1): interpreters beside the environment's own.
define compile_for_wheels
$(call say,headers of other releases of PyTorch)
$(VENV)/bin/python tools/torch_package.py build/torch $(MORE_RELEASES)
$(call say,compile for them)
cmake -DANYMPS_MORE_TORCHES="$(more_torches)" -DANYMPS_MORE_PYTHONS="$(subst $(space),;,$(strip $(1)))" $(RELEASE) >/dev/null
cmake --build $(RELEASE) --target anymps_for_wheels
$(PIP) install -q wheel
endef
wheel: build/.installed ## dist/anymps-*.whl for this Python: it installs in seconds beside any of RELEASES
	$(call compile_for_wheels,)
	$(call say,the wheel)
	$(VENV)/bin/python tools/wheel.py $(RELEASE) --into dist

wheels: build/.installed ## those for all of PYTHONS that are here
	$(call compile_for_wheels,$(FOUND_PYTHONS))
	$(call say,the wheels)
	for v in $(OWN_PYTHON) $(foreach p,$(FOUND_PYTHONS),$(patsubst python%,%,$(notdir $(p)))); do \
	  $(VENV)/bin/python tools/wheel.py $(RELEASE) --into dist --python $$v || exit 1; done

# The releases that the wheel is tried beside, each in an environment of its own, which is made once (tests/wheel).
BESIDE ?= $(RELEASES)
test-wheel: wheel ## the wheel beside each of RELEASES, without compiler, LLVM or checkout (BESIDE="2.13 2.15": some of them)
	$(call say,environments with PyTorch $(BESIDE))
	$(VENV)/bin/python tools/torch_environments.py $(BESIDE)
	$(call say,test the wheel)
	ANYMPS_WHEEL_FOLDER=$(CURDIR)/dist ANYMPS_WHEEL_RELEASES="$(BESIDE)" $(VENV)/bin/python -m pytest tests/wheel $(WHEEL_TESTS)

# The tests run by the other Python, in an environment that has pytest alone.
test-wheels: wheels ## the wheel of each of PYTHONS that is here, beside the newest of RELEASES that PyTorch has for it
	for p in $(FOUND_PYTHONS); do \
	  [ -x build/pythons/$$(basename $$p)/bin/pytest ] || { $$p -m venv build/pythons/$$(basename $$p) && \
	    build/pythons/$$(basename $$p)/bin/python -m pip --disable-pip-version-check install -q pytest || exit 1; }; \
	  release=$$($$p tools/torch_environments.py --newest-of $(RELEASES)) || exit 1; \
	  ANYMPS_WHEEL_FOLDER=$(CURDIR)/dist ANYMPS_WHEEL_RELEASES=$$release \
	    build/pythons/$$(basename $$p)/bin/python -m pytest tests/wheel/test_releases.py || exit 1; \
	done

run: build/.installed ## train a classifier on device="mps" and show the summary
	$(VENV)/bin/anymps run --versus "--device cpu" examples/train_classifier.py

# Kernels that Apple's compiler made, for the tests that run them: out of PyTorch's macOS wheel, which pip brings. Where
# it cannot, those tests are skipped and say so. Where ANYMPS_PYTORCH_SOURCE names a checkout of PyTorch, the same kernels
# are compiled from source too.
GENUINE := $(CURDIR)/build/genuine
# Later releases, each in a folder of its own.
GENUINE_LATER := 2.14.1 2.15.0
minor = $(basename $(1))
build/genuine/.ready: tools/genuine_kernels.py $(VENV)/.ready
	-$(VENV)/bin/python tools/genuine_kernels.py $(GENUINE) \
	  $(foreach release,$(GENUINE_LATER),&& $(VENV)/bin/python tools/genuine_kernels.py $(GENUINE)/$(call minor,$(release)) --torch $(release)) \
	  && touch $@
with_genuine = ANYMPS_GENUINE_KERNELS="$$(ls $(GENUINE)/*.metallib >/dev/null 2>&1 && echo $(GENUINE))"

# SANITIZE=address,undefined: the C++ tests with these, in a build of their own.
SANITIZE ?=
TESTS := $(if $(SANITIZE),build/tests-sanitized,$(RELEASE))
build/tests-sanitized/build.ninja: $(VENV)/.ready CMakeLists.txt
	$(call configure,build/tests-sanitized,-DANYMPS_WITH_BACKEND=OFF -DANYMPS_SANITIZE=$(SANITIZE))

# LLVM's allocators mark their memory for AddressSanitizer where its headers are compiled for that, which LLVM itself is
# not: what it takes of them would count as poisoned. Leaks are looked for on x86-64: on aarch64, LeakSanitizer walks a
# table of the whole address space at the end of each process, for four seconds.
ASAN := ASAN_OPTIONS=allow_user_poisoning=0$(if $(filter aarch64,$(shell uname -m)),:detect_leaks=0)
GATE := $(VENV)/bin/python tests/gate.py
cpp-tests: $(TESTS)/build.ninja build/genuine/.ready ## the C++ tests of the rooms without PyTorch
	$(call say,compile the C++ tests)
	cmake --build $(TESTS) --target cpp_tests
	$(ASAN) UBSAN_OPTIONS=halt_on_error=1 $(with_genuine) $(GATE) cpp $(TESTS)/tests --jobs $(JOBS)

# SECONDS=1800 is half an hour.
stress-queue: SECONDS := 60
stress-queue: build/.installed ## threads, streams, forks and random programs on the device's queue, for SECONDS
	ANYMPS_AS_TORCH=2.15 ANYMPS_QUEUE=async $(VENV)/bin/python tests/backend/queue_stress.py $(SECONDS)

# Another slice of what the gate looks at a part of: with SLICE=1/7 to SLICE=7/7 a week has seen everything.
SLICE ?=
GATE_FLAGS ?=
test: build/.installed build/.debian-test $(RELEASE)/build.ninja build/genuine/.ready ## everything that gates a change (SLICE=k/n: with other slices)
	$(call say,compile the C++ tests)
	cmake --build $(RELEASE) --target cpp_tests
	$(call say,test)
	$(with_genuine) ANYMPS_TEST_SLICE=$(SLICE) $(GATE) run --cpp $(RELEASE)/tests --jobs $(JOBS) $(GATE_FLAGS)

# Other people's models for the check. They need no more than these packages beside torch, and pip leaves torch alone.
build/registry/.ready: Makefile $(VENV)/.ready
	$(PIP) install -q --target build/registry transformers
	@touch $@

test-full: test build/registry/.ready ## the above, every genuine kernel, PyTorch's own tests (TEST_MPS=path, TEST_PROFILER=folder, TEST_INDUCTOR=folder), compiled models, Perfetto
	for suite in opinfo check runbook superres; do \
	  ANYMPS_TEST_SLICE=1/1 $(VENV)/bin/python -m pytest tests/$$suite || exit 1; done
	$(VENV)/bin/python -m pytest -m sliced tests/cli tests/compile tests/conformance
	$(VENV)/bin/python tests/genuine/verify_all.py $(GENUINE) --table tests/genuine/verified-2.13.tsv
	$(VENV)/bin/python tests/genuine/run.py $(GENUINE)/torch-2.13.0-0.metallib --jobs $(JOBS) --table tests/genuine/outcomes-2.13.tsv
	$(VENV)/bin/python tests/genuine/run.py $(GENUINE)/torch-2.13.0-0.metallib --jobs $(JOBS) --engine coroutines \
	  --against tests/genuine/outcomes-2.13.tsv
	if [ -n "$$ANYMPS_PYTORCH_SOURCE" ]; then $(VENV)/bin/python tests/genuine/run.py --source "$$ANYMPS_PYTORCH_SOURCE" \
	  --jobs $(JOBS) --against tests/genuine/outcomes-2.13.tsv --sameness tests/genuine/from-source-2.13.tsv; fi
	$(VENV)/bin/python tests/genuine/validate.py $(GENUINE)/torch-2.13.0-0.metallib --each 10
	for release in 2.14 2.15; do \
	  $(VENV)/bin/python tests/genuine/verify_all.py $(GENUINE)/$$release \
	    --table tests/genuine/verified-$$release.tsv || exit 1; \
	  $(VENV)/bin/python tests/genuine/run.py $(GENUINE)/$$release/torch-$$release.*-0.metallib --jobs $(JOBS) \
	    --known $(GENUINE)/torch-2.13.0-0.metallib $$([ $$release = 2.15 ] && ls $(GENUINE)/2.14/torch-2.14.*-0.metallib) \
	    --table tests/genuine/outcomes-$$release.tsv || exit 1; \
	  $(VENV)/bin/python tests/genuine/run.py $(GENUINE)/$$release/torch-$$release.*-1.metallib --jobs $(JOBS) \
	    --only '.*_mpp_.*|applySYRKTrailing.*|gemmLU_.*' --table tests/genuine/tensor-operations-$$release.tsv || exit 1; done
	$(VENV)/bin/python tests/genuine/document.py > docs/genuine.md
	ANYMPS_TEST_MPS=$(TEST_MPS) ANYMPS_TEST_PROFILER=$(TEST_PROFILER) ANYMPS_TEST_INDUCTOR=$(TEST_INDUCTOR) \
	  $(VENV)/bin/python -m pytest tests/conformance
	$(VENV)/bin/python tests/opinfo/run.py --compiled 3 --jobs $(JOBS) --limit-s 200 \
	  --against tests/opinfo/compiled-2.13.tsv
	PYTHONPATH=build/registry $(VENV)/bin/python tests/compile/models.py --jobs $(JOBS) --table docs/compile-models.tsv
	$(VENV)/bin/python tests/full/perfetto_page.py
	$(VENV)/bin/python tests/full/check_page.py
	PYTHONPATH=build/registry $(VENV)/bin/python tests/check/families.py --jobs $(JOBS) --table docs/check-families.tsv

# Other people's suites, by path: CLIENTS=folder with checkouts of them. What they need beside torch, without torch itself.
CLIENTS ?=
CLIENT_PACKAGES := lightning-utilities torchmetrics tqdm 'kornia_rs<0.2' einops 'huggingface_hub<2' 'tokenizers<0.24' \
  'transformers<6' accelerate datasets pyarrow dill multiprocess xxhash regex requests urllib3 charset-normalizer certifi \
  idna httpx httpcore anyio h11 hf-xet typer shellingham rich markdown-it-py mdurl annotated-doc parameterized psutil \
  'scikit-learn<1.8' scipy joblib threadpoolctl narwhals tabulate pandas python-dateutil six aiohttp click cloudpickle \
  tensorboardX importlib_metadata zipp cachier portalocker watchdog statsmodels patsy permetrics==2.0.0 properscoring fairlearn \
  pytest-timeout pytest-rerunfailures pytest-asyncio
build/clients/.ready: Makefile $(VENV)/.ready
	$(PIP) install -q --target build/clients $(CLIENT_PACKAGES) --no-deps
	@touch $@

test-clients: build/.installed build/clients/.ready ## other people's test suites on mps (CLIENTS=folder with checkouts)
	@[ -n "$(CLIENTS)" ] || { echo "make test-clients CLIENTS=folder: name a folder with checkouts of the libraries"; exit 2; }
	PATH="$(CURDIR)/build/clients/bin:$(CURDIR)/$(VENV)/bin:$$PATH" PYTHONPATH=$(CURDIR)/build/clients \
	  $(CURDIR)/$(VENV)/bin/python tests/clients/run.py $(abspath $(CLIENTS)) --table build/clients.md --reports build/clients-reports

bench: build/.installed build/genuine/.ready ## mps against cpu, in one run
	$(VENV)/bin/python bench/run.py
	$(VENV)/bin/python bench/metal_kernels.py $(GENUINE)
	$(VENV)/bin/python bench/fast_kernels.py
	$(VENV)/bin/python bench/metal_compile.py
	$(VENV)/bin/python bench/compile_latency.py
	$(VENV)/bin/python bench/compiled.py
	$(VENV)/bin/python bench/import_time.py
	$(VENV)/bin/python bench/trace_cost.py
	$(VENV)/bin/python bench/trace_cost.py --check
	$(VENV)/bin/python bench/trace_cost.py --lab
	$(VENV)/bin/python bench/trace_cost.py --lab-lines
	$(VENV)/bin/python bench/trace_writer.py
	$(VENV)/bin/python bench/superres.py

lint: build/.debian-lint $(VENV)/.ready ## format and lint checks, changing nothing
	git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'fuzz/*.h' 'fuzz/*.cpp' 'examples/*.cpp' | xargs clang-format-19 --dry-run -Werror
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/python -m pytest -q -rs -p no:cacheprovider tests/cli/test_page_assets.py

format: build/.debian-lint $(VENV)/.ready ## put all files into the house's format
	git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'fuzz/*.h' 'fuzz/*.cpp' 'examples/*.cpp' | xargs clang-format-19 -i
	$(VENV)/bin/ruff check --fix -q .
	$(VENV)/bin/ruff format -q .

# Its compile commands are of one file each. What the sources include of data/ is made; nothing is compiled.
tidy: build/.debian-lint $(VENV)/.ready ## clang-tidy on files of recent commits (ALL=1: on all)
	$(call configure,build/tidy,-DANYMPS_UNITY=OFF)
	cmake --build build/tidy --target anymps_tables
	tools/tidy.sh build/tidy

asan: ## the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(MAKE) cpp-tests SANITIZE=address,undefined

# Without src/metal, which takes a quarter of an hour to build that way, and without UndefinedBehaviorSanitizer's checks
# of pointers (null, alignment, object-size, vptr), which take as long to compile as all others together.
SHORT_CHECKS := address,bool,bounds,builtin,enum,float-cast-overflow,integer-divide-by-zero,return,shift,signed-integer-overflow,unreachable
asan-short: $(VENV)/.ready ## the same of the rooms below Metal kernels
	$(call configure,build/asan-short,-DANYMPS_WITH_BACKEND=OFF -DANYMPS_WITH_METAL=OFF -DANYMPS_SANITIZE=$(SHORT_CHECKS))
	cmake --build build/asan-short --target cpp_tests
	$(ASAN) UBSAN_OPTIONS=halt_on_error=1 $(GATE) cpp build/asan-short/tests --as asan --jobs $(JOBS)

# Each test in a process of its own: ThreadSanitizer keeps what it knows of threads that have ended.
define run_tsan
$(call configure,build/tsan,-DANYMPS_WITH_BACKEND=OFF -DANYMPS_WITH_METAL=OFF -DANYMPS_SANITIZE=thread)
cmake --build build/tsan --target $(1)
TSAN_OPTIONS=halt_on_error=1 $(GATE) cpp build/tsan/tests --each --as tsan --jobs $(JOBS)
endef

tsan: $(VENV)/.ready ## the C++ tests under ThreadSanitizer
	$(call run_tsan,cpp_tests)

tsan-short: $(VENV)/.ready ## the same of the room where threads meet, src/gpu
	$(call run_tsan,gpu_tests)

# New inputs go to build/fuzz/corpus, so that a later run begins where this one ended; a finding to build/fuzz/finding-*.
# Without precompiled headers: Clang writes the folder into them, so that no other checkout finds anything in the cache.
# With the checks of asan-short, for the same reason as there.
define configure_fuzz
cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DANYMPS_WITH_BACKEND=OFF -DANYMPS_BUILD_FUZZ=ON -DANYMPS_BUILD_TESTS=ON -DPython_EXECUTABLE=$(abspath $(VENV)/bin/python) \
  -DANYMPS_SANITIZE=$(SHORT_CHECKS),fuzzer-no-link -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
endef
FUZZ_ENV := $(ASAN) UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ANYMPS_CACHE=$(CURDIR)/build/fuzz/cache

# `make fuzz-NAME` builds a fuzzer and runs it, `make fuzz-all` builds all and runs as many at a time as there are cores.
# The targets that only run are named run-fuzz-NAME.
FUZZERS := metallib source bundle superres logbook trace lmdb air-compiler
FUZZ_TARGETS := metallib_fuzz metallib_seeds metal_source_fuzz bundle_fuzz bundle_seeds superres_fuzz logbook_fuzz \
  trace_fuzz lmdb_fuzz air_fuzz
define build_fuzzers
$(configure_fuzz)
cmake --build build/fuzz --target $(1)
endef
# $(1): the program, $(2): what it is called in the names of files, $(3): options and folders of seeds.
define run_fuzzer
mkdir -p build/fuzz/$(2)-corpus
$(FUZZ_ENV) build/fuzz/fuzz/$(1) -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 \
  -artifact_prefix=build/fuzz/$(2)-finding- $(3)
endef

fuzz-metallib: $(VENV)/.ready build/.debian-fuzz ## the reader of Metal libraries under libFuzzer, for FUZZ_SECONDS
	$(call build_fuzzers,metallib_fuzz metallib_seeds)
	$(MAKE) run-fuzz-metallib
run-fuzz-metallib:
	$(call run_fuzzer,metallib_fuzz,metallib,-max_len=4096 build/fuzz/metallib-corpus build/fuzz/fuzz/seeds)

fuzz-source: $(VENV)/.ready build/.debian-fuzz ## the compiler of Metal source under libFuzzer, for FUZZ_SECONDS
	$(call build_fuzzers,metal_source_fuzz)
	$(MAKE) run-fuzz-source
run-fuzz-source:
	$(call run_fuzzer,metal_source_fuzz,source,-max_len=4096 -timeout=60 -rss_limit_mb=4096 -dict=fuzz/metal.dict \
	  build/fuzz/source-corpus tests/metal/wrong_programs)

fuzz-bundle: $(VENV)/.ready build/.debian-fuzz ## the reader of handoff bundles under libFuzzer, for FUZZ_SECONDS
	$(call build_fuzzers,bundle_fuzz bundle_seeds)
	$(MAKE) run-fuzz-bundle
run-fuzz-bundle:
	$(call run_fuzzer,bundle_fuzz,bundle,-max_len=16384 build/fuzz/bundle-corpus build/fuzz/fuzz/bundle-seeds)

fuzz-superres: $(VENV)/.ready build/.debian-fuzz ## what anymps sr reads (weights, pictures, records) under libFuzzer, for FUZZ_SECONDS
	$(call build_fuzzers,superres_fuzz)
	$(MAKE) run-fuzz-superres
run-fuzz-superres:
	$(VENV)/bin/python fuzz/superres_seeds.py build/fuzz/superres-corpus
	$(call run_fuzzer,superres_fuzz,superres,-max_len=16384 build/fuzz/superres-corpus)

# What the lab and anymps sr keep on disk.
fuzz-logbook: $(VENV)/.ready build/.debian-fuzz ## rows of the logbook under libFuzzer, for FUZZ_SECONDS
fuzz-trace: $(VENV)/.ready build/.debian-fuzz ## traces, and what is made of them, under libFuzzer, for FUZZ_SECONDS
fuzz-lmdb: $(VENV)/.ready build/.debian-fuzz ## databases of pairs under libFuzzer, for FUZZ_SECONDS
fuzz-logbook fuzz-trace fuzz-lmdb: fuzz-%:
	$(call build_fuzzers,$*_fuzz)
	$(MAKE) run-fuzz-$*
run-fuzz-logbook run-fuzz-trace: LENGTH := 16384
run-fuzz-lmdb: LENGTH := 65536
run-fuzz-logbook run-fuzz-trace run-fuzz-lmdb: run-fuzz-%:
	$(VENV)/bin/python fuzz/lab_seeds.py $* build/fuzz/$*-seeds
	$(call run_fuzzer,$*_fuzz,$*,-max_len=$(LENGTH) build/fuzz/$*-corpus build/fuzz/$*-seeds)

run_air_fuzz = tests/air_fuzz --seconds $(FUZZ_SECONDS) --seed $(SEED) --keep build/air-findings
fuzz-air-compiler: $(VENV)/.ready build/.debian-fuzz ## AIR that is changed at the level of IR, compiled with sanitizers, for FUZZ_SECONDS
	$(call build_fuzzers,air_fuzz)
	$(MAKE) run-fuzz-air-compiler
run-fuzz-air-compiler:
	$(FUZZ_ENV) build/fuzz/$(run_air_fuzz) --here

fuzz-air: $(RELEASE)/build.ninja ## the same, compiled and run in the sandbox
	cmake --build $(RELEASE) --target air_fuzz
	$(RELEASE)/$(run_air_fuzz)

fuzz-all: $(VENV)/.ready build/.debian-fuzz ## all fuzzers with sanitizers, each for FUZZ_SECONDS
	$(call build_fuzzers,$(FUZZ_TARGETS))
	$(MAKE) -j$(JOBS) --output-sync=target $(FUZZERS:%=run-fuzz-%)

fuzz-kernels: $(TESTS)/build.ninja ## KERNELS random kernels on all engines, from SEED on
	cmake --build $(TESTS) --target kernel_fuzz
	$(TESTS)/tests/kernel_fuzz --seed $(SEED) --count $(KERNELS)

# How many failures `make faults` makes, and how often `make kills` kills each loop.
FAULTS ?= 2000
KILLS ?= 100
faults: build/.installed ## FAULTS writes, opens, renames ... of the verbs fail, one at a time: nothing is left half
	cmake --build $(RELEASE) --target fault_injection
	$(VENV)/bin/python tests/faults/inject.py --count $(FAULTS) --jobs $(JOBS) --seed $(SEED) --verbose

stress: build/.installed ## MINUTES of threads, forks, compilers, a full device and signals, compared with the CPU
	$(VENV)/bin/python tests/faults/stress.py --minutes $(MINUTES) --seed $(SEED)

kills: build/.installed ## KILLS kills of log, sweep, sr pack, sr train and a loop of runs: nothing is lost
	$(VENV)/bin/python tests/faults/kills.py --kills $(KILLS) --seed $(SEED)

clean: ## remove what the build made, .venv excepted
	rm -rf build
