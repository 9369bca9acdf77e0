# gpu_check.sh ROOT: what scripts/gpu-check makes of stages that pass, fail or are cut, with stand-ins for all that it runs.
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{scripts,cmake,include,instances,integrations,measure,build/gpu/instances/sm_90,evidence,generators,tools,tests,bench/probe,bin,build/gpu/bin,"a caller"}
cp "$1/scripts/gpu-check" "$root/scripts"
touch "$root/CMakeLists.txt" "$root"/build/gpu/instances/sm_90/{one,two}.cu
cd "$root"

# stand_in PATH [CODE]: notes that it was called, and with what; exits with what $PATH_exits says, or runs the code.
stand_in() {
    printf '#!/usr/bin/env bash\necho "%s $*" >>calls\n%s\n[[ " $FAILS " != *" %s="* ]] || exit "${FAILS##*=}"\n' \
        "${1##*/}" "${2:-}" "${1##*/}" >"$1"
    chmod +x "$1"
}
stand_in bin/cmake
stand_in bin/ctest
stand_in bin/compute-sanitizer 'echo "All tests passed (1 assertion in 1 test case)"
[[ "$*" != *"$SANITIZER_FINDS" ]] || exit 1'
stand_in build/gpu/bin/catena '[ -z "$TUNE_LEAVES" ] || echo "time is up: not everything is decided" >&2'
stand_in build/gpu/bin/bench_kernels 'echo "{}" >"$2"
[ -z "$BENCH_STAYS" ] || { echo $$ >running.new; mv running.new running; exec sleep 600; }'
stand_in bench/engine.py
stand_in scripts/llama-bench 'echo "its account"; echo "slower than a record:" >"${@: -3:1}"'
stand_in bench/page.py
stand_in bench/probe/run.py 'case $* in *measure*) exit ${MEASURES:-0} ;; esac'
export PATH=$root/bin:$PATH FAILS= SANITIZER_FINDS=none TUNE_LEAVES= BENCH_STAYS=

# expect CODE "TEXT..." STAGE...: the exit code of a call, and what its summary says.
expect() {
    local wanted=$1 code=0 text
    : >calls
    said=$(cd "a caller" && ../scripts/gpu-check out "${@:3}") || code=$?
    [ $code = "$wanted" ] || { echo "gpu-check ${*:3}: exit code $code for $wanted"; echo "$said"; exit 1; }
    while read -r text; do
        [[ "$said" = *"$text"* ]] || { echo "gpu-check ${*:3} does not say '$text', but:"; echo "$said"; exit 1; }
    done <<<"$2"
}
called() { [ "$(grep -c "^$1" calls)" = "$2" ] || { echo "$1 was not called $2 times:"; cat calls; exit 1; }; }

expect 1 "no stage nonsense" build nonsense
called "" 0
CATENA_MINUTES=1.5 expect 1 "CATENA_MINUTES is a whole number, not 1.5"
called "" 0
CATENA_MINUTES=0 expect 2 "build: no time was left"
called "" 0

FAILS=cmake=1 expect 1 "build: FAILED" build test
called ctest 0
FAILS=ctest=8 expect 1 $'build: passed\ntest: FAILED\nbench: passed' build test bench
FAILS=catena=2 expect 1 $'test: FAILED\ntune: FAILED' test tune
FAILS=ctest=124 expect 2 "test: unfinished, the same call goes on" test
FAILS=bench_kernels=2 expect 2 "branches: unfinished" branches
FAILS=page.py=2 expect 1 "plots: FAILED" plots

expect 0 "probe: passed" probe
called "cmake --build build/gpu-probe" 2
called "run.py measure $PWD/a caller/out/probe --build build/gpu-probe --seconds 23[0-9]" 1
called "run.py check" 1
rm "a caller/out/probe.passed"
FAILS=run.py=2 expect 2 "probe: unfinished" probe
MEASURES=1 FAILS=run.py=2 expect 1 "probe: FAILED" probe
MEASURES=2 expect 2 "probe: unfinished, the same call goes on" probe
called "run.py check" 1
FAILS=cmake=1 expect 1 "probe: FAILED" probe
called run.py 0

# Walks and speeds in llama.cpp: what got slower comes first. A call that was cut goes on.
expect 0 $'slower than a record:\nits account\nwalk: passed,\nllama: passed,' walk llama
[[ "$said" = *$'== walk\nslower than a record:\nits account'* ]] || { echo "what got slower is not the first: $said"; exit 1; }
called "llama-bench run $PWD/a caller/out/llama --what walk --minutes 8.[0-9]* --files [a-z/-]* --slower $PWD/a caller/out/walk.slower " 1
called "llama-bench run $PWD/a caller/out/llama --what llama" 1
expect 0 "walk: passed before with these sources" walk
expect 0 $'slower than a record:\nphases: passed,' phases
called "llama-bench run $PWD/a caller/out/phases --what phases" 1
expect 0 $'slower than a record:\nraces: passed,' races
called "llama-bench run $PWD/a caller/out/races --what races .* --catena build/gpu/bin/catena" 1
rm "a caller/out/walk.passed"
FAILS=llama-bench=2 expect 2 "walk: unfinished, the same call goes on" walk
FAILS=llama-bench=1 expect 1 "walk: FAILED" walk

# An interrupt ends what runs, too.
code=0
BENCH_STAYS=1 "$root/scripts/gpu-check" stopped bench >said &
until [ -e running ]; do sleep 0.1; done
kill $!
wait $! || code=$?
[ $code = 130 ] && grep -q "interrupted: the same call goes on" said || { echo "interrupted: exit code $code"; cat said; exit 1; }
! kill -0 "$(cat running)" 2>/dev/null || { echo "an interrupt leaves bench_kernels running"; exit 1; }

SANITIZER_FINDS=two expect 1 $'did not pass: '"$PWD"$'/a caller/out/sanitize/memcheck.sample.two.log\n4 of 8 runs' sanitize
SANITIZER_FINDS="[sample] -c two" expect 1 "5 of 8 runs" sanitize
expect 0 "8 of 8 runs" sanitize
called compute-sanitizer 3

TUNE_LEAVES=1 expect 2 "tune: unfinished" tune
expect 0 $'build: passed before with these sources\ntest: passed,\nplots: passed'
called cmake 0
expect 0 $'tune: passed before with these sources\nplots: passed,'
[ ! -e "a caller/out/bench.before.json" ] || { echo "a record was put aside though nothing had changed"; exit 1; }
echo changed >CMakeLists.txt
expect 0 $'build: passed,\nbench: passed,' build bench
[ -e "a caller/out/bench.before.json" ] || { echo "a record of other sources was gone on with"; exit 1; }
