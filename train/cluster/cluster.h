/*
 * The TPU that a program asks for: TPUClusterResolver, initialize_tpu_system and
 * shutdown_tpu_system in one object.
 *
 * Resolving finds out what is meant and costs nothing; initialising makes the simulated slice.
 * Where no TPU is named the cluster is the host: the same calls then run on the reference
 * interpreter (stack/interp/interp.h), one replica, no cycles.
 */
#ifndef TRAIN_CLUSTER_H
#define TRAIN_CLUSTER_H
#include "sim/machine/machine.h"
#include "train/cluster/device_assignment.h"

/* variables of the environment, looked at in this order where no TPU is named */
#define CLUSTER_NAME_VARIABLE "TPU_NAME"                /* "v3-8", or "local" */
#define CLUSTER_LOCAL_VARIABLE "TPU_ACCELERATOR_TYPE"   /* what "local" is; v3-8 if not set */

struct cluster_options {
    /* "v3-8"; "local"; "cpu": the host; NULL or "": as the environment says, else the host */
    const char *tpu;
    const char *const *set;             /* "mxu.count=8": changes of the chip */
    int set_count;
    struct machine_options machine;     /* thread_count 0: as many as CPUs, at most 8 */
};

struct strategy;

struct cluster {
    bool is_host;
    const char *asked_by;               /* "the program", "TPU_NAME", ..., for messages */
    struct slice slice;                 /* not of the host, like all below */
    struct chip chip;
    struct chip_origin *chip_origins;   /* by parameter */
    struct topology topology;
    struct machine_options machine_options;
    struct machine *machine;            /* NULL: not initialised, or shut down */
    int user_count;                     /* strategies that hold the machine, */
    struct strategy *strategies;        /* and their list (train/strategy/strategy.h) */
};

/* `a` holds what belongs to it. -1: no such slice, no such parameter. */
int cluster_resolve(struct cluster *c, const struct cluster_options *o, struct arena *a,
                    struct err *e);
/* The machine, all variables forgotten if there was one. -1: a strategy still uses that one. */
int cluster_initialize(struct cluster *c, struct err *e);
int cluster_shutdown(struct cluster *c, struct err *e);
/* frees the machine; no strategy may use it any more (asserted) */
void cluster_fini(struct cluster *c);

/* "v3-8: 2x2 chips, 8 cores, mesh"; "the host's reference interpreter" */
char *cluster_print(const struct cluster *c, char *buf, size_t buf_bytes);
#endif
