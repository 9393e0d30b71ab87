#!/bin/sh
# Starts Apache in the foreground: web.sh ADDRESS:PORT CORES MEMORY_BYTES
set -eu
address=$1 cores=$2 memory=$3

# A worker takes up to 20 MB of its own, and MariaDB, PHP's compiled files and Apache itself 120 MB.
# More than 16 workers a core only compete for it; 150 is Debian's own limit.
WORKERS=$(awk -v cores="$cores" -v memory="$memory" 'BEGIN {
    n = int((memory - 120e6) / 20e6)
    if (n > 16 * cores) n = int(16 * cores)
    if (n > 150) n = 150
    print n < 2 ? 2 : n
}')
ADDRESS=$address
# PHP reads its own folder of settings, and php.ini here.
PHP_INI_SCAN_DIR=:/application
export WORKERS ADDRESS PHP_INI_SCAN_DIR
mkdir -p /tmp/apache

# Apache refuses to serve as root. Where there is no other user, it is nobody in a namespace.
as=
if [ "$(id -u)" = 0 ]; then
    chmod 0777 /tmp/apache
    as='setpriv --reuid=33 --regid=33 --clear-groups'
    $as true 2> /dev/null || as='unshare --user'
fi
rm -f /tmp/apache/*
echo "web: $WORKERS workers"
exec $as apache2 -f /application/httpd.conf -D FOREGROUND
