#!/bin/sh
# Leave in /data archives of the classes that Java loads for a job and for the daemons of Spark,
# without which each Java takes twice the CPU time to start.
#
#   archive.sh JOB
set -eu
here=$(dirname "$0")
data=${DATA:-/data}

python3 "$here/jobs.py" --job "$1" --data "$data" --events "" --partitions 2 --result /tmp/result \
    "--java=-XX:+UseSerialGC -XX:ArchiveClassesAtExit=$data/job.jsa" >/tmp/log 2>&1 ||
    { tail -n 5 /tmp/log; exit 1; }

sh "$here/service.sh" master 127.0.0.1 >/tmp/master 2>&1 &
master=$!
TARE_SPARK_CLASSES=-XX:ArchiveClassesAtExit=$data/daemon.jsa \
    sh "$here/service.sh" worker 127.0.0.1 1 536870912 127.0.0.1 >/tmp/worker 2>&1 &
worker=$!
until grep -q "Successfully registered with master" /tmp/worker; do
    if ! kill -0 $worker || ! kill -0 $master; then
        tail -n 5 /tmp/master /tmp/worker
        exit 1
    fi
    sleep 0.2
done
kill $worker
wait $worker || true
kill $master
wait $master || true
for one in job daemon; do
    [ -f "$data/$one.jsa" ] || { echo "Java left no archive of classes: $one"; exit 1; }
done
