# pages.sh COMMAND FOLDER: what `catena pages` writes. The man pages are sound, name every subcommand and option that
# --help names, and bash completes by catena.bash.
set -eu
command=$1
folder=$2
rm -rf "$folder"
"$command" pages "$folder"

wrong() {
    echo "pages.sh: $*" >&2
    exit 1
}
if command -v mandoc > /dev/null; then
    mandoc -T lint -W warning "$folder"/*.1 | grep -v 'missing date' && wrong "mandoc has the complaints above"
fi
for page in "$folder"/catena-*.1; do
    sub=$(basename "$page" .1)
    sub=${sub#catena-}
    for option in $("$command" "$sub" --help | grep -o '^  --[a-z-]*' | sort -u) -h,--help; do
        grep -qF -- "$(printf %s "$option" | sed 's/-/\\-/g')" "$page" || wrong "$page lacks $option"
    done
    grep -q "^\.BR catena.-$sub (1)" "$folder/catena.1" || wrong "catena.1 lacks $sub"
done

cd "$folder"
touch graph.json
. ./catena.bash
# completed WORD...: what the last word may become.
completed() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _catena
    echo "${COMPREPLY[*]-}"
}
# expect WORDS WANTED: all of the words of WANTED are among what is offered.
expect() {
    local offered word
    offered=" $(completed $1 "${3-}") "
    for word in $2; do
        case $offered in *" $word "*) ;; *) wrong "after '$1 ${3-}' $word is not among:$offered" ;; esac
    done
}
expect catena "bench coverage diff doctor explain instances pages run tune verify --version"
expect catena explain ex
expect "catena explain" "graph.json" gr
expect "catena explain" "--arch --json --output --html" --
expect "catena explain --arch" "sm_90 native" ""
expect "catena explain --output" "graph.json" ""
expect "catena bench" "--matmul --markdown" --ma
[ "$(completed catena bench --ep)" = --epilogue ] || wrong "bench --ep is not --epilogue alone"
[ -z "$(completed catena run --seed "")" ] || wrong "a seed is completed"
