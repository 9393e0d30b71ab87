#!/bin/sh
# Puts the database back as it was prepared.
set -eu
rm -rf /tmp/mysql /tmp/mysql.*
cp -r /data/mysql /tmp/mysql
chmod -R u+rwX /tmp/mysql
