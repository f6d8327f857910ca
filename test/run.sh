#!/bin/sh
# Runs test programs one after the other and counts: GoogleTest programs by their own report; any other program or
# script is one test, passed with status 0, skipped with 77. Ends with "N passed, N failed, N skipped".
#
#   test/run.sh BUILD PROGRAM ...
set -u
build=$1
shift
mkdir -p "$build/results"
passed=0 failed=0 skipped=0 failures=

count() { if [ -s "$2" ]; then grep -c "$1" "$2" || true; else echo 0; fi; }

# Those that only compute, for minutes, and measure no time: a shard of their tests for each processor.
shards_of() { case $1 in test-cuda) nproc ;; *) echo 1 ;; esac; }

# Adds what a shard of a GoogleTest program says about itself; one that ended early has no report and counts as one failure.
add_shard() {
  not_run=0
  if [ ! -s "$2" ] || { [ "$1" -ne 0 ] && [ "$(count '"failures": \[' "$2")" = 0 ]; }; then not_run=1; fi
  shard_failed=$(count '"failures": \[' "$2")
  now_skipped=$((now_skipped + $(count '"result": "SKIPPED"' "$2")))
  now_passed=$((now_passed + $(count '"result": "COMPLETED"' "$2") - shard_failed))
  now_failed=$((now_failed + shard_failed + not_run))
}

run_googletest() {
  results=$build/results/$1 shards=$(shards_of "$1") pids=
  now_passed=0 now_failed=0 now_skipped=0
  rm -f "$results".*
  for shard in $(seq 0 $((shards - 1))); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard timeout 900 "$2" \
      --gtest_output="json:$results.$shard.json" >"$results.$shard.log" 2>&1 &
    pids="$pids $!"
  done
  shard=0 status=0
  for pid in $pids; do
    wait "$pid"
    shard_status=$?
    [ $shard_status = 0 ] || status=$shard_status
    add_shard $shard_status "$results.$shard.json"
    shard=$((shard + 1))
  done
  cat "$results".*.log >"$results.log"
}

# What is worth reading of a failed program's output: the failing tests of a GoogleTest program, or the end.
explain() {
  awk '/^\[ RUN/ { block = "" } { block = block $0 "\n" } /^\[  FAILED  \].*ms\)$/ { printf "%s", block; block = "" }
       END { if (!/^ *[0-9]+ FAILED TEST/) printf "%s", block }' "$1" | tail -n 80 | sed 's/^/    /'
}

run_program() {
  timeout 900 "$2" "$build" >"$build/results/$1.log" 2>&1
  status=$?
  now_passed=0 now_failed=0 now_skipped=0
  case $status in 0) now_passed=1 ;; 77) now_skipped=1 ;; *) now_failed=1 ;; esac
}

for program; do
  name=$(basename "$program")
  start=$(date +%s)
  case $program in
    */test-*) run_googletest "$name" "$program" ;;
    *) run_program "$name" "$program" ;;
  esac
  seconds=$(($(date +%s) - start))
  printf '  %-28s %4d passed' "$name" "$now_passed"
  [ "$now_failed" = 0 ] || printf ', %d failed' "$now_failed"
  [ "$now_skipped" = 0 ] || printf ', %d skipped' "$now_skipped"
  printf '  (%d s)\n' "$seconds"
  [ "$now_skipped" = 0 ] || awk '/: Skipped$/ { getline; print "    skipped: " $0 } /^skipped: / { print "    " $0 }' \
    "$build/results/$name.log" | sort | uniq -c | sort -rn | head -n 3 | sed 's/^ *[0-9]* //'
  if [ "$now_failed" != 0 ]; then
    failures="$failures $name"
    echo "    status $status; $build/results/$name.log:"
    explain "$build/results/$name.log"
  fi
  passed=$((passed + now_passed)) failed=$((failed + now_failed)) skipped=$((skipped + now_skipped))
done

[ -z "$failures" ] || echo "failed:$failures"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
