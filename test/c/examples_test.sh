#!/bin/sh
# The examples run, and write text.
set -u
build=$1
for example in minimal stream game_loop "dlopen $build/librz.so.1"; do
  text=$("$build/examples/"$example 2>&1) || { echo "$example failed: $text"; exit 1; }
  [ ${#text} -gt 40 ] || { echo "$example wrote only: $text"; exit 1; }
  echo "$text"
done
