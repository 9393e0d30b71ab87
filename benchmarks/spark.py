"""Spark on networks with token buckets: does tare find what was planted?

    benchmarks/spark.py wire           terasort and kmeans, buckets full and empty: time by bytes
    benchmarks/spark.py straggler      one host with 5 % of the tokens, 6 times; without, 10 times
    benchmarks/spark.py repetitions    budgets carried over, 3 times; reset, 3 times
    benchmarks/spark.py own            CPU time of tare's own processes while jobs run

As root, on bare; 25, 35, 60 and 3 minutes on two CPUs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import tare
from tare.errors import ChangedError
from tare.experiment.findings.network_cells import networks_of
from tare.features.network.findings import task_cells, task_stragglers
from tare.features.network.findings.depletion import courses
from tare.results.message import Message
from tare.statistics.comparison import compare

LOW_MBIT = 6
WIRE = f"""
[experiment]
name = "wire"
question = "Does a job take what its bytes take?"
trials = 6

[[workload]]
name = "terasort"
application = "spark"
job = "terasort"
input = 384
partitions = 4

[[workload]]
name = "kmeans"
application = "spark"
job = "kmeans"
input = 16
partitions = 4

[factors]
platform = ["bare"]
size = ["1c1g"]
network = [
    "bucket high=200Mbit low={LOW_MBIT}Mbit budget=5Gbit",
    "bucket high=200Mbit low={LOW_MBIT}Mbit budget=5Gbit initial=0bit",
]

[network]
hosts = 4
"""
#: Of 16 MiB, each of two hosts sends some 46 Mbit in a trial of 20 s, which refills 24; without
#: tokens that takes 38 s.
REPETITIONS = """
[experiment]
name = "repetitions"
question = "Do more repetitions help?"
trials = 20

[[workload]]
application = "spark"
job = "terasort"
input = 16
partitions = 2

[factors]
platform = ["bare"]
size = ["1c512m"]
network = ["bucket high=100Mbit low=1200kbit budget=120Mbit"]

[network]
hosts = 2
budget = "{budget}"
"""
TERASORT = ("--application", "spark", "--set", "job=terasort", "--size", "1c512m", "-p", "bare")
STRAGGLER = (*TERASORT, "--set", "input=48", "--set", "partitions=3", "--hosts", "3", "-n", "5")
#: Each of three hosts sends some 100 Mbit; 5 % of the budget are 20 Mbit.
BUCKET = "bucket high=100Mbit low=2Mbit budget=400Mbit"


def tare_does(*words: str) -> tare.Results:
    """Run tare, and return what was measured."""
    folder = Path(tempfile.mkdtemp(prefix="spark-")) / "out"
    command = [sys.executable, "-m", "tare", *words, "--out", str(folder)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    # A machine that changed meanwhile is said, and compared in spite of it.
    if done.returncode not in (0, ChangedError.exit_code):
        raise subprocess.CalledProcessError(done.returncode, command)
    return tare.open(folder)


def experiment(text: str) -> tare.Results:
    """Run an experiment."""
    file = Path(tempfile.mkdtemp(prefix="spark-")) / "spark.toml"
    file.write_text(text)
    return tare_does("experiment", "run", str(file))


def wire() -> None:
    """Print each job's time with empty buckets, relative to what its bytes allow."""
    results = experiment(WIRE)
    times = results.values("wall_ns").frame().set_index("trial")
    sent = results.network_use.frame().groupby("trial")["sent_bytes"].agg(["sum", "max"])
    empty = times["network"].str.contains("initial=0bit")
    for job in ("terasort", "kmeans"):
        of_job = times["workload"] == job
        full, slow = (times.loc[of_job & which, "value"] / 1e9 for which in (~empty, empty))
        by_bytes = sent["max"].loc[slow.index].to_numpy() * 8 / (LOW_MBIT * 1e6)
        print(f"{job}: {sent['sum'].loc[slow.index].median() / 1e6:.0f} MB sent,", end=" ")
        print(f"at the low rate {np.round(by_bytes, 1)} s;", end=" ")
        print(f"full {np.round(full.to_numpy(), 1)} s, empty {np.round(slow.to_numpy(), 1)} s")
        if job == "terasort":
            least, most = np.maximum(full.median(), by_bytes), full.median() + by_bytes
            within = (slow.to_numpy() >= 0.9 * least) & (slow.to_numpy() <= 1.1 * most)
            print(f"  at the low rate / full {np.median(by_bytes) / full.median():.2f};", end=" ")
            print(f"between maximum and sum ± 10 % in {within.sum()} of {len(slow)}")
        else:
            by_block = (
                times[of_job].pivot(index="block", columns="network", values="value").dropna()
            )
            found = compare(*(by_block[level].to_numpy() for level in sorted(by_block)))
            print(
                f"  empty / full, by block: {found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}]"
            )


def straggler() -> None:
    """Print which hosts are named, with and without a straggler."""
    for network, times in ((f"{BUCKET} initial3=20Mbit", 6), (BUCKET, 10)):
        for _ in range(times):
            results = tare_does("run", *STRAGGLER, "--network", network, "--no-fingerprint")
            named = task_stragglers.stragglers(task_cells.tasks_seen(results))
            said = [
                f"host {one.host} ({'sends' if one.sends else 'own'} {one.times})" for one in named
            ]
            print(f"{network}: {', '.join(said) or 'none'}", flush=True)


def repetitions() -> None:
    """Print what is said of repetitions on a budget that nobody resets, and on one that is."""
    for budget in ("carry", "reset"):
        for _ in range(3):
            found = networks_of(experiment(REPETITIONS.format(budget=budget)))
            assert not isinstance(found, Message)
            for course in courses(found):
                print(f"{budget}: {course.state}, {course.ratio}, p {course.p}", flush=True)


def own() -> None:
    """Print the CPU time of tare's processes while jobs run, relative to that of the jobs."""
    over = threading.Event()
    used_s = [0.0]

    def watch() -> None:
        before: dict[str, float] = {}
        while not over.wait(0.05):
            now, job = tare_processes()
            if job:
                used_s[0] += sum(max(0.0, s - before.get(pid, 0.0)) for pid, s in now.items())
            before = now

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        results = tare_does("run", *STRAGGLER, "--network", BUCKET, "--no-fingerprint")
    finally:
        over.set()
        watching.join()
    trials = len(results.trials())
    job_s = sum(results.values(m)["value"].mean() / 1e9 for m in ("cpu_ns", "hosts_cpu_ns"))
    print(f"tare {used_s[0] / trials:.3f} s a trial, the job {job_s:.2f} s:", end=" ")
    print(f"{used_s[0] / trials / job_s:.2%}")


def tare_processes() -> tuple[dict[str, float], bool]:
    """Return the CPU time of each process of tare until now, and whether a job runs."""
    found: dict[str, float] = {}
    job = False
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        job |= b"/application/jobs.py" in words
        if "(tare" in name or b"tare" in words[:3]:
            user, system = rest.split()[11:13]
            found[folder.name] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return found, job


if __name__ == "__main__":
    parts = {"wire": wire, "straggler": straggler, "repetitions": repetitions, "own": own}
    if len(sys.argv) != 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    parts[sys.argv[1]]()
