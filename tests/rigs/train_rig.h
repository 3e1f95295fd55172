/* For tests of training: a strategy on a slice or on the host, with its variables. */
#ifndef TESTS_TRAIN_RIG_H
#define TESTS_TRAIN_RIG_H
#include "tests/test.h"

#include "train/strategy/strategy.h"

struct train_rig {
    struct arena arena;
    struct variable_set set;
    struct machine *machine;            /* NULL on the host */
    struct strategy *strategy;
    struct strategy_options options;
    struct err err;
};

/* `slice`: "v3-8", or "host"; `set_chip`: "section.key=value" with spaces between, or NULL */
void train_rig_init(struct train_rig *r, const char *slice, const char *set_chip,
                    enum run_mode mode);
/* the strategy, of variables added so far; others may follow */
void train_rig_start(struct train_rig *r);
void train_rig_fini(struct train_rig *r);

/* fails the test with the message unless 0 */
void train_rig_must(const struct train_rig *r, int status);

/* `rank` and dimensions by DIMS of tests/rigs/graph_rig.h */
struct shape f32_shape(int rank, const int64_t *dim);
#endif
