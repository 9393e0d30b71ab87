#!/bin/sh
# Leave in /data what every trial begins with: the keys, flushed, and an archive of the classes that
# are loaded until the first requests, without which Java takes a quarter more CPU time to start.
#
#   prepare.sh KEYS
set -eu
address=127.0.0.1

sh /application/start.sh $address /data/cassandra -XX:ArchiveClassesAtExit=/data/classes.jsa \
    >/tmp/log 2>&1 &
server=$!
until grep -q "Startup complete" /tmp/log; do
    if ! kill -0 $server 2>/dev/null; then
        tail -n 5 /tmp/log
        exit 1
    fi
    sleep 0.2
done
/application/tare-cql load --host $address --keys "$1"
/application/tare-cql run --host $address --keys "$1" --rate 200 --seconds 2 --out /tmp/requests.csv
# It flushes everything before it ends.
kill $server
wait $server || true
if [ ! -f /data/classes.jsa ]; then
    echo "Java left no archive of classes"
    tail -n 5 /tmp/log
    exit 1
fi
cd /data/cassandra
rm -rf commitlog saved_caches hints cdc_raw
