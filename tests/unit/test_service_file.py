"""Services and a driver in an application.toml: what they may say, and what they become."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from offered import catalogue

from tare.agent import record
from tare.errors import ExperimentError
from tare.experiment import file as experiment_file
from tare.experiment import plan
from tare.experiment.file import application
from tare.experiment.placement import Machine, driver_cpus, placement
from tare.experiment.specification import Cell, Experiment
from tare.workloads import serving
from tare.workloads.application import Application

BLOG = """
[application]
name = "blog"
question = "How long does a page take?"
[image]
packages = ["apache2"]
[needs]
cores = 0.5
memory = "512 MiB"
[reset]
commands = [["rm", "-rf", "/tmp/data"]]
[[services]]
name = "database"
command = ["mariadbd", "--memory={memory_bytes}"]
environment = { PORT = "{port}" }
ready = { log = "ready for connections", within = "20 s" }
stop = { signal = "QUIT", within = "3 s" }
[[services]]
name = "web"
command = ["apache2", "-D{cores}"]
ready = { http = "http://{host1}:{port}/page", body = "title" }
[[services]]
name = "cache"
command = ["memcached"]
ready = { port = 11211 }
[driver]
command = ["jmeter", "{host1}", "{users}"]
load = "closed"
users = "{users}"
results = "/tmp/a.jtl"
format = "jmeter"
cpus = 1
[parameters.port]
meaning = "port"
default = 80
[parameters.users]
meaning = "users"
default = 10
"""
EXPERIMENT = """
[experiment]
name = "a"
question = "b?"
[[workload]]
application = "{folder}"
[factors]
{factors}
"""


def machine(cpus: int) -> Machine:
    all_ = tuple(range(cpus))
    return Machine(
        spread=all_, compact=all_, steps=(1,), cores=cpus, packages=1, memory_bytes=8 << 30
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "application.toml").write_text(BLOG)
    return tmp_path


def read(text: str, folder: Path) -> Application:
    return application.parsed(tomllib.loads(text), text, folder)


def experiment(folder: Path, factors: str = "", more: str = "") -> Experiment:
    text = EXPERIMENT.format(folder=folder, factors=factors) + more
    return experiment_file.parse(text, "mine.toml", catalogue())


def test_it_becomes_what_the_agent_supervises(folder: Path) -> None:
    found = read(BLOG, folder)
    values = {
        "port": "8080", "users": "7", "cores": "0.5", "memory_bytes": "1024", "host1": "10.0.0.1",
    }  # fmt: skip
    given = serving.supervision(found.services, found.reset, values, "10.0.0.2:99", 3000)
    database, web, cache = given.services
    assert database.command == ("mariadbd", "--memory=1024")
    assert database.environment == {"PORT": "8080"}
    assert database.ready == record.ReadyLog(pattern="ready for connections")
    assert (database.ready_ns, database.stop_ns, database.stop_signal) == (20 * 10**9, 3 * 10**9, 3)
    assert web.ready == record.ReadyHttp(address="10.0.0.1:8080", path="/page", body="title")
    assert (web.command[1], web.stop_signal, web.stop_ns) == ("-D0.5", 15, 10 * 10**9)
    assert cache.ready == record.ReadyPort(address="10.0.0.1:11211")
    assert given.control == "10.0.0.2:99"
    assert given.reset == (("rm", "-rf", "/tmp/data"),)
    command = serving.driver(found, values, {"A": "b"}, 1024)
    assert command.argv == ("jmeter", "10.0.0.1", "7")
    assert command.environment == {"A": "b"}
    assert serving.longest_s(found) > 600


SPREAD = """
[application]
name = "spread"
question = "?"
[image]
packages = ["python3"]
[[services]]
name = "head"
command = ["head", "{host}"]
ready = { port = 80 }
[[services]]
name = "part"
hosts = "each"
command = ["part", "{host}", "{host1}"]
ready = { port = 81 }
[run]
command = ["ask", "{host}", "{hosts}"]
"""


def test_services_of_each_host_have_its_address(folder: Path) -> None:
    found = read(SPREAD, folder)
    assert found.spans_hosts
    assert [one.hosts for one in found.services] == ["first", "each"]
    values = {"host": "10.0.0.3", "host1": "10.0.0.1"}
    (part,) = serving.supervision(found.services[1:], (), values, "10.0.0.3:9", 0).services
    assert part.command == ("part", "10.0.0.3", "10.0.0.1")
    assert part.ready == record.ReadyPort(address="10.0.0.3:81")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Application) == found


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('[run]\ncommand = ["ask", "{host}", "{hosts}"]\n', "", "driver: is missing"),
        ("[run]", "[reset]\ncommands = [['true']]\n[run]", "reset: excludes run"),
        ('hosts = "each"', 'hosts = "all"', "services[2].hosts"),
        ('"{hosts}"', '"{rate}"', "run.command: there is no parameter {rate}"),
    ],
)
def test_what_is_wrong_of_services_on_hosts_names_the_key(
    folder: Path, old: str, new: str, key: str
) -> None:
    assert old in SPREAD
    with pytest.raises(ExperimentError) as raised:
        read(SPREAD.replace(old, new), folder)
    assert key in raised.value.message


def test_services_that_a_driver_drives_are_on_the_first_host(folder: Path) -> None:
    with pytest.raises(ExperimentError, match=r"services\[1\]\.hosts: is \"first\" for services"):
        read(BLOG.replace("[[services]]", '[[services]]\nhosts = "each"', 1), folder)
    with pytest.raises(ExperimentError, match=r"there is no \{host\}"):
        read(BLOG.replace("--memory=", "--memory={host}", 1), folder)


def test_it_is_stored_and_read_back(folder: Path) -> None:
    found = read(BLOG, folder)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Application) == found


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("[reset]", "[run]\ncommand = ['true']\n[reset]", "driver: excludes run"),
        ("[driver]", "[driven]", "driven"),
        ('port = 11211', 'port = 0', "ready.port"),
        ('{ port = 11211 }', '{ port = 1, log = "a" }', "services[3].ready"),
        ('{ port = 11211 }', '{ port = 1, body = "a" }', "services[3].ready.body"),
        ('{ port = 11211 }', '{ log = "(" }', "services[3].ready.log"),
        ('{ port = 11211 }', "{ }", "services[3].ready"),
        ('ready = { port = 11211 }', "", "services[3].ready"),
        ('name = "cache"', 'name = "web"', "two are called web"),
        ('"http://{host1}:{port}/page"', '"https://x/"', "services[2].ready.http"),
        ('"{port}" }', '"{prot}" }', "{prot}"),
        ('signal = "QUIT"', 'signal = "NO"', "services[1].stop.signal"),
        ('load = "closed"', 'load = "open"', "driver.rate"),
        ('users = "{users}"', 'rate = 5', "driver.users"),
        ('users = "{users}"', 'users = 5\nrate = 5', "driver.rate"),
        ('"/tmp/a.jtl"', '"/etc/passwd"', "driver.results"),
        ('"/tmp/a.jtl"', '"../a"', "driver.results"),
        ('format = "jmeter"', 'format = "csv"', "driver.format"),
        ('cpus = 1', 'errors = "many"', "driver.errors"),
        ('cpus = 1', 'count = "no group"', "driver.count"),
        ('memory = "512 MiB"', 'memory = "much"', "needs.memory"),
        ("[parameters.port]", "[check]\ncommand = ['a']\n[parameters.port]", "check.command"),
        ("[parameters.port]", "[parameters.cores]", "parameters.cores"),
        ('"http://{host1}:{port}/page"', '"http://web:80/page"', "services[2].ready.http"),
        ('"http://{host1}:{port}/page"', '"http://{host1}:abc/"', "services[2].ready.http"),
        ('"http://{host1}:{port}/page"', '"http://{host}:80/"', "there is no {host}"),
        ('signal = "QUIT"', 'signal = "_IGN"', "services[1].stop.signal"),
        ('cpus = 1', 'reached = "90 %"', "driver.reached"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_the_key(folder: Path, old: str, new: str, key: str) -> None:
    assert old in BLOG
    with pytest.raises(ExperimentError) as raised:
        read(BLOG.replace(old, new), folder)
    assert key in raised.value.message


@pytest.mark.parametrize("errors", ["300 %", "nan", "-5%", "abc", "5"])
def test_a_share_of_errors_is_checked(folder: Path, errors: str) -> None:
    found = read(BLOG.replace("cpus = 1", 'errors = "{port}"'), folder)
    assert found.driver is not None
    serving.asked(found, {"port": "0"})
    serving.asked(found, {"port": "2.5 %"})
    # What a factor says is not known yet.
    serving.asked(found, {})
    with pytest.raises(ValueError, match="errors"):
        serving.asked(found, {"port": errors})


@pytest.mark.parametrize("users", ["0", "-5", "many", "nan", "inf"])
def test_users_and_rates_are_numbers_above_0(folder: Path, users: str) -> None:
    found = read(BLOG, folder)
    assert found.driver is not None
    serving.asked(found, {"users": "0.5"})
    with pytest.raises(ValueError, match="users"):
        serving.asked(found, {"users": users})
    number = "default = 0" if users == "0" else f'default = "{users}"'
    (folder / "application.toml").write_text(BLOG.replace("default = 10", number))
    with pytest.raises(ExperimentError, match="users"):
        experiment(folder)


def test_a_network_is_there_without_being_asked_for(folder: Path) -> None:
    found = experiment(folder)
    assert found.factors["network"] == ("none",)
    assert plan.metric(found) == "response_mean_ns"
    assert experiment(folder, 'network = ["rate 1Mbit"]').factors["network"] == ("rate 1Mbit",)
    mixed = experiment(folder, more='[[workload]]\ncommand = "true"\n')
    assert plan.metric(mixed) == "time_ns"


@pytest.mark.parametrize(
    ("factors", "more", "key"),
    [
        ("workers = [1, 2]", "", "factors.workers"),
        ("", "[window]\nperiods = 5\n", "window"),
        ("", "[network]\nhosts = 1\n", "network.hosts"),
    ],
)
def test_what_services_cannot_do_is_refused(
    folder: Path, factors: str, more: str, key: str
) -> None:
    with pytest.raises(ExperimentError) as raised:
        experiment(folder, factors, more)
    assert key in raised.value.message


def test_several_executions_of_a_trial_are_refused(folder: Path) -> None:
    text = EXPERIMENT.format(folder=folder, factors="").replace(
        'name = "a"', 'name = "a"\niterations = 2'
    )
    with pytest.raises(ExperimentError, match="iterations"):
        experiment_file.parse(text, "mine.toml", catalogue())


def test_sizes_that_give_too_little_are_left_out(folder: Path) -> None:
    asked = experiment(folder, 'size = ["0.25c", "1c256m", "1c", "2c"]')
    left = plan.left_out(asked, machine(2))
    assert [(one.levels["size"], one.cells) for one in left] == [(("0.25c",), 1), (("1c256m",), 1)]
    assert [cell.size for cell in plan.cells(asked, machine(2))] == ["1c", "2c"]


def cpus(folder: Path, given: dict[str, Any], count: int) -> tuple[Any, Any]:
    asked = experiment(folder)
    cell = Cell(cell=0, workload=asked.workloads[0], **given)
    return placement(asked, cell, machine(count)), driver_cpus(asked, cell, machine(count))


def test_the_driver_has_cpus_that_no_service_has(folder: Path) -> None:
    assert cpus(folder, {"size": "1c"}, 4) == (((0, 1, 2),), (3,))
    assert cpus(folder, {"size": "1c"}, 2) == (((0,),), (1,))
    assert cpus(folder, {"size": "0.5c"}, 2) == (((0,),), (1,))
    assert cpus(folder, {"size": "3c"}, 4) == (((0, 1, 2),), (3,))
    (services,), own = cpus(folder, {"size": "1c", "pinning": "pinned"}, 4)
    assert own == (3,)
    assert set(services).isdisjoint(own)


def test_without_enough_cpus_both_share_them(folder: Path) -> None:
    assert cpus(folder, {"size": "2c"}, 2) == ((None,), None)
    assert cpus(folder, {}, 8) == ((None,), None)
    assert cpus(folder, {"size": "2c", "pinning": "pinned"}, 2)[1] is None


@pytest.mark.parametrize(
    ("needs", "cpus", "sizes", "room"),
    [("0.25", 1, ("0.5c", "1c"), 2), ("1", 2, ("1c",), 3), ("1.5", 1, ("2c",), 3)],
)
def test_sizes_of_a_template_leave_cpus_to_the_load_generator(
    tmp_path: Path, needs: str, cpus: int, sizes: tuple[str, ...], room: int
) -> None:
    text = BLOG.replace("cores = 0.5", f"cores = {needs}").replace("cpus = 1", f"cpus = {cpus}")
    (tmp_path / "application.toml").write_text(text)
    written = experiment_file.template(str(tmp_path))
    asked = experiment_file.parse(written, "mine.toml", catalogue())
    assert asked.factors["size"] == sizes
    for size in sizes:
        cell = Cell(cell=0, workload=asked.workloads[0], size=size)
        assert driver_cpus(asked, cell, machine(room)) is not None
    assert f"# On {room} CPUs " in written
