#!/bin/sh
# The script that tests and measures on a machine with a GPU, among programs that only say what they would have measured:
# its order, its summary with the bars, and its exit status.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$1"; [ ! -e "$work/out" ] || cat "$work/out"; exit 1; }
run=$work/run
mkdir -p "$work/bin" "$work/source" "$work/tools"
cp test/gpu/run "$run"
program() { cat >"$work/$1" && chmod +x "$work/$1"; }

program bin/test-gpu <<'END'
#!/bin/sh
[ "${1-}" = --gtest_list_tests ] || echo "[  PASSED  ] 123 tests."
[ ! -e ../fail ] || exit 1
END
program bin/rz-synth <<'END'
#!/bin/sh
echo "$1 $2" >"$3"
END
program bin/cuda-bench <<'END'
#!/bin/sh
echo kernel,us,spread,launches,bytes,operations,gb_s,tflop_s,ceiling,share
echo launch/plain,1.540,0.0500,256,0,0,0.00,0.0000,,0.0000
echo few/8b-down/Q4_K/1,10.000,0.0100,256,33000000,117440512,3300.00,11.7441,read,0.7857
END
# The rows of the bars: 1B meets its goal, 8B its first bar alone, and the first token of 2048 misses both.
program bin/rz <<'END'
#!/bin/sh
[ "$1" = bench ] || exit 0
row() { echo "$1,$2,0.0100,$3,$4,132,5,4900000000,16000000000,read,4200000000000,0.8000,,"; }
case $* in
  *1b*) row tg128 3400 0 1 ;;
  *"-b 1,8,32"*) row tg64 9000 512 32; row tg64 99999 512 8 ;;
  *) row tg128 620 0 1; row pp2048 21000 0 1; row ft128 11.5 0 1; row ft2048 111 0 1 ;;
esac
END
program tools/compute-sanitizer <<'END'
#!/bin/sh
[ "$1 $3" = "--tool --error-exitcode" ] || exit 9
echo "$*"
[ "$2" != racecheck ] || [ ! -e race ] || exit "$4"
END
PATH=$work/tools:$PATH

# All of it.
"$run" >"$work/out" 2>&1 || wrong "it failed"
told() { grep -qF -- "$1" "$work/results/summary.txt" || wrong "the summary lacks: $1"; }
told "[  PASSED  ] 123 tests."
for step in test memcheck-kernels memcheck-tiny-qwen3moe racecheck-q8_0 kernels bench-1b bench-8b bench-8b-batch; do
  told "ok      $step,"
done
told "| 1B Q4_K_M, decoding | 3400.0 tok/s | 2000 tok/s | yes | 3300 | yes |"
told "| 8B Q4_K_M, decoding | 620.0 tok/s | 600 tok/s | yes | 790 | no |"
told "| 8B Q4_K_M, prompt of 2048 | 21000.0 tok/s | 20000 tok/s | yes | 36000 | no |"
told "| 8B Q4_K_M, 32 timelines at context 512 | 9000.0 tok/s | 8000 tok/s | yes | 13000 | no |"
told "| 8B Q4_K_M, first token, prompt of 128 | 11.5 ms | 12 ms | yes | 6 | no |"
told "| 8B Q4_K_M, first token, prompt of 2048 | 111.0 ms | 110 ms | no | 60 | no |"
told "ft128   depth    0,  1 together:     11.50 ms   , spread  1.0 %,  80 % of 4200 GB/s (read)"
[ "$(tail -n 1 "$work/results/summary.txt")" = "all passed" ] || wrong "it does not end with its result"
grep -qx '| few/8b-down/Q4_K/1 | 10.00 | 1.0 % | 3300 | 11.74 | 79 % of read |' "$work/results/kernels.md" &&
  grep -qx '| launch/plain | 1.54 | 5.0 % | 0 | 0 | - |' "$work/results/kernels.md" || wrong "another table of kernels"

# What fails is told, the rest goes on, and the status says so; what was not measured has no figure.
touch "$work/race"
"$run" sanitize kernels >"$work/out" 2>&1 && wrong "a race passed"
told "FAILED  racecheck-kernels: status 3"
told "ok      kernels"
rm "$work/race"
program bin/rz <<'END'
#!/bin/sh
echo "no device" >&2
exit 1
END
"$run" bench >"$work/out" 2>&1 && wrong "a failed measurement passed"
told "| 1B Q4_K_M, decoding | not measured |"
grep -q "no device" "$work/out" || wrong "the reason is not shown"
[ "$(tail -n 1 "$work/results/summary.txt")" = "something failed" ] || wrong "it does not end with its result"
touch "$work/fail"
"$run" test >"$work/out" 2>&1 && wrong "failed tests passed"
"$run" nonsense >"$work/out" 2>&1 && wrong "an unknown step passed"
exit 0
