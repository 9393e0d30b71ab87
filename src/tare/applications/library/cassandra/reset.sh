#!/bin/sh
# Replace the files of the previous trial by the prepared ones.
#
#   reset.sh FOLDER     in which the database's files are
set -eu
rm -rf "$1/cassandra"
cp -r /data/cassandra "$1/cassandra"
# Otherwise the kernel would write the copy to the disk during the trial.
sync -f "$1"
