# Each target sets up what it needs; the first run on a fresh machine takes some minutes.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# One target folder and one profile: the tests use what the shipped binaries are linked from.
# The flags are those of hatch_build.py.
CARGO = CARGO_ENCODED_RUSTFLAGS="$$(printf -- '-Ctarget-feature=+crt-static\037--remap-path-prefix=%s=/cargo' \
	"$${CARGO_HOME:-$$HOME/.cargo}")" cargo
AGENT = --quiet --locked --release --manifest-path agent/Cargo.toml --target $(HOST)

.PHONY: setup agent demo check check-tests check-agent test nightly pytest test-agent test-layers test-slow \
	test-applications test-wheels test-tools torture lint format lint-python lint-agent docs wheels generated check-generated clean
# Each process of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

setup:
	@tools/setup

# The agent alone, to try a change of it within seconds.
agent:
	@rm -f .venv/tare-setup
	$(CARGO) build $(AGENT) --package tare-agent --package tare-cql
	@mkdir -p src/tare/bin
	@cp agent/target/$(HOST)/release/tare-agent src/tare/bin/tare-agent.new
	@mv src/tare/bin/tare-agent.new src/tare/bin/tare-agent

# Earlier results are kept as demo-results.old. Where a busy machine reached the end of the budget
# first (18), the page is written and says it.
demo:
	@tools/setup core
	@[ ! -e demo-results ] || mv --backup=numbered -T demo-results demo-results.old
	@tare experiment run examples/demo.toml --out demo-results || [ $$? -eq 18 ]

# Tests that are not nightly.
GATE := not slow and not layers and not applications and not wheels

# Lint, and the tests that changed files can affect most directly; BASE=COMMIT compares with another
# commit than HEAD. Tests that need rights or tools, or are far from the change, are left to make test.
BASE ?= HEAD
BUDGET ?= 65
DEADLINE ?= 80
check: setup
	@$(MAKE) --no-print-directory --jobs 3 --keep-going --output-sync=target \
		check-tests lint-python check-generated

check-tests: setup
	@files=$$(tools/affected.py tests --base $(BASE) --budget $(BUDGET)) || exit 1; \
	[ -z "$$files" ] || pytest --numprocesses 2 --deadline=$(DEADLINE) --costs=.costs/check.json \
		-m "$(GATE) and not system" $$files || [ $$? -eq 5 ]

# Lint and tests of changed crates and of those that depend on them, and the tests in Python that the
# changed ones name. With tare-cql, libraries have the same features as in the other targets; with
# others, cargo would build them again.
SAME_FEATURES = --package tare-cql
check-agent:
	@cargo fmt --all --check --manifest-path agent/Cargo.toml || { echo "try: make format"; exit 1; }
	@crates=$$(tools/affected.py crates --base $(BASE)) || exit 1; \
	[ -n "$$crates" ] || { echo "no crate has changed"; exit 0; }; set -ex; \
	$(CARGO) clippy $(AGENT) $$crates $(SAME_FEATURES) --all-targets -- -D warnings; \
	$(CARGO) test $(AGENT) $$crates $(SAME_FEATURES); \
	$(MAKE) --no-print-directory agent; \
	tools/generate_record.py --check --agent src/tare/bin/tare-agent; \
	tools/generate_docs.py --check; \
	tests=$$(tools/affected.py crates-tests --base $(BASE)); \
	[ -z "$$tests" ] || pytest --numprocesses 2 --costs=.costs/check.json -m "$(GATE)" $$tests

# All stages, concurrently; AGAINST=FILE warns of stages that take more CPU time than in that run.
test:
	@tools/gate.py test $(if $(AGAINST),--against $(AGAINST))

# Hours. STAGES="layers torture" runs those alone.
nightly:
	@tools/gate.py nightly $(STAGES)

# More processes than CPUs: tests of real sessions mostly wait. Collecting first compiles the tests
# once; otherwise each process does.
pytest:
	@pytest --collect-only -m "$(GATE)" >/dev/null || pytest --collect-only -m "$(GATE)"
	pytest --numprocesses 3 --costs=.costs/tests.json -m "$(GATE)"

test-agent: setup
	$(CARGO) test $(AGENT) --workspace

test-layers: test-tools
	pytest --numprocesses 2 --costs=.costs/layers.json -m "layers and not applications"

# ISOLATE=FOLDER is a folder of isolate's source, against which its adapter is tested.
test-slow: test-tools
	pytest --numprocesses 2 --costs=.costs/slow.json -m "slow and not applications" \
		$(if $(ISOLATE),--isolate $(ISOLATE))

# Needs a mirror of Debian, and some gigabytes.
test-applications: test-tools
	pytest --costs=.costs/applications.json -m applications

# Installs the wheels in fresh roots of Debian, without a compiler. Needs a mirror of Debian and an
# index of Python packages.
test-wheels: test-tools wheels
	pytest --costs=.costs/wheels.json -m wheels

test-tools: setup
	@tools/packages test
	@tools/engine

# Kills parts of sessions at random moments; N runs from a seed on, of all kinds or of KINDS.
SEED ?= 1
N ?= 24
KINDS ?=
torture: setup
	@tools/torture.py --seed $(SEED) --count $(N) --kinds "$(KINDS)"

lint-python: setup
	ruff check
	ruff format --check
	mypy
	lint-imports

lint: lint-python lint-agent

# What linters refuse for its form alone.
format: setup
	ruff format
	cargo fmt --all --manifest-path agent/Cargo.toml

lint-agent:
	cargo fmt --all --check --manifest-path agent/Cargo.toml
	$(CARGO) clippy $(AGENT) --workspace --all-targets -- -D warnings

# What a release has, in dist/: sdist, a wheel for each machine, bill of materials, checksums.
# MACHINES="x86_64" builds that wheel alone.
MACHINES ?=
wheels: setup
	@tools/wheels $(MACHINES)

# Builds the site into site/; a link or an anchor that leads nowhere is an error.
docs: setup
	@tools/docs

generated: setup
	tools/generate_record.py --write
	tools/generate_docs.py --write

check-generated: setup
	tools/generate_record.py --check --agent src/tare/bin/tare-agent
	tools/generate_docs.py --check

clean:
	rm -rf .venv .tools site agent/target src/tare/bin .*_cache
