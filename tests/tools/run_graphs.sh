# Runs graphs on the host executor: for each that agrees its last line, for any other the whole report.
# usage: sh run_graphs.sh CATENA OPTIONS GRAPH...
# Exit code 1: a run did not exit with 0.
catena=$1
options=$2
shift 2
failed=0
for graph; do
  # $options is a list of words.
  report=$("$catena" run "$graph" --host $options 2>&1)
  code=$?
  if [ $code -eq 0 ]; then
    echo "$graph $options: $(echo "$report" | tail -n 1)"
  else
    printf '%s\n%s %s: exit code %s\n' "$report" "$graph" "$options" $code
    failed=1
  fi
done
exit $failed
