# Each target sets up what it needs; the first run on a fresh machine takes some minutes.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# One target folder and one profile: the tests use what the shipped binaries are linked from.
CARGO = RUSTFLAGS="-C target-feature=+crt-static" cargo
AGENT = --quiet --locked --release --manifest-path agent/Cargo.toml --target $(HOST)

.PHONY: setup agent demo check test nightly pytest test-agent test-fast test-layers test-slow test-applications test-tools torture \
	lint lint-python lint-agent docs generated check-generated clean
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

# Earlier results are kept as demo-results.old. Where the machine changed meanwhile (exit code 17), or
# a busy machine reached the end of the budget first (18), the page is written and says it.
demo:
	@tools/setup core
	@[ ! -e demo-results ] || mv --backup=numbered -T demo-results demo-results.old
	@tare experiment run examples/demo.toml --out demo-results || case $$? in 17|18) ;; *) exit 1;; esac

# What a change breaks most often, in about a minute: without rights, tools, or a build of the agent
# where that has not changed.
check: setup
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-python check-generated test-fast

test-fast: setup
	pytest --numprocesses 2 -m "not slow and not long and not system" tests/unit tests/contract

# All stages, concurrently; AGAINST=FILE warns of stages that take more CPU time than in that run.
test:
	@tools/gate.py test $(if $(AGAINST),--against $(AGAINST))

# Hours. STAGES="layers torture" runs those alone.
nightly:
	@tools/gate.py nightly $(STAGES)

# More processes than CPUs: tests of real sessions mostly wait.
pytest:
	pytest --numprocesses 3 --costs .costs/tests.json -m "not slow and not layers and not applications"

test-agent: setup
	$(CARGO) test $(AGENT) --workspace

test-layers: test-tools
	pytest --numprocesses 2 --costs .costs/layers.json -m "layers and not applications"

test-slow: test-tools
	pytest --numprocesses 2 --costs .costs/slow.json -m "slow and not applications"

# Needs a mirror of Debian, and some gigabytes.
test-applications: test-tools
	pytest --costs .costs/applications.json -m applications

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

lint-agent:
	cargo fmt --all --check --manifest-path agent/Cargo.toml
	$(CARGO) clippy $(AGENT) --workspace --all-targets -- -D warnings

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
