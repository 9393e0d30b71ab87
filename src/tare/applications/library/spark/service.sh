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
# As `spark-class` sets it for those who start further programs: its jars are where they are.
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
case $role in
master)
    run master.Master --host "$host" --port 7077 --webui-port 8080
    ;;
worker)
    run worker.Worker --host "$host" --port 7078 --webui-port 8081 \
        --cores "$1" --memory "$2" --work-dir "$SPARK_WORKER_DIR" "spark://$3:7077"
    ;;
*)
    echo "service.sh: $role is no daemon of Spark" >&2
    exit 2
    ;;
esac
