#!/bin/sh
# Runs JMeter: drive.sh archive HOST PORT | drive.sh PLAN HOST RESULTS NAME=VALUE...
set -eu
here=/application

# By name, as the archive of classes is only taken with the same list in the same order.
path=
for jar in $here/*.jar; do path=$path:$jar; done

archive=-XX:SharedArchiveFile=/data/jmeter.jsa
if [ "$1" = archive ]; then
    archive=-XX:ArchiveClassesAtExit=/data/jmeter.jsa
    set -- $here/plan.jmx "$2" /tmp/archive.csv port="$3" users=2 ramp=0 seed=1 \
        'schedule=rate(4/s) random_arrivals(1 s) pause(2 s)'
fi
plan=$1 host=$2 results=$3
shift 3
for property; do
    shift
    set -- "$@" "-J$property"
done
rm -f "$results"
exec java "$archive" -Xshare:auto -Xlog:disable -Xlog:all=error:stderr -Xmx192m -Xss512k \
    -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true -Duser.home=/tmp \
    -Djmeter.home=/data/jmeter -cp "${path#:}" org.apache.jmeter.NewDriver -n \
    -d /data/jmeter -p $here/jmeter.properties -i $here/log4j2.xml -j /tmp/jmeter.log -t "$plan" \
    -Jhost="$host" -Jresults="$results" "$@"
