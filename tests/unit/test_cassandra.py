"""The applications of Cassandra: figures that their load generators print."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tare.applications import output
from tare.experiment.file import application
from tare.results.message import Message
from tare.workloads.application import Application

FOLDER = Path(application.built_in()["cassandra"])
#: What tare-cql prints, and stress.sh at its end.
SUMMARY = (
    '{"operations":100,"errors":1,"warm_up_operations":90,"seconds":2.000000,"rate":50.000,"partitions":49.500,'
    '"partitions_read":37.000,"partitions_written":12.500,"late":0.010000,"cpu_seconds":0.100000,'
    '"collections":5,"collection_ms":133,"collection_squares":4000,"collection_bytes":8560000000,'
    '"collection_mean_ms":26.600,"collection_sd_ms":9.614}\n'
)
#: As PINNING shows it, with the figures that a scan of it leaves out.
STRESS = """\
Results:
Op rate                   :    9,995 op/s  [READ: 7,513 op/s, WRITE: 2,485 op/s]
Partition rate            :    9,995 pk/s  [READ: 7,513 pk/s, WRITE: 2,485 pk/s]
Row rate                  :    9,995 row/s [READ: 7,513 row/s, WRITE: 2,485 row/s]
Latency mean              :    1.1 ms [READ: 0.9 ms, WRITE: 1.6 ms]
Latency median            :    0.6 ms [READ: 0.6 ms, WRITE: 0.6 ms]
Latency 95th percentile   :    1.1 ms [READ: 1.0 ms, WRITE: 2.6 ms]
Latency 99th percentile   :   15.6 ms [READ: 5.2 ms, WRITE: 29.8 ms]
Latency 99.9th percentile :   62.1 ms [READ: 51.9 ms, WRITE: 69.1 ms]
Latency max               :   81.1 ms [READ: 75.3 ms, WRITE: 81.1 ms]
Total partitions          :    558,733 [READ: 419,816, WRITE: 138,917]
Total errors              :          0 [READ: 0, WRITE: 0]
Total GC count            : 0
Total GC memory           : 0.000 KiB
Total GC time             :    0.0 seconds
Avg GC time               :    NaN ms
StdDev GC time            :    0.0 ms
Total operation time      : 00:00:55

END
"""


#: Metrics of the server's collections in SUMMARY.
COLLECTIONS = {
    "gc_count": 5, "gc_time_ns": 133e6, "gc_time_mean_ns": 26.6e6, "gc_time_sd_ns": 9.614e6,
    "gc_memory_bytes": 8_560_000_000,
}  # fmt: skip


def _printed(wanted: Application, text: str) -> tuple[dict[str, float], Message | None]:
    streams = {"stdout": text.encode(), "stderr": b""}
    found = dict(output.values(wanted, streams, lambda *_: None))
    refusal = output.refusal(wanted, streams, found, str, None)
    return found, None if refusal is None else refusal.said


@pytest.mark.parametrize("name", ["cassandra", "cassandra-closed"])
def test_partition_rates_and_collections_are_metrics(name: str) -> None:
    found, refusal = _printed(application.read(name), SUMMARY)
    assert refusal is None
    assert found == {
        "late": 0.01, "warm_up_requests": 90, "op_rate": 50, "partition_rate": 49.5,
        "row_rate": 49.5, "partition_rate_read": 37, "partition_rate_written": 12.5,
        **COLLECTIONS,
    }  # fmt: skip


def test_collections_that_the_server_does_not_log_are_absent() -> None:
    without = SUMMARY.partition(',"collections"')[0] + "}\n"
    found, refusal = _printed(application.read("cassandra"), without)
    assert "gc_count" not in found
    assert refusal is not None


def test_cassandra_stress_has_the_figures_of_its_table() -> None:
    found, refusal = _printed(application.read("cassandra-stress"), STRESS + SUMMARY)
    assert refusal is None
    assert found == {
        "op_rate": 9995, "partition_rate": 9995, "row_rate": 9995, "partition_rate_read": 7513,
        "partition_rate_written": 2485, "latency_mean_ns": 1.1e6, "latency_p50_ns": 0.6e6,
        "latency_p95_ns": 1.1e6, "latency_p99_ns": 15.6e6, "latency_p999_ns": 62.1e6,
        "latency_max_ns": 81.1e6,
        "latency_mean_read_ns": 0.9e6, "latency_mean_write_ns": 1.6e6,
        "latency_p50_read_ns": 0.6e6, "latency_p50_write_ns": 0.6e6,
        "latency_p95_read_ns": 1.0e6, "latency_p95_write_ns": 2.6e6,
        "latency_p99_read_ns": 5.2e6, "latency_p99_write_ns": 29.8e6,
        "latency_p999_read_ns": 51.9e6, "latency_p999_write_ns": 69.1e6,
        "latency_max_read_ns": 75.3e6, "latency_max_write_ns": 81.1e6,
        # The server's own log has them; cassandra-stress prints 0 without JMX.
        **COLLECTIONS,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("was", "is_"),
    [
        ("Total errors              :          0", "Total errors              :          7"),
        ("Partition rate            :    9,995 pk/s", "Partition rate            :    NaN pk/s"),
        ("Latency mean              :    1.1 ms", "Latency mean              :    1,1.1.1 ms"),
        (STRESS, ""),
    ],
)
def test_other_output_of_cassandra_stress_is_no_valid_trial(was: str, is_: str) -> None:
    assert was in STRESS
    _, refusal = _printed(application.read("cassandra-stress"), STRESS.replace(was, is_) + SUMMARY)
    assert refusal is not None


def test_a_load_without_writes_and_collections_is_valid() -> None:
    reads = re.sub(r", WRITE: [^]]*", "", STRESS)
    assert "WRITE" not in reads
    none = '{"collections":0,"collection_ms":0,"collection_bytes":0}\n'
    found, refusal = _printed(application.read("cassandra-stress"), reads + none)
    assert refusal is None
    assert found["latency_p999_read_ns"] == 51.9e6
    assert found["gc_count"] == 0
    assert not [name for name in found if name.endswith(("_write_ns", "_written"))]
    assert not {"gc_time_mean_ns", "gc_time_sd_ns"} & found.keys()


def test_all_have_one_image_and_only_one_has_another_load_generator() -> None:
    opened, closed, stress = map(
        application.read, ("cassandra", "cassandra-closed", "cassandra-stress")
    )
    assert opened.image == closed.image == stress.image
    assert opened.services == closed.services == stress.services
    assert opened.driver is not None
    assert closed.driver is not None
    assert (opened.driver.load, closed.driver.load) == ("open", "closed")
    assert opened.driver.stands_for == closed.driver.stands_for == "cassandra-stress"
    assert stress.driver is None
    defaults = {one.name: one.default for one in closed.parameters}
    assert (defaults["users"], defaults["writes"]) == (100, 25)
    assert {path.name for path in FOLDER.iterdir()} == {
        *opened.image.files, opened.image.artefact_list, "application.toml",
    }  # fmt: skip


def _stress(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run stress.sh with its paths below a folder, in which programs pretend."""
    script = (FOLDER / "stress.sh").read_text()
    script = re.sub(r"/(?=data/|application/|tmp/)", f"{tmp_path}/", script)
    (tmp_path / "tmp").mkdir(exist_ok=True)
    return subprocess.run(
        ["sh", "-c", script, "stress.sh", *words], capture_output=True, text=True, check=False
    )


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def test_stress_prints_the_collections_between_its_keys_and_its_end(tmp_path: Path) -> None:
    missing = _stress(tmp_path, "find")
    assert missing.returncode == 1
    assert "--set stress=FOLDER" in missing.stdout
    log = tmp_path / "log"
    _program(tmp_path / "data/stress/tools/bin/cassandra-stress", f'echo "$@" >>{log}; echo load\n')
    # Each call finds two more collections of 5 ms and two of 15 ms; the third one, lost lines.
    _program(
        tmp_path / "application/tare-cql",
        f'echo "$@" >>{log}; n=$(grep -c collections {log})\n'
        'printf \'{"collections":%d,"collection_ms":%d,"collection_squares":%d,'
        '"collection_bytes":%d,"oldest_line":%d}\' '
        "$((4 * n)) $((40 * n)) $((500 * n)) $((-5000000000 * n)) $((n / 3))\n",
    )
    assert _stress(tmp_path, "find").returncode == 0
    done = _stress(tmp_path, "run", "10.0.0.1", "100", "10", "25", "10000")
    assert done.returncode == 0, done.stderr
    load, last = done.stdout.splitlines()
    assert load == "load"
    assert json.loads(last) == {
        "collections": 4, "collection_ms": 40, "collection_bytes": -5_000_000_000,
        "collection_mean_ms": 10.0, "collection_sd_ms": 5.0,
    }  # fmt: skip
    write, before, mixed, after = log.read_text().splitlines()
    assert write == "write n=10000 cl=ONE -rate threads=100 -node 10.0.0.1"
    assert before == after == "collections --host 10.0.0.1"
    assert mixed == (
        "mixed ratio(write=25,read=75) duration=10s cl=ONE -pop dist=UNIFORM(1..10000) "
        "-rate threads=100 -node 10.0.0.1"
    )
    (tmp_path / "log").write_text("collections\n")
    done = _stress(tmp_path, "run", "10.0.0.1", "100", "10", "25", "10000")
    assert (done.returncode, done.stdout) == (0, "load\n")
