#!/bin/sh
# Leaves in /data: the database with a blog in it, the site, the plans of JMeter, its home and classes.
set -eu
here=/application

visit=/data/visit
if [ ! -e $visit ]; then visit=$here/visit.har; fi
perl $here/visit.pl $visit $here /data

# JMeter's own settings are in a jar.
mkdir -p /data/jmeter/lib/ext /data/jmeter/lib/junit
perl -MIO::Uncompress::Unzip -e '
    my $zip = IO::Uncompress::Unzip->new($ARGV[0]) or die "no zip: $ARGV[0]\n";
    do {
        my $name = $zip->getHeaderInfo->{Name};
        if ($name =~ m{^bin/(saveservice|upgrade)\.properties$}) {
            mkdir "/data/jmeter/bin";
            open my $file, ">", "/data/jmeter/$name" or die "$name: $!\n";
            print $file do { local $/; <$zip> };
        }
    } while $zip->nextStream > 0;
' $here/ApacheJMeter_config-*.jar

# The site is the package, with another wp-config.php.
mkdir /data/site
cp /usr/share/wordpress/*.php /data/site/
ln -s /usr/share/wordpress/wp-admin /usr/share/wordpress/wp-includes \
    /usr/share/wordpress/wp-content /data/site/
cp $here/wp-config.php /data/site/

# The database is made in memory, and then copied.
user=
if [ "$(id -u)" = 0 ]; then user=--user=root; fi
mariadb-install-db --no-defaults $user --datadir=/tmp/mysql --skip-test-db --skip-name-resolve \
    --auth-root-authentication-method=normal --innodb-log-file-size=4M --innodb-use-native-aio=0 \
    > /tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
started=$(date +%s)
sh $here/database.sh /tmp/mysql > /tmp/database.log 2>&1 &
database=$!
until mariadb-admin --no-defaults --socket=/tmp/mysql.sock --user=root ping > /dev/null 2>&1; do
    if [ $(($(date +%s) - started)) -gt 60 ]; then cat /tmp/database.log; exit 1; fi
    sleep 0.1
done
mariadb --no-defaults --socket=/tmp/mysql.sock --user=root <<'SQL'
create database wordpress character set utf8mb4;
create user wordpress@localhost identified by 'wordpress';
grant all on wordpress.* to wordpress@localhost;
SQL
php $here/install.php

# One run of JMeter finds what it loads, and that the pages are there. The address is one of this
# machine's own that nobody else has. Apache ends its whole process group.
address=127.84.65.82 port=28080
setsid sh $here/web.sh $address:$port 1 200000000 &
web=$!
until perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new($ARGV[0])' $address:$port; do
    kill -0 $web
    if [ $(($(date +%s) - started)) -gt 90 ]; then cat /tmp/apache/error.log; exit 1; fi
    sleep 0.1
done
sh $here/drive.sh archive $address $port
kill $web
wait $web || true
mariadb --no-defaults --socket=/tmp/mysql.sock --user=root \
    -e 'set global innodb_fast_shutdown = 0; shutdown'
wait $database
cp -r /tmp/mysql /data/mysql
