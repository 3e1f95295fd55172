# Systole: make (build), make view (the viewer too), make examples, make demo, make check,
# make fuzz, make check-long, make bench. See README.md.
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
LAYERS  := base isa hbm interconnect sim stack report data keras train api
VIEW_PKGS := sdl2 SDL2_ttf libpng
HAS_VIEWER := $(shell pkg-config --exists $(VIEW_PKGS) 2>/dev/null && echo yes)

comma   := ,
say     = $(if $(V),,@echo '  $(1)  $(2)';)
WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion $(if $(WERROR),-Werror)
SANITIZE := $(if $(SAN)$(FUZZING),address$(comma)undefined)$(if $(FUZZING),$(comma)fuzzer-no-link)
SANFLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
CFLAGS  += -std=c11 $(OPT) -g $(WARN) -ffp-contract=off -pthread $(SANFLAGS) $(if $(DEBUG),-DSYSTOLE_DEBUG)
CPPFLAGS += -I. -I$(BUILD) -D_POSIX_C_SOURCE=200809L
LDFLAGS += -pthread $(SANFLAGS)
LDLIBS  += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm

# Every source below a folder, at any depth: a new file needs no line here.
sources = $(shell find $(1) -name '*.c' | LC_ALL=C sort)
LIB_SRC := $(call sources,$(LAYERS))
CLI_SRC := $(call sources,cli)
# The viewer but for its window: no SDL in it, and tested without.
VIZ_SRC := $(filter-out viz/sdl/%,$(call sources,viz))
VIEW_SRC := $(call sources,viz/sdl)
TEST_SRC := $(filter-out $(if $(HAS_VIEWER),,tests/viz/sdl/%),$(shell find tests -name 'test_*.c' | LC_ALL=C sort))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
TEST_LIB_SRC := $(call sources,tests/rigs tests/generate tests/reference)
EXAMPLE_SRC := $(call sources,examples)
CHIPS   := $(wildcard sim/chips/*.ini)
PROTOS  := $(wildcard report/proto/*.proto data/proto/*.proto)

PROTO_H := $(PROTOS:%.proto=$(BUILD)/%.pb-c.h)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/chips_data.o $(PROTOS:%.proto=$(BUILD)/%.pb-c.o)
VIZ_OBJ := $(VIZ_SRC:%.c=$(BUILD)/%.o)
VIEW_OBJ := $(VIEW_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out cli/commands/main.c,$(CLI_SRC)))
TEST_LIB_OBJ := $(TEST_LIB_SRC:%.c=$(BUILD)/%.o)
# make check TESTS="build/tests/test_a build/tests/test_b": just these, a line each if you like
TESTS   := $(TEST_SRC:%.c=$(BUILD)/%)
override TESTS := $(strip $(TESTS))
FUZZERS := $(FUZZ_SRC:%.c=$(BUILD)/%)
SYSTOLE := $(if $(filter build,$(BUILD)),systole,$(BUILD)/systole)
VIEWER  := $(SYSTOLE)-view

all: $(SYSTOLE) $(if $(HAS_VIEWER),$(VIEWER),no-viewer)

no-viewer:
	@echo "systole-view is not built, for SDL2 is not installed: make view installs it and builds"

# Each SIMD path is compiled for its own instruction set and chosen at run time.
ifeq ($(shell uname -m),x86_64)
$(BUILD)/sim/lanes/simd_avx2.o: CFLAGS += -mavx2 -mfma
$(BUILD)/sim/lanes/simd_avx512.o: CFLAGS += -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma
$(BUILD)/sim/lanes/simd_avx512bf16.o: CFLAGS += -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mfma
endif

# Installs missing packages (says which); the stamp is made again when the script changes.
$(BUILD)/deps.ok: tools/install_deps.sh
	@sh tools/install_deps.sh
	@mkdir -p $(BUILD) && touch $@

$(BUILD)/%.o: %.c | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/chips_data.c: $(CHIPS) sim/chips tools/embed_chips.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)sh tools/embed_chips.sh $(CHIPS) > $@.tmp && mv $@.tmp $@

$(BUILD)/chips_data.o: $(BUILD)/chips_data.c | $(BUILD)/deps.ok
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# What protoc-c makes of a .proto; whoever includes one of the headers needs them all first.
$(BUILD)/%.pb-c.c $(BUILD)/%.pb-c.h: %.proto | $(BUILD)/deps.ok
	@mkdir -p $(@D)
	$(call say,GEN,$@)protoc-c --c_out=$(BUILD) $<

$(BUILD)/%.pb-c.o: $(BUILD)/%.pb-c.c
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(patsubst %.c,$(BUILD)/%.o,$(wildcard report/export/*.c data/example*.c)): | $(PROTO_H)

$(BUILD)/libsystole.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

# The commands without main(), for tests of their parts; only what is used gets linked.
$(BUILD)/libcli.a: $(CLI_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

$(BUILD)/libviz.a: $(VIZ_OBJ)
	@rm -f $@
	$(call say,AR,$@)ar rcs $@ $^

# A make of its own, which looks for the packages again.
view:
	@sh tools/install_deps.sh viewer
	@$(MAKE) --no-print-directory $(VIEWER)

$(VIEW_OBJ) $(BUILD)/tests/viz/sdl/%.o: CPPFLAGS += $(shell pkg-config --cflags $(VIEW_PKGS) 2>/dev/null)

$(VIEWER): $(VIEW_OBJ) $(BUILD)/libviz.a $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs $(VIEW_PKGS)) $(LDLIBS)

$(SYSTOLE): $(BUILD)/cli/commands/main.o $(CLI_OBJ) $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# Programs over include/systole.h, with its parts, alone.
EXAMPLES := $(EXAMPLE_SRC:%.c=$(BUILD)/%)

$(EXAMPLES): $(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

examples: $(EXAMPLES)

# Tests of what paints; where SDL is installed.
$(BUILD)/tests/viz/sdl/%: $(BUILD)/tests/viz/sdl/%.o $(filter-out %/main.o,$(VIEW_OBJ)) $(TEST_LIB_OBJ) $(BUILD)/libcli.a $(BUILD)/libviz.a $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs $(VIEW_PKGS)) $(LDLIBS) -lcmocka

TEST_PROGRAMS := $(filter-out $(BUILD)/tests/viz/sdl/%,$(TEST_SRC:%.c=$(BUILD)/%))

$(TEST_PROGRAMS): %: %.o $(TEST_LIB_OBJ) $(BUILD)/libcli.a $(BUILD)/libviz.a $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

# A fuzz target runs under libFuzzer, or is fed files by a small main (tests/fuzz/corpus_main.c).
FUZZ_MAIN := $(if $(FUZZING),,$(BUILD)/tests/fuzz/corpus_main.o)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/rigs/round_trip.o $(FUZZ_MAIN) $(BUILD)/libcli.a $(BUILD)/libsystole.a
	$(call say,LD,$@)$(CC) $(LDFLAGS) $(if $(FUZZING),-fsanitize=fuzzer) -o $@ $^ $(LDLIBS)

check: all examples $(strip $(TESTS)) $(FUZZERS)
	@SYSTOLE=$(abspath $(SYSTOLE)) EXAMPLES=$(abspath $(BUILD)/examples) VIEWER=$(if $(HAS_VIEWER),$(abspath $(VIEWER))) FUZZERS="$(FUZZERS)" sh tools/run_tests.sh $(strip $(TESTS))

fuzzers: $(FUZZERS)

fuzz:
	@command -v $(firstword $(FUZZ_CC)) >/dev/null || \
	  { echo "make fuzz needs: apt-get install clang libclang-rt-14-dev"; exit 1; }
	@$(MAKE) --no-print-directory FUZZING=1 CC="$(FUZZ_CC)" BUILD=build/fuzz fuzzers
	@sh tools/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)

# The same programs with sweeps that take minutes: every float, every path.
LONG_TESTS := $(foreach t,simd_sweep simd_eup memo_random random_program equality \
  equality_programs snapshot_random reference api_random,$(filter %/test_$(t),$(TEST_PROGRAMS)))

check-long: $(LONG_TESTS)
	@for t in $(LONG_TESTS); do SYSTOLE_LONG=1 $$t || exit 1; done

headers: | $(BUILD)/deps.ok
	@for h in $(shell find $(LAYERS) include -name '*.h') $(filter-out viz/sdl/%,$(shell find viz -name '*.h')); do \
	  $(CC) $(CPPFLAGS) $(CFLAGS) -fsyntax-only -x c $$h || exit 1; done

demo: $(SYSTOLE)
	./$(SYSTOLE) train examples/mnist_mlp.json --tpu v3-8 --epochs 20 --batch 512 \
	  --optimizer adam --lr 0.001 --seed 1 --out out/

bench: $(SYSTOLE) examples
	@MNIST="$(MNIST)" TEXT="$(TEXT)" SYSTOLE=$(abspath $(SYSTOLE)) sh tools/bench.sh

clean:
	rm -rf build systole systole-view

.PHONY: all view no-viewer examples check check-long fuzzers fuzz demo bench headers clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
