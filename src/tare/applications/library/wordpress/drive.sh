#!/bin/sh
# Runs JMeter against a blog, and leaves /tmp/requests.csv:
#   drive.sh closed HOST USERS RAMP
#   drive.sh open HOST RATE SECONDS SEED
#   drive.sh archive HOST PORT       leaves what Java loads in /data, to start sooner
set -eu
here=/application results=/tmp/requests.csv
kind=$1 host=$2
archive=-XX:SharedArchiveFile=/data/jmeter.jsa
# A request is given up after 300 s. JMeter is ready 2 s after its start.
wait=310 ready=2 requests=
schedule() { echo "pause($ready s) rate($1/s) random_arrivals($2 s) pause($3 s)"; }

case $kind in
closed)
    requests=$(($(cat /data/steps) * $3))
    set -- closed -Jusers="$3" -Jramp="$4"
    ;;
open)
    rate=$3 seconds=$4
    # To JMeter, 0 is no seed.
    seed=$(($5 % 1000000007 + 1))
    requests=$(perl $here/intended.pl count "$rate" "$seconds")
    set -- open -Jseed="$seed" -Jschedule="$(schedule "$rate" "$seconds" $wait)"
    ;;
archive)
    archive=-XX:ArchiveClassesAtExit=/data/jmeter.jsa
    requests=4
    set -- open -Jport="$3" -Jjmeterengine.nongui.port=0 -Jseed=1 -Jschedule="$(schedule 4 1 1)"
    ;;
esac
plan=$1
shift

# By name: the archive is only taken with the same files in the same order.
path=
for jar in $here/*.jar; do path=$path:$jar; done

rm -f $results
java "$archive" -Xshare:auto -Xlog:disable -Xlog:all=error:stderr -Xmx192m -Xss512k \
    -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.awt.headless=true \
    -Djava.util.prefs.userRoot=/tmp -Djmeter.home=/data/jmeter -cp "${path#:}" \
    org.apache.jmeter.NewDriver -n -d /data/jmeter -p $here/jmeter.properties -i $here/log4j2.xml \
    -j /tmp/jmeter.log -t "/data/$plan.jmx" -Jhost="$host" -Jresults=$results "$@" &
java=$!
trap 'kill $java 2> /dev/null' TERM INT

rows() { if [ -f $results ]; then grep -c '^[0-9]\{13\},' $results; else echo 0; fi; }
# It would wait for the end of its schedule with every request answered.
while [ "$plan" = open ] && kill -0 $java 2> /dev/null; do
    if [ "$(rows)" -ge "$requests" ]; then
        perl -MIO::Socket::INET -e '
            IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:4445")->send("StopTestNow")'
        break
    fi
    sleep 0.2
done
code=0
wait $java || code=$?
if [ $code != 0 ] || [ "$(rows)" != "$requests" ]; then
    echo "JMeter ended with $code after $(rows) of $requests requests" >&2
    tail -n 20 /tmp/jmeter.log >&2
    exit 1
fi
if [ "$kind" = open ]; then
    perl $here/intended.pl "$rate" "$seconds" "$seed" $ready $results
fi
