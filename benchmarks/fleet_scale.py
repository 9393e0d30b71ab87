"""What one more host costs who conducts a fleet: 10, 100 and 1,000 hosts that are simulated.

Scheduler, workers, engine, folders and journals are real, what takes place on a host is scripted
(`simulated_hosts.py`). The front's CPU time a block (all threads, from the moment on at which all
hosts have begun, and with its start), its peak RSS, and the scheduler's CPU time; then a second
session of half as many blocks, by which hosts can be told apart from sessions, and what the answers
to all hosts take and say. Fails where a journal is not complete, something is left behind, or a bar
is missed.

    .venv/bin/python benchmarks/fleet_scale.py [--hosts 10 100 1000] [--blocks 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
#: Workers are coroutines in so many processes.
PROCESSES = 4
#: The front's peak RSS, how much its CPU time a block grows from the fewest to the most hosts, and
#: its start at the most.
MOST_BYTES, MOST_GROWTH, MOST_START_S = 2**30, 1.5, 60.0
#: What each worker does besides its work is for one of its kind in a process.
_SETTINGS = {
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s",
    "OPENBLAS_NUM_THREADS": "1",
}
_UP_S = 180.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--block-s", type=float, default=0.0, help="of a block [default: none]")
    parser.add_argument("--json", type=Path, help="all numbers")
    parser.add_argument("--no-answers", action="store_true", help="one session, no answers")
    parser.add_argument("--profile", type=Path, help="of the front's main thread")
    parser.add_argument("--keep", type=Path, help="folder that stays")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as made:
        for hosts in options.hosts:
            folder = Path(options.keep or made) / str(hosts)
            folder.mkdir(parents=True)
            found.append(measure(hosts, folder, options))
            show(found[-1])
    wrong = [f"{one['hosts']} hosts: {why}" for one in found for why in one["wrong"]]
    growth = found[-1]["cpu_block_ms"] / found[0]["cpu_block_ms"]
    print(f"CPU time a block, from the fewest to the most hosts: × {growth:.2f}")
    if growth > MOST_GROWTH:
        wrong.append(f"CPU time a block grows × {growth:.2f}, bar {MOST_GROWTH}")
    print(*wrong, sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1))
    return bool(wrong)


def show(one: dict) -> None:
    print(
        f"{one['hosts']:>5} hosts: start {one['start_s']:.1f} s ({one['start_cpu_s']:.1f} s CPU); "
        f"a block {one['cpu_block_ms']:.2f} ms CPU ({one['cpu_all_block_ms']:.2f} with the start), "
        f"{one['wall_block_ms']:.2f} ms wall; front {one['rss'] / 2**20:.0f} MiB; scheduler "
        f"{one['scheduler_block_ms']:.2f} ms CPU a block; workers up in {one['up_s']:.0f} s"
    )
    if "report" in one:
        print(f"      report: {one['report']}")


def measure(hosts: int, folder: Path, options: argparse.Namespace) -> dict:
    """Run two sessions on so many hosts, check what they leave, and ask for the answers."""
    results, temporary = folder / "results", folder / "tmp"
    temporary.mkdir()
    with fleet(hosts, temporary) as (address, scheduler, up_s):
        before = cpu_s(scheduler)
        found = front(address, results, options.blocks, options)
        found |= {
            "hosts": hosts,
            "up_s": up_s,
            "scheduler_block_ms": 1e3 * (cpu_s(scheduler) - before) / (hosts * options.blocks),
        }
        wrong = incomplete(results, hosts, options.blocks, 1)
        if not options.no_answers:
            more = options.blocks + options.blocks // 2
            found["again"] = front(address, results, more, options)
            wrong += incomplete(results, hosts, more, 2)
    # Dask's workers leave the folder in which they had theirs, with its locks.
    left = [path for path in temporary.glob("**/*") if path.parent.name != "dask-scratch-space"]
    left = [path for path in left if path.name != "dask-scratch-space"]
    wrong += [f"left behind: {path}" for path in sorted(left)[:5]]
    for path in Path("/run/tare").glob("*.lease"):
        # Others may measure here.
        with contextlib.suppress(OSError, ValueError):
            if str(temporary) in path.read_text():
                wrong.append(f"left behind: {path}")
    if found["rss"] > MOST_BYTES:
        wrong.append(f"the front takes {found['rss'] / 2**20:.0f} MiB")
    if found["start_s"] > MOST_START_S:
        wrong.append(f"the start takes {found['start_s']:.0f} s")
    if not options.no_answers:
        found["report"] = role("report", results, str(hosts))
        wrong += found["report"].pop("wrong")
    return found | {"wrong": wrong}


@contextlib.contextmanager
def fleet(hosts: int, temporary: Path) -> Iterator[tuple[str, int, float]]:
    """Have a scheduler and its workers; yield its address, its process and how long that took."""
    began = time.monotonic()
    env = os.environ | _SETTINGS | {"TMPDIR": str(temporary)}
    at = temporary.parent / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", at]
    log = (temporary.parent / "fleet.log").open("wb")
    with contextlib.ExitStack() as stack:
        stack.enter_context(log)

        def start(*argv: object) -> int:
            process = subprocess.Popen(
                [sys.executable, *map(str, argv)], env=env, stdout=log, stderr=log
            )
            stack.callback(finish, process)
            return process.pid

        scheduler = start("-m", "distributed.cli.dask_scheduler", *words)
        wait(at.exists)
        address = json.loads(at.read_text())["address"]
        count = min(PROCESSES, hosts)
        for part in range(count):
            first, after = hosts * part // count, hosts * (part + 1) // count
            start(HERE / "simulated_hosts.py", address, first, after - first)
        role("await", address, str(hosts))
        yield address, scheduler, time.monotonic() - began


def finish(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait(there) -> None:
    end = time.monotonic() + _UP_S
    while not there():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def cpu_s(pid: int) -> float:
    """CPU time of a process, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def role(name: str, *words: object) -> dict:
    """Run a part of this in a process of its own, whose CPU time and memory are its own."""
    argv = [sys.executable, __file__, f"--{name}", *map(str, words)]
    out = subprocess.run(argv, check=True, stdout=subprocess.PIPE, env=os.environ | _SETTINGS)
    return json.loads(out.stdout.splitlines()[-1])


def front(address: str, results: Path, blocks: int, options: argparse.Namespace) -> dict:
    return role("front", address, results, blocks, options.block_s, options.profile or "")


def incomplete(results: Path, hosts: int, trials: int, sessions: int) -> list[str]:
    """Say which hosts lack something; every line is read as tare does."""
    from tare.experiment import journal, plan_file
    from tare.features.fleet import folder as folders

    wrong = []
    ended = Counter(host.ended for host in folders.read(results).hosts)
    if ended != {"finished": hosts}:
        wrong.append(f"hosts ended {dict(ended)}")
    for number in range(hosts):
        path = results / folders.HOSTS / f"host-{number}"
        cells = len(plan_file.read(path).cells)
        lines = [*journal.read_all(path)]
        starts = {one.trial: one for one in lines if isinstance(one, journal.TrialStart)}
        good = [one for one in lines if isinstance(one, journal.TrialEnd) and one.status == "ok"]
        done = {(starts[one.trial].block, starts[one.trial].cell) for one in good}
        closed = [one.reason for one in lines if isinstance(one, journal.SessionEnd)]
        all_ = {(block, cell) for block in range(trials) for cell in range(cells)}
        if done != all_ or len(good) != len(all_) or closed != ["finished"] * sessions:
            wrong.append(f"host-{number}: {len(good)} trials, sessions ended {closed}")
    return wrong if len(wrong) < 5 else [*wrong[:5], f"and {len(wrong) - 5} more"]


def await_(address: str, hosts: str) -> dict:
    from distributed import Client

    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(int(hosts), timeout=_UP_S)
    return {}


def conduct(address: str, results: str, blocks: str, block_s: str, profile: str) -> dict:
    """Conduct the fleet as the command does, and return what that took."""
    import cProfile

    import simulated_hosts

    from tare.features.fleet import work

    file = Path(results).with_suffix(".toml")
    file.write_text(simulated_hosts.TEXT.format(trials=blocks))
    stamps = Stamps()
    if profile:
        profiler = cProfile.Profile()
        profiler.enable()
    work.execute(
        file, address, Path(results), stamps,
        resume=Path(results).exists(), plugin=simulated_hosts.Scripted(float(block_s)),
    )  # fmt: skip
    if profile:
        profiler.dump_stats(profile)
    wall, cpu = time.monotonic(), time.process_time()
    begun_wall, begun_cpu, before = stamps.begun
    after = max(1, stamps.blocks - before)
    return {
        "start_s": begun_wall - stamps.wall,
        "start_cpu_s": begun_cpu - stamps.cpu,
        "blocks": stamps.blocks,
        "cpu_block_ms": 1e3 * (cpu - begun_cpu) / after,
        "wall_block_ms": 1e3 * (wall - begun_wall) / after,
        "cpu_all_block_ms": 1e3 * (cpu - stamps.cpu) / stamps.blocks,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "notes": stamps.notes[:5],
    }


class Stamps:
    """Progress of a fleet: when its hosts had begun, and how many blocks there were."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.monotonic(), time.process_time()
        self.begun = (self.wall, self.cpu, 0)
        self.blocks = 0
        self.notes: list[str] = []

    def told(self, host: str, told) -> None:
        self.blocks += told.blocks
        if told.plan is not None:
            self.begun = (time.monotonic(), time.process_time(), self.blocks)

    def part(self, what: str, done: int, of: int, left_s: float) -> None: ...

    def planned(self, host: str, blocks: int | None) -> None: ...

    def note(self, said: str) -> None:
        self.notes.append(said)
        print(said, file=sys.stderr)


def report(results: str, hosts: str) -> dict:
    """Ask what a fleet's report asks, and hold it against what was planted."""
    import math

    import simulated_hosts as truth

    from tare.features.fleet import answers
    from tare.features.fleet.results import load

    began = time.monotonic()
    fleet = load(Path(results))
    loaded = time.monotonic()
    found = {one.name: one for one in answers.findings(fleet)}
    ended = time.monotonic()
    wrong = []
    for series in fleet.cells:
        split = series.components
        sds = (("host", truth.HOST_SD), ("session", truth.SESSION_SD), ("trial", truth.TRIAL_SD))
        for name, true in sds:
            one = getattr(split, name)
            # The odd host is one of the hosts, and makes their spread larger.
            low = one.low if name != "host" else 0.0
            if one is not None and not low <= true <= (one.high or math.inf):
                wrong.append(f"{series.what.levels}: SD of {name}s {one}, planted {true}")
    named = {one.args["host"] for one in found["odd"].answer if "host" in one.args}
    if named != {f"host-{truth.ODD}"}:
        wrong.append(f"odd hosts {sorted(named)}, planted host-{truth.ODD}")
    ratio = next(iter(fleet.ratios)).components
    mean = float(ratio.level.mean())
    error = 2.5 * float(ratio.level.std()) / math.sqrt(len(ratio.level))
    if abs(mean - truth.RATIO) > error:
        wrong.append(f"ratio {mean:.4f} ± {error:.4f}, planted {truth.RATIO:.4f}")
    return {
        "load_s": loaded - began,
        "answers_s": ended - loaded,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "named": sorted(map(str, named)),
        "sd": {n: getattr(fleet.cells[0].components, n).sd for n in ("host", "session", "trial")},
        "wrong": wrong,
    }


ROLES = {"--front": conduct, "--await": await_, "--report": report}

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ROLES:
        print(json.dumps(ROLES[sys.argv[1]](*sys.argv[2:])))
    else:
        sys.exit(main())
