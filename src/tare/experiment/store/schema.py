"""The tables of ``store.duckdb``: the one definition, and what the reference is made of."""

from __future__ import annotations

from typing import NamedTuple

from tare.experiment import plan


class Column(NamedTuple):
    """One column: its name, its type in DuckDB, what it means and what its absence means."""

    name: str
    type: str
    meaning: str


class Table(NamedTuple):
    """One table."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """The statement that makes the table."""
        columns = ", ".join(f'"{c.name}" {c.type}' for c in self.columns)
        return f'CREATE TABLE "{self.name}" ({columns})'


TABLES = (
    Table(
        "experiment",
        "The question: one row.",
        (
            Column("layout", "INTEGER", f"version of the journal and of these tables: now "
                   f"{plan.VERSION}"),
            Column("name", "VARCHAR", "name of the experiment"),
            Column("question", "VARCHAR", "the question, as asked"),
            Column("metric", "VARCHAR", "metric of the stopping rule and the findings"),
            Column("seed", "BIGINT", "seed of order and inputs"),
            Column("file", "VARCHAR", "the experiment file as given; absent for `tare run`"),
            Column("plan", "JSON", "`plan.json`: experiment, cells, frozen repetitions"),
        ),
    ),
    Table(
        "sessions",
        "One row a session: one uninterrupted stretch.",
        (
            Column("session", "INTEGER", "number, from 1"),
            Column("name", "VARCHAR", "prefix of everything that the session made on the machine"),
            Column("started", "VARCHAR", "UTC, ISO 8601"),
            Column("ended", "VARCHAR", "UTC, ISO 8601; absent: it still runs, or was killed"),
            Column("reason", "VARCHAR", "why it ended; absent as `ended`"),
            Column("boot_id", "VARCHAR", "of the kernel; stamps are comparable within one boot"),
            Column("nonce", "INTEGER", "names the session in the launcher's marker"),
            Column("tare", "VARCHAR", "version of tare"),
            Column("agent_digest", "VARCHAR", "SHA-256 of the agent that measured"),
            Column("argv", "VARCHAR[]", "the command line that measured"),
        ),
    ),
    Table(
        "facts",
        "Facts of the machine or of an instance of a platform.",
        (
            Column("session", "INTEGER", "session in which it was read"),
            Column("instance", "VARCHAR", "instance of the platform; absent: all instances"),
            Column("platform", "VARCHAR", "stack of the instance; absent: the machine"),
            Column("name", "VARCHAR", "name of the fact"),
            Column("value", "JSON", "number, text, true or false"),
            Column("unit", "VARCHAR", "unit of the number; absent: it has none"),
            Column("source", "VARCHAR", "where it was read, or how it was measured"),
        ),
    ),
    Table(
        "instances",
        "One row an instance of a platform, from its start to its end.",
        (
            Column("session", "INTEGER", "its session"),
            Column("instance", "VARCHAR", "its name"),
            Column("platform", "VARCHAR", "level of the factor: a stack of layers"),
            Column("size", "VARCHAR", "level of the factor"),
            Column("pinning", "VARCHAR", "level of the factor"),
            Column("cores", "DOUBLE", "CPU time per second of time that it may use, by a quota; "
                   "absent: no quota"),
            Column("cpus", "JSON", "CPUs of the host that it is confined to; null: all"),
            Column("memory_bytes", "BIGINT", "memory that it was given; absent: not limited"),
            Column("workers", "JSON", "workers that run in it"),
            Column("cold", "BOOLEAN", "true: the first of its stack in the session"),
            Column("start_ns", "BIGINT", "from requesting it to the agent's hello"),
            Column("stop_ns", "BIGINT", "how long its end took; absent: unknown"),
            Column("host_cpu_ns", "BIGINT", "CPU time on the host of what is around the agent, "
                   "to its end; of a machine of its own, with all that ran in it; absent: nothing "
                   "is seen around it"),
            Column("host_memory_bytes", "BIGINT", "memory on the host of the same, at its end; "
                   "absent likewise"),
        ),
    ),
    Table(
        "clocks",
        "The clocks inside an instance relative to the host's, after its start and before its end.",
        (
            Column("session", "INTEGER", "its session"),
            Column("instance", "VARCHAR", "name of the instance"),
            Column("monotonic_ns", "BIGINT", "when, ns of the host's CLOCK_MONOTONIC"),
            Column("monotonic_offset_ns", "BIGINT", "CLOCK_MONOTONIC, inside minus host"),
            Column("realtime_offset_ns", "BIGINT", "CLOCK_REALTIME, inside minus host"),
            Column("within_ns", "BIGINT", "how far the offsets may be off: half of the fastest "
                   "exchange"),
        ),
    ),
    Table(
        "figures",
        "Figures of the probes of the machine, before and after the trials of a session.",
        (
            Column("session", "INTEGER", "its session"),
            Column("moment", "VARCHAR", "`before` or `after` the trials"),
            Column("metric", "VARCHAR", "metric of a probe: `tare describe probes`"),
            Column("unit", "VARCHAR", "its unit"),
            Column("better", "VARCHAR", "`lower`, `higher` or `neither`"),
            Column("margin", "DOUBLE", "smallest relative change that matters"),
            Column("values", "DOUBLE[]", "value of each round, in order of time"),
            Column("take", "INTEGER", "the take that it belongs to"),
        ),
    ),
    Table(
        "takes",
        "How busy the machine was while it was probed; folders of an older tare have no rows.",
        (
            Column("session", "INTEGER", "its session"),
            Column("moment", "VARCHAR", "`before` or `after` the trials"),
            Column("take", "INTEGER", "number, from 1: a disturbed take is repeated"),
            Column("seconds", "DOUBLE", "how long it took"),
            Column("cpus", "INTEGER", "CPUs of the machine"),
            Column("load_average", "DOUBLE", "of the last minute, when it began"),
            Column("other_cpus", "DOUBLE", "mean number of CPUs that other programs used"),
            Column("stolen_cpus", "DOUBLE", "CPUs that the hypervisor gave to others"),
            Column("cpu_pressure", "DOUBLE", "share of the time in which some task waited for a "
                   "CPU, tare's own included (PSI)"),
            Column("memory_pressure", "DOUBLE", "likewise for memory"),
            Column("io_pressure", "DOUBLE", "likewise for a disk; all of these are absent where "
                   "the kernel does not report them"),
        ),
    ),
    Table(
        "trials",
        "One row a trial, the unit of replication.",
        (
            Column("trial", "BIGINT", "number in the experiment, over all sessions"),
            Column("session", "INTEGER", "its session"),
            Column("block", "BIGINT", "its block: every cell once"),
            Column("position", "INTEGER", "place in the block, from 0"),
            Column("cell", "INTEGER", "its cell, in the order of the experiment"),
            Column("workload", "VARCHAR", "level of the factor"),
            Column("platform", "VARCHAR", "level of the factor: a stack of layers"),
            Column("workers", "VARCHAR", "level of the factor"),
            Column("pinning", "VARCHAR", "level of the factor"),
            Column("load", "VARCHAR", "level of the factor"),
            Column("size", "VARCHAR", "level of the factor"),
            Column("levels", "JSON", "level of every factor, the user's own included"),
            Column("seed", "BIGINT", "seed of the generated input"),
            Column("repetitions", "BIGINT", "executions in one timed region; absent: a command"),
            Column("cpus", "JSON", "CPUs of each worker; null where it was not pinned"),
            Column("calibration", "BOOLEAN", "true: a rehearsal, whose values are not used"),
            Column("error_captured", "BOOLEAN", "true: standard error was a pipe that was read, "
                   "not `/dev/null`"),
            Column("started", "BIGINT", "start, ns of CLOCK_MONOTONIC"),
            Column("duration_ns", "BIGINT", "start to end; absent: unfinished"),
            Column("status", "VARCHAR", "`ok`, `failed`, or `unfinished`: cut short, never used"),
            Column("reason", "VARCHAR", "why it failed; absent otherwise"),
        ),
    ),
    Table(
        "samples",
        "One row a sample: one value of one metric of one worker in one iteration.",
        (
            Column("trial", "BIGINT", "its trial"),
            Column("worker", "INTEGER", "its worker; absent: holds for the whole trial"),
            Column("iteration", "INTEGER", "its iteration; absent: holds for all of them"),
            Column("phase", "VARCHAR", "`warmup`, `measured` or `tail`; only measured ones count"),
            Column("metric", "VARCHAR", "what was measured; the suffix is the unit"),
            Column("source", "VARCHAR", "how it was measured"),
            Column("value", "DOUBLE", "never absent: unavailable values have no row"),
        ),
    ),
    Table(
        "network_use",
        "What each host of an emulated network sent in a trial, as its queueing discipline counts.",
        (
            Column("trial", "BIGINT", "its trial"),
            Column("host", "INTEGER", "number of the host, from 1, which runs the command"),
            Column("tokens_start_bits", "BIGINT", "in its bucket when the trial began; absent: it "
                   "has none"),
            Column("tokens_end_bits", "BIGINT", "left when the trial ended; absent likewise"),
            Column("sent_bytes", "BIGINT", "sent in the trial, headers included"),
            Column("dropped_packets", "BIGINT", "dropped in it, as the queue was full"),
            Column("times_dry", "BIGINT", "how often its bucket was depleted in the trial"),
            Column("dry_ns", "BIGINT", "how long in total"),
            Column("first_dry_ns", "BIGINT", "when first, since the trial's start; absent: never"),
        ),
    ),
    Table(
        "network_log",
        "The hosts of an emulated network during a trial: one row a host and moment. Of a long "
        "trial some moments are left out, evenly.",
        (
            Column("trial", "BIGINT", "its trial"),
            Column("at_ns", "BIGINT", "when, since the trial's start"),
            Column("host", "INTEGER", "number of the host, from 1"),
            Column("tokens_bits", "BIGINT", "left in its bucket; absent: it has none"),
            Column("rate_bps", "BIGINT", "at which it may send then; absent: as fast as it goes"),
            Column("sent_bytes", "BIGINT", "sent since the trial began"),
        ),
    ),
    Table(
        "faults",
        "Errors and warnings.",
        (
            Column("trial", "BIGINT", "its trial; absent: none"),
            Column("worker", "INTEGER", "its worker; absent: unknown"),
            Column("iteration", "INTEGER", "its iteration; absent: unknown"),
            Column("kind", "VARCHAR", "`exit`, `signal`, `timeout`, `out_of_memory`, `launch`, "
                   "`job`; `warning`: the trial counts"),
            Column("message", "VARCHAR", "what happened and why"),
            Column("evidence", "VARCHAR", "end of standard error; absent: not captured"),
        ),
    ),
    Table(
        "stops",
        "Why a cell stopped and what it reached; a resumed cell has one row per session.",
        (
            Column("session", "INTEGER", "session in which it stopped"),
            Column("cell", "INTEGER", "the cell"),
            Column("trials", "BIGINT", "good trials that it had then"),
            Column("reason", "VARCHAR", "`fixed`, `target`, `budget`, `cap`, `refused`, `failed`, "
                   "`interrupted`, `decided`, `alone`"),
            Column("target", "DOUBLE", "half-width asked, relative; absent: none"),
            Column("reached", "DOUBLE", "half-width reached; absent: too few trials to say"),
            Column("more_trials", "BIGINT", "about how many more the target takes; absent: none "
                   "or unknown"),
            Column("more_seconds", "DOUBLE", "about how long they take; absent likewise"),
            Column("why", "VARCHAR", "why the target is not called reached: `wide`, "
                   "`remembers`, `drifts`, `jumps`, `ordered`; absent: nothing"),
            Column("refusal", "VARCHAR", "the same in words, with what to do"),
        ),
    ),
    Table(
        "notes",
        "Notes for the result, such as excluded cells.",
        (
            Column("session", "INTEGER", "its session"),
            Column("message", "VARCHAR", "a sentence"),
            Column("detail", "JSON", "the same as data"),
        ),
    ),
    Table(
        "findings",
        "The findings; empty until they are computed after the last change of the journal.",
        (
            Column("place", "INTEGER", "place in reading order, from 1"),
            Column("name", "VARCHAR", "name of the question"),
            Column("question", "VARCHAR", "the question"),
            Column("verdict", "VARCHAR", "`yes`, `no`, `inconclusive`, `partly` (inconclusive), "
                   "`told`, `nothing to compare`"),
            Column("answer", "VARCHAR", "the answer in words"),
            Column("summary", "VARCHAR", "the answer in one sentence; absent: not at the head"),
            Column("basis", "VARCHAR", "metric and source of the values; absent: none"),
            Column("whole", "JSON", "the finding with its tables and caveats"),
        ),
    ),
    Table(
        "estimates",
        "The numbers behind the findings.",
        (
            Column("finding", "VARCHAR", "name of the finding"),
            Column("name", "VARCHAR", "what is estimated"),
            Column("levels", "JSON", "its levels"),
            Column("value", "DOUBLE", "the estimate; absent: unavailable"),
            Column("unit", "VARCHAR", "its unit; 1: a ratio or a count"),
            Column("low", "DOUBLE", "interval, lower end; absent: no interval"),
            Column("high", "DOUBLE", "interval, upper end; absent: no interval"),
            Column("confidence", "DOUBLE", "confidence of the interval"),
            Column("method", "VARCHAR", "how it was estimated"),
            Column("n", "BIGINT", "trials behind it"),
        ),
    ),
    Table(
        "origins",
        "The files that the tables are derived from; a changed file makes tare derive them again.",
        (
            Column("file", "VARCHAR", "path in the experiment's folder"),
            Column("bytes", "BIGINT", "how long it was"),
            Column("modified_ns", "BIGINT", "when it was last written, ns of the epoch"),
        ),
    ),
)  # fmt: skip


def document() -> str:
    """Write the tables as Markdown: ``docs/reference/store.md``."""
    parts = [
        "# The store\n",
        "Which tables does an experiment's folder hold, and what does each column mean?\n",
        "The folder holds `store.duckdb`, which tare derives from `plan.json` and "
        "`journal/*.ndjson`. It can be deleted; tare derives it again when they have changed. "
        "`tare export DIR --table NAME` writes a table as CSV, Parquet or JSON. In Python, "
        '`tare.open("DIR")` returns data frames. Absent values are NULL, never zero. '
        "The suffix of a metric is its unit.\n",
        "This page is generated from `src/tare/experiment/store/schema.py` by "
        "`python -m tare.experiment.store.schema`: do not edit it.\n",
    ]
    for table in TABLES:
        parts.append(f"## {table.name}\n{table.meaning}\n")
        parts.append("| column | type | meaning |\n| --- | --- | --- |")
        parts += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in table.columns]
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(document(), end="")
