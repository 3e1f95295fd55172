/* Of include/systole.h: the simulated slice, and which of its cores a replica is. */
#ifndef SYSTOLE_CLUSTER_H
#define SYSTOLE_CLUSTER_H
#include <stdbool.h>
#include <stdio.h>
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Clusters ----- */

typedef struct sy_cluster sy_cluster;

typedef struct sy_cluster_options {
    const char *const *set;             /* "mxu.count=8": changes of the chip; NULL ends; or NULL */
    const char *mode;                   /* "both" (or NULL), "timing", "functional" */
    int threads;                        /* of the host; 0: as many as CPUs, at most 8 */
    /*
     * Mode timing of slices whose chips are alike (rings, or at most two chips along each
     * direction): only the first chip is simulated and stands for all, in a fraction of the time.
     * Every core is a replica then.
     */
    bool one_chip;
} sy_cluster_options;

/*
 * Finds the TPU that is meant: "v3-8" a slice as the cloud names it; "local" what the environment
 * variable TPU_ACCELERATOR_TYPE says, else v3-8; NULL or "" what TPU_NAME says, else the host;
 * "cpu" the host. On the host the same calls run on the reference interpreter, without cycles.
 * `o` may be NULL.
 */
sy_status sy_cluster_resolve(const char *tpu, const sy_cluster_options *o, sy_cluster **out);
/* Makes the simulated slice. Again: all variables are lost; strategies must be freed before. */
sy_status sy_cluster_initialize(sy_cluster *c);
sy_status sy_cluster_shutdown(sy_cluster *c);
/* stays, and sy_message says so, while a strategy has it */
void sy_cluster_free(sy_cluster *c);

bool sy_cluster_is_host(const sy_cluster *c);
int sy_cluster_core_count(const sy_cluster *c);         /* the host: 1 */
int sy_cluster_host_count(const sy_cluster *c);
/* "v3-8: 2x2 chips, 8 cores, mesh"; belongs to the cluster */
const char *sy_cluster_describe(const sy_cluster *c);
/* x, y, z, cores of a chip; all 1 on the host */
void sy_cluster_mesh(const sy_cluster *c, int mesh[4]);
/*
 * "/job:worker/replica:0/task:0/device:TPU:3", as sy_strategy_on_device takes it; belongs to the
 * cluster. NULL, with sy_message: there is no such device. The host has one, a CPU.
 */
const char *sy_cluster_device_name(sy_cluster *c, int device);
/* coordinates x, y, z, core of a device; devices are numbered host by host */
sy_status sy_cluster_coordinates(const sy_cluster *c, int device, int coordinates[4]);
/* a map of the chips with the numbers of their devices */
sy_status sy_cluster_print_topology(const sy_cluster *c, FILE *to);

/* ----- Device assignments ----- */

typedef struct sy_assignment sy_assignment;

/*
 * Replicas as boxes of `shape` cores (x, y, z, core), every `stride` of them; NULL: 1 in each
 * direction. replicas 0: as many as there is room for. order: "auto" (or NULL), "ring", "mesh": of
 * the logical devices in a box. The cluster must outlive it.
 */
sy_status sy_assignment_build(sy_cluster *c, const int shape[4], const int stride[4],
                              int replicas, const char *order, sy_assignment **out);
/* from coordinates x, y, z, core of each logical device, replica by replica */
sy_status sy_assignment_from(sy_cluster *c, const int (*coordinates)[4], int replicas,
                             int devices, sy_assignment **out);
void sy_assignment_free(sy_assignment *a);
int sy_assignment_replicas(const sy_assignment *a);
int sy_assignment_devices(const sy_assignment *a);      /* of a replica */
/* the core that a logical device of a replica is */
sy_status sy_assignment_core(const sy_assignment *a, int replica, int device, int *core);
sy_status sy_assignment_print(const sy_assignment *a, FILE *to);

#ifdef __cplusplus
}
#endif
#endif
