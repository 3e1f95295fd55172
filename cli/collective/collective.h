/*
 * systole collective: what its files share. cmd_collective.c reads the command
 * line, collective_options.c the values of options (a sweep sets the same ones),
 * collective_run.c answers one question, collective_host.c says by which engine,
 * collective_print.c shows the answer,
 * collective_sweep.c asks a grid of questions, collective_costs_file.c reads
 * --costs.
 */
#ifndef CLI_COLLECTIVE_H
#define CLI_COLLECTIVE_H
#include "cli/common/options.h"
#include "stack/collective/collective_steps.h"
#include "stack/collective/collective_verify.h"

#include <stdio.h>

enum collective_over { OVER_CHIPS, OVER_CORES, OVER_DEFAULT };
enum collective_engine { ENGINE_AUTO, ENGINE_CORES, ENGINE_STEPS };

/* What is asked; bytes are those of a device: a chip with --over chips, a core otherwise. */
struct collective_options {
    struct cli_target target;
    enum collective_kind kind;
    bool has_kind;
    enum collective_algo algo;
    enum collective_type type;
    int64_t bytes, chunk_bytes;         /* 0: not told, chosen */
    enum collective_over over;
    bool axis[3];
    int64_t root, shift;
    enum collective_engine engine;
    bool no_symmetry, checks;
    int64_t thread_count;
    const struct collective_costs *costs;       /* of --costs; NULL: the chip's */
    const char *costs_path;
};

/* those that a sweep may change */
extern const struct cli_options collective_point_options;
/* "bytes", "256M": the value of an option that a sweep may change too; -1 with *e */
int collective_set_option(struct collective_options *o, const char *key, const char *text,
                          struct err *e);

struct collective_answer {
    struct collective_options options;  /* as asked */
    struct slice slice;
    struct chip chip;
    struct collective_request request;  /* of the plan: everything chosen */
    int arrays;                         /* groups of cores of a chip, each with its part */
    int rank_count;
    int64_t ring_links;                 /* directed links between chips */
    enum collective_engine engine;
    char reason[160];                   /* why this engine */
    struct collective_result result;
    struct collective_bound bound;
    double predicted_s[COLLECTIVE_ALGO_COUNT];  /* that auto has chosen by; 0: none */
    struct collective_verdict verdict;  /* of --check */
    double host_seconds;
};

/* Everything of the answer is the arena's or in it. -1 with *e: what cannot be, and what can. */
int collective_answer(const struct collective_options *o, struct arena *a,
                      struct collective_answer *out, struct err *e);

/* sets engine and reason of the answer: as asked for, or by what it would take of this host */
void collective_choose_engine(const struct collective_plan *p, struct collective_answer *w);

double collective_algorithm_bandwidth(const struct collective_answer *a);   /* bytes per second */
double collective_bus_bandwidth(const struct collective_answer *a);
double collective_efficiency(const struct collective_answer *a);            /* of the bound, 0..1 */
const char *collective_engine_name(enum collective_engine n);
const char *collective_type_name(enum collective_type t);

void collective_print(const struct collective_answer *a, FILE *to);
void collective_print_csv_head(FILE *to);
void collective_print_csv(const struct collective_answer *a, FILE *to);
int collective_write_json(const struct collective_answer *a, const char *path, struct err *e);

/* Asks for every combination of the values of `sweeps` ("bytes=4K:1G:x4", "algo=all"). */
int collective_sweep(const struct collective_options *o, const struct cli_list *sweeps,
                     const char *csv, struct arena *a, struct err *e);

/* fixed and per-byte costs of a step, from a file of the form of examples/collectives/ */
int collective_costs_read(const char *path, struct collective_costs *out, struct err *e);
#endif
