/*
 * Parses the options that say how the simulator itself works: mode, threads, SIMD, memoised time,
 * checks.
 */
#include "cli/common/engine_options.h"

#include "base/text.h"
#include "base/units.h"

#include <string.h>

enum { KEY_MODE = 1024, KEY_THREADS, KEY_SIMD, KEY_NO_MEMO, KEY_RACES, KEY_UNWRITTEN };

static const struct argp_option list[] = {
    {"mode", KEY_MODE, "MODE", 0,
     "both (default); timing: the same cycles without lane arithmetic; functional: the same "
     "values without cycles", 0},
    {"threads", KEY_THREADS, "N", 0,
     "host threads (default: 1); never changes a result or a cycle", 0},
    {"simd", KEY_SIMD, "PATH", 0,
     "auto, c, avx2, avx512 or avx512bf16; never changes a result or a cycle", 0},
    {"no-memo", KEY_NO_MEMO, NULL, 0,
     "simulate every iteration of every loop; never changes a cycle or counter", 0},
    {"check-races", KEY_RACES, NULL, 0,
     "stop at an access to a range that a copy under way touches", 0},
    {"check-unwritten", KEY_UNWRITTEN, NULL, 0,
     "stop at a read of VMEM that nothing has written since the start", 0},
    {0}};

static enum run_mode parse_mode(const char *arg, struct argp_state *state)
{
    static const char *const names[] = {[MODE_BOTH] = "both", [MODE_TIMING] = "timing",
                                        [MODE_FUNCTIONAL] = "functional"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(arg, names[i]) == 0)
            return (enum run_mode)i;
    argp_error(state, "--mode is \"%s\", allowed are both, timing, functional", arg);
    return MODE_BOTH;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct machine_options *o = state->input;
    int64_t threads;

    switch (key) {
    case KEY_MODE: o->mode = parse_mode(arg, state); return 0;
    case KEY_SIMD: o->simd = arg; return 0;
    case KEY_NO_MEMO: o->no_memo = true; return 0;
    case KEY_RACES: o->check_races = true; return 0;
    case KEY_UNWRITTEN: o->check_unwritten = true; return 0;
    case KEY_THREADS:
        if (text_parse_int(arg, 1, 256, &threads) != 0)
            argp_error(state, "--threads is \"%s\", allowed are whole numbers in 1..256", arg);
        o->thread_count = (int)threads;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_engine_argp = {.options = list, .parser = parse_option};
