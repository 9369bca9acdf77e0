# readme.sh ROOT: the cpp block of README.md that starts with the example's first line is the example.
set -euo pipefail
cd "$1"
example=examples/engine_loop.cpp
first=$(head -n 1 "$example")
shown=$(awk -v first="$first" '/^```/ { inside = 0 } $0 == first { inside = 1 } inside' README.md)
if [ "$shown" != "$(cat "$example")" ]; then
    diff <(echo "$shown") "$example" || echo "README.md does not show $example: copy the file into its block."
    exit 1
fi
