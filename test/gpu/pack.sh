#!/bin/sh
# Packs what a machine with a GPU, and perhaps without a network, needs to test and measure there: programs, the data of
# their tests, the sources, and the libraries that building takes besides g++ and nvcc.
#
#   test/gpu/pack.sh BUILD KIT
set -eu
build=$1 kit=$2
largest_mb=60
rm -rf "$kit"
mkdir -p "$kit/bin" "$kit/data/golden" "$kit/data/models" "$kit/source" "$kit/libraries/lib" "$kit/libraries/include"

cp test/gpu/run "$kit/run"
cp "$build/test-gpu" "$build/cuda-bench" "$build/librz_cuda.so" "$build/rz" "$build/rz-synth" "$kit/bin/"
cp -P "$build"/librz.so* "$kit/bin/"
strip --strip-debug "$kit"/bin/test-gpu "$kit"/bin/cuda-bench "$kit"/bin/*.so* "$kit"/bin/rz "$kit"/bin/rz-synth 2>/dev/null || true

if [ -e ../shared/data/README.md ]; then
  cp ../shared/data/README.md "$kit/data/"
  sed -n 's/^ *{"\([a-z0-9_-]*\)", [0-9.e-]*\(, [0-9.e-]*\)\{0,1\}},$/\1/p' test/api/golden_test.cc | while read -r name; do
    cp "../shared/data/golden/$name".gguf "../shared/data/golden/$name".ids "../shared/data/golden/$name".*f32 "$kit/data/golden/"
  done
  cp -r ../shared/data/models/stories260K "$kit/data/models/"
fi

cp -r Makefile include lib cuda examples test "$kit/source/"
for library in pcre2-8 utf8proc gtest gtest_main; do
  cp "$(${CXX:-g++} -print-file-name=lib$library.a)" "$kit/libraries/lib/"
done
for header in pcre2.h utf8proc.h xxhash.h nlohmann gtest; do cp -rL "/usr/include/$header" "$kit/libraries/include/"; done

size_mb=$(du -sm "$kit" | cut -f1)
echo "$kit: $size_mb MB; copy it to a machine with a GPU and call ./run there"
[ "$size_mb" -lt "$largest_mb" ] || { echo "gpu-kit: expected under $largest_mb MB, found $size_mb" >&2; exit 1; }
