"""What an application.toml may say, and what is said of one that is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offered import catalogue

from tare.errors import ExperimentError
from tare.experiment import file as experiment_file
from tare.experiment.file import application
from tare.experiment.specification import Cell, Experiment
from tare.workloads import given as given_by
from tare.workloads import job
from tare.workloads.application import Application

SHOP = """
[application]
name = "shop"
question = "How long does it take to sort?"
[image]
packages = ["python3-minimal=3.11.2-1+b1"]
files = ["sorted.py"]
[prepare]
commands = [["sh", "-c", "seq {orders} > /data/orders"]]
[run]
command = ["python3", "/application/sorted.py", "{orders}", "{workers}"]
environment = {MODE = "{mode}"}
[parameters.orders]
meaning = "orders"
default = 10
minimum = 1
maximum = 100
[parameters.mode]
meaning = "mode"
default = "fast"
choices = ["fast", "slow"]
[metrics.sorting]
meaning = "time"
unit = "ms"
better = "lower"
json = "times.0"
[metrics.rate]
meaning = "orders a second"
unit = "orders/s"
better = "higher"
from = "stderr"
pattern = 'rate ([0-9.]+)'
[check]
exit_codes = [3]
command = ["test", "-e", "/tmp/done"]
[[check.output]]
pattern = 'orders ([0-9]+)'
equals = "{orders}"
"""
#: Where a job leaves its tasks.
TASKS = "[tasks]\nresults = '{}'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "application.toml").write_text(SHOP)
    (shop / "sorted.py").write_text("print(1)\n")
    return shop


def read(folder: Path, text: str | None = None) -> Application:
    if text is not None:
        (folder / "application.toml").write_text(text)
    return application.read(f"{folder}/")


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ExperimentError) as caught:
        read(folder, text)
    # The file and the key stand first.
    path, _, what = caught.value.message.partition(": ")
    assert path == str(folder / "application.toml")
    return what


def experiment(folder: Path, more: str = "") -> Experiment:
    head = '[experiment]\nname = "a"\nquestion = "b?"\n[[workload]]\n'
    text = f'{head}application = "{folder}"\n{more}'
    return experiment_file.parse(text, "mine.toml", catalogue())


def test_all_of_it_is_read(folder: Path) -> None:
    found = read(folder)
    assert found.image.packages == ("python3-minimal=3.11.2-1+b1",)
    assert found.prepare == (("sh", "-c", "seq {orders} > /data/orders"),)
    assert [(m.name, m.scale, m.better) for m in found.metrics] == [
        ("sorting_ns", 1e6, "lower"), ("rate", 1.0, "higher"),
    ]  # fmt: skip
    assert found.metrics[0].json == ("times", "0")
    assert found.check.exit_codes == (3,)
    assert found.check.outputs[0].equals == "{orders}"


def test_the_digest_changes_with_the_files_that_are_named(folder: Path) -> None:
    first = read(folder).digest
    (folder / "other.py").write_text("not named")
    assert read(folder).digest == first
    (folder / "sorted.py").write_text("print(2)\n")
    second = read(folder).digest
    (folder / "sorted.py").chmod(0o755)
    assert len({first, second, read(folder).digest}) == 3


def test_built_in_applications_are_whole() -> None:
    known = application.built_in()
    assert {"ffmpeg", "mpi-prime", "mpi-search"} <= set(known)
    for name in known:
        found = application.read(name)
        assert found.name == name
        assert found.check.outputs or found.check.command or found.driver


@pytest.mark.parametrize(
    ("was", "is_", "key"),
    [
        ("[run]\n", "[ran]\n", "ran"),
        ('question = "How long does it take to sort?"\n', "", "application.question"),
        ("python3-minimal=3.11.2-1+b1", "x; rm -rf /", "image.packages"),
        ('files = ["sorted.py"]', 'files = ["../secret"]', "image.files"),
        ('files = ["sorted.py"]', 'files = ["/etc/passwd"]', "image.files"),
        ('files = ["sorted.py"]', 'files = ["absent"]', "image.files"),
        ("[prepare]", 'root = "/"\n[prepare]', "image.root"),
        ("[prepare]", 'programs = ["tare-agent"]\n[prepare]', "image.programs"),
        ("[prepare]", 'programs = "tare-cql"\n[prepare]', "image.programs"),
        ("[prepare]", 'artefact_list = "sorted.py"\n[prepare]', "image.artefact_list"),
        ("[prepare]", 'artefact_list = "../list"\n[prepare]', "image.artefact_list"),
        ("seq {orders}", "seq {workers}", "prepare.commands"),
        ('"{orders}", "{workers}"', '"{order}"', "run.command"),
        ('"{orders}", "{workers}"', '"{orders"', "run.command"),
        ("rate ([0-9.]+)", "rate", "metrics.rate.pattern"),
        ("rate ([0-9.]+)", "rate ([0-9.]+", "metrics.rate.pattern"),
        ('json = "times.0"\n', "", "metrics.sorting"),
        ('better = "higher"', 'better = "more"', "metrics.rate.better"),
        ('name = "shop"', 'name = "../shop"', "application.name"),
        ("rate ([0-9.]+)", "(?=rate) ([0-9.]+)", "metrics.rate.pattern"),
        ("default = 10\n", "default = 2020-01-01\n", "parameters.orders.default"),
        ("[metrics.rate]", "[metrics.sorting_ns]", "metrics"),
        ('equals = "{orders}"', "minimum = nan", "check.output[1]"),
        ("exit_codes = [3]", "exit_codes = [0]", "check.exit_codes"),
        ("pattern = 'orders ([0-9]+)'\n", "", "check.output[1]"),
        ("default = 10\n", "default = 1000\n", "parameters.orders.default"),
        ("default = 10\n", "default = {}\n", "parameters.orders.default"),
        ("[parameters.mode]", "[parameters.platform]", "parameters.platform"),
        ("[parameters.mode]", "[parameters.timeout]", "parameters.timeout"),
        ("[parameters.mode]", "[parameters.n]", "parameters.n"),
        ('default = "fast"', 'default = "fast"\npath = true', "parameters.mode.default"),
        ("[parameters.mode]", "[tasks]\n[parameters.mode]", "tasks.results"),
        ("[parameters.mode]", f"{TASKS.format('/etc/x')}[parameters.mode]", "tasks.results"),
        ("[parameters.mode]", f"{TASKS.format('../x')}[parameters.mode]", "tasks.results"),
        ("[parameters.mode]", f"{TASKS.format('/tmp/../x')}[parameters.mode]", "tasks.results"),
        ("[parameters.mode]", f"{TASKS.format('{order}')}[parameters.mode]", "tasks.results"),
        (
            "[parameters.mode]",
            f"{TASKS.format('x')}format = 'jmeter'\n[parameters.mode]",
            "tasks.format",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_key(folder: Path, was: str, is_: str, key: str) -> None:
    assert was in SHOP
    said = refused(folder, SHOP.replace(was, is_, 1))
    assert said.startswith(key), said


def test_a_file_is_given_to_what_prepares(folder: Path) -> None:
    text = SHOP + '[parameters.visit]\nmeaning = "a file"\ndefault = ""\npath = true\n'
    found = read(folder, text)
    assert [one.name for one in found.parameters if one.path] == ["visit"]
    begin = text.index("[prepare]")
    without = text[:begin] + text[text.index("[run]") :]
    assert refused(folder, without).startswith("parameters.visit.path")


def test_tasks_are_left_in_scratch_space(folder: Path) -> None:
    for results in ("log/{mode}", "/tmp/log/{mode}"):
        found = read(folder, SHOP + TASKS.format(results) + 'format = "spark"\n').tasks
        assert found is not None
        assert (found.results, found.format) == ("/tmp/log/{mode}", "spark")
    assert read(folder, SHOP + TASKS.format("x")).tasks.format == "tasks"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ("iterations = 2", "iterations"),
        ("warmup = 1", "warmup"),
        ("[factors]\nworkers = [1, 2]", "workers"),
        ("[window]\nperiods = 5", "window"),
    ],
)
def test_a_job_that_leaves_its_tasks_is_one_execution_a_trial(
    folder: Path, more: str, key: str
) -> None:
    (folder / "application.toml").write_text(SHOP + TASKS.format("x"))
    top, below = (f"{more}\n", "") if "[" not in more else ("", f"{more}\n")
    text = f"""
[experiment]
name = "a"
question = "b"
{top}
[[workload]]
application = "{folder}/"
{below}
"""
    with pytest.raises(ExperimentError, match=key):
        experiment_file.parse(text, "mine.toml", catalogue())


def test_a_metric_has_no_name_of_tares_own(folder: Path) -> None:
    (folder / "application.toml").write_text(SHOP.replace("[metrics.sorting]", "[metrics.wall]"))
    with pytest.raises(ExperimentError) as caught:
        experiment(folder)
    assert "wall_ns" in caught.value.message


def test_hosts_are_those_of_the_experiments_network(folder: Path) -> None:
    (folder / "application.toml").write_text(SHOP.replace('"{workers}"', '"{host2}"'))
    with pytest.raises(ExperimentError) as caught:
        experiment(folder)
    assert "network" in (caught.value.hint or "")
    asked = experiment(folder, '[factors]\nnetwork = ["none"]\n')
    assert "{host2}" in (asked.workloads[0].command or ())


def test_programs_are_named_and_one_that_does_not_exist_is_answered_with_those_that_do(
    folder: Path,
) -> None:
    asked = SHOP.replace("[prepare]", 'programs = ["tare-cql"]\n[prepare]')
    (folder / "application.toml").write_text(asked)
    assert read(folder).image.programs == ("tare-cql",)
    (folder / "application.toml").write_text(asked.replace("tare-cql", "tare-sql"))
    with pytest.raises(ExperimentError) as caught:
        read(folder)
    assert "programs that come with tare: tare-cql" in f"{caught.value.message} {caught.value.hint}"


def test_artefacts_are_listed_in_a_file_of_their_own(folder: Path) -> None:
    digest = "0a" * 32
    asked = SHOP.replace("[prepare]", 'artefact_list = "list"\n[prepare]')
    (folder / "application.toml").write_text(asked)
    (folder / "list").write_text(
        f"# of the project\nmaven g:a 1.0 {digest}\n\n"
        f"maven g:b:native 1.0 {digest}  # a classifier\npypi six 1.17.0 {digest}\n"
    )
    first = read(folder)
    assert [(one.registry, one.name) for one in first.image.artefacts] == [
        ("maven", "g:a"), ("maven", "g:b:native"), ("pypi", "six"),
    ]  # fmt: skip
    (folder / "list").write_text(f"maven g:a 1.0 {digest}\n")
    assert read(folder).digest != first.digest
    for wrong in ("maven g:a 1.0", f"npm a 1 {digest}", f"maven g:a 1.0 {digest} more",
                  f"maven g:a 1.0 {digest[:-1]}", f"maven g:a -1 {digest}"):  # fmt: skip
        (folder / "list").write_text(f"\n{wrong}\n")
        said = refused(folder, asked)
        assert said.startswith("image.artefact_list"), said
        assert "line 2" in said


def test_a_link_among_the_files_is_refused(folder: Path) -> None:
    (folder / "sorted.py").unlink()
    (folder / "sorted.py").symlink_to("/etc/passwd")
    assert refused(folder, SHOP).startswith("image.files")


def test_an_application_that_is_not_there_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as caught:
        application.read("ffmpge")
    assert caught.value.hint == "did you mean 'ffmpeg'?"
    with pytest.raises(ExperimentError):
        application.read(f"{tmp_path}/nothing")


@given(st.recursive(
    st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "default", "pattern", "packages", "x"]), inner, max_size=3
    ),
    max_leaves=6,
), st.sampled_from(
    ["application", "image", "prepare", "run", "tasks", "metrics", "check", "parameters"]
))  # fmt: skip
def test_whatever_a_table_holds_is_read_or_refused(value: Any, table: str) -> None:
    given_ = tomllib.loads(SHOP.replace('files = ["sorted.py"]\n', "")) | {table: value}
    said = None
    try:
        application.parsed(given_, "", Path("/nowhere"))
    except ExperimentError as error:
        said = error.message
    assert said is None or said.startswith("/nowhere/application.toml: ")


def test_a_workload_has_what_the_application_runs_and_its_parameters(folder: Path) -> None:
    asked = experiment(folder, "orders = 20\n")
    spec = asked.workloads[0]
    assert spec.name == "shop"
    assert spec.arguments == {"orders": 20, "mode": "fast"}
    assert spec.ignore_failure == (3,)
    assert not asked.runs_commands
    cell = Cell(cell=0, workload=spec, workers=2)
    made = job(spec, cell.levels(), repetitions=None, seed=7, surroundings={"HOME": "/root"})
    assert made.argv == ("python3", "/application/sorted.py", "20", "2")
    assert made.directory == "/tmp"
    assert made.environment["HOME"] == "/tmp"
    assert made.environment["MODE"] == "fast"
    assert made.environment["TARE_ORDERS"] == "20"
    assert made.capture is not None


def test_a_parameter_may_be_a_factor_within_its_range(folder: Path) -> None:
    asked = experiment(folder, "[factors]\norders = [5, 50]\n")
    assert asked.factors["orders"] == ("5", "50")
    with pytest.raises(ExperimentError) as caught:
        experiment(folder, "[factors]\norders = [5, 500]\n")
    assert caught.value.message.startswith("mine.toml: factors.orders: ")


@pytest.mark.parametrize(
    ("cores", "asked", "orders"),
    [(0.25, "", "1"), (1.5, "", "2"), (16.0, "", "16"), (16.0, "orders = 3", "3")],
)
def test_a_parameter_follows_the_size(folder: Path, cores: float, asked: str, orders: str) -> None:
    text = SHOP.replace("default = 10\n", 'default = "{cores}"\n').replace("{orders} > ", "9 > ")
    (folder / "application.toml").write_text(text)
    (workload,) = experiment(folder, asked).workloads
    levels = Cell(cell=0, workload=workload).levels()
    size = {"surroundings": {}, "repetitions": None, "seed": 1, "given": given_by(cores, 1 << 30)}
    made = job(workload, levels, **size)
    assert made.argv[2] == made.environment["TARE_ORDERS"] == orders
    assert made.environment["TARE_CORES"] == f"{cores:g}"
    # As a factor it has numbers, and what follows the size.
    in_turn = job(workload, {**levels, "orders": "{cores}"}, **size)
    assert in_turn.argv[2] == (orders if not asked else "16")
    with pytest.raises(ExperimentError, match="that the size gives"):
        experiment(folder, "orders = '{memory_bytes}'")


def test_what_is_prepared_does_not_follow_the_size(folder: Path) -> None:
    text = SHOP.replace("default = 10\n", 'default = "{cores}"\n')
    (folder / "application.toml").write_text(text)
    with pytest.raises(ExperimentError, match="no parameter"):
        application.read(str(folder))


@pytest.mark.parametrize("factors", ["orders = [5]", "order = [5]", "colour = ['red']"])
def test_a_factor_that_is_no_parameter_or_a_key_as_well_is_refused(
    folder: Path, factors: str
) -> None:
    given_ = "orders = 7\n" if factors.startswith("orders") else ""
    with pytest.raises(ExperimentError) as caught:
        experiment(folder, f"{given_}[factors]\n{factors}\n")
    name = factors.partition(" ")[0]
    assert name in caught.value.message


def test_a_metric_that_the_application_prints_can_be_what_is_asked(folder: Path) -> None:
    text = '[experiment]\nname = "a"\nquestion = "b?"\nmetric = "sorting_ns"\n'
    workload = f'[[workload]]\napplication = "{folder}"\n'
    asked = experiment_file.parse(text + workload, "mine.toml", catalogue())
    assert asked.metric == "sorting_ns"
    assert asked.printed["rate"].better == "higher"
    with pytest.raises(ExperimentError) as caught:
        experiment_file.parse(
            text.replace("sorting_ns", "sortin_ns") + workload, "mine.toml", catalogue()
        )
    assert caught.value.hint == "did you mean 'sorting_ns'?"


def test_a_template_of_an_application_is_an_experiment(folder: Path) -> None:
    text = experiment_file.template(str(folder))
    asked = experiment_file.parse(text, "mine.toml", catalogue())
    assert asked.workloads[0].arguments == {"orders": 10, "mode": "fast"}


def test_an_application_is_based_on_another(tmp_path):
    base, other = tmp_path / "base", tmp_path / "other"
    base.mkdir()
    other.mkdir()
    (base / "application.toml").write_text(SHOP)
    (base / "sorted.py").write_text("")
    text = '[application]\nname = "other"\nquestion = "How?"\nbased_on = "../base"\n'
    (other / "application.toml").write_text(text + '[run]\ncommand = ["true"]\n')
    found, origin = application.read(str(other)), application.read(str(base))
    assert (found.name, found.command) == ("other", ("true",))
    assert (found.image, found.prepare) == (origin.image, origin.prepare)
    assert Path(found.folder).samefile(base)
    assert found.digest != origin.digest
    before = found.digest
    (base / "sorted.py").write_text("pass")
    assert application.read(str(other)).digest != before

    (other / "application.toml").write_text(f'{text}[image]\npackages = ["perl"]\n')
    with pytest.raises(ExperimentError, match=r"image.* is that of .*base"):
        application.read(str(other))
    third = tmp_path / "third"
    third.mkdir()
    (third / "application.toml").write_text(text.replace("../base", "../other"))
    with pytest.raises(ExperimentError, match="based on another one itself"):
        application.read(str(third))


@pytest.mark.parametrize(
    ("of", "wrong"),
    [
        ('{ speed = ["1"] }', "speed is no other parameter"),
        ('{ orders = ["1"] }', "orders is no other parameter"),
        ('{ mode = ["slow motion"] }', "mode is never 'slow motion'"),
        ('{ mode = "fast" }', "expected a table of parameters"),
    ],
)
def test_what_a_parameter_depends_on_is_another_one(tmp_path, of, wrong):
    (tmp_path / "application.toml").write_text(
        SHOP.replace("[parameters.orders]\n", f"[parameters.orders]\nof = {of}\n")
    )
    (tmp_path / "sorted.py").write_text("")
    with pytest.raises(ExperimentError, match=wrong):
        application.read(str(tmp_path))
