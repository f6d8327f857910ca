#!/bin/sh
# Every C and C++ file is as clang-format writes it.
files=$(find include lib cuda bindings examples test -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh')
unformatted=$(echo "$files" | xargs -r clang-format --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*clang-format-violations.*/\1/p' | sort | uniq -c)
[ -z "$unformatted" ] || { echo "format: not as clang-format -i would leave them (differences, file):"; echo "$unformatted"; exit 1; }
