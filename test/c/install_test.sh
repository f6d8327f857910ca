#!/bin/sh
# `make install` puts down what a host program needs: minimal.c builds against it by hand (shared and static), by
# pkg-config and by CMake, and each of the programs writes text.
set -eu
build=$1
here=$(pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS 2>/dev/null || true
make -s BUILD="$build" DESTDIR="$root" PREFIX=/opt/rz install
prefix=$root/opt/rz

for file in include/rz.h lib/librz.so lib/librz.so.1 lib/librz.a lib/pkgconfig/rz.pc lib/cmake/rz/rzConfig.cmake \
  lib/cmake/rz/rzConfigVersion.cmake bin/rz share/rz/stories.gguf; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
[ "$(readlink "$prefix/lib/librz.so")" = librz.so.1 ] || { echo "librz.so does not lead to librz.so.1"; exit 1; }

model=$here/examples/models/stories.gguf
export LD_LIBRARY_PATH="$prefix/lib"
writes() {
  text=$("$1" "$model" "Once upon a time") || { echo "$1 failed"; exit 1; }
  [ ${#text} -gt 20 ] || { echo "$1 wrote only '$text'"; exit 1; }
}

cd "$root"
cc -std=c99 "$here/examples/minimal.c" -I"$prefix/include" -L"$prefix/lib" -lrz -o by_hand
writes ./by_hand
cc -std=c99 "$here/examples/minimal.c" -I"$prefix/include" "$prefix/lib/librz.a" -lstdc++ -lm -pthread -ldl -o static
LD_LIBRARY_PATH='' writes ./static
(cd / && LD_LIBRARY_PATH='' "$prefix/bin/rz" run -p "Once" -n 20 --temp 0) >/dev/null

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  # shellcheck disable=SC2046
  cc -std=c99 "$here/examples/minimal.c" $(pkg-config --define-variable=prefix="$prefix" --cflags --libs rz) -o by_pc
  writes ./by_pc
else
  echo "pkg-config is not here: that part was left out"
fi

if command -v cmake >/dev/null; then
  mkdir cmake
  cat >cmake/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.10)
project(minimal C)
find_package(rz 1.0 REQUIRED)
add_executable(shared $here/examples/minimal.c)
target_link_libraries(shared PRIVATE rz::rz)
add_executable(alone $here/examples/minimal.c)
target_link_libraries(alone PRIVATE rz::static)
EOF
  cmake -S cmake -B cmake/out -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; exit 1; }
  cmake --build cmake/out >cmake.log 2>&1 || { cat cmake.log; exit 1; }
  writes cmake/out/shared
  writes cmake/out/alone
else
  echo "cmake is not here: that part was left out"
fi
