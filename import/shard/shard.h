/*
 * The program of one device from a program of all of them: GSPMD's and Shardy's work.
 *
 * Arrays are cut as the program's shardings say (mhlo.sharding, sdy.sharding, constraints); how
 * others lie follows from these, forwards and backwards through whatever treats the indices of a
 * dimension one by one. Contractions along cut dimensions give parts of sums, which a collective
 * adds up; where an operand lies otherwise than its use wants it, collectives move it. Manual
 * regions (shard_map) go through with their own collectives.
 *
 * The result is a program of the same number of partitions, with partition-id and collectives whose
 * groups are global ids (replica * partitions + partition). Its parameters and results are the parts of one device:
 * their shardings stand at the parameters and at the root. docs/parallel.md tells the rules.
 */
#ifndef IMPORT_SHARD_H
#define IMPORT_SHARD_H
#include "import/program/program.h"

struct shard_options {
    int64_t partitions;                 /* 0: as the program says */
};

/* A leaf of a parameter or of the result: the whole array, and how it lies. */
struct shard_leaf {
    struct hlo_type whole, part;        /* part: with dimensions that do not divide rounded up */
    struct hlo_sharding sharding;
    int parameter;                      /* number of the parameter that it is of; -1: a result */
};
struct shard_boundary {
    int64_t partitions;
    int parameter_count, result_count;  /* leaves, counted over all parameters, over the result */
    struct shard_leaf *parameter, *result;
};

/*
 * `made` is uninitialised and lives in `a`, as the boundary does; `from` is left as it is and must
 * be verified. 0, or -1 with the instruction that cannot be cut.
 */
int shard_program(const struct hlo_module *from, const struct shard_options *options,
                  struct hlo_module *made, struct arena *a, struct shard_boundary *boundary,
                  struct err *e);

/* whether there is anything to do: more than one partition, and not the work of a partitioner yet */
bool shard_is_wanted(const struct hlo_module *m);
#endif
