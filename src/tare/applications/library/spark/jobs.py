"""Run one job on Spark, and print what came of it as a line of JSON.

    jobs.py --job wordcount [--master spark://HOST:7077] …

Jobs like those of HiBench, and queries of TPC-DS. What executors do runs in Java alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from functools import reduce
from pathlib import Path

HOME = Path(__file__).resolve().parent
SPARK = Path(os.environ.get("SPARK_HOME") or HOME / "deps")
os.environ["SPARK_HOME"] = str(SPARK)
sys.path[:0] = [str(path) for path in sorted((SPARK.parent / "lib").glob("*.zip"))]

import answers  # noqa: E402
import dialect  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as f  # noqa: E402

#: The archive of classes is what `archive.sh` left; Java goes on without it where it does not fit.
#: The serial collector has no threads of its own, and takes the least memory.
JAVA = "-XX:SharedArchiveFile=/data/job.jsa -XX:+UseSerialGC -XX:-UsePerfData -Xss512k"
ITERATIONS = 5
CENTRES, DIMENSIONS = 8, 10
FEATURES = 1 << 16
DAMPING = 0.85


def session(asked: argparse.Namespace) -> SparkSession:
    """Return the session, on a driver in this process's own Java."""
    set_ = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": asked.host,
        "spark.driver.bindAddress": asked.host,
        "spark.driver.port": asked.port,
        "spark.blockManager.port": asked.port + 1,
        "spark.driver.memory": asked.driver_memory,
        "spark.driver.extraJavaOptions": asked.java,
        "spark.executor.memory": asked.executor_memory,
        "spark.executor.extraJavaOptions": JAVA,
        # What Spark keeps apart of each heap, 300 MiB unless told: more than small hosts have.
        "spark.testing.reservedMemory": asked.reserved << 20,
        # Below the heap, which Spark insists on: larger blocks would be fetched into files.
        "spark.network.maxRemoteBlockSizeFetchToMem": "32m",
        "spark.cores.max": asked.executors * asked.cores,
        "spark.executor.cores": asked.cores,
        # All hosts take part from the first task on.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        # All read their own copy: no task waits for a better place.
        "spark.locality.wait": "0s",
        "spark.speculation": "false",
        "spark.shuffle.compress": asked.compress,
        "spark.shuffle.spill.compress": asked.compress,
        "spark.broadcast.compress": asked.compress,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.default.parallelism": asked.partitions,
        "spark.sql.shuffle.partitions": asked.partitions,
        "spark.sql.files.maxPartitionBytes": asked.split,
        "spark.sql.files.openCostInBytes": 0,
        # Else Spark cuts a job's input at the rounded down share, and has a task for what is left.
        "spark.sql.files.minPartitionNum": asked.partitions if asked.job == "tpcds" else 1,
        # Queries are planned again from what was measured; the jobs always do the same.
        "spark.sql.adaptive.enabled": str(asked.job == "tpcds").lower(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": "/tmp/warehouse",
        "spark.local.dir": "/tmp",
    }
    if asked.events:
        Path(asked.events).mkdir(parents=True, exist_ok=True)
        set_ |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{Path(asked.events).resolve()}",
        }
    builder = SparkSession.builder.appName(asked.job).master(asked.master)
    for key, value in set_.items():
        builder = builder.config(key, str(value).lower() if isinstance(value, bool) else value)
    return builder.getOrCreate()


def wordcount(spark: SparkSession, data: Path) -> dict:
    """Count how often each word is there."""
    words = spark.read.text(f"{data}/input").select(f.explode(f.split("value", " ")).alias("word"))
    counts = words.groupBy("word").count()
    # A checksum of words and counts together, in the place of files that nobody reads.
    return _row(
        counts.agg(
            f.count("word").alias("words"),
            f.sum("count").alias("total"),
            f.sum(f.crc32(f.col("word").cast("binary")) * f.col("count")).alias("checksum"),
        )
    )


def sort(spark: SparkSession, data: Path, key: int | None = None) -> dict:
    """Sort lines, by their first bytes or all of them."""
    lines = spark.read.text(f"{data}/input")
    by = f.col("value") if key is None else f.substring("value", 1, key)
    ordered = lines.orderBy(by).select(
        "value", f.spark_partition_id().alias("part"),
        f.monotonically_increasing_id().bitwiseAND(f.lit((1 << 33) - 1)).alias("place"),
    )  # fmt: skip
    # Of each partition: how many lines, and a checksum of which line is where.
    parts = ordered.groupBy("part").agg(
        f.count("value").alias("lines"),
        f.sum((f.col("place") + 1) * f.crc32(f.col("value").cast("binary"))).alias("checksum"),
    )
    found = sorted(parts.collect())
    return {"lines": sum(row["lines"] for row in found), "parts": [list(row)[1:] for row in found]}


def terasort(spark: SparkSession, data: Path) -> dict:
    """Sort lines of 100 bytes by the first 10, which all are random."""
    return sort(spark, data, 10)


def kmeans(spark: SparkSession, data: Path) -> dict:
    """Find the centres of points."""
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    points = spark.read.parquet(f"{data}/input")
    vectors = VectorAssembler(inputCols=points.columns, outputCol="features").transform(points)
    model = KMeans(k=CENTRES, maxIter=ITERATIONS, tol=0.0, seed=1).fit(vectors.select("features"))
    centres = sorted([float(x) for x in centre] for centre in model.clusterCenters())
    return {"cost": model.summary.trainingCost, "centres": centres}


def bayes(spark: SparkSession, data: Path) -> dict:
    """Learn which words are in documents of which class."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import HashingTF

    documents = spark.read.text(f"{data}/input").select(
        f.substring_index("value", "\t", 1).cast("double").alias("label"),
        f.split(f.substring_index("value", "\t", -1), " ").alias("words"),
    )
    counted = HashingTF(numFeatures=FEATURES, inputCol="words", outputCol="features")
    model = NaiveBayes().fit(counted.transform(documents).select("label", "features"))
    theta = model.theta.toArray()
    return {
        "prior": [float(x) for x in model.pi.toArray()],
        "likelihood": [float(x) for x in theta.sum(axis=1)],
        "largest": [float(x) for x in theta.max(axis=1)],
    }


def pagerank(spark: SparkSession, data: Path) -> dict:
    """Rank pages by which others link to them."""
    links = spark.read.parquet(f"{data}/input")
    degrees = links.groupBy("source").agg(f.count("target").alias("degree"))
    links = links.join(degrees.hint("shuffle_hash"), "source")
    ranks = degrees.select(f.col("source").alias("page"), f.lit(1.0).alias("rank"))

    def once(ranks: DataFrame, _: int) -> DataFrame:
        given = links.join(ranks.hint("shuffle_hash"), links["source"] == ranks["page"])
        return given.groupBy(f.col("target").alias("page")).agg(
            (1 - DAMPING + DAMPING * f.sum(f.col("rank") / f.col("degree"))).alias("rank")
        )

    ranks = reduce(once, range(ITERATIONS), ranks)
    return _row(
        ranks.agg(
            f.count("page").alias("pages"), f.sum("rank").alias("sum"),
            f.sum(f.col("rank") * f.col("rank")).alias("squares"), f.max("rank").alias("largest"),
        )
    )  # fmt: skip


def _row(frame: DataFrame) -> dict:
    return frame.collect()[0].asDict()


def views(spark: SparkSession, data: Path, query: str) -> None:
    """Name the tables of a query."""
    words = set(re.findall(r"\w+", query.lower()))
    for path in sorted(data.glob("*.parquet")):
        if path.stem in words:
            spark.read.parquet(str(path)).createOrReplaceTempView(path.stem)


def tpcds(spark: SparkSession, data: Path, number: int) -> tuple[list[str], list[list]]:
    """Return kinds of columns and rows of a query's result."""
    query = dialect.spark(number, json.loads((data / "queries.json").read_text())[str(number)])
    views(spark, data, query)
    frame = spark.sql(query)
    rows = [answers.plain(row) for row in frame.collect()]
    return [answers.kind(field.dataType.simpleString()) for field in frame.schema.fields], rows


JOBS = {one.__name__: one for one in (wordcount, sort, terasort, kmeans, bayes, pagerank)}


def arguments() -> argparse.ArgumentParser:
    """Return what is asked for on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", choices=[*JOBS, "tpcds"], required=True)
    parser.add_argument("--query", type=int, default=1, help="of TPC-DS")
    parser.add_argument("--data", type=Path, default=Path("/data"))
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--host", default="127.0.0.1", help="where executors reach the driver")
    parser.add_argument("--port", type=int, default=7100, help="of the driver; the next as well")
    parser.add_argument("--driver-memory", default="512m")
    parser.add_argument("--executor-memory", default="256m")
    parser.add_argument("--java", default=JAVA, help="options of the driver's Java")
    parser.add_argument("--reserved", type=int, default=32, help="MiB of each heap")
    parser.add_argument("--executors", type=int, default=1)
    parser.add_argument("--cores", type=int, default=1, help="of each executor")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--events", default="/tmp/events", help="directory; empty: no event log")
    parser.add_argument("--result", type=Path, default=Path("/tmp/result.json"))
    return parser


def main() -> None:
    """Do what the arguments say."""
    asked = arguments().parse_args()
    # Bytes that random records have in the network are those of the records.
    asked.compress = asked.job != "terasort"
    size = sum(path.stat().st_size for path in asked.data.glob("input*/*"))
    # A little more than a task's share: files are not of exactly the same size.
    asked.split = max(1 << 16, size // asked.partitions * 51 // 50) if size else 128 << 20
    began = time.monotonic()
    spark = session(asked)
    spark.sparkContext.setLogLevel("ERROR")
    there = time.monotonic()
    if asked.job == "tpcds":
        kinds, rows = tpcds(spark, asked.data, asked.query)
        result = {"query": asked.query, "rows": len(rows)}
        kept = {"query": asked.query, "kinds": kinds, "rows": rows}
    else:
        kept = result = JOBS[asked.job](spark, asked.data)
    ended = time.monotonic()
    java = spark.sparkContext._gateway.proc
    spark.stop()
    # Otherwise Java would end some time after this process.
    java.stdin.close()
    java.wait()
    asked.result.write_text(json.dumps(kept))
    shown = {key: value for key, value in result.items() if not isinstance(value, list)}
    print(
        json.dumps(
            {
                "job": asked.job, "job_ns": round((ended - there) * 1e9),
                "session_ns": round((there - began) * 1e9), "input_bytes": size, **shown,
            }
        ),
        flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
