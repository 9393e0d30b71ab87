# split PROCESSES SECONDS: divide /data/source.mp4 into parts, in /data.
# encode PROCESSES PRESET THREADS: encode all parts at once; print how many frames all came to.
set -eu
case $1 in
split)
    ffmpeg -hide_banner -loglevel error -nostats -i /data/source.mp4 -c copy -f segment \
        -segment_time "$(awk "BEGIN { print $3 / $2 }")" -reset_timestamps 1 /data/part-%03d.mp4
    ;;
encode)
    number=0 pids=
    for part in /data/part-*.mp4; do
        ffmpeg -hide_banner -nostdin -nostats -i "$part" -c:v libx265 -preset "$3" \
            -x265-params "pools=$4" -an -f null - 2>"/tmp/log-$number" &
        number=$((number + 1)) pids="$pids $!"
    done
    # One that fails makes all of it fail.
    for pid in $pids; do
        wait "$pid"
    done
    cat /tmp/log-*
    echo "processes $number"
    awk -F '[= ]+' '/^frame=/ { last[FILENAME] = $2 }
        END { for (name in last) sum += last[name]; print "frames " sum }' /tmp/log-*
    rm /tmp/log-*
    ;;
esac
