#!/bin/sh
# The command-line tool does what its help says: each command once, on the story model, and Ctrl-C.
set -u
build=$1
rz=$build/rz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$1"; exit 1; }

# Help: of the tool, and of each command it lists; an unknown command or option is named.
$rz help >"$work/help" || wrong "rz help failed"
for command in run bench info tokenize perplexity quantize; do
  grep -q "^  $command " "$work/help" || wrong "rz help does not list $command"
  $rz help $command | grep -q "^usage: rz $command" || wrong "rz help $command has no usage"
done
$rz nonsense 2>&1 | grep -q nonsense || wrong "an unknown command is not named"
$rz run --nonsense 2>&1 | grep -q nonsense || wrong "an unknown option is not named"
$rz run -n many 2>&1 | grep -q "not understood" || wrong "a bad value is not refused"

# run: the same seed gives the same text, another one another text; greedy needs none; the last line has the figures.
tell() { $rz run -p "Once upon a time" -n 40 --ignore-eos "$@" 2>"$work/last"; }
one=$(tell --seed 3) && again=$(tell --seed 3) && other=$(tell --seed 4) || wrong "rz run failed: $(cat "$work/last")"
[ "$one" = "$again" ] || wrong "seed 3 gave two texts"
[ "$one" != "$other" ] || wrong "seeds 3 and 4 gave one text"
case $one in "Once upon a time"*) ;; *) wrong "the prompt is not repeated: $one" ;; esac
grep -q 'prompt [0-9]* tokens, [0-9.]* tok/s | written 40, [0-9.]* tok/s | first after [0-9.]* ms' "$work/last" ||
  wrong "the last line has no figures: $(cat "$work/last")"
echo "Once upon a time" | $rz run -n 5 -q >/dev/null || wrong "rz run does not read standard input"
$rz run -p Once -n 5 --json | grep -c '"token"' | grep -qx 5 || wrong "rz run --json has not one line a token"
$rz run no-such-file.gguf -p Once 2>&1 | grep -q "no-such-file.gguf" || wrong "a missing model is not named"

# tokenize, and back.
ids=$($rz tokenize --ids --no-bos "The old king smiled.") || wrong "rz tokenize failed"
[ "$(echo "$ids" | $rz tokenize --decode)" = "The old king smiled." ] || wrong "tokenize --decode is not the way back"
[ "$($rz tokenize --count --no-bos "The old king smiled.")" = "$(echo "$ids" | wc -w)" ] || wrong "--count differs"

# bench: csv rows begin with test and speed; json and md come too.
$rz bench -p 16,32 -n 8 -d 0,16 -b 1,2 -r 1 -o csv >"$work/csv" || wrong "rz bench failed"
[ "$(wc -l <"$work/csv")" = 8 ] || wrong "expected 8 csv rows, found: $(cat "$work/csv")"
head -n 1 "$work/csv" | grep -qE '^pp16,[0-9.]+,' || wrong "a csv row does not begin with pp16 and its speed"
[ "$(grep -cE '^tg8,[0-9.]+,[0-9.]+,16,2,' "$work/csv")" = 1 ] || wrong "no row of two timelines at depth 16"
grep -vE '^[pt][pg][0-9]+,([0-9.]+,){7}[1-9][0-9]*,(read|int8|float),[1-9][0-9]*,[0-9.]+,,$' "$work/csv" &&
  wrong "csv rows without bytes, operations, ceiling and share"
# Two timelines share the weights of a step: a token of theirs reads less than one alone, but the same is computed.
cost() { grep "^tg8,[^,]*,[^,]*,0,$1," "$work/csv" | cut -d, -f"$2"; }
[ "$(cost 2 8)" -lt "$(cost 1 8)" ] && [ "$(cost 2 9)" = "$(cost 1 9)" ] ||
  wrong "two timelines read $(cost 2 8) bytes and compute $(cost 2 9) a token, one $(cost 1 8) and $(cost 1 9)"
$rz bench -p 16 -n 4 -r 1 >"$work/md" || wrong "rz bench failed"
grep -qE '^ceilings at the start with [0-9]+ threads?: read [0-9.]+ GB/s, int8 [0-9.]+ [GT]OP/s, float [0-9.]+ [GT]FLOP/s$' "$work/md" ||
  wrong "no ceilings: $(cat "$work/md")"
grep -qE '^\| tg4 .* [0-9]+ % of +[0-9.]+ [GT](B|OP|FLOP)/s \|$' "$work/md" || wrong "no share: $(cat "$work/md")"

# bench -f: milliseconds to the first token, in every format, in place of tok/s; none unless asked for.
grep -q ft "$work/md" && wrong "first tokens that nobody asked for: $(cat "$work/md")"
$rz bench -p 0 -n 0 -f 16 -d 0,16 -r 1 -o csv >"$work/csv" || wrong "rz bench -f failed"
[ "$(grep -cE '^ft16,[0-9.]*[1-9][0-9.]*,[0-9.]+,(0|16),1,' "$work/csv")" = 2 ] && [ "$(wc -l <"$work/csv")" = 2 ] ||
  wrong "expected ft16 at two depths, found: $(cat "$work/csv")"
$rz bench -p 0 -n 0 -f 32 -r 1 --compare 'echo {test},1000 {prompt} {decode}' >"$work/md" || wrong "rz bench -f failed"
grep -qE '^\| ft32 .* [0-9.]+ ms \|.* [0-9]+ % of .* 1000.00 ms \| +[0-9.]+ \|$' "$work/md" || wrong "no first token: $(cat "$work/md")"
$rz bench -p 32 -n 0 -f 32 -r 1 -o json --compare 'echo {test},1000' >"$work/json" || wrong "rz bench -f -o json failed"
grep -q '"test":"ft32","first_token_ms":[0-9.]*,"spread".*"samples":\[[0-9.]*\],"compare":{"first_token_ms":1000.000' "$work/json" ||
  wrong "no first token: $(cat "$work/json")"
# Milliseconds: about as long as the prompt alone takes, within what a busy machine allows; ratio is above 1 for who is faster.
awk -F'"' '/"pp32"/ { split($0, a, /"tok_s":|,/); speed = a[3] }
           /"ft32"/ { split($0, a, /"first_token_ms":|,/); ms = a[3]; split($0, b, /"ratio":|,"samples"/); ratio = b[3] }
           END { taken = 32e3 / speed; exit !(ms > taken / 100 && ms < 100 * taken && ratio > 900 / ms && ratio < 1100 / ms) }' "$work/json" ||
  wrong "times that do not fit: $(cat "$work/json")"

# bench --compare: another program's figures in every format, and what it can do wrong.
other='echo warming up; echo "model {model} x | {test} @ d{depth} | 100.00 +- 1"; echo later {prompt} {decode} {threads}'
$rz bench -p 16 -n 4 -r 2 -o json --compare "$other" >"$work/json" || wrong "rz bench --compare failed"
if command -v python3 >/dev/null 2>&1; then
  python3 -m json.tool "$work/json" >/dev/null || wrong "no JSON: $(cat "$work/json")"
fi
for field in '"read_bytes_per_s":[1-9]' '"test":"pp16"' '"bytes_per_token":[1-9]' '"operations_per_token":[1-9]' \
  '"ceiling":"' '"ceiling_per_s":[1-9]' '"share":0*\.*[0-9]' '"compare":{"tok_s":100.000,' '"ratio":[0-9.]'; do
  grep -q "$field" "$work/json" || wrong "no $field in $(cat "$work/json")"
done
$rz bench -p 16 -n 4 -r 1 -o csv --compare '[ {decode} = 0 ] && echo pp16,100' 2>"$work/err" >/dev/null && wrong "a failed command passed"
grep -q 'exit status 1' "$work/err" || wrong "no exit status: $(cat "$work/err")"
$rz bench -p 16 -n 4 -r 1 -o csv --compare '[ {prompt} = 0 ] || echo pp16,100' >"$work/csv" || wrong "--compare failed"
grep -qE '^pp16,.*,100\.000,[0-9.]+$' "$work/csv" && grep -qE '^tg4,.*,,$' "$work/csv" ||
  wrong "expected a comparison for pp16 alone: $(cat "$work/csv")"
$rz bench -p 16 -n 0 -r 1 --compare 'echo pp160,7 tg16,8; echo pp16' 2>"$work/err" >&2 && wrong "no figure, but no failure"
grep -q 'no figure for pp16 .*: pp160,7 tg16,8' "$work/err" || wrong "the output is not shown: $(cat "$work/err")"
$rz bench -p 16 -n 0 -r 1 --compare 'kill -9 $$' 2>&1 | grep -q 'signal 9' || wrong "a killed command is not told"

# bench -o svg: a picture with both panels, the ceilings and what was compared, of speeds alone.
$rz bench -p 16 -n 4 -f 16 -d 0,16 -b 1,2 -r 1 -o svg --compare 'echo "{test},100" # <&>' >"$work/svg" || wrong "no svg"
if command -v xmllint >/dev/null 2>&1; then xmllint --noout "$work/svg" || wrong "the svg is not well-formed"; fi
[ "$(grep -c '<polyline' "$work/svg")" = 15 ] || wrong "expected 5 series of 3 lines: $(cat "$work/svg")"
grep -q 'read ceiling' "$work/svg" && grep -q '&lt;&amp;&gt;' "$work/svg" && tail -n 1 "$work/svg" | grep -qx '</svg>' ||
  wrong "the svg lacks a part: $(cat "$work/svg")"

# info, quantize, perplexity.
$rz info | grep -q 'architecture *llama' || wrong "rz info has no architecture"
$rz info --json | grep -q '"architecture":"llama"' || wrong "rz info --json has no architecture"
$rz quantize examples/models/stories.gguf "$work/q.gguf" Q4_0 >/dev/null || wrong "rz quantize failed"
$rz info "$work/q.gguf" | grep -q 'Q4_0' || wrong "the quantized file is not Q4_0"
$rz quantize examples/models/stories.gguf "$work/bad.gguf" Q99 2>/dev/null && wrong "scheme Q99 was accepted"
[ ! -e "$work/bad.gguf" ] || wrong "a failed quantize left a file"
tell --seed 5 -n 200 >"$work/story"
$rz perplexity "$work/story" >"$work/ppl" || wrong "rz perplexity failed"
grep -q '^perplexity [0-9.]* +- ' "$work/ppl" || wrong "no perplexity: $(cat "$work/ppl")"

# Ctrl-C ends a generation with its last line; the tool ends with 130.
$rz run -p Once -n 0 --ignore-eos >/dev/null 2>"$work/last" &
pid=$!
sleep 0.3
kill -INT $pid 2>/dev/null
wait $pid
status=$?
if [ $status = 130 ]; then
  grep -q cancelled "$work/last" || wrong "Ctrl-C left no last line: $(cat "$work/last")"
elif [ $status != 0 ]; then
  wrong "after Ctrl-C: status $status"
fi
exit 0
