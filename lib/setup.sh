#!/bin/sh
# Finds what building, testing or checking librz needs and this machine lacks, and installs it from Debian's
# packages (with sudo where the user is not root). Where it cannot, it names what is missing and ends with 1.
#
#   lib/setup.sh [--check] build|test|lint ...      --check installs nothing
set -u

# group, package, what it brings (a command, or a file by glob), whether the work can go on without it
packages='
build g++                g++                                needed
build libpcre2-dev       /usr/lib/*/libpcre2-8.a            needed
build libutf8proc-dev    /usr/lib/*/libutf8proc.a           needed
build libxxhash-dev      /usr/include/xxhash.h              needed
build nlohmann-json3-dev /usr/include/nlohmann/json.hpp     needed
build libmimalloc2.0     /usr/lib/*/libmimalloc.so.2        wanted
test  libgtest-dev       /usr/include/gtest/gtest.h         needed
test  libbenchmark-dev   /usr/include/benchmark/benchmark.h needed
test  cmake              cmake                              wanted
test  pkg-config         pkg-config                         wanted
lint  clang-format       clang-format                       needed
'

present() {
  case $1 in
    /*) for file in $1; do [ -e "$file" ] && return 0; done; return 1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# Prints the packages of the groups asked for that are not here: those of kind $1, or of any kind.
missing() {
  kind=$1
  echo "$packages" | while read -r group package brings need; do
    case " $groups " in *" $group "*) ;; *) continue ;; esac
    [ "$kind" = any ] || [ "$kind" = "$need" ] || continue
    present "$brings" || printf ' %s' "$package"
  done
}

install() {
  command -v apt-get >/dev/null 2>&1 || { echo "setup: apt-get is not here" >&2; return 1; }
  root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "setup: neither root nor sudo" >&2; return 1; }
    root=sudo
  fi
  log=$(mktemp) || return 1
  apt="$root env DEBIAN_FRONTEND=noninteractive apt-get -y -qq --no-install-recommends install"
  # The package list may be absent or old: fetch it only when the first try fails.
  $apt "$@" >"$log" 2>&1 || { $root apt-get -qq update >"$log" 2>&1 && $apt "$@" >"$log" 2>&1; } || tail -n 5 "$log" >&2
  rm -f "$log"
}

check=
[ "${1-}" = --check ] && { check=1; shift; }
groups="${*:-build test lint}"

absent=$(missing any)
[ -n "$absent" ] || exit 0
if [ -z "$check" ]; then
  echo "setup: installing$absent"
  install $absent
fi
wanted=$(missing wanted)
[ -z "$wanted" ] || echo "setup: not here, going on without:$wanted"
needed=$(missing needed)
[ -n "$needed" ] || exit 0
echo "setup: missing Debian packages:$needed" >&2
echo "setup: install them with: sudo apt-get install$needed" >&2
exit 1
