#!/bin/sh
# keep_compiled.sh FOLDER NVCC ARGUMENT... -o OBJECT ...: compiles, and keeps the PTX, the machine code and what ptxas -v
# says in FOLDER, as FILE.ptx, FILE.cubin and FILE.cu for an object FILE.cu.o; of several architectures the first one's.
# A compiler launcher; everything else is said as ever.
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
    set -- "$kept.steps"/*.cubin
    mv "$1" "${kept%.cu}.cubin"
    mv "$kept.part" "$kept"
fi
rm -rf "$kept.steps"
exit $code
