# format.sh ROOT: hand-written C++ and CUDA looks as clang-format 14 leaves it. Exit code 77: that is not here, and others
# format differently.
set -euo pipefail
cd "$1"
[[ "$(clang-format --version 2>&1 || true)" = *"version 14."* ]] || { echo "needs clang-format 14"; exit 77; }
mapfile -t files < <(find include evidence generators measure tools tests bench examples integrations -type f \( -name '*.[ch]pp' -o -name '*.cu*' \) \
    -exec grep -L "^// Generated from" {} +)
[ ${#files[@]} -gt 50 ]
clang-format --dry-run -Werror "${files[@]}" || { echo "run: clang-format -i on these files"; exit 1; }
