# Each target sets up what it needs; the first run on a fresh machine takes some minutes.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin
AGENT := --manifest-path agent/Cargo.toml
STATIC = RUSTFLAGS="-C target-feature=+crt-static"
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

.PHONY: setup agent demo check test test-agent test-fast test-layers test-slow test-applications test-tools torture lint \
	lint-python lint-agent docs generated check-generated clean
# Each process of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

setup:
	@tools/setup

# The agent alone, to try a change of it within seconds. `make setup` builds the one to measure with.
agent:
	@rm -f .venv/tare-setup
	$(STATIC) cargo build --quiet --locked --profile quick $(AGENT) --target $(HOST)
	@mkdir -p src/tare/bin
	@cp agent/target/$(HOST)/quick/tare-agent src/tare/bin/tare-agent.new
	@mv src/tare/bin/tare-agent.new src/tare/bin/tare-agent

# Earlier results are kept beside it, as demo-results.old. That the machine changed meanwhile (17)
# is an answer: all is written, and said.
demo: setup
	@[ ! -e demo-results ] || mv --backup=numbered -T demo-results demo-results.old
	@tare experiment run examples/demo.toml --out demo-results || [ $$? -eq 17 ]

# What a change breaks most often, in about a minute: without rights, tools, or a build of the agent
# where that has not changed.
check: setup
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-python check-generated test-fast

test-fast: setup
	pytest --numprocesses 2 -m "not slow and not long and not system" tests/unit tests/contract

# Types are checked by one processor while the agent's crates keep the other one busy.
test: test-tools
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-python check-generated test-agent
	pytest --numprocesses 2 -m "not slow and not layers and not applications"

# The agent is tested as it is shipped: static, since its size is what some figures stand on. Its
# crates are tested without what linking them for that takes, and drivers with the crates of others
# that were compiled for what is shipped.
test-agent: setup lint-agent
	$(STATIC) cargo test --quiet --locked --profile quick --workspace --exclude tare-agent \
		--exclude tare-cql $(AGENT) --target $(HOST)
	$(STATIC) cargo test --quiet --locked --profile driver --package tare-cql $(AGENT) --target $(HOST)
	$(STATIC) cargo test --quiet --locked --release --package tare-agent $(AGENT) --target $(HOST)

test-layers: test-tools
	pytest --numprocesses 2 -m "layers and not applications"

test-slow: test-tools
	pytest -m "slow and not applications"

# Needs a mirror of Debian, and some gigabytes.
test-applications: test-tools
	pytest -m applications

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
	cargo fmt --all --check $(AGENT)
	cargo clippy --quiet --locked --workspace --all-targets $(AGENT) -- -D warnings

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
