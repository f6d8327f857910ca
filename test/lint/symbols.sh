#!/bin/sh
# What the libraries show to their host: rz_* and nothing else, no symbol that is unique in the whole process, and
# little static thread-local storage, of which a dlopened library gets 1.6 KB at most.
build=$1
shared=$build/librz.so
bad=0
report() { echo "symbols: $1:"; echo "$2"; bad=1; }

names=$(nm -D --defined-only "$shared" | awk '{ print $3 }')
others=$(echo "$names" | grep -v '^rz_')
[ -z "$others" ] || report "$shared exports more than rz_*" "$others"

declared=$(sed -n 's/.*RZ_API.*[ *]\(rz_[a-z_0-9]*\)(.*/\1/p' include/rz.h | sort)
missing=$(echo "$declared" | while read -r name; do echo "$names" | grep -qx "$name" || echo "$name"; done)
[ -z "$missing" ] || report "$shared lacks what rz.h declares" "$missing"

unique=$(nm -D "$shared" | awk '$2 == "u"')
[ -z "$unique" ] || report "$shared has symbols unique in the process" "$unique"

visible=$(nm --defined-only --extern-only "$build/librz.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^rz_/ { print $3 }')
[ -z "$visible" ] || report "librz.a shows more than rz_*" "$visible"

tls=$(readelf -lW "$shared" | awk '$1 == "TLS" { print $6 }')
if [ -n "$tls" ] && [ $((tls)) -gt 1024 ]; then report "thread-local bytes: expected at most 1024, found" "$((tls))"; fi

needed_by() {
  readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libpthread|libdl|ld-linux[^/]*)\.so'
}
needed=$(needed_by "$shared")
[ -z "$needed" ] || report "$shared needs other libraries" "$needed"
readelf -dW "$shared" | grep -q 'NODELETE' || report "$shared can be unloaded" "link with -z nodelete"
readelf -dW "$shared" | grep -q 'SONAME.*\[librz.so.1\]' || report "$shared has another soname" "expected librz.so.1"

# Device plugins show one symbol, and bring what they need besides the C library.
for plugin in "$build"/librz_cuda.so "$build"/plugins/*.so; do
  [ -e "$plugin" ] || continue
  others=$(nm -D --defined-only "$plugin" | awk '$3 != "rz_device_plugin"')
  [ -z "$others" ] || report "$plugin exports more than rz_device_plugin" "$others"
  unique=$(nm -D "$plugin" | awk '$2 == "u"')
  [ -z "$unique" ] || report "$plugin has symbols unique in the process" "$unique"
  needed=$(needed_by "$plugin")
  [ -z "$needed" ] || report "$plugin needs other libraries" "$needed"
done
exit $bad
