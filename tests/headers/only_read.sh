#!/bin/sh
# only_read.sh COMPILER ARGUMENT... -o OBJECT ...: reads a source and finds what is wrong, and writes an empty object, since
# nobody links it. A compiler launcher.
for word in "$@"; do
    [ "$before" != -o ] || object=$word
    before=$word
done
"$@" -fsyntax-only && : > "$object"
