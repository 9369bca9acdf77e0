# sources.sh ROOT: hand-written sources are at most 450 lines and hold no word
# that marks unfinished work.
set -euo pipefail
cd "$1"
mapfile -t files < <(find CMakeLists.txt cmake include evidence generators measure tools tests bench examples integrations scripts -type f \
    \( -name '*.[ch]pp' -o -name '*.cu*' -o -name '*.cmake' -o -name 'CMakeLists.txt' -o -path 'scripts/*' \))
[ ${#files[@]} -gt 50 ]
bad=$(
    awk 'FNR > 450 { print FILENAME ": longer than 450 lines, make it two files"; nextfile }' "${files[@]}"
    grep -nwE 'TO''DO|FIX''ME|XX''X|HA''CK' "${files[@]}" || test $? = 1
)
echo "$bad"
[ -z "$bad" ]
