#!/bin/sh
# Kernel objects share no function with each other: of one that two of them define, the linker would keep either, perhaps
# with instructions that the machine lacks.
build=$1
bad=0
for object in "$build"/lib/cpu/kernels/*.o; do
  isa=$(basename "$object" .o | sed 's/.*\.//')
  shared=$(nm -C --defined-only "$object" | grep -E '^[0-9a-f]+ [WVu] ' | grep -vE " rz::cpu::$isa::| DW\.ref\.__gxx_personality")
  [ -z "$shared" ] || { echo "kernels: $object defines what other objects could share:"; echo "$shared"; bad=1; }
done
exit $bad
