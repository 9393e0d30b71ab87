#!/bin/sh
# Start Cassandra, and stay in the foreground.
#
#   start.sh ADDRESS DIRECTORY OPTION…     where clients connect; where its data are; of Java
#
# The heap is half of TARE_MEMORY_BYTES, at most 2 GiB, as data, threads and code need the rest.
set -eu
address=$1 data=$2
shift 2

{ cat /application/cassandra.yaml; echo "rpc_address: $address"; } >/tmp/cassandra.yaml

heap=$((${TARE_MEMORY_BYTES:-4294967296} / 2 / 1048576))
[ "$heap" -le 2048 ] || heap=2048

# Whole processors, rounded up: what Java sees of a quota is not the same on every platform.
cores=${TARE_CORES:-1}
case $cores in
*.*[1-9]*) cores=$((${cores%%.*} + 1)) ;;
*) cores=${cores%%.*} ;;
esac
# What collects beside the program needs a processor to do so.
[ "$cores" -ge 2 ] && collector=G1 || collector=Serial

# As conf/jvm17-server.options of its distribution has them.
access="
    --add-exports=java.base/jdk.internal.misc=ALL-UNNAMED
    --add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED
    --add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED
    --add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED
    --add-exports=java.sql/java.sql=ALL-UNNAMED
    --add-exports=java.base/java.lang.ref=ALL-UNNAMED
    --add-exports=java.base/jdk.internal.ref=ALL-UNNAMED
    --add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED
    --add-opens=java.base/java.lang.module=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.loader=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.ref=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.math=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.module=ALL-UNNAMED
    --add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED
    --add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED
    --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
    --add-opens=java.base/java.io=ALL-UNNAMED
    --add-opens=java.base/java.nio=ALL-UNNAMED
    --add-opens=java.base/java.lang=ALL-UNNAMED
    --add-opens=java.base/java.util=ALL-UNNAMED
    --add-opens=java.base/java.util.concurrent=ALL-UNNAMED
    --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED
    --add-opens=java.base/java.net=ALL-UNNAMED"

# In the order of names, on which an archive of classes depends.
classes=
for jar in /application/*.jar; do
    classes=$classes:$jar
done

# It would lock the whole heap where it may, which takes seconds and which root alone may.
ulimit -l 0
without_locking="setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock"
$without_locking true 2>/dev/null || without_locking=

# shellcheck disable=SC2086 # one word an option
exec $without_locking java $access "-Xms${heap}m" "-Xmx${heap}m" "-XX:+Use${collector}GC" \
    "-XX:ActiveProcessorCount=$cores" -XX:+ExitOnOutOfMemoryError -XX:+PerfDisableSharedMem \
    -Duser.home=/tmp \
    -Dlogback.configurationFile=file:/application/logback.xml \
    -Dcassandra.config=file:/tmp/cassandra.yaml -Dcassandra.storagedir="$data" \
    -Dcassandra-foreground=yes \
    -Dcassandra.ring_delay_ms=0 -Dcassandra.skip_wait_for_gossip_to_settle=0 \
    -Dcassandra.superuser_setup_delay_ms=0 -Dcassandra.shutdown_announce_in_ms=0 \
    -Dcassandra.memtable.row_overhead_size=180 \
    "$@" -cp "${classes#:}" org.apache.cassandra.service.CassandraDaemon
