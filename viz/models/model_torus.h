/*
 * Chips at their coordinates, links between them with their use over an interval
 * of time, and messages on them at an instant.
 */
#ifndef VIZ_MODEL_TORUS_H
#define VIZ_MODEL_TORUS_H
#include "report/native_trace/ntrace.h"

#define TORUS_MESSAGE_MOST 512

struct torus_link {
    int from, to;                       /* chips */
    int axis;                           /* 0 x, 1 y, 2 z */
    bool is_wrap;                       /* closes a ring */
    int64_t payload_bytes, wire_bytes;
    double share;                       /* of the time that it is busy, 0..1 */
};
struct torus_model {
    int dim[3], chip_count;
    struct torus_link *link;
    size_t count;
    int busiest;                        /* -1: nothing was sent */
    double seconds;                     /* of the interval */
};
void torus_model_init(struct torus_model *m);
void torus_model_fini(struct torus_model *m);
void torus_model_load(struct torus_model *m, struct ntrace *run, cycle_t from, cycle_t end);

void torus_model_coordinates(const struct torus_model *m, int chip, int to[3]);
/* Where a chip is drawn, in steps of the grid: a third axis goes up and to the right. */
void torus_model_place(const struct torus_model *m, int chip, double *x, double *y);
/* the largest x and y of all chips */
void torus_model_extent(const struct torus_model *m, double *x, double *y);

/* A message that takes a link at an instant: how much of its time there is over, 0..1. */
struct torus_message {
    int link;
    double progress;
    struct trace_link told;
};
/* of level bundle and finer; returns their count, at most TORUS_MESSAGE_MOST */
int torus_model_messages(const struct torus_model *m, struct ntrace *run, double cycle,
                         struct torus_message to[TORUS_MESSAGE_MOST]);
#endif
