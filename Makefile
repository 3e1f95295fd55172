# Systole: make (build), make view (the viewer too), make examples, make demo, make check,
# make fuzz, make check-long, make bench, make install; make help lists them. See CONTRIBUTING.md.
#
#   SAN=1       address and undefined-behaviour sanitizers, in build/san
#   DEBUG=1     asserts and replica checks after every step, in build/debug
#   WERROR=1    warnings are errors (CI)
#   V=1         show the commands
#   CC=clang    another compiler; use with its own BUILD=build/clang
#   FUZZ_SECONDS=600   processor time that make fuzz gives each target

CC      ?= cc
BUILD   ?= build$(if $(SAN),/san)$(if $(DEBUG),/debug)
OPT     ?= -O2
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 600
PKGS    := jansson inih zlib openblas libprotobuf-c
MAKEFLAGS += -j$(shell nproc)
OBJCOPY ?= objcopy
PREFIX  ?= /usr/local
LAYERS  := base isa hbm interconnect sim stack import exec report data keras train api
FILE_PKGS := hdf5 libzip
VIEW_PKGS := sdl2 SDL2_ttf libpng
HAS_VIEWER := $(shell pkg-config --exists $(VIEW_PKGS) 2>/dev/null && echo yes)

comma   := ,
say     = $(if $(V),,@echo '  $(1)  $(2)';)
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(WERROR),-Werror)
SANITIZE := $(if $(SAN)$(FUZZING),address$(comma)undefined)$(if $(FUZZING),$(comma)fuzzer-no-link)
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
# One compilation serves programs and shared libraries: position-independent, but nobody may put a
# function in another's place, so the compiler inlines and calls as it does for a program.
PIC     := -fPIC -fno-semantic-interposition
CFLAGS  += -std=c11 $(OPT) -g $(WARN) $(PIC) -ffp-contract=off -pthread $(SANFLAGS) $(if $(DEBUG),-DSYSTOLE_DEBUG)
CPPFLAGS += -I. -I$(BUILD) -D_POSIX_C_SOURCE=200809L
# The id tells a cache on disk which build has kept an entry (base/cache/build_id.h).
LDFLAGS += -pthread -Wl,--build-id $(SANFLAGS)
LDLIBS  += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm

# asked for where it is linked: on a clean system this very make has to install it first
FILE_LIBS = $(shell pkg-config --libs $(FILE_PKGS) 2>/dev/null)

# Every source below a folder, at any depth: a new file needs no line here.
sources = $(shell find $(1) -name '*.c' | LC_ALL=C sort)
LIB_SRC := $(call sources,$(LAYERS))
# Beside the commands, and no part of libsystole: its users need no HDF5 and no zip.
CLI_SRC := $(call sources,cli files)
# The viewer but for its window: no SDL in it, and tested without.
VIZ_SRC := $(filter-out viz/sdl/%,$(call sources,viz))
VIEW_SRC := $(call sources,viz/sdl)
# The library that frameworks load: a guest in their processes, beside commands and libsystole.
PJRT_SRC := $(call sources,pjrt)
TEST_SRC := $(filter-out $(if $(HAS_VIEWER),,tests/viz/sdl/%),$(shell find tests -name 'test_*.c' | LC_ALL=C sort))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
TEST_LIB_SRC := $(call sources,tests/rigs tests/generate tests/reference)
EXAMPLE_SRC := $(call sources,examples)
CHIPS   := $(wildcard sim/chips/*.ini)
PROTOS  := $(wildcard report/proto/*.proto data/proto/*.proto import/*/*.proto)
PJRT_PROTOS := $(wildcard pjrt/*/*.proto)

PROTO_H := $(PROTOS:%.proto=$(BUILD)/%.pb-c.h)
PJRT_PROTO_H := $(PJRT_PROTOS:%.proto=$(BUILD)/%.pb-c.h)
# Functions that make operations, of the instruction set's table.
MADE_H  := $(BUILD)/isa/op_make.h $(BUILD)/stack/backend/emitters.h
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/chips_data.o $(PROTOS:%.proto=$(BUILD)/%.pb-c.o)
PJRT_OBJ := $(PJRT_SRC:%.c=$(BUILD)/%.o) $(PJRT_PROTOS:%.proto=$(BUILD)/%.pb-c.o)
VIZ_OBJ := $(VIZ_SRC:%.c=$(BUILD)/%.o)
VIEW_OBJ := $(VIEW_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out cli/commands/main.c,$(CLI_SRC)))
TEST_LIB_OBJ := $(TEST_LIB_SRC:%.c=$(BUILD)/%.o)
# make check TESTS="build/tests/test_a tests/cli/b.sh": just these programs and scripts, a line each
# if you like
# The one that takes a minute by the clock begins, so that nobody waits for it alone at the end.
SCRIPTS := $(if $(TESTS),,tests/cli/cli_shapes.sh tools/check_layers.sh \
  $(filter-out %/cli_shapes.sh,$(sort $(wildcard tests/cli/*.sh))))
TESTS   := $(TEST_SRC:%.c=$(BUILD)/%)
override TESTS := $(strip $(TESTS))
FUZZERS := $(FUZZ_SRC:%.c=$(BUILD)/%)
SYSTOLE := $(if $(filter build,$(BUILD)),systole,$(BUILD)/systole)
VIEWER  := $(SYSTOLE)-view

VERSION := $(shell sed -n 's/^.define SY_VERSION "\(.*\)"/\1/p' include/systole/status.h)
SONAME  := libsystole.so.$(firstword $(subst ., ,$(VERSION)))
SO_FILE := libsystole.so.$(VERSION)

PJRT := $(BUILD)/libsystole_pjrt.so

all: $(SYSTOLE) $(PJRT) $(if $(HAS_VIEWER),$(VIEWER),no-viewer)

help:
	@sed -n 's/^#? //p' Makefile

#? make             systole, and systole-view where SDL2 is installed
#? make view        the viewer, too; installs SDL2
#? make examples    the programs of examples/, into build/examples/
#? make demo        trains on drawn digits
#? make check       builds and runs all tests; TESTS="build/tests/test_a tests/cli/b.sh": these only
#? make check-long  sweeps that take minutes
#? make check-jax   tests against a pinned JAX
#? make fuzz        made-up inputs for every reader of files
#? make bench       what docs/performance.md promises
#? make headers     does each header compile by itself?
#? make dead        are there functions that no program reaches?
#? make libraries   libsystole.so and the libsystole.a that is installed
#? make install     below PREFIX (/usr/local), with DESTDIR in front (docs/install.md)
#? make uninstall   takes that away again
#? make clean       removes what was built; make distclean also what check-jax and check-long downloaded
#? Settings: SAN=1, DEBUG=1, WERROR=1, V=1, CC=, BUILD=, PREFIX=, DESTDIR=

no-viewer:
	@echo "systole-view is not built, for SDL2 is not installed: make view installs it and builds"

# Each SIMD path is compiled for its own instruction set and chosen at run time. All but the plain
# one run with subnormals flushed, inputs and results, by the control word; a compiler that has a
# word for that is told, else it makes (0 < x) & (x < INFINITY) a test of bits that takes subnormals
# (clang 19 does).
FLUSHES := -fdenormal-fp-math=preserve-sign
FLUSHES := $(shell $(CC) $(FLUSHES) -E -x c /dev/null >/dev/null 2>&1 && echo $(FLUSHES))

ifeq ($(shell uname -m),x86_64)
$(BUILD)/sim/lanes/simd_avx2.o $(BUILD)/sim/lanes/simd_avx512.o $(BUILD)/sim/lanes/simd_avx512bf16.o: \
  CFLAGS += $(FLUSHES)
$(BUILD)/sim/lanes/simd_avx2.o: CFLAGS += -mavx2 -mfma
$(BUILD)/sim/lanes/simd_avx512.o: CFLAGS += -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma
$(BUILD)/sim/lanes/simd_avx512bf16.o: CFLAGS += -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mfma
endif

# Loops over elements, which compilers make vectors of at this level.
$(BUILD)/import/lanes/kernel%.o $(BUILD)/import/lanes/lane%.o $(BUILD)/import/lanes/gemm.o $(BUILD)/import/eval/eval_convolution.o: CFLAGS += $(if $(SANITIZE),,-O3)

# make and make install only say which packages are missing; these targets install them. The stamp
# is made again when the script changes.
INSTALLING := check check-long check-jax demo view bench fuzz
DEPS_DO := $(if $(filter $(INSTALLING),$(MAKECMDGOALS)),install,report)

$(BUILD)/deps.ok: tools/install_deps.sh
	@sh tools/install_deps.sh $(DEPS_DO)
	@mkdir -p $(BUILD) && touch $@

$(BUILD)/emitters: tools/emitters.c isa/table.c isa/isa.h isa/ops.def isa/formats.def isa/states.def
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(filter %.c,$^)

$(BUILD)/isa/op_make.h: $(BUILD)/emitters
	@mkdir -p $(@D)
	$(call say,GEN,$@)$< ops > $@.tmp && mv $@.tmp $@

$(BUILD)/stack/backend/emitters.h: $(BUILD)/emitters
	@mkdir -p $(@D)
	$(call say,GEN,$@)$< emit > $@.tmp && mv $@.tmp $@

$(BUILD)/%.o: %.c | $(BUILD)/deps.ok $(MADE_H)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/chips_data.c: $(CHIPS) sim/chips tools/embed_chips.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)sh tools/embed_chips.sh $(CHIPS) > $@.tmp && mv $@.tmp $@

$(BUILD)/chips_data.o: $(BUILD)/chips_data.c | $(BUILD)/deps.ok
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Looked at each time, written when it differs.
$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@sh tools/commit.sh $@

$(BUILD)/cli/commands/main.o: | $(BUILD)/commit.h

# What protoc-c makes of a .proto; whoever includes one of the headers needs them all first.
$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(call say,GEN,$@)protoc-c --c_out=$(BUILD) $<

$(BUILD)/%.pb-c.o: $(BUILD)/%.pb-c.c
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# HDF5 has a folder of its own for its headers.
$(BUILD)/files/h5_%.o: CPPFLAGS += $(shell pkg-config --cflags $(FILE_PKGS) 2>/dev/null)

$(patsubst %.c,$(BUILD)/%.o,$(wildcard report/export/*.c data/example*.c import/hlo_proto/*.c)): | $(PROTO_H)

$(PJRT_SRC:%.c=$(BUILD)/%.o): | $(PROTO_H) $(PJRT_PROTO_H)

$(BUILD)/libsystole.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

# What make install installs: with the names of include/systole.h and no others.
$(BUILD)/$(SO_FILE): $(LIB_OBJ) api/exports.map
	$(call say,LD,$@)$(CC) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=api/exports.map \
	  -Wl,-Bsymbolic -o $@ $(LIB_OBJ) $(LDLIBS)

# It finds its own names first, and shows the loader's one and sy_ ones: nothing of it meets the
# host's. Of the layers it has what it uses, and so needs fewer libraries (tests/cli/pjrt_library.sh);
# what writes and reads JSON is in it, not beside it.
$(PJRT): $(PJRT_OBJ) $(BUILD)/libsystole.a $(BUILD)/pjrt/libjansson.a pjrt/api/exports.map
	$(call say,LD,$@)$(CC) $(LDFLAGS) -shared -Wl,-soname,libsystole_pjrt.so \
	  -Wl,--version-script=pjrt/api/exports.map -Wl,-Bsymbolic -Wl,--as-needed $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) -o $@ \
	  $(PJRT_OBJ) $(BUILD)/libsystole.a $(BUILD)/pjrt/libjansson.a $(filter-out -ljansson,$(LDLIBS))

# Compiled for programs, it takes stdin from where a library cannot (it compares with it, to say where
# text came from): one of our own (pjrt/account/jansson_stdin.c).
$(BUILD)/pjrt/libjansson.a: | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(call say,GEN,$@)$(OBJCOPY) --redefine-sym stdin=jansson_stdin "$$($(CC) -print-file-name=libjansson.a)" $@

$(BUILD)/$(SONAME) $(BUILD)/libsystole.so: $(BUILD)/$(SO_FILE)
	@ln -sf $(SO_FILE) $@

# One object, whose parts found each other already; what is no sy_ is nobody else's to see.
$(BUILD)/install/libsystole.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)$(LD) -r -o $(@D)/systole.o $^ && \
	  $(OBJCOPY) --strip-debug --wildcard --keep-global-symbol='sy_*' $(@D)/systole.o && \
	  $(AR) rcs $@ $(@D)/systole.o && rm -f $(@D)/systole.o

libraries: $(BUILD)/$(SONAME) $(BUILD)/libsystole.so $(BUILD)/install/libsystole.a

# The commands without main(), for tests of their parts; only what is used gets linked.
$(BUILD)/libcli.a: $(CLI_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

$(BUILD)/libviz.a: $(VIZ_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

# A make of its own, which looks for the packages again.
view:
	@sh tools/install_deps.sh install viewer
	@$(MAKE) --no-print-directory $(VIEWER)

$(VIEW_OBJ) $(BUILD)/tests/viz/sdl/%.o: CPPFLAGS += $(shell pkg-config --cflags $(VIEW_PKGS) 2>/dev/null)

$(VIEWER): $(VIEW_OBJ) $(BUILD)/libviz.a $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs $(VIEW_PKGS)) $(LDLIBS)

$(SYSTOLE): $(BUILD)/cli/commands/main.o $(CLI_OBJ) $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(FILE_LIBS) $(LDLIBS)

# Programs over include/systole.h, with its parts, alone.
EXAMPLES := $(EXAMPLE_SRC:%.c=$(BUILD)/%)

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

examples: $(EXAMPLES)

# All layers, commands, the viewer but for its window, and what tests share, with all names: a
# program per test would hold the layers and their debug information again, hundreds of times. Calls
# and variables inside it stay inside, as in a program, whatever a test calls its own.
$(BUILD)/libtested.so: $(LIB_OBJ) $(CLI_OBJ) $(VIZ_OBJ) $(TEST_LIB_OBJ)
	$(call say,LD,$@)$(CC) $(LDFLAGS) -shared -Wl,-soname,libtested.so -Wl,-Bsymbolic -o $@ $^ $(FILE_LIBS) $(LDLIBS) -lcmocka

# Programs in folders of $(BUILD), at most four deep, find it wherever $(BUILD) is.
TESTED := -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..:$$ORIGIN/../../..:$$ORIGIN/../../../..'

# Tests of what paints; where SDL is installed.
$(BUILD)/tests/viz/sdl/%: $(BUILD)/tests/viz/sdl/%.o $(filter-out %/main.o,$(VIEW_OBJ)) $(BUILD)/libtested.so
	$(call say,LD,$@)$(CC) $(LDFLAGS) $(TESTED) -o $@ $^ $(shell pkg-config --libs $(VIEW_PKGS)) $(LDLIBS) -lcmocka

TEST_PROGRAMS := $(filter-out $(BUILD)/tests/viz/sdl/%,$(TEST_SRC:%.c=$(BUILD)/%))

# What asserts call in the library, without the rest of it.
$(BUILD)/tests/pjrt/test_pjrt_guard: $(BUILD)/pjrt/event/guard.o $(BUILD)/pjrt/event/error.o

JAX_PROGRAMS := $(BUILD)/tests/jax/keras_values $(BUILD)/tests/jax/keras_numbers

$(TEST_PROGRAMS) $(JAX_PROGRAMS): %: %.o $(BUILD)/libtested.so
	$(call say,LD,$@)$(CC) $(LDFLAGS) $(TESTED) -o $@ $^ $(LDLIBS) -lcmocka

# A fuzz target runs under libFuzzer, all in one program, or is fed files by a small main
# (tests/fuzz/corpus_main.c).
FUZZ_PARTS := $(if $(FUZZING),$(BUILD)/tests/rigs/round_trip.o $(BUILD)/libcli.a $(BUILD)/libviz.a $(BUILD)/libsystole.a,\
  $(BUILD)/tests/fuzz/corpus_main.o $(BUILD)/libtested.so)

# The device library, whole.
$(BUILD)/tests/fuzz/fuzz_pjrt: $(PJRT_OBJ)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_PARTS)
	$(call say,LD,$@)$(CC) $(LDFLAGS) $(if $(FUZZING),-fsanitize=fuzzer,$(TESTED)) -o $@ $(filter %.o,$^) $(filter-out %.o,$^) $(if $(FUZZING),$(FILE_LIBS)) $(LDLIBS)

# What lets calls and allocations of a command fail (tests/faults/faults.sh); the sanitizers have an
# allocator of their own.
FAULTS := $(BUILD)/tests/faults/fault_calls $(if $(SAN),,$(BUILD)/tests/faults/fault_memory.so)

$(BUILD)/tests/faults/fault_calls: tests/faults/fault_calls.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=c11 -O2 -g $(WARN) -o $@ $<

$(BUILD)/tests/faults/fault_memory.so: tests/faults/fault_memory.c
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -std=c11 -O2 -g $(WARN) -fPIC -shared -pthread -o $@ $< -ldl

check: installable examples $(filter-out %.sh,$(strip $(TESTS))) $(FUZZERS) $(FAULTS)
	@SYSTOLE=$(abspath $(SYSTOLE)) SYSTOLE_PJRT=$(abspath $(PJRT)) FAULTS=$(abspath $(BUILD)/tests/faults) EXAMPLES=$(abspath $(BUILD)/examples) VIEWER=$(if $(HAS_VIEWER),$(abspath $(VIEWER))) FUZZERS="$(FUZZERS)" TIMES=$(abspath $(BUILD)/check_seconds) sh tools/run_tests.sh $(strip $(TESTS) $(SCRIPTS))

fuzzers: $(FUZZERS)

fuzz:
	@command -v $(firstword $(FUZZ_CC)) >/dev/null || \
	  { echo "make fuzz needs: apt-get install clang libclang-rt-14-dev"; exit 1; }
	@$(MAKE) --no-print-directory FUZZING=1 CC="$(FUZZ_CC)" BUILD=build/fuzz fuzzers
	@sh tools/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)

# The same programs with sweeps that take minutes: every float, every path.
LONG_TESTS := $(foreach t,simd_sweep simd_eup memo_random random_program equality \
  equality_programs snapshot_random reference api_random api_rounds_random module_types \
  stablehlo_broken conv_make modulo compile_random,$(filter %/test_$(t),$(TEST_PROGRAMS)))

check-long: $(LONG_TESTS) $(SYSTOLE) $(FAULTS)
	@for t in $(LONG_TESTS); do SYSTOLE_LONG=1 $$t || exit 1; done
	@SYSTOLE=$(SYSTOLE) FAULTS=$(BUILD)/tests/faults RANDOM_KILLS=250 sh tests/faults/faults.sh 1
	@sh tools/same_by_compilers.sh
	@SYSTOLE_LONG=1 SYSTOLE=$(abspath $(SYSTOLE)) sh tests/cli/cli_program_records.sh
	@SYSTOLE_LONG=1 SYSTOLE=$(abspath $(SYSTOLE)) sh tests/cli/cli_hardware.sh
	@SYSTOLE_LONG=1 SYSTOLE=$(abspath $(SYSTOLE)) sh tools/check_jax.sh tests/jax/test_keras_applications.py
	@SYSTOLE=$(abspath $(SYSTOLE)) sh tools/check_python.sh readers tests/readers/requirements.txt tests/readers/test_*.py
	@SYSTOLE=$(abspath $(SYSTOLE)) sh tools/check_jax.sh tests/jax/epoch_mnist.py
	@SYSTOLE=$(abspath $(SYSTOLE)) sh tools/check_frameworks.sh

headers: | $(BUILD)/deps.ok $(MADE_H)
	@for h in $(shell find $(LAYERS) files include -name '*.h') $(filter-out viz/sdl/%,$(shell find viz -name '*.h')); do \
	  $(CC) $(CPPFLAGS) $(CFLAGS) -fsyntax-only -x c $$h || exit 1; done

# A build of its own, in which each function is a section that a linker can leave out.
dead:
	@CFLAGS=-ffunction-sections $(MAKE) --no-print-directory BUILD=$(BUILD)/dead OPT=-O0 dead-functions

dead-functions: $(LIB_OBJ) $(PJRT_OBJ) $(BUILD)/cli/commands/main.o $(CLI_OBJ) $(VIZ_OBJ) \
  $(if $(HAS_VIEWER),$(VIEW_OBJ)) $(EXAMPLE_SRC:%.c=$(BUILD)/%.o)
	@CC="$(CC)" sh tools/dead_functions.sh $(BUILD) $(FILE_LIBS) $(LDLIBS) \
	  $(if $(HAS_VIEWER),$(shell pkg-config --libs $(VIEW_PKGS)))

demo: $(SYSTOLE)
	./$(SYSTOLE) train examples/mnist_mlp.json --tpu v3-8 --epochs 20 --batch 512 \
	  --optimizer adam --lr 0.001 --seed 1 --out out/

# Against the pinned JAX (tests/jax/requirements.txt), where a registry of packages is reached.
check-jax: $(SYSTOLE) $(PJRT) $(JAX_PROGRAMS)
	@SYSTOLE=$(abspath $(SYSTOLE)) SYSTOLE_PJRT=$(abspath $(PJRT)) KERAS_VALUES=$(abspath $(BUILD)/tests/jax/keras_values) KERAS_NUMBERS=$(abspath $(BUILD)/tests/jax/keras_numbers) sh tools/check_jax.sh

bench: $(SYSTOLE) examples
	@MNIST="$(MNIST)" TEXT="$(TEXT)" SYSTOLE=$(abspath $(SYSTOLE)) sh tools/bench.sh

# ----- make install -----

COMMANDS := $(shell sed -n 's/^COMMAND.\([a-z]*\),.*/\1/p' cli/commands/commands.def)
CHECKS := $(shell sed -n 's/^CHECK.\([a-z]*\),.*/\1/p' cli/commands/checks.def)
MAN_PAGES := systole $(if $(HAS_VIEWER),systole-view) $(COMMANDS:%=systole-%) $(CHECKS:%=systole-check-%)
THE_VIEWER := $(if $(HAS_VIEWER),$(VIEWER))

# What --help says, as manual pages and completions.
$(BUILD)/install/man.ok: $(SYSTOLE) $(THE_VIEWER) tools/man.sh
	$(if $(V),,@echo '  GEN  $(@D)/*.1';) rm -f $(@D)/*.1 && mkdir -p $(@D) && \
	sh tools/man.sh $(VERSION) $(abspath $(SYSTOLE)) >$(@D)/systole.1 && \
	$(if $(HAS_VIEWER),sh tools/man.sh $(VERSION) $(abspath $(VIEWER)) >$(@D)/systole-view.1 &&) \
	for c in $(COMMANDS); do sh tools/man.sh $(VERSION) $(abspath $(SYSTOLE)) $$c >$(@D)/systole-$$c.1 || exit 1; done && \
	for c in $(CHECKS); do sh tools/man.sh $(VERSION) $(abspath $(SYSTOLE)) check $$c >$(@D)/systole-check-$$c.1 || exit 1; done && \
	touch $@

$(BUILD)/install/completion.%: $(SYSTOLE) $(THE_VIEWER) tools/completion.sh tools/help_rows.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)sh tools/completion.sh $* $(abspath $(SYSTOLE)) $(abspath $(THE_VIEWER)) >$@.tmp && mv $@.tmp $@

$(BUILD)/install/systole.pc: tools/systole.pc.in include/systole/status.h | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(call say,GEN,$@)sed 's|@VERSION@|$(VERSION)|; s|@PRIVATE@|$(LDLIBS) -pthread|' $< >$@

installable: all libraries $(BUILD)/install/man.ok $(BUILD)/install/completion.bash \
  $(BUILD)/install/completion.zsh $(BUILD)/install/systole.pc

# MODE SOURCE PLACE, or link TO PLACE, with commas between
ZSH_PLACE := share/zsh/site-functions/_systole
BASH_PLACE := share/bash-completion/completions
TO_INSTALL = 755,$(SYSTOLE),bin/systole $(if $(HAS_VIEWER),755$(comma)$(VIEWER)$(comma)bin/systole-view) \
  644,include/systole.h,include/systole.h $(foreach h,$(wildcard include/systole/*.h),644,$h,$h) \
  644,$(BUILD)/$(SO_FILE),lib/$(SO_FILE) link,$(SO_FILE),lib/$(SONAME) link,$(SONAME),lib/libsystole.so \
  644,$(BUILD)/install/libsystole.a,lib/libsystole.a 755,$(PJRT),lib/libsystole_pjrt.so \
  644,$(BUILD)/install/systole.pc,lib/pkgconfig/systole.pc \
  $(foreach p,$(MAN_PAGES),644,$(BUILD)/install/$p.1,share/man/man1/$p.1) \
  644,$(BUILD)/install/completion.bash,$(BASH_PLACE)/systole \
  $(if $(HAS_VIEWER),link$(comma)systole$(comma)$(BASH_PLACE)/systole-view) \
  644,$(BUILD)/install/completion.zsh,$(ZSH_PLACE) 644,LICENSE,share/doc/systole/LICENSE 644,NOTICE,share/doc/systole/NOTICE

# AS_BUILT=1: what is there, built anew or not: a test must not build what others run meanwhile.
install: $(if $(AS_BUILT),,installable)
	@printf '%s\n' $(TO_INSTALL) | tr , ' ' | sh tools/install.sh install "$(PREFIX)" "$(DESTDIR)" && \
	  echo "installed below $(DESTDIR)$(PREFIX)"

uninstall:
	@sh tools/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

clean:
	rm -rf build systole systole-view

# and the environments of check-jax and check-long, in the user's cache
distclean: clean
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}"/systole/jax-* "$${XDG_CACHE_HOME:-$$HOME/.cache}"/systole/readers-* "$${XDG_CACHE_HOME:-$$HOME/.cache}"/systole/tf-* "$${XDG_CACHE_HOME:-$$HOME/.cache}"/systole/torch-* "$${XDG_CACHE_HOME:-$$HOME/.cache}"/systole/newest-*

.PHONY: FORCE all help view no-viewer libraries installable install uninstall examples check check-long fuzzers fuzz check-jax demo bench headers dead dead-functions clean distclean
.SECONDARY:
$(if $(AS_BUILT),,$(eval -include $(shell find $(BUILD) -name '*.d' 2>/dev/null)))
