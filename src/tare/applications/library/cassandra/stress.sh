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
# Prints the sums over the collections in the server's log, and the oldest line of the log.
collections() { /application/tare-cql collections --host "$host" | tr -c '0-9-' ' '; }
before=$(collections)
$stress mixed "ratio(write=$writes,read=$((100 - writes)))" duration="${seconds}s" cl=ONE \
    -pop dist="UNIFORM(1..$keys)" -rate threads="$threads" -node "$host"
# With another oldest line, the log has lost lines: the number of collections is unknown.
echo "$before $(collections)" | awk 'NF == 10 && $5 == $10 {
    n = $6 - $1; ms = $7 - $2; squares = $8 - $3; bytes = $9 - $4
    printf "{\"collections\":%d,\"collection_ms\":%d,\"collection_bytes\":%.0f", n, ms, bytes
    if (n > 0) {
        mean = ms / n
        variance = squares / n - mean * mean
        printf ",\"collection_mean_ms\":%.3f", mean
        printf ",\"collection_sd_ms\":%.3f", (variance > 0 ? sqrt(variance) : 0)
    }
    print "}"
}'
