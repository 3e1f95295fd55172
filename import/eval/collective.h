/* What collectives share. Private to import/eval. */
#ifndef IMPORT_EVAL_COLLECTIVE_H
#define IMPORT_EVAL_COLLECTIVE_H
#include "import/eval/handlers.h"

/* what the numbers of a group are */
enum collective_mode {
    COLLECTIVE_REPLICAS,                /* replicas, of one's own partition */
    COLLECTIVE_PARTITIONS,              /* partitions, of one's own replica */
    COLLECTIVE_REPLICAS_ALL,            /* replicas, with all of their partitions */
    COLLECTIVE_GLOBAL                   /* devices */
};

struct collective_group {
    int count;
    int *device;                        /* room for all devices */
};

typedef int (*collective_handler)(struct call *c, const struct collective_group *g);

enum collective_mode collective_mode_of(const struct hlo_instruction *i);
/* the devices that `device` does it with, in their order */
int collective_group_of(struct frame *f, const struct hlo_instruction *i, int device,
                        struct collective_group *g);
/* an operand as another device has it; NULL with the error set where that is not taking part */
struct value *collective_operand(struct frame *f, const struct hlo_instruction *i, int device,
                                 int operand);
/* the handler on each device, with its group */
int collective_run(struct frame *f, int index, collective_handler handler);
int collective_results(struct call *c);
struct value *collective_part(struct call *c, int k);
struct value *collective_reduced(struct call *c, const struct collective_group *g, int operand);
/* one of from_parts parts of an array along a dimension, to the place to_at of another's */
void collective_copy(struct value *to, int to_dim, int64_t to_at, const struct value *from,
                     int from_dim, int64_t from_at, int64_t from_parts);
#endif
