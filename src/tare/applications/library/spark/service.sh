#!/bin/sh
# Start a daemon of Spark's own cluster, and stay in the foreground; it logs to stdout.
#
#   service.sh master HOST
#   service.sh worker HOST CORES MEMORY MASTER      MEMORY: of its executors, such as 256m
#
# The master listens on 7077, a worker on 7078; both have a web page (8080, 8081), which is how Spark
# starts them.
set -eu
role=$1 host=$2
shift 2
export SPARK_HOME="${SPARK_HOME:-/application/deps}"
# Otherwise it looks for the folders in which it is built.
export SPARK_SCALA_VERSION=2.12
export SPARK_CONF_DIR=/tmp/conf SPARK_LOCAL_DIRS=/tmp SPARK_WORKER_DIR=/tmp/work
mkdir -p "$SPARK_CONF_DIR" "$SPARK_WORKER_DIR"
cp "$(dirname "$0")/log4j2.properties" "$SPARK_CONF_DIR/"

heap=${TARE_SPARK_DAEMON_MEMORY:-64m}
java="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xss512k -XX:MaxMetaspaceSize=64m"
# It is what `spark-class` runs after a Java of its own has put this command together.
run() {
    class=$1
    shift
    # shellcheck disable=SC2086 # one word an option
    exec java $java "-Xmx$heap" $TARE_SPARK_CLASSES \
        -cp "$SPARK_CONF_DIR:$SPARK_HOME/jars/*" "org.apache.spark.deploy.$class" "$@"
}
: "${TARE_SPARK_CLASSES:=}"
# Spark gives out whole CPUs, and the heap of a host's executor: what its memory leaves beside both
# programs in Java, up to 1 GiB.
resources() {
    cores=${1%%.*}
    [ "$cores" -ge 1 ] || cores=1
    heap_mib=$(($2 / 1048576 - 300))
    [ "$heap_mib" -le 1024 ] || heap_mib=1024
    [ "$heap_mib" -ge 64 ] || heap_mib=64
}
case $role in
master)
    run master.Master --host "$host" --port 7077 --webui-port 8080
    ;;
worker)
    resources "$1" "$2"
    run worker.Worker --host "$host" --port 7078 --webui-port 8081 \
        --cores "$cores" --memory "${heap_mib}m" --work-dir "$SPARK_WORKER_DIR" "spark://$3:7077"
    ;;
job)
    resources "$1" "$2"
    master=$3 hosts=$4
    shift 4
    exec python3 /application/jobs.py --master "spark://$master:7077" --host "$host" \
        --executors "$(echo "$hosts" | tr , '\n' | wc -l)" --cores "$cores" \
        --executor-memory "${heap_mib}m" --driver-memory "${heap_mib}m" "$@"
    ;;
*)
    echo "service.sh: $role is no daemon of Spark, and no job" >&2
    exit 2
    ;;
esac
