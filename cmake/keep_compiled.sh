#!/bin/sh
# keep_compiled.sh FOLDER NVCC ARGUMENT... -o OBJECT ...: compiles, and keeps the PTX and what ptxas -v says in FOLDER,
# as FAMILY.ptx and FAMILY.cu for an object FAMILY.cu.o; of several architectures the PTX of the first. A compiler launcher; everything else is said as ever.
folder=$1
shift
for word in "$@"; do
    [ "$before" != -o ] || object=$word
    before=$word
done
kept=$folder/$(basename "$object" .o)
rm -rf "$kept.steps"
mkdir -p "$kept.steps"
"$@" --keep --keep-dir "$kept.steps" 2>"$kept.part"
code=$?
grep -Ev '^ptxas info +: [^(]|bytes stack frame' "$kept.part" >&2
if [ $code = 0 ]; then
    set -- "$kept.steps"/*.ptx
    mv "$1" "${kept%.cu}.ptx"
    mv "$kept.part" "$kept"
fi
rm -rf "$kept.steps"
exit $code
