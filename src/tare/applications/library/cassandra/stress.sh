#!/bin/sh
# Run cassandra-stress of a distribution of Cassandra, which is in /data/stress.
#
#   stress.sh find                                    fails if it is not there
#   stress.sh run HOST THREADS SECONDS WRITES KEYS    its own keys first; then the load, whose figures
#                                                     it prints; then the server's collections
set -eu
stress=/data/stress/tools/bin/cassandra-stress
if [ ! -x $stress ]; then
    echo "there is no tools/bin/cassandra-stress: --set stress=FOLDER of a distribution of Cassandra;" \
        "the application cassandra-closed needs none: its load generator is tare-cql, another one"
    exit 1
fi
[ "$1" = run ] || exit 0
host=$2 threads=$3 seconds=$4 writes=$5 keys=$6
export CASSANDRA_HOME=/data/stress

if ! $stress write n="$keys" cl=ONE -rate threads="$threads" -node "$host" >/tmp/keys.log 2>&1; then
    tail -n 5 /tmp/keys.log >&2
    exit 1
fi
# Without JMX, which the server does not have, cassandra-stress prints 0 collections.
collections() { /application/tare-cql collections --host "$host" | tr -c '0-9-' ' '; }
before=$(collections)
$stress mixed "ratio(write=$writes,read=$((100 - writes)))" duration="${seconds}s" cl=ONE \
    -pop dist="UNIFORM(1..$keys)" -rate threads="$threads" -node "$host"
# shellcheck disable=SC2046 # four numbers each
set -- $before $(collections)
# Where the server's log has dropped lines meanwhile, it is not known how many there were.
[ "${4:-}" = "${8:-none}" ] || exit 0
echo "{\"collections\":$(($5 - $1)),\"collection_ms\":$(($6 - $2)),\"collection_bytes\":$(($7 - $3))}"
