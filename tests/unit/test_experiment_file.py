"""Experiment files: what they may say, and what they are told when they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offered import catalogue

from tare.errors import ExperimentError
from tare.experiment import file
from tare.experiment.file.table import File
from tare.experiment.specification import Experiment, Limit, LoadSpec, SizeSpec, WindowSpec
from tare.options import kinds
from tare.workloads.specification import Enforced

CATALOGUE = catalogue()
HEAD = '[experiment]\nname = "a"\nquestion = "b?"\n'
KERNEL = '[[workload]]\nkernel = "exp_float"\n'
RUN, ISOLATE = 'fresh = "run"\n', '[factors]\nplatform = ["bare", "isolate"]\n'
#: A command whose output goes to a file.
WRITES = '[[workload]]\ncommand = "a"\noutput = "{}"\n'
COMMAND = '[[workload]]\ncommand = ["./prog", "{input}"]\n'


def parse(text: str) -> Experiment:
    return file.parse(text, "mine.toml", CATALOGUE)


def refused(text: str) -> tuple[str, str]:
    """Return message and hint of the complaint."""
    with pytest.raises(ExperimentError) as caught:
        parse(text)
    return caught.value.message, caught.value.hint or ""


@pytest.mark.timeout(60)  # a square of the number takes minutes
def test_a_factor_may_have_as_many_levels_as_there_may_be_cells() -> None:
    levels = [str(number) for number in range(90_000)]
    asked = parse(HEAD + COMMAND + f"[factors]\ninput = {levels}")
    assert asked.factors["input"] == tuple(levels)


def test_the_template_is_an_experiment() -> None:
    asked = parse(file.template())
    assert asked.factors["platform"] == ("bare", "unshare", "docker")
    assert asked.stopping.budget_s == 300


def test_what_the_template_has_as_examples_is_an_experiment_too() -> None:
    lines = file.template().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("[[workload]]"))
    keys = [
        line.removeprefix("# ") if line.startswith("# [") or " = " in line else line
        for line in lines
    ]
    # Its kernel knows nothing of {input}, so that only the command is left.
    kernel = range(start, next(n for n in range(start, len(lines)) if "... or" in lines[n]))
    text = "\n".join(line for n, line in enumerate(keys) if n not in kernel)
    asked = parse(text)
    assert asked.factors["input"] == ("a.txt", "b.txt")
    assert asked.loads["cpu"].kind == "stress-ng"
    assert asked.sizes["small"] == SizeSpec(cpuset=1, memory_bytes=512 * 2**20)
    assert asked.factors["quota"] == (0.5, 1.0)
    assert asked.window == WindowSpec(periods=20)
    assert asked.platforms == {"docker": {"image": "debian:12"}}


def test_everything_that_can_be_said() -> None:
    asked = parse(
        """
        [experiment]
        name = "all"
        question = "All?"
        seed = 7
        order = "sequential"
        precision = 0.01
        budget = "1.5 h"
        rest = "0 s"
        linger = "200 ms"
        metric = "cpu_ns"
        iterations = 3
        warmup = 2
        tail = "stop"
        instances = "shared"
        fresh = "trial"
        inputs = 5
        margin = "3%"
        limit = { cpu = "1 s", memory = "64 MiB" }
        true_time = "wall_ns"
        parallel_shift = "10 %"
        parallel_growth = "100%"
        skip_missing = true
        [[workload]]
        name = "mine"
        command = "./prog --fast '{input}' {{}}"
        environment = {LC_ALL = "C", SEED = "{seed}"}
        inherit = ["PATH"]
        directory = "/srv"
        input = "{input}"
        output = "output/{trial}.{worker}.{iteration}.out"
        timeout = "2 min"
        enforce = { cpu = "1 s", memory = "64 MiB", output = "1 MB", processes = 8 }
        [factors]
        platform = ["bare", "docker/isolate"]
        workers = "topology"
        pinning = ["none", "spread", "compact"]
        load = ["none", "busy"]
        size = ["all", "small"]
        input = ["a.txt", 2, 0.5, true]
        [loads.busy]
        kind = "stress-ng"
        stressor = "memcpy"
        workers = 2
        [sizes.small]
        memory = "1 GB"
        [platforms.docker]
        image = "debian:12"
        read_only = false
        """
    )
    assert asked.stopping.precision == 0.01
    assert asked.stopping.budget_s == 5400
    assert (asked.rest_s, asked.linger_s) == (0.0, 0.2)
    assert (asked.margin, asked.parallel_shift, asked.parallel_growth) == (0.03, 0.1, 1.0)
    assert asked.limit == (Limit(of="cpu", value=1e9), Limit(of="memory", value=2.0**26))
    assert asked.true_time == "wall_ns"
    workload = asked.workloads[0]
    assert workload.command == ("./prog", "--fast", "{input}", "{{}}")
    assert workload.environment == {"LC_ALL": "C", "SEED": "{seed}"}
    assert workload.timeout_s == 120
    assert workload.enforce == Enforced(
        cpu_s=1.0, memory_bytes=2**26, output_bytes=10**6, processes=8
    )
    assert asked.factors["workers"] == ("topology",)
    assert asked.factors["input"] == ("a.txt", "2", "0.5", "true")
    assert asked.loads == {
        "busy": LoadSpec(kind="stress-ng", parameters={"stressor": "memcpy", "workers": 2})
    }
    assert asked.sizes == {"small": SizeSpec(memory_bytes=10**9)}
    assert asked.platforms == {"docker": {"image": "debian:12", "read_only": False}}


def test_a_sweep_of_quotas_in_windows() -> None:
    asked = parse(
        HEAD + 'quota_period = "20 ms"\ninstances = "shared"\ntrials = 7\n' + KERNEL
        + "[factors]\nworkers = [2]\nquota = [0.1, 0.30000000000000004, 2]\n"
        + "[window]\nperiods = 30\n"
    )  # fmt: skip
    assert asked.factors["quota"] == (0.1, 0.3, 2.0)
    assert asked.quota_period_s == 0.02
    assert asked.window == WindowSpec(periods=30)
    assert parse(HEAD + KERNEL + "[window]").window == WindowSpec()
    assert parse(HEAD + KERNEL).window is None


def test_a_size_may_be_a_part_of_a_cpu_on_cpus_of_its_own() -> None:
    asked = parse(
        HEAD + KERNEL + '[factors]\nsize = ["a"]\n[sizes.a]\ncores = 0.25\ncpuset = 2\n'
        'memory = "442 MiB"'
    )
    assert asked.sizes["a"] == SizeSpec(cores=0.25, cpuset=2, memory_bytes=442 << 20)


def test_a_kernel_has_its_default_parameters() -> None:
    asked = parse(HEAD + KERNEL + "size = 100\n")
    assert asked.workloads[0].name == "exp_float"
    assert asked.workloads[0].parameters == {"size": 100, "terms": 4096}


def test_a_fixed_n_has_no_other_bound_unless_told() -> None:
    assert parse(HEAD + "trials = 8\n" + KERNEL).stopping.budget_s is None
    assert parse(HEAD + 'trials = 8\nbudget = "1 s"\n' + KERNEL).stopping.budget_s == 1
    assert parse(HEAD + KERNEL).stopping.budget_s == 600


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ("", "experiment: is missing", "[experiment]"),
        ('[experiment]\nname = "a"\n' + KERNEL, "experiment.question: is missing", ""),
        (HEAD, "there is no workload", "[[workload]]"),
        (HEAD + 'budgt = "1 s"\n' + KERNEL, "experiment.budgt: is no key", "'budget'"),
        (HEAD + KERNEL + "[factor]\nworkers = [1]", "factor: is no key", "'factors'"),
        (HEAD + "workload = 3", "experiment.workload: is no key", ""),
        ("workload = 3\n" + HEAD, "workload: expected tables", ""),
        ("experiment = 3", "experiment: 3 is not possible; expected a table", ""),
        (HEAD + 'budget = "4"\n' + KERNEL, "experiment.budget: '4'", ""),
        (HEAD + "budget = 4\n" + KERNEL, "expected a time above 0 with its unit", ""),
        (HEAD + 'budget = "0 s"\n' + KERNEL, "experiment.budget: '0 s'", ""),
        (HEAD + 'rest = "-1 s"\n' + KERNEL, "experiment.rest: '-1 s'", ""),
        (HEAD + 'precision = "100%"\n' + KERNEL, "experiment.precision: '100%'", ""),
        (HEAD + "precision = 0\n" + KERNEL, "experiment.precision: 0 ", ""),
        (HEAD + "precision = nan\n" + KERNEL, "experiment.precision: nan", ""),
        (HEAD + "precision = true\n" + KERNEL, "experiment.precision: True", ""),
        (HEAD + "trials = 0\n" + KERNEL, "experiment.trials: 0", ""),
        (HEAD + "trials = 9\nprecision = 0.1\n" + KERNEL, "experiment.precision: excludes", ""),
        (HEAD + "trials = 9\nanytime = true\n" + KERNEL, "experiment.anytime: excludes", ""),
        (HEAD + "trials = 9\nearly = true\n" + KERNEL, "experiment.early: excludes", ""),
        (HEAD + "anytime = true\nearly = true\n" + KERNEL, "early: is for medians alone", "remove"),
        (
            HEAD + 'quantile = "p90"\nearly = true\n' + KERNEL,
            "early: is for medians alone",
            "remove",
        ),
        (HEAD + 'quantile = "p100"\n' + KERNEL, "experiment.quantile: 'p100'", ""),
        (HEAD + "quantile = 1\n" + KERNEL, "experiment.quantile: 1 ", ""),
        (HEAD + "quantile = true\n" + KERNEL, "experiment.quantile: True", ""),
        (HEAD + "metric = []\n" + KERNEL, "experiment.metric: []", ""),
        (HEAD + 'metric = ["cpu_ns", "cpu_ns"]\n' + KERNEL, "experiment.metric: ['cpu_ns'", ""),
        (HEAD + 'metric = ["cpu_ns", "walls_ns"]\n' + KERNEL, "no metric 'walls_ns'", "'wall_ns'"),
        (HEAD + 'order = "random"\n' + KERNEL, 'one of: "blocks", "sequential"', ""),
        (HEAD + 'metric = "walls_ns"\n' + KERNEL, "no metric 'walls_ns'", "'wall_ns'"),
        (HEAD + 'metric = "kernel_cpu_ns"\n[[workload]]\ncommand = "a"', "only kernels", "wall"),
        (HEAD + 'process = "same"\n[[workload]]\ncommand = "a"', "experiment.process", ""),
        (HEAD + RUN + KERNEL, "where a platform starts programs itself", '["isolate"]'),
        (HEAD + RUN + 'process = "same"\n' + KERNEL + ISOLATE, "experiment.process", ""),
        (HEAD + RUN + 'instances = "shared"\n' + KERNEL + ISOLATE, "experiment.instances", ""),
        (
            HEAD + RUN + '[[workload]]\ncommand = "a"\noutput = "pipe"\n' + ISOLATE,
            "a, which has its output read",
            '"trial"',
        ),
        (
            HEAD + RUN + '[[workload]]\ncommand = "a"\nignore_failure = true\n' + ISOLATE,
            "a, which ignores exit codes",
            '"trial"',
        ),
        (
            HEAD + RUN + '[[workload]]\ncommand = "a"\nenvironment = { E = "" }\n' + ISOLATE,
            "a, which has an empty variable",
            '"trial"',
        ),
        (HEAD + RUN + KERNEL + "[window]\n" + ISOLATE, "with a window", ""),
        (HEAD + 'seed = "1"\n' + KERNEL, "experiment.seed: '1'", ""),
        (HEAD + f"seed = {2**70}\n" + KERNEL, "experiment.seed", ""),
        (HEAD + 'skip_missing = "yes"\n' + KERNEL, "expected true or false", ""),
        (HEAD + '[[workload]]\nkernel = "exp_flot"', "workload[1].kernel", "'exp_float'"),
        (HEAD + KERNEL + "siz = 3", "workload[1].siz: is no key of kernel exp_float", "'size'"),
        (HEAD + KERNEL + "size = 0", "whole number from 1 to 4294967296", ""),
        (HEAD + KERNEL + "size = 1.5", "workload[1].size: 1.5", ""),
        (HEAD + KERNEL + KERNEL, "workload[2].name: there are two workloads", ""),
        (HEAD + KERNEL + 'command = "a"', "workload[1].command: excludes kernel", ""),
        (HEAD + '[[workload]]\nkernl = "null"', "one of kernel, command, application", "'kernel'"),
        (HEAD + "[[workload]]\ncommand = []", "workload[1].command: []", ""),
        (HEAD + '[[workload]]\ncommand = "a \'b"', "workload[1].command", ""),
        (HEAD + '[[workload]]\ncommand = ["a", 3]', "workload[1].command", ""),
        (HEAD + '[[workload]]\ncommand = "a\\u0000"', "workload[1].command", ""),
        (HEAD + '[[workload]]\ncommand = "a"\nsize = 3', "workload[1].size: is no key", ""),
        (HEAD + '[[workload]]\ncommand = "a"\nenvironment = {"A=B" = "c"}', "environment", ""),
        (HEAD + COMMAND, "workload[1].command: there is no factor for the placeholder {inp", ""),
        (HEAD + '[[workload]]\ncommand = "awk {print}"', "placeholder {print}", "{{"),
        (HEAD + '[[workload]]\ncommand = "a { b"', "a brace stands alone", "{{"),
        (HEAD + '[[workload]]\ncommand = "a {b!r}"', "{b!r} is no placeholder", "{{"),
        (HEAD + '[[workload]]\ncommand = "a {workers.real}"', "is no placeholder", "{{"),
        (HEAD + '[[workload]]\ncommand = "a"\ninput = "{x}"', "workload[1].input", ""),
        (
            HEAD + '[[workload]]\ncommand = "a"\ncapture = true',
            "workload[1].capture: is no key",
            "did you mean 'output'?",
        ),
        (HEAD + WRITES.format("inherit"), "workload[1].output: 'inherit'", ""),
        (HEAD + WRITES.format("a/.."), "workload[1].output: 'a/..' is not possible", ""),
        (HEAD + WRITES.format("/etc/cron.d/a"), "a file in the folder of results", ""),
        (HEAD + WRITES.format("../a.txt"), "a file in the folder of results", ""),
        (HEAD + WRITES.format("{trail}"), "placeholder {trail}", "'trial'"),
        (HEAD + WRITES.format("{host2}"), "placeholder {host2}", ""),
        (HEAD + WRITES.format("{trial}/a"), "{trial} is in the name of a folder", ""),
        (
            HEAD + WRITES.format("o.txt") + WRITES.format("o.txt").replace('"a"', '"b"'),
            "every command would overwrite o.txt",
            "output = 'o-{trial}.txt' in [workload]",
        ),
        (
            HEAD + WRITES.format("o.txt") + WRITES.format("./o.txt").replace('"a"', '"b"'),
            "every command would overwrite o.txt",
            "output = 'o-{trial}.txt' in [workload]",
        ),
        (
            HEAD
            + WRITES.format("o-{x}.txt").replace('"a"', '"a {x}"')
            + '[factors]\nx = ["a/b", "a_b"]',
            "workload[1].output: two cells would write o-a_b.txt",
            'output = "o-{x}-{trial}.txt" in [workload]',
        ),
        (
            HEAD + WRITES.format("o") + WRITES.format("o.err").replace('"a"', '"b"'),
            "workload[2].output: two cells would write o.err",
            'output = "o-{trial}.err" in [workload]',
        ),
        (
            HEAD + WRITES.format("d/o") + '[factors]\nplatform = ["bare", "unshare"]',
            "every platform would overwrite o",
            "output = 'd/o-{trial}' in [workload]",
        ),
        (
            HEAD + WRITES.format("{trial}") + "[factors]\nworkers = [2]",
            "every worker would overwrite {trial}",
            "output = '{trial}-{worker}' in [workload]",
        ),
        (HEAD + KERNEL + "[factors]\nworkers = []", "factors.workers: has no levels", ""),
        (HEAD + KERNEL + "[factors]\nworkers = 2", "factors.workers: 2 is no list", "[2]"),
        (HEAD + KERNEL + "[factors]\nworkers = [0]", "factors.workers: 0", ""),
        (HEAD + KERNEL + "[factors]\nworkers = [true]", "factors.workers: True", ""),
        (HEAD + KERNEL + '[factors]\nworkers = [1, "topology"]', "stands alone", ""),
        (HEAD + KERNEL + '[factors]\nsize = ["1c", "halving"]', "stands alone", ""),
        (HEAD + KERNEL + '[factors]\nsize = "halving"\nquota = [0.5]', "both quotas", ""),
        (HEAD + KERNEL + '[factors]\nworkers = ["topologie"]', "factors.workers", ""),
        (HEAD + KERNEL + "[factors]\nworkers = [2, 2]", "has the level 2 twice", ""),
        (HEAD + COMMAND + '[factors]\ninput = ["2", 2]', "has the level '2' twice", ""),
        (HEAD + KERNEL + '[factors]\nplatform = ["dokcer"]', "layer 'dokcer'", "'docker'"),
        (HEAD + KERNEL + '[factors]\nplatform = ["shh:host"]', "layer 'shh'", "'ssh'"),
        (HEAD + KERNEL + '[factors]\nplatform = ["docker/"]', "layer ''", ""),
        (HEAD + KERNEL + '[factors]\npinning = ["spred"]', "factors.pinning: 'spred'", ""),
        (HEAD + KERNEL + '[factors]\nload = ["cpu"]', "factors.load: 'cpu'", ""),
        (HEAD + KERNEL + '[factors]\nsize = ["small"]', "factors.size: 'small'", ""),
        (HEAD + KERNEL + '[factors]\nsize = ["1c4m"]', "factors.size: 1c4m is less memory", "1c8m"),
        (HEAD + KERNEL + '[factors]\nsize = ["0.005c"]', "factors.size: 0.005 CPUs", "0.01"),
        (HEAD + KERNEL + '[factors]\nquota = [1]\nsize = ["2c"]', "cores of size '2c'", "2c out"),
        (HEAD + KERNEL + '[factors]\npinning = ["1-0"]', "factors.pinning: '1-0'", ""),
        (HEAD + KERNEL + '[factors]\nplatfrom = ["bare"]', "factors.platfrom", "'platform'"),
        (HEAD + KERNEL + '[factors]\nsystem = ["a"]', "no known factor", ""),
        (HEAD + '[[workload]]\ncommand = "a"\n[factors]\nworker_s = [1]', "no command", "'work"),
        (HEAD + COMMAND + "[factors]\ntrial = [1]", "means something else", ""),
        (HEAD + COMMAND + "[factors]\nratio = [1, 2]", "means something else", ""),
        (HEAD + COMMAND + '[factors]\n"a b" = [1]', "is no name for a factor", ""),
        (HEAD + COMMAND + "[factors]\ninput = [[1]]", "factors.input: [1]", ""),
        (HEAD + KERNEL + '[loads.cpu]\nkind = "stress-ng"', "loads.cpu: is no level", "[factors]"),
        (HEAD + KERNEL + '[loads.none]\nkind = "stress-ng"', "loads.none", ""),
        (HEAD + KERNEL + '[loads.cpu]\nkind = "stress"', "no load 'stress'", "'stress-ng'"),
        (HEAD + KERNEL + "[loads.cpu]", "loads.cpu.kind: is missing", ""),
        (HEAD + KERNEL + "[loads]\ncpu = 3", "loads.cpu: 3 is not possible", ""),
        (
            HEAD + KERNEL + '[loads.cpu]\nkind = "stress-ng"\nworkrs = 2',
            "loads.cpu.workrs: is no key of the load stress-ng",
            "'workers'",
        ),
        (HEAD + KERNEL + '[loads.cpu]\nkind = "stress-ng"\nworkers = -2', "from 0 to", ""),
        (HEAD + KERNEL + "[sizes.small]\ncores = 1", "sizes.small: is no level", ""),
        (HEAD + KERNEL + "[sizes.small]", "sizes.small: gives nothing", ""),
        (HEAD + KERNEL + "[factors]\nquota = [0]", "factors.quota: 0 ", ""),
        (HEAD + '[[workload]]\ncommand = "a {quota}"', "factor for the placeholder {quota}", ""),
        (HEAD + KERNEL + "[factors]\nquota = [-0.5]", "expected a number of CPUs above 0", ""),
        (HEAD + KERNEL + "[factors]\nquota = [nan]", "factors.quota: nan", ""),
        (HEAD + KERNEL + "[factors]\nquota = [inf]", "factors.quota: inf", ""),
        (HEAD + KERNEL + '[factors]\nquota = ["half"]', "factors.quota: 'half'", ""),
        (HEAD + KERNEL + "[factors]\nquota = [true]", "factors.quota: True", ""),
        (HEAD + KERNEL + "[factors]\nquota = 0.5", "factors.quota: 0.5 is no list", "[0.5]"),
        (HEAD + KERNEL + "[factors]\nquota = []", "factors.quota: has no levels", ""),
        (HEAD + KERNEL + "[factors]\nquota = [1, 1.0]", "has the level 1.0 twice", "remove"),
        (
            HEAD + KERNEL + "[factors]\nquota = [0.3, 0.30000000000000004]",
            "has the level 0.3 twice",
            "",
        ),
        (
            HEAD + KERNEL + '[factors]\nquota = [1]\nsize = ["half"]\n[sizes.half]\ncores = 0.5',
            "factors.quota: and the cores of size 'half'",
            "remove cores from [sizes.half]",
        ),
        (
            HEAD + KERNEL + "[factors]\nquota = [0.009]",
            "0.009 CPUs are 0.9 ms in a period of 100 ms",
            "the least there is 0.01;",
        ),
        (
            HEAD + 'quota_period = "5 ms"\n' + KERNEL + "[factors]\nquota = [0.2, 0.1]",
            "0.1 CPUs are 0.5 ms in a period of 5 ms",
            "the least there is 0.2;",
        ),
        (
            HEAD + KERNEL + '[factors]\nsize = ["a"]\n[sizes.a]\ncores = 0.001',
            "sizes.a.cores: 0.001 CPUs are 0.1 ms",
            "the least",
        ),
        (HEAD + 'quota_period = "0.9 ms"\n' + KERNEL, "experiment.quota_period: 0.9 ms", '"100'),
        (HEAD + 'quota_period = "2 s"\n' + KERNEL, "experiment.quota_period: 2 s is no", ""),
        (HEAD + "quota_period = 0.1\n" + KERNEL, "experiment.quota_period: 0.1", ""),
        (HEAD + KERNEL + "[sizes.a]\ncpuset = 0.5", "sizes.a.cpuset: 0.5", ""),
        (HEAD + KERNEL + "[window]\nperiods = 0", "window.periods: 0", ""),
        (HEAD + KERNEL + "[window]\nperiod = 20", "window.period: is no key", "'periods'"),
        ("window = 20\n" + HEAD + KERNEL, "window: 20 is not possible; expected a table", ""),
        (
            HEAD + "iterations = 2\n" + KERNEL + "[window]",
            "experiment.iterations: is to be 1",
            "re",
        ),
        (
            HEAD
            + 'compare = "workers"\ngate = 0.1\n'
            + KERNEL
            + "[factors]\nworkers = [1, 2]\n[window]",
            "experiment.gate: asks what takes longer",
            "remove gate",
        ),
        (HEAD + KERNEL + "repetitions = 7\n[window]", "the repetitions of exp_float", "= 7"),
        (HEAD + "warmup = 1\n" + KERNEL + "[window]", "experiment.warmup: is to be 0", "remove"),
        (HEAD + 'process = "same"\n' + KERNEL + "[window]", "experiment.process: says", "remove"),
        (HEAD + KERNEL + '[sizes.small]\nmemory = "1 mb"', "sizes.small.memory: '1 mb'", ""),
        (HEAD + KERNEL + '[sizes.small]\nmemory = "0.1 B"', "sizes.small.memory", ""),
        (
            HEAD + KERNEL + '[factors]\nsize = ["a"]\n[sizes.a]\nmemory = "5 MiB"',
            "sizes.a.memory: 5242880 bytes are less",
            'memory = "8 MiB" at least',
        ),
        (HEAD + KERNEL + "[platforms.dokcer]", "platforms.dokcer: is no key", "'docker'"),
        (
            HEAD + KERNEL + '[platforms.docker]\nimge = "a"',
            "platforms.docker.imge: is no key of the layer docker",
            "'image'",
        ),
        (HEAD + KERNEL + "[platforms.docker]\nread_only = 1", "platforms.docker.read_only: 1", ""),
        ('a = \nb = "c"', "is no TOML", "line 1: a ="),
        (HEAD + HEAD, "is no TOML", ""),
        ("a = " + "[" * 5000, "nested too deeply", ""),
        ("a = " + "9" * 5000, "4300 digits", ""),
    ],
)
def test_what_is_wrong_is_named_with_what_was_expected(text: str, path: str, hint: str) -> None:
    message, helps = refused(text)
    assert message.startswith("mine.toml")
    assert path in message
    assert hint in helps


def test_long_values_are_shown_short() -> None:
    message, _ = refused(HEAD + f'order = "{"x" * 10_000}"\n' + KERNEL)
    assert len(message) < 300


def test_a_file_is_bounded_and_text(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="No such file") as caught:
        file.read(tmp_path / "none.toml")
    assert "tare experiment new" in (caught.value.hint or "")
    with pytest.raises(ExperimentError, match="directory"):
        file.read(tmp_path)
    (tmp_path / "large.toml").write_bytes(b"#" * (file.SIZE_LIMIT + 1))
    with pytest.raises(ExperimentError, match="larger than"):
        file.read(tmp_path / "large.toml")
    (tmp_path / "garbage.toml").write_bytes(b"a = \xff")
    with pytest.raises(ExperimentError, match="byte 4"):
        file.read(tmp_path / "garbage.toml")
    (tmp_path / "good.toml").write_text(HEAD + "µ")
    assert file.read(tmp_path / "good.toml") == HEAD + "µ"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["name", "question", "trials", "budget", "kernel", "command", "size", "workers", "platform",
     "input", "kind", "cores", "memory", "docker", "small", "cpu", "metric", "timeout", "load",
     "quota", "quota_period", "cpuset", "periods", "network", "hosts", "serve", "rest", "spec"]
)  # fmt: skip
TABLE = st.dictionaries(KEYS, VALUES, max_size=5)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "experiment": TABLE.map(lambda given: {"name": "a", "question": "b", **given}) | VALUES,
            "workload": st.lists(TABLE, max_size=2) | VALUES,
            "factors": TABLE | VALUES,
            "loads": TABLE | VALUES,
            "sizes": TABLE | VALUES,
            "platforms": TABLE | VALUES,
            "window": TABLE | VALUES,
            "network": TABLE | VALUES,
            "networks": TABLE | VALUES,
        },
    )
)
def test_whatever_a_file_holds_it_is_an_experiment_or_a_complaint(values: dict[str, Any]) -> None:
    complaint = None
    try:
        file.from_table(values, File("mine.toml"), CATALOGUE)
    except ExperimentError as error:
        complaint = error.message
    assert complaint is None or complaint.startswith("mine.toml: ")


def test_a_percentage_is_the_number_that_it_looks_like() -> None:
    for percent in range(1, 100):
        assert kinds.share(0, 1).read(f"{percent}%") == float(f"0.{percent:02d}")


@pytest.mark.parametrize(
    ("written", "quantile"),
    [('"p95"', 0.95), ('"p99.9"', 0.999), ("0.9", 0.9), ('"median"', 0.5)],
)
def test_a_quantile_is_read_as_people_write_it(written: str, quantile: float) -> None:
    asked = parse(HEAD + f"quantile = {written}\nanytime = true\n" + KERNEL)
    assert (asked.stopping.quantile, asked.stopping.anytime) == (quantile, True)


def test_of_several_metrics_the_first_is_the_experiments() -> None:
    asked = parse(HEAD + 'metric = ["cpu_ns", "wall_ns"]\n' + KERNEL)
    assert (asked.metric, asked.stopping.also) == ("cpu_ns", ("wall_ns",))
    assert parse(HEAD + 'metric = "cpu_ns"\n' + KERNEL).stopping.also == ()
    assert parse(HEAD + KERNEL).metric is None


TWO = (
    KERNEL
    + '[[workload]]\nname = "other"\nkernel = "exp_float"\n'
    + 'only = { size = ["1c"], workers = [2] }\n'
)
LEVELS = '[factors]\nplatform = ["bare", "docker"]\nsize = ["0.5c", "1c"]\nworkers = [1, 2]\n'


def test_a_workload_may_take_some_levels_only() -> None:
    asked = parse(HEAD + TWO + LEVELS)
    assert asked.only == {"other": {"size": ("1c",), "workers": (2,)}}
    assert asked.takes("other", "size", "1c")
    assert not asked.takes("other", "size", "0.5c")
    assert asked.takes("other", "platform", "docker")
    assert asked.takes("exp_float", "size", "0.5c")


@pytest.mark.parametrize(
    ("only", "message", "hint"),
    [
        ("{ sise = ['1c'] }", "workload[2].only.sise: is no factor", "did you mean 'size'?"),
        ("{ size = ['.5c'] }", "only.size: '.5c' is no level of size", "did you mean '0.5c'?"),
        ("{ size = ['2c'] }", "only.size: '2c' is no level", "there are: 0.5c, 1c"),
        ("{ workers = [3] }", "only.workers: 3 is no level", "there are: 1, 2"),
        ("{ workers = 2 }", "2 is no list of levels", "workers = [2]"),
        ("{ workers = [] }", "has no levels", ""),
        ("{ workers = [[2]] }", "is no level of workers", "there are: 1, 2"),
        ("{}", "only: {} is not possible; expected a table of factors", ""),
        ("['bare']", "only: ['bare'] is not possible", ""),
    ],
)
def test_what_no_workload_can_take_is_refused(only: str, message: str, hint: str) -> None:
    text = HEAD + TWO.replace('{ size = ["1c"], workers = [2] }', only) + LEVELS
    told, why = refused(text)
    assert message in told
    assert hint in why


def test_a_level_that_no_workload_takes_is_refused() -> None:
    alone = TWO.removeprefix(KERNEL)
    told, hint = refused(HEAD + alone + LEVELS)
    assert "factors.size: '0.5c' is left out by only of every workload" in told
    assert "remove it" in hint


def test_levels_of_the_machines_topology_cannot_be_chosen_from() -> None:
    text = HEAD + TWO + LEVELS.replace("workers = [1, 2]", 'workers = "topology"')
    told, hint = refused(text)
    assert "topology" in told
    assert "list the levels" in hint


@pytest.mark.parametrize(
    ("head", "own", "what"),
    [("trials = 5", "trials = 6", "more than the 5"), ("", "trials = 6", "needs trials")],
)
def test_a_workload_has_no_more_trials_than_the_experiment(head: str, own: str, what: str) -> None:
    text = (
        f'[experiment]\nname = "a"\nquestion = "b?"\n{head}\n'
        f'[[workload]]\ncommand = "true"\n{own}\n'
    )
    with pytest.raises(ExperimentError, match=what):
        file.parse(text, "mine.toml", catalogue())


@pytest.mark.parametrize(
    ("head", "own", "what"),
    [
        ('limit = "1 parsec"', "", "a time or a size"),
        ("limit = 1", "", "a time or a size"),
        ('limit = { processes = "1 s" }', "", "a time or a size"),
        ('limit = "1 s"', "[window]", "is a time"),
        ("", 'enforce = { time = "1 s" }', "enforce.time: is no key"),
        ("", "enforce = { processes = 0 }", "enforce.processes: 0 is not possible"),
        ("", "enforce = {}", "a table such as"),
        ('limit = "2 s"', 'timeout = "1 s"', "above timeout"),
        ('limit = "2 s"', 'enforce = { cpu = "1 s" }', "above timeout"),
        ('limit = "2 MiB"', 'enforce = { memory = "1 MiB" }', "above timeout"),
        ('true_time = "wall_ns"', "", "without limit"),
        ('limit = "1 s"\ntrue_time = "wal_ns"', "", "no time 'wal_ns'"),
        ('limit = "1 s"\ntrue_time = "memory_bytes"', "", "no time"),
    ],
)
def test_limits_that_say_nothing_are_refused(head: str, own: str, what: str) -> None:
    told, hint = refused(f'{HEAD}{head}\n[[workload]]\ncommand = "true"\n{own}\n')
    assert what in told + hint


def test_a_limit_is_a_time_of_the_metric_or_a_size_of_memory() -> None:
    for text, limit in (("1 s", Limit(value=1e9)), ("64 MiB", Limit(of="memory", value=2.0**26))):
        asked = parse(f'{HEAD}limit = "{text}"\n[[workload]]\ncommand = "true"\n')
        assert asked.limit == (limit,)
