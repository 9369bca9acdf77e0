# picture.sh ROOT CATENA: the pictures of README are what scripts/picture draws.
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$1/scripts/picture" "$2" "$out"
for theme in light dark; do
    cmp "$out/layer-$theme.svg" "$1/docs/pictures/layer-$theme.svg" ||
        { echo "draw it anew: scripts/picture $2 docs/pictures"; exit 1; }
done
