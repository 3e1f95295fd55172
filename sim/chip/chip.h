/*
 * Chip parameters, read from sim/chips/NAME.ini (compiled into the program),
 * and slices of chips named the way Cloud names them.
 *
 * Every key of params.def must stand in the file exactly once; an unknown,
 * missing or out-of-range key is an error with file and line.
 */
#ifndef SIM_CHIP_H
#define SIM_CHIP_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hbm_config;
struct net_config;

#define CHIP_TEXT_BYTES 144             /* of a parameter's text with its end */

struct chip {
#define PARAM(section, key, lo, hi, meaning) int64_t section##_##key;
#define PARAM_D(section, key, lo, hi, meaning) double section##_##key;
#define PARAM_L(section, key, choices, meaning) int64_t section##_##key;
#define PARAM_S(section, key, meaning) char section##_##key[32];
#define PARAM_W(section, key, choices, meaning) char section##_##key[32];
#define PARAM_T(section, key, meaning) char section##_##key[CHIP_TEXT_BYTES];
#define PARAM_G(section, key, meaning) char section##_##key[CHIP_TEXT_BYTES];
#include "sim/chip/params.def"
};

/* One row per parameter, in params.def order: for printing and for origins. */
enum chip_param_kind { CHIP_INT, CHIP_REAL, CHIP_WORD, CHIP_TEXT, CHIP_GRIDS };
struct chip_param {
    const char *section, *key, *meaning;
    enum chip_param_kind kind;
    double lo, hi;                      /* of numbers without choices */
    const char *choices;                /* "128|256": the values allowed; NULL = all in range */
    size_t offset;                      /* into struct chip */
};
extern const struct chip_param chip_params[];
extern const size_t chip_param_count;

/* Where each value came from, in chip_params order: "chip file v3" or "--set". */
struct chip_origin {
    const char *origin;
    const char *note;                   /* the comment behind the value in the chip file */
};

const char *const *chip_names(size_t *count);           /* built-in files: "tiny", "v2", ... */

/*
 * chip_load_builtin reads a built-in file by name, chip_load_file any file.
 * `origins` (chip_param_count entries, strings in `a`) may be NULL.
 */
int chip_load_builtin(struct chip *c, const char *name, struct chip_origin *origins,
                      struct arena *a, struct err *e);
int chip_load_file(struct chip *c, const char *path, struct chip_origin *origins,
                   struct arena *a, struct err *e);

/*
 * From `text`, the contents of `file`: every key of `section`, and keys of others that may stand
 * there, too. What does not stand there is left as it is in *c; *c is changed all or not at all.
 */
int chip_load_section(struct chip *c, const char *text, const char *file, const char *section,
                      struct err *e);

/*
 * "mxu.count=8", any number of them: each changes one parameter, range-checked; an unknown key
 * names the nearest. Only together they need not contradict the others; all or none.
 */
int chip_set_all(struct chip *c, const char *const *assignments, int count,
                 struct chip_origin *origins, struct arena *a, struct err *e);

/* value of parameter `index` as text, which CHIP_TEXT_BYTES hold; returns buf */
char *chip_print_param(const struct chip *c, size_t index, char *buf, size_t buf_bytes);

/* Halves of a matrix unit's rows and of its columns: 2 where the array is 256 wide, else 1. */
static inline int chip_mxu_halves(const struct chip *c) { return c->mxu_size > 128 ? 2 : 1; }

/*
 * Peaks of one chip, those of the arithmetic in 10^12 operations per second:
 * from the arrays and the clock; 0 for a type that the MXU does not take.
 */
double chip_peak_bf16_tflops(const struct chip *c);
double chip_core_flops_per_cycle(const struct chip *c);              /* of bf16, one core */
double chip_peak_int8_tops(const struct chip *c);
double chip_peak_int4_tops(const struct chip *c);
double chip_peak_fp8_tflops(const struct chip *c);
double chip_hbm_peak_bytes_per_second(const struct chip *c);    /* data buses of all channels */

/* the memory of one chip, of which the cores own equal shares (hbm/hbm.h) */
bool chip_refreshes_single_banks(const struct chip *c);         /* hbm.refresh = bank */
/* between refreshes, of all banks or of one bank after the other; what one takes, beside tRP */
double chip_refresh_period_ps(const struct chip *c);
int64_t chip_refresh_ps(const struct chip *c);
struct hbm_config chip_hbm_config(const struct chip *c, int64_t size_bytes);

/*
 * Computed against published: bf16, int8, int4, fp8, HBM, in this order; 0
 * published = nothing to compare. `deviation_percent` may differ from
 * chip.peak_deviation_percent (from 0 for HBM) by at most 1.
 */
#define CHIP_PEAK_COUNT 5
struct chip_peak {
    const char *name, *unit;            /* "bf16", "TFLOP/s" */
    double computed, published, deviation_percent;
    bool agrees;
};
void chip_check_peaks(const struct chip *c, struct chip_peak peaks[CHIP_PEAK_COUNT]);

/* A slice: chips in a grid. Core n of chip c is global core c * chip.cores + n. */
struct slice {
    char name[32];                      /* "v3-8" */
    char chip_name[16];                 /* "v3" */
    int dims;                           /* axes of the chip's grid: 2 or 3 */
    int dim[3];                         /* chips along x, y, z */
    bool is_ring[3];                    /* going on along the axis leads back, on itself */
    bool is_twisted;                    /* short axes close on another row: net_can_twist */
    int chip_count, core_count;
};

/*
 * "v3-8" -> chip v3, 2x2 chips. "v3" alone is one chip; "tiny-2" two cores;
 * "v5litepod-8" is v5e-8, whose slice.alias it has. By topology: "v4-4x4x8", and grids that
 * no size stands for, "v4-4x4x16". Both with "_twisted" behind: "v4-256_twisted",
 * "v4-4x4x8_twisted". A name that does not exist is an error that tells the
 * nearest and lists those that do.
 */
int slice_parse(struct slice *s, const char *name, struct err *e);
/* the slices of a built-in chip, least first: false when there is no slice `index` */
bool slice_of_chip(struct slice *s, const char *chip_name, int index);

/* Behind chip_set_all: can the slice be made of such chips, and which axes close to rings? */
int slice_fit(struct slice *s, const struct chip *c, struct err *e);
/* how its chips are connected */
struct net_config slice_net_config(const struct slice *s, const struct chip *c);
struct slice_text { char text[160]; };
struct slice_text slice_print(const struct slice *s);    /* "v3-8: 2x2 chips, 8 cores, mesh" */
/* "x, y and z close to rings"; "x closes 4 further along y and z; y and z close to rings" */
char *slice_print_closing(const struct slice *s, char *buf, size_t buf_bytes);
/* whether the slice may be twisted too */
bool slice_can_twist(const struct slice *s, const struct chip *c);
#endif
