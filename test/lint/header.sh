#!/bin/sh
# rz.h alone is a valid C99 and C11 file, and C++98 to C++20, and RZ_INIT raises no warning in any of them.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cat >"$work/use.c" <<'EOF'
#include <rz.h>
rz_generate_options use(void);
rz_generate_options use(void) { rz_generate_options o = RZ_INIT(rz_generate_options); return o; }
EOF
cp "$work/use.c" "$work/use.cc"
strict='-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -Iinclude'
bad=0
for cc in cc clang; do
  command -v "$cc" >/dev/null 2>&1 || continue
  for std in c99 c11 c17; do
    "$cc" -std=$std $strict "$work/use.c" || { echo "header: not $std for $cc"; bad=1; }
  done
done
for cxx in g++ clang++; do
  command -v "$cxx" >/dev/null 2>&1 || continue
  for std in c++98 c++11 c++17 c++20; do
    extra= # C++98 has neither stdint.h nor long long by the letter; every compiler in use has them
    [ $std != c++98 ] || extra=-Wno-long-long
    "$cxx" -std=$std $strict $extra "$work/use.cc" || { echo "header: not $std for $cxx"; bad=1; }
  done
done
exit $bad
