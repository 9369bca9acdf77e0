#!/bin/sh
# keep_ptxas.sh FOLDER COMPILER ARGUMENT... -o OBJECT ...: compiles, and keeps what ptxas -v says in FOLDER, in a
# file named as the object without .o. A compiler launcher; everything else is said as ever.
folder=$1
shift
for word in "$@"; do
    [ "$before" != -o ] || object=$word
    before=$word
done
words=$folder/$(basename "$object" .o)
mkdir -p "$folder"
"$@" 2>"$words.part"
code=$?
grep -Ev '^ptxas info +: [^(]|bytes stack frame' "$words.part" >&2
[ $code != 0 ] || mv "$words.part" "$words"
exit $code
