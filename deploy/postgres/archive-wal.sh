#!/bin/sh
# archive_command = '/opt/kvitok/deploy/postgres/archive-wal.sh /archive %p %f'
#
# Succeeds only once the file is on the disk under its name: PostgreSQL then forgets the segment. A
# file that is there already is right only if it is the same: two servers must not share an archive.
set -eu
archive=$1 segment=$2 name=$3
if [ -e "$archive/$name" ]; then
  exec cmp -s "$segment" "$archive/$name"
fi
cp "$segment" "$archive/.$name.$$"
sync "$archive/.$name.$$"
mv "$archive/.$name.$$" "$archive/$name"
sync "$archive"
