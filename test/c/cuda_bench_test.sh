#!/bin/sh
# cuda-bench times every kernel, and rz bench a model on a CUDA device: here in the emulator and on tiny shapes, so that both
# are known to run before a device is at hand.
set -u
build=$1
bench=$build/cuda-bench-emulated
[ -x "$bench" ] || { echo "skipped: $bench is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$1"; exit 1; }

# Each kind of kernel in every format, as csv: ten columns, a time above 0, and a share where there is a cost.
$bench --tiny --csv >"$work/csv" 2>"$work/errors" || wrong "it failed: $(cat "$work/errors")"
[ "$(head -n 1 "$work/csv")" = kernel,us,spread,launches,bytes,operations,gb_s,tflop_s,ceiling,share ] ||
  wrong "another head: $(head -n 1 "$work/csv")"
sed 1d "$work/csv" | grep -vE '^launch/[a-z-]+,[0-9.]*[1-9][0-9.]*,([0-9.]+,){6},0\.0000$' |
  grep -vE '^[A-Za-z0-9_/-]+,[0-9.]*[1-9][0-9.]*,[0-9.]+,[1-9][0-9]*,[1-9][0-9]*,[0-9]+,[0-9.]+,[0-9.]+,(read|float),[0-9.]+$' &&
  wrong "rows without a time, a cost or a share"
for kernel in launch/plain launch/recorded-dependent few/tiny-gate-up/Q4_K/1 attention/f16/70/1 attention/q8_0/prompt-40 \
  norm/100/3 append/q8_0/1 sample/greedy/1 sample/penalized/2; do
  grep -q "^$kernel," "$work/csv" || wrong "no $kernel"
done
for format in F16 Q4_0 Q8_0 Q4_1 Q4_K Q5_K Q6_K; do
  [ "$(grep -c "^few/.*/$format/" "$work/csv")" = 4 ] && [ "$(grep -c "^many/.*/$format/" "$work/csv")" = 2 ] ||
    wrong "expected few rows of $format 4 times and many 2 times"
done

# The table, and a part of it.
$bench --tiny --filter launch/ >"$work/table" || wrong "--filter failed"
grep -qE '^emulator, .* ceilings: read [0-9.]+ GB/s, float [0-9.]+ TFLOP/s$' "$work/table" || wrong "no ceilings"
[ "$(grep -c '^| [a-z]*/' "$work/table")" = 4 ] || wrong "expected 4 launches, found: $(cat "$work/table")"

# What it does not know it names.
$bench --help | grep -q -- '--filter' || wrong "the help does not list --filter"
refused() { $bench "$@" 2>&1 >/dev/null | grep -q -- "$expected" || wrong "not refused as it should be: $*"; }
expected='--nonsense: no such option' && refused --nonsense
expected='--rounds: expected 1 to 1000, found "0"' && refused --rounds 0
expected='--rounds: expected 1 to 1000, found "many"' && refused --rounds many
expected='--filter: expected a value' && refused --filter
expected='--filter: expected a part of a kernel' && refused --tiny --filter no-such-kernel
expected='--device: expected a number below 1, found 7' && refused --device 7

# rz bench: tensor cores multiply floats whatever the weights are, so that is the ceiling of a prompt of quantized ones.
cp "$build/rz" "$build/librz.so.1" "$work/"
cp "$build/plugins/cuda_emulated.so" "$work/librz_cuda.so"
"$build/rz-synth" tiny-llama Q4_K_M "$work/tiny.gguf" --layers 1 >/dev/null || wrong "rz-synth failed"
"$work/rz" bench "$work/tiny.gguf" --device cuda -p 0 -n 0 -f 16 -r 1 -o csv >"$work/csv" || wrong "rz bench failed"
grep -qE '^ft16,[0-9.]*[1-9][0-9.]*,[0-9.]+,0,1,4,1,[1-9][0-9]*,[1-9][0-9]*,float,[1-9][0-9]*,[0-9.]*[1-9][0-9]*,,$' "$work/csv" ||
  wrong "another row: $(cat "$work/csv")"
exit 0
