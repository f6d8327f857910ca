#!/bin/sh
# Without a path from the host, device "cuda" is the library beside librz: beside librz.so, or beside the program
# that librz.a is linked into, from wherever it is started. A plugin made for tests, which writes what the CPU
# writes, stands in for the real one.
set -u
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { echo "$1"; exit 1; }
model=$(pwd)/examples/models/stories.gguf
tell() { "$1" run "$model" -p "Once upon a time" -n 20 --temp 0 -q --device "$2" 2>"$work/errors"; }
device() { "$1" info "$model" 2>&1 | sed -n 's/^ *device  *//p'; }

mkdir "$work/bin" "$work/lib" "$work/static" "$work/elsewhere"
cp "$build/rz" "$work/bin/"
cp "$build/librz.so.1" "$work/lib/"
cc -o "$work/static/rz" "$build"/examples/rz/*.o "$build/librz.a" -lstdc++ -lm -pthread -ldl || wrong "no static rz"
expected=$(tell "$build/rz" cpu) || wrong "rz failed on the CPU: $(cat "$work/errors")"
[ ${#expected} -gt 20 ] || wrong "the CPU wrote only '$expected'"

# Not there: named with its full path, and no reason for "auto" to fail.
cd "$work/elsewhere" || exit 1
for place in lib static; do
  rz=$work/static/rz
  [ $place = static ] || rz=$work/bin/rz
  tell "$rz" cuda >/dev/null && wrong "there was a device before there was a plugin ($place)"
  grep -q "$work/.*librz_cuda.so: expected a device plugin, found no such file" "$work/errors" ||
    wrong "$place: $(cat "$work/errors")"
  case $(device "$rz") in cpu*) ;; *) wrong "auto is not the CPU but $(device "$rz")" ;; esac
  cp "$build/plugins/fake_device.so" "$work/$place/librz_cuda.so"
  [ "$(tell "$rz" cuda)" = "$expected" ] || wrong "$place: another text: $(cat "$work/errors")"
  [ "$(device "$rz")" = "fake 0" ] || wrong "auto is not the plugin but '$(device "$rz")'"
done

# By a name without a folder, and by a relative one.
PATH=$work/static:$PATH
[ "$(device rz)" = "fake 0" ] || wrong "found by PATH, the program does not find its neighbour"
cd "$work/static" || exit 1
[ "$(device ./rz)" = "fake 0" ] || wrong "found by ./, the program does not find its neighbour"

# A part of the model on the plugin.
told=$(rz run "$model" -p "Once upon a time" -n 20 --temp 0 -q --device cuda --gpu-layers 1 2>"$work/errors")
[ "$told" = "$expected" ] || wrong "one layer on the plugin: another text: $(cat "$work/errors")"
rz info "$model" --gpu-layers 1 2>&1 | grep -q '^ *device  *fake 0, 1 of [0-9]* layers; cpu' || wrong "rz info does not name both devices"

# Ceilings are those of the plugin.
rz bench "$model" -p 16 -n 8 -r 1 --device cuda 2>&1 | grep -q '4250' || wrong "bench does not show the plugin's ceilings"
