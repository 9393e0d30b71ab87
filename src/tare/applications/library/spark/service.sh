#!/bin/sh
# Start a daemon of Spark's own cluster, and stay in the foreground; it logs to stdout. Or run a job.
#
#   service.sh master HOST
#   service.sh worker HOST CORES BYTES MASTER             BYTES: the memory of its instance
#   service.sh job HOST CORES BYTES MASTER HOSTS WORD…    words of jobs.py
#
# The master listens on 7077, a worker on 7078; both have a web page (8080, 8081), which is how Spark
# starts them.
set -eu
role=$1 host=$2
shift 2
export SPARK_HOME="${SPARK_HOME:-/application/deps}"
# As `spark-class` sets it for executors: its jars are where they are.
export SPARK_SCALA_VERSION=2.12
export SPARK_LOCAL_DIRS=/tmp SPARK_WORKER_DIR=/tmp/work
mkdir -p "$SPARK_WORKER_DIR"

# The classes that `archive.sh` left; Java goes on without them where they do not fit.
classes=${TARE_SPARK_CLASSES:--XX:SharedArchiveFile=/data/daemon.jsa}
java="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xss512k -XX:MaxMetaspaceSize=64m"
# What `spark-class` would run, after another Java has put the command together.
run() {
    class=$1
    shift
    # shellcheck disable=SC2086 # one word an option
    exec java $java "-Xmx${TARE_SPARK_DAEMON_MEMORY:-48m}" "$classes" \
        "-Dlog4j2.configurationFile=file:$(dirname "$0")/log4j2.properties" \
        -cp "$SPARK_HOME/jars/*" "org.apache.spark.deploy.$class" "$@"
}
# Spark gives out whole CPUs. The heap of a host's executor is half of what its daemon leaves: Java has as
# much again for classes, code and buffers, and files between two stages are in memory as well. That of
# the driver, which is alone with Python, is what these leave.
resources() {
    cores=${1%%.*}
    [ "$cores" -ge 1 ] || cores=1
    executor=$((($2 / 1048576 - 256) / 2))
    [ "$executor" -le 1024 ] || executor=1024
    driver=$(($2 / 1048576 - 256))
    [ "$driver" -le 1024 ] || driver=1024
}
case $role in
master)
    run master.Master --host "$host" --port 7077 --webui-port 8080
    ;;
worker)
    resources "$1" "$2"
    run worker.Worker --host "$host" --port 7078 --webui-port 8081 \
        --cores "$cores" --memory "${executor}m" --work-dir "$SPARK_WORKER_DIR" "spark://$3:7077"
    ;;
job)
    resources "$1" "$2"
    master=$3 hosts=$4
    shift 4
    exec python3 /application/jobs.py --master "spark://$master:7077" --host "$host" \
        --executors "$(echo "$hosts" | tr , '\n' | wc -l)" --cores "$cores" \
        --executor-memory "${executor}m" --driver-memory "${driver}m" "$@"
    ;;
*)
    echo "service.sh: $role is no daemon of Spark, and no job" >&2
    exit 2
    ;;
esac
