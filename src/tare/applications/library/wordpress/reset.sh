#!/bin/sh
# Replace the database's files of the previous trial by the prepared ones.
#
#   reset.sh FOLDER     in which the database's files are
set -eu
rm -rf "$1/mysql" /tmp/mysql.*
cp -r /data/mysql "$1/mysql"
chmod -R u+rwX "$1/mysql"
# Otherwise the kernel would write the copy to the disk during the trial.
sync -f "$1"
