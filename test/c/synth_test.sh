#!/bin/sh
# rz-synth writes files that load, depend on the seed alone, and have the types that rz_quantize would choose.
set -u
build=$1
rz=$build/rz
synth=$build/rz-synth
[ -x "$synth" ] || { echo "skipped: $synth is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$1"; exit 1; }

# Every tiny shape loads, computes, and spells text with its vocabulary and back.
for shape in tiny-llama tiny-qwen2 tiny-qwen3 tiny-qwen3moe tiny-gemma3 tiny-phi3; do
  file=$work/$shape.gguf
  $synth $shape Q4_K_M "$file" >/dev/null || wrong "rz-synth $shape failed"
  $rz bench "$file" -p 8 -n 2 -r 1 >/dev/null || wrong "rz cannot run $shape"
  ids=$($rz tokenize "$file" --ids --no-bos "The old king smiled.") || wrong "no tokens by $shape"
  [ "$(echo "$ids" | $rz tokenize "$file" --decode)" = "The old king smiled." ] || wrong "$shape spells another text"
done

# A real shape, cut short: its name, and the options.
$synth qwen3-0.6b Q8_0 "$work/short.gguf" --layers 1 --vocab tiny --context 64 >/dev/null || wrong "options failed"
$rz info "$work/short.gguf" >"$work/info"
grep -q qwen3-0.6b "$work/info" || wrong "the shape's name is not in the file"
grep -qE 'context[a-z_ ]* 64' "$work/info" || wrong "--context was not kept: $(cat "$work/info")"

# The seed, and nothing else, decides the bytes.
$synth tiny-llama Q4_K_M "$work/again.gguf" >/dev/null
cmp -s "$work/tiny-llama.gguf" "$work/again.gguf" || wrong "one seed gave two files"
$synth tiny-llama Q4_K_M "$work/other.gguf" --seed 2 >/dev/null
cmp -s "$work/tiny-llama.gguf" "$work/other.gguf" && wrong "two seeds gave one file"

# The same types as rz_quantize: the same keys and sizes make files of the same size.
size() { wc -c <"$1"; }
$synth tiny-llama F32 "$work/f32.gguf" >/dev/null
for scheme in Q2_K Q3_K_M Q4_K_M Q8_0; do
  $rz quantize "$work/f32.gguf" "$work/by_rz.gguf" $scheme >/dev/null || wrong "rz quantize $scheme failed"
  $synth tiny-llama $scheme "$work/by_synth.gguf" >/dev/null
  [ "$(size "$work/by_rz.gguf")" = "$(size "$work/by_synth.gguf")" ] || wrong "$scheme differs from rz quantize"
done

# What it does not know it names.
$synth no-shape Q4_K_M "$work/x.gguf" 2>&1 | grep -q 'qwen3-0.6b' || wrong "the shapes are not listed"
$synth tiny-llama Q4_K_M "$work/x.gguf" --layers 0 2>&1 | grep -q -- '--layers: expected' || wrong "0 layers accepted"
[ ! -e "$work/x.gguf" ] || wrong "a refused request left a file"
exit 0
