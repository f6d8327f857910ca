# librz. `make` builds the library and the examples, `make run` tells a story, `make test` checks everything.
# Results go to $(BUILD); nothing is written outside it. `make help` lists the targets.

BUILD    ?= .build/release
PREFIX   ?= /usr/local
OPT      ?= -O2 -g1
SANITIZE ?=
# A static mimalloc that does not override malloc, to be linked in; without it the shared one is opened at run time.
MIMALLOC ?=

VERSION := 1.0.0
SONAME  := librz.so.1
# Every rule is here: make knows others, which would take x.d.o for a program's object.
MAKEFLAGS += --no-builtin-rules
# As many jobs as cores, unless the command line says how many.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

all: lib examples  ## library (shared and static) and examples; the default

# ---- flags ------------------------------------------------------------------------------------------------------
WARN     := -Wall -Wextra -Wpedantic -Wconversion -Werror
CPPFLAGS += -Iinclude -Ilib -MMD -MP -DRZ_VERSION='"$(VERSION)"' $(if $(MIMALLOC),-DRZ_MIMALLOC_STATIC)
# No contraction: a sum of products rounds the same on every path unless a kernel says fma itself.
# No symbol is unique in the process (a g++ habit): a host keeps its own copy of everything.
CXXFLAGS += -std=c++20 $(OPT) -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -ffp-contract=off $(WARN) $(SANITIZE) \
  $(if $(findstring clang,$(CXX)),,-fno-gnu-unique)
CFLAGS   += -std=c99 $(OPT) -fPIC $(WARN) $(SANITIZE)
LDFLAGS  += -pthread $(SANITIZE)
# Libraries that end inside ours: static archives, their symbols hidden.
# LIBRARIES: a folder that has them, and their headers, instead of the system.
static_library = $(if $(LIBRARIES),$(LIBRARIES)/lib/lib$(1).a,$(shell $(CXX) -print-file-name=lib$(1).a))
CPPFLAGS += $(if $(LIBRARIES),-isystem $(LIBRARIES)/include)
DEPS      = $(call static_library,pcre2-8) $(call static_library,utf8proc) $(MIMALLOC)
LDLIBS   += $(DEPS) -ldl

# ---- set-up: what is missing is installed where a person asked to run something, and only named elsewhere ----------
asked = $(filter $(1),$(MAKECMDGOALS))
SETUP_GROUPS := build $(if $(call asked,test test-% bench-kernels gpu-kit),test) $(if $(call asked,lint),lint)
SETUP_DONE   := $(BUILD)/setup-$(subst $() ,-,$(strip $(SETUP_GROUPS)))
$(SETUP_DONE): lib/setup.sh
	@$(if $(LIBRARIES),,lib/setup.sh $(if $(call asked,run test test-% bench bench-kernels bench-cuda gpu-kit lint),,--check) $(SETUP_GROUPS))
	@mkdir -p $(@D); touch $@

# ---- rooms, lowest floor first; a room's archive may use those before it --------------------------------------
ROOMS := base quant format text model backend cpu engine api
rooms_upto = $(if $(filter $(1),$(ROOMS)),$(shell echo $(ROOMS) | sed 's/\b$(1)\b.*/$(1)/'),$(ROOMS))
reverse    = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
room_sources = $(filter-out lib/cpu/kernels/%,$(sort $(shell find lib/$(1) -name '*.cc' 2>/dev/null)))
objects      = $(patsubst %.cc,$(BUILD)/%.o,$(1))

# Each kernel file is compiled once per instruction set, into a namespace of its own.
MACHINE     := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine)))
ISAS        := plain $(if $(filter x86_64,$(MACHINE)),avx2 avx512)
FLAGS_plain  := -DRZ_ISA=plain
FLAGS_avx2   := -DRZ_ISA=avx2 -DRZ_AVX2 -mavx2 -mfma -mf16c
FLAGS_avx512 := -DRZ_ISA=avx512 -DRZ_AVX512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c
KERNELS     := $(sort $(wildcard lib/cpu/kernels/*.cc))
kernel_objects := $(foreach isa,$(ISAS),$(patsubst %.cc,$(BUILD)/%.$(isa).o,$(KERNELS)))

define room_rule
$(1)_objects := $(call objects,$(call room_sources,$(1))) $(if $(filter cpu,$(1)),$(kernel_objects))
$(BUILD)/rooms/$(1).a: $$($(1)_objects)
	@mkdir -p $$(@D); rm -f $$@; ar rcs $$@ $$^
endef
$(foreach room,$(ROOMS),$(eval $(call room_rule,$(room))))
LIB_OBJECTS := $(foreach room,$(ROOMS),$($(room)_objects))
ROOM_ARCHIVES := $(foreach room,$(ROOMS),$(BUILD)/rooms/$(room).a)

$(BUILD)/lib/%.o: lib/%.cc | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $<"; $(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@

# GCC would make a slow call of setting a few registers to zero.
KERNEL_FLAGS := -O3 $(if $(findstring clang,$(CXX)),,-fno-tree-loop-distribute-patterns)
define isa_rule
$(BUILD)/lib/cpu/kernels/%.$(1).o: lib/cpu/kernels/%.cc | $(SETUP_DONE)
	@mkdir -p $$(@D); echo "  c++ $$< ($(1))"; $(CXX) $(CPPFLAGS) $(CXXFLAGS) $(KERNEL_FLAGS) $(FLAGS_$(1)) -c $$< -o $$@
endef
$(foreach isa,$(ISAS),$(eval $(call isa_rule,$(isa))))

# ---- the library ------------------------------------------------------------------------------------------------
# The CUDA plugin is made where nvcc is, but not with checks compiled in: NVCC= leaves it out.
NVCC        ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA_PLUGIN := $(if $(and $(NVCC),$(if $(SANITIZE),,yes)),$(BUILD)/librz_cuda.so)
SHARED := $(BUILD)/librz.so.$(VERSION)
lib: $(BUILD)/librz.so $(BUILD)/librz.a $(CUDA_PLUGIN)

# Only the shared library brings its own operator new: a static one lives with its host's.
$(BUILD)/lib/base/heap_new.own.o: lib/base/heap_new.cc | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $< (own heap)"; $(CXX) $(CPPFLAGS) $(CXXFLAGS) -DRZ_OWN_HEAP -c $< -o $@

# Nothing but rz_* leaves the library, libstdc++ ends inside it, and dlclose leaves it mapped: a host thread that
# once allocated in it may end later.
CLOSED_FLAGS := -shared -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,--as-needed \
  $(if $(SANITIZE),,-static-libstdc++ -static-libgcc)
SHARED_FLAGS := $(CLOSED_FLAGS) -Wl,-soname,$(SONAME) -Wl,--version-script,lib/rz.map
SHARED_OBJECTS = $(filter-out %/heap_new.o,$(LIB_OBJECTS)) $(BUILD)/lib/base/heap_new.own.o
$(SHARED): $(SHARED_OBJECTS) lib/rz.map
	@echo "  ld  $@"; $(CXX) $(SHARED_OBJECTS) $(SHARED_FLAGS) $(LDFLAGS) -o $@ $(LDLIBS)
$(BUILD)/librz.so: $(SHARED)
	@ln -sf $(<F) $(@D)/$(SONAME); ln -sf $(SONAME) $@

# A device plugin (lib/backend/plugin.h) is closed likewise: one symbol leaves it, and it holds the rooms that it uses.
# $(call link_plugin,objects,archives of rooms,libraries) makes $@.
PLUGIN_FLAGS := $(CLOSED_FLAGS) -Wl,--version-script,lib/backend/plugin.map
link_plugin   = $(CXX) $(1) -Wl,--start-group $(2) -Wl,--end-group $(PLUGIN_FLAGS) $(LDFLAGS) -o $@ $(3) $(LDLIBS)

# One object with the members it needs of other libraries inside, and every name but rz_* local to it.
$(BUILD)/librz.a: $(LIB_OBJECTS)
	@echo "  ar  $@"; $(CXX) -r -nostdlib -Wl,--force-group-allocation -o $(BUILD)/rz.o $(LIB_OBJECTS) $(DEPS)
	@objcopy --wildcard --keep-global-symbol='rz_*' $(BUILD)/rz.o; rm -f $@; ar rcs $@ $(BUILD)/rz.o; rm $(BUILD)/rz.o

# ---- CUDA -----------------------------------------------------------------------------------------------------------
# Kernels are compiled twice: by nvcc for devices, where it is here, and by the C++ compiler for the emulator, on which
# the tests run. The matmul over tiles is compiled once for each format.
CUDA_FORMATS  := F16 Q4 Q8 A8 Q4_K Q5_K Q6_K
CUDA_KERNELS  := $(filter-out %/matmul_tiles.cu,$(sort $(wildcard cuda/kernels/*.cu)))
CUDA_HOST     := $(call objects,$(filter-out cuda/plugin.cc,$(sort $(wildcard cuda/*.cc))))
kernel_objects_in = $(patsubst cuda/kernels/%.cu,$(1)/%.o,$(CUDA_KERNELS)) $(CUDA_FORMATS:%=$(1)/matmul_tiles.%.o)

EMULATED      := $(BUILD)/cuda/emulated
EMULATE        = $(CXX) $(CPPFLAGS) -I. $(CXXFLAGS) -x c++
$(EMULATED)/%.o: cuda/kernels/%.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $< (emulated)"; $(EMULATE) -c $< -o $@
$(CUDA_FORMATS:%=$(EMULATED)/matmul_tiles.%.o): $(EMULATED)/matmul_tiles.%.o: cuda/kernels/matmul_tiles.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $< ($*, emulated)"; $(EMULATE) -DRZ_DECODER=Decode$* -c $< -o $@
$(BUILD)/cuda/%.o: cuda/%.cc | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $<"; $(CXX) $(CPPFLAGS) -I. $(CXXFLAGS) -c $< -o $@
$(BUILD)/rooms/cuda.a: $(CUDA_HOST) $(call objects,$(sort $(wildcard cuda/emulator/*.cc))) $(call kernel_objects_in,$(EMULATED))
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^

# For devices. No contraction here either; a kernel that spills registers fails.
CUDA_TARGETS := 80 90a 100 120
CUDA_PTX     := 80
NVCCFLAGS    := -std=c++20 -O3 -fmad=false -Ilib -I. -Iinclude -DRZ_VERSION='"$(VERSION)"' -Xcompiler -fPIC,-fvisibility=hidden \
  -Xptxas -warn-spills -Werror all-warnings --compress-mode=size -MMD \
  $(foreach t,$(CUDA_TARGETS),-gencode arch=compute_$(t),code=sm_$(t)) \
  -gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
FOR_DEVICE   := $(BUILD)/cuda/device
$(FOR_DEVICE)/%.o: cuda/kernels/%.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  nvcc $<"; $(NVCC) $(NVCCFLAGS) -c $< -o $@
$(FOR_DEVICE)/runtime.o: cuda/runtime.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  nvcc $<"; $(NVCC) $(NVCCFLAGS) -c $< -o $@
$(CUDA_FORMATS:%=$(FOR_DEVICE)/matmul_tiles.%.o): $(FOR_DEVICE)/matmul_tiles.%.o: cuda/kernels/matmul_tiles.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  nvcc $< ($*)"; $(NVCC) $(NVCCFLAGS) -DRZ_DECODER=Decode$* -c $< -o $@
DEVICE_OBJECTS := $(BUILD)/cuda/plugin.o $(CUDA_HOST) $(call kernel_objects_in,$(FOR_DEVICE)) $(FOR_DEVICE)/runtime.o
PLUGIN_ROOMS   := $(foreach r,$(call reverse,$(call rooms_upto,backend)),$(BUILD)/rooms/$(r).a)
# Where the runtime lies is nvcc's to say: it may be called by a wrapper or a link far from its toolkit.
CUDART          = $(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/.* LIBRARIES= *//p') -l:libcudart_static.a
$(BUILD)/librz_cuda.so: $(DEVICE_OBJECTS) $(PLUGIN_ROOMS) lib/backend/plugin.map
	@echo "  ld  $@"; $(call link_plugin,$(DEVICE_OBJECTS),$(PLUGIN_ROOMS) $(CUDART),-lrt)

# Each kernel alone, timed: on a device, and in the emulator so that a test can run it.
BENCH_HOST := $(call objects,$(sort $(wildcard cuda/bench/*.cc)))
$(EMULATED)/bench/%.o: cuda/bench/%.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $< (emulated)"; $(EMULATE) -c $< -o $@
$(FOR_DEVICE)/bench/%.o: cuda/bench/%.cu | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  nvcc $<"; $(NVCC) $(NVCCFLAGS) -c $< -o $@
$(BUILD)/cuda-bench: $(BENCH_HOST) $(FOR_DEVICE)/bench/empty.o $(DEVICE_OBJECTS) $(PLUGIN_ROOMS)
	@echo "  ld  $@"; $(CXX) $(LDFLAGS) -static-libstdc++ -static-libgcc -o $@ $(filter-out %/plugin.o,$(filter %.o,$^)) \
	  -Wl,--start-group $(PLUGIN_ROOMS) -Wl,--end-group $(CUDART) $(LDLIBS) -lrt
$(BUILD)/cuda-bench-emulated: $(BENCH_HOST) $(EMULATED)/bench/empty.o $(BUILD)/rooms/cuda.a $(PLUGIN_ROOMS)
	@echo "  ld  $@"; $(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS)

# ---- examples: C programs that know rz.h alone --------------------------------------------------------------------
C_FLAGS  = $(CFLAGS) -Iinclude -MMD -MP
# The library lies beside the program here, and in ../lib once installed.
LINK_RZ  = -L$(BUILD) -lrz -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..:$$ORIGIN/../lib' $(LDFLAGS) -lm
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
RZ_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard examples/rz/*.c)))
examples: $(EXAMPLES) $(BUILD)/rz

$(BUILD)/examples/%.o: examples/%.c
	@mkdir -p $(@D); echo "  cc  $<"; $(CC) $(C_FLAGS) -c $< -o $@
$(BUILD)/rz: $(RZ_OBJECTS) $(BUILD)/librz.so
	@echo "  ld  $@"; $(CC) -o $@ $(RZ_OBJECTS) $(LINK_RZ)
$(BUILD)/examples/dlopen: $(BUILD)/examples/dlopen.o
	@echo "  ld  $@"; $(CC) -o $@ $< $(LDFLAGS) -ldl
$(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/librz.so
	@echo "  ld  $@"; $(CC) -o $@ $< $(LINK_RZ)

run: $(BUILD)/rz  ## a story from the model in examples/models; ARGS="-p 'One day' --seed 7" to steer it
	@$(BUILD)/rz run $(if $(ARGS),$(ARGS),-p "Once upon a time" -n 0 --min-p 0.05)

# ---- tests: one program a room, linked only with the floors it may know ---------------------------------------
TEST_ROOMS := $(patsubst test/%/,%,$(sort $(dir $(wildcard test/*/*_test.cc))))
# The rooms whose tests start threads; the others have nothing for ThreadSanitizer to see.
THREAD_ROOMS := base cpu engine api

$(BUILD)/test/%.o: test/%.cc | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $<"; $(CXX) $(CPPFLAGS) -Itest -I. $(CXXFLAGS) -c $< -o $@
# An archive: a test takes what it uses, so support code may know any floor.
$(BUILD)/rooms/test-support.a: $(call objects,$(sort $(wildcard test/support/*.cc)))
	@mkdir -p $(@D); rm -f $@; ar rcs $@ $^

# Plugins to test their boundary with: a device that is the CPU inside, and some that librz must refuse.
TEST_PLUGINS := $(patsubst test/plugin/%.cc,$(BUILD)/plugins/%.so,$(sort $(wildcard test/plugin/*.cc)))
TEST_PLUGIN_ROOMS := $(foreach r,$(call reverse,$(call rooms_upto,cpu)),$(BUILD)/rooms/$(r).a)
$(BUILD)/plugins/%.so: $(BUILD)/test/plugin/%.o $(TEST_PLUGIN_ROOMS) lib/backend/plugin.map
	@mkdir -p $(@D); echo "  ld  $@"; $(call link_plugin,$<,$(TEST_PLUGIN_ROOMS))
$(BUILD)/plugins/cuda_emulated.so: $(BUILD)/cuda/plugin.o $(BUILD)/rooms/cuda.a $(TEST_PLUGIN_ROOMS) lib/backend/plugin.map
	@mkdir -p $(@D); echo "  ld  $@"; $(call link_plugin,$<,$(BUILD)/rooms/cuda.a $(TEST_PLUGIN_ROOMS))
$(BUILD)/test-api $(BUILD)/test-backend: $(TEST_PLUGINS) $(BUILD)/plugins/cuda_emulated.so

# The CPU room times its kernels beside their tests, and chooses in a main of its own.
test_libraries = $(if $(filter cpu,$(1)),-lbenchmark -lgtest,-lgtest -lgtest_main)
test_archives = $(BUILD)/rooms/test-support.a $(patsubst %,$(BUILD)/rooms/%.a,$(filter cuda,$(1)) $(call reverse,$(call rooms_upto,$(1))))
define test_rule
$(BUILD)/test-$(1): $(call objects,$(sort $(wildcard test/$(1)/*.cc))) $(call test_archives,$(1))
	@echo "  ld  $$@"; $(CXX) $(LDFLAGS) -o $$@ $(call objects,$(sort $(wildcard test/$(1)/*.cc))) -Wl,--start-group $(call test_archives,$(1)) -Wl,--end-group $$(LDLIBS) $(call test_libraries,$(1))
test-$(1): $(BUILD)/test-$(1)
	$(BUILD)/test-$(1) --gtest_brief=1
endef
$(foreach room,$(TEST_ROOMS),$(eval $(call test_rule,$(room))))

# Programs in C, as a host would be: linked with the shared library where they name it, a few with the static one too.
C_TESTS      := $(patsubst test/c/%.c,$(BUILD)/c/%,$(sort $(wildcard test/c/*_test.c)))
STATIC_TESTS := $(addsuffix -static,$(filter %/host_libraries_test %/host_state_test,$(C_TESTS)))
SCRIPT_TESTS := $(sort $(wildcard test/c/*_test.sh))
$(BUILD)/test/c/%.o: test/c/%.c
	@mkdir -p $(@D); echo "  cc  $<"; $(CC) $(C_FLAGS) -c $< -o $@
$(BUILD)/c/%-static: $(BUILD)/test/c/%.o $(BUILD)/librz.a
	@mkdir -p $(@D); echo "  ld  $@"; $(CC) -o $@ $^ -rdynamic -lstdc++ -lm -ldl $(LDFLAGS)
$(BUILD)/c/%: $(BUILD)/test/c/%.o $(BUILD)/librz.so
	@mkdir -p $(@D); echo "  ld  $@"; $(CC) -o $@ $< -rdynamic -Wl,--as-needed $(LINK_RZ) -ldl

test: test-programs  ## everything: rooms, C programs, installing; ends with "N passed, N failed, N skipped"
	@test/run.sh $(BUILD) $(TEST_ROOMS:%=$(BUILD)/test-%) $(C_TESTS) $(STATIC_TESTS) $(SCRIPT_TESTS)
test-c: all $(BUILD)/rz-synth $(BUILD)/cuda-bench-emulated $(BUILD)/plugins/cuda_emulated.so $(C_TESTS) $(STATIC_TESTS) $(TEST_PLUGINS)  ## the C programs alone; test-base, test-text, ... the rooms' alone
	@test/run.sh $(BUILD) $(C_TESTS) $(STATIC_TESTS) $(SCRIPT_TESTS)
test-rooms: $(TEST_ROOMS:%=$(BUILD)/test-%)
	@$(RUN_UNDER) test/run.sh $(BUILD) $^
test-programs: all $(BUILD)/rz-synth $(BUILD)/cuda-bench-emulated $(TEST_ROOMS:%=$(BUILD)/test-%) $(C_TESTS) $(STATIC_TESTS) $(TEST_PLUGINS)

# Without recovery a finding fails its test. ThreadSanitizer wants the addresses that setarch -R gives.
ASAN := -fsanitize=address,undefined -fno-sanitize-recover=all
# An emulator under checks is slow: its longest tests are left out, and for races only kernels alone are run.
LONG_EMULATED := *Trained.*/cuda:SplitOnCuda.Stories*:Trained8BitPages.*:*ChunksOfAnySize/cuda_*:*BesideOtherSequences/cuda_*:Cuda/LongContext*:Sample.AllStages*
RACE_TESTS    := Types/Matmul.AgreesWith*:Append.Turns*:Append.Norms*:Sample.Greedy*
test-sanitizers:  ## the rooms under address and undefined behaviour checks, those with threads under thread checks
	$(MAKE) BUILD=.build/asan OPT="-O1 -g1" SANITIZE="$(ASAN)" RUN_UNDER="env GTEST_FILTER='-$(LONG_EMULATED)'" test-rooms
	$(MAKE) BUILD=.build/tsan OPT="-O1 -g1" SANITIZE=-fsanitize=thread TEST_ROOMS="$(filter $(THREAD_ROOMS),$(TEST_ROOMS))" \
	  RUN_UNDER="env GTEST_FILTER='-$(LONG_EMULATED)' setarch -R" test-rooms
	$(MAKE) BUILD=.build/tsan OPT="-O1 -g1" SANITIZE=-fsanitize=thread TEST_ROOMS=cuda \
	  RUN_UNDER="env GTEST_FILTER='$(RACE_TESTS)' setarch -R" test-rooms
test-clang:  ## everything built by clang++-14, warnings as errors
	$(MAKE) BUILD=.build/clang CXX=clang++-14 CC=clang-14 NVCC= test-programs

# On a machine with a GPU: the tests of the kernels and the executor on the device itself, and models by the C API, whose
# plugin lies beside the program.
GPU_TESTS   := $(filter-out test/cuda/emulated_%,$(sort $(wildcard test/cuda/*.cc))) \
  $(addprefix test/api/,golden_test.cc trained_test.cc host.cc likelihood.cc)
GPU_OBJECTS := $(patsubst %.cc,$(BUILD)/on-device/%.o,$(GPU_TESTS))
GPU_ARCHIVES = $(BUILD)/rooms/test-support.a $(foreach r,$(call reverse,$(ROOMS)),$(BUILD)/rooms/$(r).a)
$(BUILD)/on-device/%.o: %.cc | $(SETUP_DONE)
	@mkdir -p $(@D); echo "  c++ $< (on device)"; $(CXX) $(CPPFLAGS) -DRZ_ON_DEVICE -Itest -I. $(CXXFLAGS) -c $< -o $@
$(BUILD)/test-gpu: $(GPU_OBJECTS) $(DEVICE_OBJECTS) $(GPU_ARCHIVES)
	@echo "  ld  $@"; $(CXX) $(LDFLAGS) -static-libstdc++ -static-libgcc -o $@ $(GPU_OBJECTS) \
	  $(filter-out %/plugin.o,$(DEVICE_OBJECTS)) -Wl,--start-group $(GPU_ARCHIVES) -Wl,--end-group $(CUDART) $(LDLIBS) -lrt \
	  $(call static_library,gtest) $(call static_library,gtest_main)
test-gpu-programs: $(BUILD)/test-gpu $(BUILD)/cuda-bench $(CUDA_PLUGIN) $(BUILD)/rz $(BUILD)/rz-synth
test-gpu: $(BUILD)/test-gpu $(CUDA_PLUGIN)  ## on a machine with a GPU: kernels, executor and models on the device itself
	@test/run.sh $(BUILD) $(BUILD)/test-gpu

# What such a machine needs and may not be able to fetch: programs with their libraries inside, the tests and their data,
# and the sources. ./run in that folder tests and measures; where the programs do not fit the system, it builds them.
GPU_KIT := $(BUILD)/gpu-kit
gpu-kit: test-gpu-programs  ## packs what a machine with a GPU and no network needs into one folder
	@test/gpu/pack.sh $(BUILD) $(GPU_KIT)

# ---- measuring ------------------------------------------------------------------------------------------------------
$(BUILD)/rz-synth: $(call objects,$(sort $(wildcard test/synth/*.cc))) $(BUILD)/rooms/test-support.a $(ROOM_ARCHIVES)
	@echo "  ld  $@"; $(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS)
BENCH_MODEL ?= $(BUILD)/models/qwen3-0.6b-Q4_K_M.gguf
$(BUILD)/models/qwen3-0.6b-Q4_K_M.gguf: $(BUILD)/rz-synth
	@mkdir -p $(@D); $< qwen3-0.6b Q4_K_M $@
bench: $(BUILD)/rz $(BENCH_MODEL)  ## prompt and decode speed of random weights in a real model's shape; BENCH_MODEL=file, ARGS="-p 512 -n 32"
	@$(BUILD)/rz bench $(BENCH_MODEL) $(ARGS)
bench-kernels: $(BUILD)/test-cpu  ## each kernel alone, of every instruction set; ARGS=--benchmark_filter=matmul/avx2
	@$< $(if $(ARGS),$(ARGS),--benchmark_filter=.) --benchmark_min_time=0.1
bench-cuda: $(BUILD)/cuda-bench  ## on a machine with a GPU: each CUDA kernel alone; ARGS="--filter few/8b --csv"
	@$< $(ARGS)

# ---- checking -------------------------------------------------------------------------------------------------------
lint: lib $(SETUP_DONE)  ## format, floors, file lengths, exported symbols, the header in C and C++
	@failed=0; for check in test/lint/*.sh; do $$check $(BUILD) || failed=1; done; exit $$failed
tidy:  ## clang-tidy over the library
	@clang-tidy --quiet $(filter-out lib/cpu/kernels/%,$(sort $(shell find lib -name '*.cc'))) -- -std=c++20 -Iinclude -Ilib

# ---- installing -----------------------------------------------------------------------------------------------------
DEST = $(DESTDIR)$(PREFIX)
fill = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(VERSION)|g'
install: all  ## headers, libraries, rz.pc, CMake package and the tool, under PREFIX (and DESTDIR before it)
	install -d $(DEST)/include $(DEST)/lib/pkgconfig $(DEST)/lib/cmake/rz $(DEST)/bin $(DEST)/share/rz
	install -m 644 include/rz.h $(DEST)/include/
	install -s -m 644 $(SHARED) $(DEST)/lib/
	objcopy --strip-debug $(BUILD)/librz.a $(DEST)/lib/librz.a
	ln -sf $(notdir $(SHARED)) $(DEST)/lib/$(SONAME)
	ln -sf $(SONAME) $(DEST)/lib/librz.so
	$(fill) lib/rz.pc.in > $(DEST)/lib/pkgconfig/rz.pc
	$(fill) lib/rzConfig.cmake.in > $(DEST)/lib/cmake/rz/rzConfig.cmake
	$(fill) lib/rzConfigVersion.cmake.in > $(DEST)/lib/cmake/rz/rzConfigVersion.cmake
	$(if $(CUDA_PLUGIN),install -s -m 644 $(CUDA_PLUGIN) $(DEST)/lib/)
	install -s -m 755 $(BUILD)/rz $(DEST)/bin/
	install -m 644 examples/models/stories.gguf $(DEST)/share/rz/

clean:  ## removes every build folder
	rm -rf .build

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' Makefile | expand -t 24

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all lib examples run test test-c test-rooms test-programs test-gpu test-gpu-programs gpu-kit test-sanitizers test-clang bench bench-kernels bench-cuda lint tidy install clean \
  help $(addprefix test-,$(TEST_ROOMS))
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
