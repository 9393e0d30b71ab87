#!/bin/sh
# Start MariaDB in the foreground, as the current user, with a Unix socket alone.
#
#   database.sh FOLDER     of its files
exec mariadbd --no-defaults --user=root --datadir="$1" --socket=/tmp/mysql.sock \
    --pid-file=/tmp/mysql.pid --tmpdir=/tmp --skip-networking --skip-name-resolve --skip-log-bin \
    --max-connections=200 --innodb-buffer-pool-size=16M --innodb-log-file-size=4M \
    --innodb-use-native-aio=0 --innodb-flush-method=fsync --key-buffer-size=1M \
    --aria-pagecache-buffer-size=4M --performance-schema=0
