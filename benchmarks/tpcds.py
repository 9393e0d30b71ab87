"""Compares Spark's results of the 99 queries of TPC-DS with DuckDB's.

    python benchmarks/tpcds.py --spark DIR [--scale 1] [--data DIR] [--queries 1 2 3]

``DIR`` has the files of pyspark's source distribution, as ``/application`` of the image has them:
``deps`` and ``lib``. All queries run in one session, on this machine. DuckDB 1.1.3 is needed where
``--data`` is not made yet: later versions do not have TPC-DS in them.

Prints a row for each query that is not equal, and how many are, with rows and without.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "src/tare/applications/library/spark"


def main() -> None:
    """Run and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spark", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--queries", type=int, nargs="*", default=range(1, 100))
    parser.add_argument("--memory", default="3g")
    asked = parser.parse_args()
    os.environ["SPARK_HOME"] = str(asked.spark / "deps")
    sys.path.insert(0, str(LIBRARY))
    import answers
    import jobs
    import prepare

    with tempfile.TemporaryDirectory() as own:
        data = asked.data or Path(own)
        if not (data / "facts.json").exists():
            data.mkdir(exist_ok=True)
            began = time.monotonic()
            print(prepare.tpcds(data, asked.scale), f"in {time.monotonic() - began:.1f} s")
            (data / "facts.json").write_text(json.dumps({"job": "tpcds"}))
        words = ["--job", "tpcds", "--driver-memory", asked.memory, "--events", "", "--data", own]
        given = jobs.arguments().parse_args(words)
        given.compress, given.split = True, 128 << 20
        spark = jobs.session(given)
        spark.sparkContext.setLogLevel("ERROR")
        equal = with_rows = tied = 0
        for number in asked.queries:
            began = time.monotonic()
            expected = json.loads((data / f"answers/{number}.json").read_text())
            rows: list = []
            try:
                kinds, rows = jobs.tpcds(spark, data, number)
                why = answers.difference(expected, kinds, rows)
            except Exception as error:  # whatever Spark says is the reason
                why = " ".join(str(error).split())[:200]
            took = time.monotonic() - began
            equal += why is None
            with_rows += why is None and bool(rows)
            tied += why is None and bool(expected["rest"])
            print(f"q{number:<3}{len(rows):6} rows {took:6.1f} s  {why or 'equal'}", flush=True)
        of = len(asked.queries)
        print(f"{equal} of {of} equal, {with_rows} of them with rows; {tied} with a tied end")
        spark.stop()


if __name__ == "__main__":
    main()
