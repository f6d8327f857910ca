#!/bin/sh
# The library reads no environment, prints nothing, never ends its host and changes no state of the process. cuda/bench
# is a program of its own.
found=$(find lib cuda ! -path 'cuda/bench/*' \( -name '*.cc' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) | xargs -r grep -nE \
  '[^_[:alnum:]](getenv|secure_getenv|setenv|putenv|abort|exit|_exit|quick_exit|terminate|setlocale|signal|sigaction|printf|vprintf|puts|putchar|perror|fesetround|feenableexcept|srand)[[:space:]]*\(|std::(cout|cerr|clog)|fprintf\((stdout|stderr)|<iostream>' |
  grep -vE ':[0-9]+:[[:space:]]*(//|\*)')
[ -z "$found" ] || { echo "manners: no place for these in a library:"; echo "$found"; exit 1; }
