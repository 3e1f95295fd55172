/*
 * What a program and its host exchange while it runs: infeeds and receives from the host, outfeeds
 * and sends to it.
 *
 * Entries of one kind, channel and type go through one queue, first in, first out. Cores have no
 * host beside them, so structure_queues writes a queue as arrays: what goes in is a parameter of the
 * entry with `capacity` entries behind each other, what goes out a result, and a counter beside each
 * says how many have gone. Loops and branches that hold such an operation carry counters and arrays
 * along; order is that of instructions, as the host's evaluator has it.
 */
#ifndef IMPORT_STRUCTURE_QUEUE_H
#define IMPORT_STRUCTURE_QUEUE_H
#include "import/program/build.h"

enum structure_queue_kind { QUEUE_INFEED, QUEUE_RECEIVE, QUEUE_OUTFEED, QUEUE_SEND, QUEUE_NONE };

struct structure_queue {
    enum structure_queue_kind kind;
    bool goes_in;
    int64_t channel;                    /* of receives and sends */
    struct hlo_type type;               /* of an entry: an array or a tuple */
    int leaves, first;                  /* of an entry; its first among all that go in, or out */
    int64_t uses;                       /* in a run, at most; -1: the program does not tell */
    const struct hlo_instruction *at;   /* the first that uses it */
};

struct structure_queues {
    int count;
    struct structure_queue *item;       /* those of the entry first */
    int leaves_in, leaves_out;
};

/* The queues of a verified module, calls and all; `q` in the arena. */
void structure_find_queues(const struct hlo_module *m, struct arena *a, struct structure_queues *q);
/* number of the queue that an instruction of computation `c` takes from or gives to; -1: neither */
int structure_queue_of(const struct structure_queues *q, const struct hlo_computation *c,
                       const struct hlo_instruction *i);
/* how many entries the arrays of a queue hold: its uses, `otherwise` where they are not known */
int64_t structure_queue_capacity(const struct structure_queue *q, int64_t otherwise);
/* "infeed", "receive", "outfeed", "send" */
const char *structure_queue_name(enum structure_queue_kind kind);

/*
 * `old` without calls (structure_inline), `q` found in it or in what it was made of. Behind the
 * entry's parameters stand, for each queue that goes in, its leaves; behind the leaves of its
 * result, for each queue, the s32 counter, then the leaves of one that goes out. A queue that is
 * used more often than its capacity counts on; what was too much is lost. -1: an operation stands
 * where a loop's condition is computed.
 */
int structure_queues(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     const struct structure_queues *q, int64_t otherwise, struct err *e);
#endif
