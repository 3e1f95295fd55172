/*
 * A collective on the bench: a grid of chips made by hand, a request that tests
 * change, its plan, and the plan carried out on the host.
 */
#ifndef TESTS_COLLECTIVE_RIG_H
#define TESTS_COLLECTIVE_RIG_H
#include "tests/reference/collective_host.h"

/* A grid of chips; letters of `rings`: axes that close. */
struct collective_grid {
    int x, y, z;
    const char *rings;
    int cores_per_chip;
};

struct collective_bench {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct collective_request request;
    struct collective_plan *plan;
    struct collective_host *host;
    struct err err;
};

/* One run: what went in of every core, and what came out. */
struct collective_outcome {
    struct collective_arrays arrays;
    uint8_t **in, **out;
};

/* many grids: meshes, tori, both mixed, odd sides, a single chip */
extern const struct collective_grid collective_grids[];
extern const int collective_grid_count;

/* over chips, all axes, f32, on v4 chips; everything fails the test on an error */
void open_bench(struct collective_bench *b, const struct collective_grid *g,
                enum collective_kind kind, enum collective_algo algo, int64_t bytes);
void close_bench(struct collective_bench *b);
void make_plan(struct collective_bench *b); /* of the request as it is now */
struct collective_outcome run_bench(struct collective_bench *b, uint64_t seed);

/* the cores of one core's group, in rank order: worked out anew, from the contract's words */
int group_of(const struct collective_bench *b, int core, int *members);
int rank_count(const struct collective_bench *b);
int64_t elem_bytes(const struct collective_bench *b);
double read_elem(const struct collective_bench *b, const uint8_t *at);
#endif
