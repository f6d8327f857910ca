#!/bin/sh
# Floors of the house: a file includes its own floor and lower ones. lib/cpu and cuda are backends beside each other and
# never meet; rooms of one floor otherwise may. Examples and bindings see rz.h alone, lib/api alone in lib sees it.
find lib cuda bindings examples -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' | xargs -r awk '
  BEGIN {
    n = split("base 0 format 1 quant 1 text 1 model 2 backend 3 cpu 4 cuda 4 engine 5 api 6", rows, " ")
    for (i = 1; i < n; i += 2) floor[rows[i]] = rows[i + 1]
  }
  function wrong(why) { printf "floors: %s:%d: %s: %s\n", FILENAME, FNR, why, $0; bad = 1 }
  /^[ \t]*#[ \t]*include/ {
    split(FILENAME, folder, "/")
    room = folder[1] == "lib" ? folder[2] : folder[1]
    name = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
    sub(/[">].*/, "", name)
    quoted = /include[ \t]*"/
    if (name == "rz.h") {
      if (folder[1] == "lib" && room != "api") wrong("the C interface belongs to lib/api")
      next
    }
    if (room == "examples" || room == "bindings") {
      if (quoted && name ~ /\//) wrong("sees rz.h alone")
      next
    }
    if (!quoted) next
    split(name, part, "/")
    if (!(part[1] in floor)) { if (room != "cuda") wrong("expected \"room/file.h\""); next }
    if (floor[part[1]] > floor[room]) wrong("looks up from floor " floor[room] " to " floor[part[1]])
    if (floor[part[1]] == 4 && floor[room] == 4 && part[1] != room) wrong("a backend looks into another")
  }
  END { exit bad }'
