/* What the handlers of operations share: a run, its values, its memory. Private to stack/mosaic. */
#ifndef STACK_MOSAIC_RUN_IMPL_H
#define STACK_MOSAIC_RUN_IMPL_H
#include "stack/mosaic/run.h"

/* what is known of each word of a buffer (watch.h); NULL where nobody watches */
struct mosaic_marks {
    uint8_t *written;
    uint16_t *writes, *reads;           /* of copies under way */
    /* of several devices (watch_team.c): when its own has used a word last; of a semaphore's word
     * what its waiter learns, a number for each device */
    uint32_t *used, *told;
};

struct mosaic_buffer {                  /* of memory: dense words of one array */
    uint32_t *word;
    int64_t count;
    bool is_owned;
    int id;                             /* of the value that it is; BARRIER_ID */
    struct mosaic_marks marks;
};
#define BARRIER_ID (-1)

/* of a view of other elements than its buffer's: `parts` of those are one, `step` words apart; 0: it is
 * none (run_cast.c) */
struct mosaic_cast { enum mosaic_element own, seen; int parts; int64_t step; };

struct mosaic_view {                    /* what a reference stands for */
    struct mosaic_buffer *buffer;
    struct mosaic_cast cast;
    int64_t offset;                     /* words */
    int rank;
    int64_t dim[MOSAIC_RANK_MAX], stride[MOSAIC_RANK_MAX];
};

struct mosaic_datum {                   /* of a value, by its type */
    int64_t integer;                    /* scalars that are integers; others have word[0] */
    uint32_t *word;                     /* dense, row-major */
    int64_t count;
    struct mosaic_view view;
    struct mosaic_buffer *own;          /* that an allocation here has made */
};

struct mosaic_copy {                    /* started and not waited for */
    const struct mosaic_op *op;
    int64_t step[MOSAIC_RANK_MAX];
    struct mosaic_view from, to;
    const uint32_t *done, *sent;        /* words of the semaphores that tell of its ends, until */
    int64_t done_bytes, sent_bytes;     /* they have been waited for; what is left of that */
};
struct mosaic_copies { struct mosaic_copy *item; int count; size_t capacity; };

/* who writes a block: a step, indices of dimensions in order being 0 */
struct mosaic_owner { int operand; int64_t first[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX]; };

struct mosaic_run {
    const struct mosaic_kernel *k;
    const struct mosaic_run_settings *s;
    struct mosaic_datum *value;         /* by value's id */
    const struct mosaic_op *ended;      /* the operation that ended the last block */
    int64_t grid[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX];
    uint32_t random_key;                /* random.h */
    struct mosaic_buffer barrier;
    uint32_t barrier_word;
    struct mosaic_block_run *block;     /* by array (run.c) */
    int64_t steps;                      /* 0: none */
    struct mosaic_team *team;           /* of several devices; NULL: it is alone */
    int number;                         /* in the team */
    uint32_t *clock;                    /* by member: what this one knows of its time; NULL: unwatched */
    int depth;
    bool *is_used;                      /* by value, of a run that is watched */
    struct mosaic_copies *copies;       /* of all devices */
    struct mosaic_owner *owner;
    int owner_count;
    size_t owner_capacity;
    int64_t operations;                 /* done so far */
    struct err *err;
};

typedef int mosaic_handler(struct mosaic_run *r, const struct mosaic_op *op);
#define MOSAIC(id, name, operands, results, regions, eval) mosaic_handler mosaic_eval_##eval;
#include "stack/mosaic/ops.def"

/* The line, the message and the step of the grid; -1. */
int mosaic_stop(struct mosaic_run *r, const struct mosaic_op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* the operation of a window's index map whose line stands for it; NULL: none has one */
const struct mosaic_op *mosaic_place_of_map(const struct mosaic_kernel *k, int operand);

/* A run in parts, as a team makes it: all begin before any goes, all have gone before any ends. */
int mosaic_run_begin(struct mosaic_run *r, uint32_t *const *array);
int mosaic_run_go(struct mosaic_run *r);
int mosaic_run_check(struct mosaic_run *r);             /* what it leaves behind */
void mosaic_run_end(struct mosaic_run *r);

/* ----- several devices (run_team.c) */
int team_count(const struct mosaic_run *r);             /* 1: it is alone */
/* the member that is this device; NULL: none */
struct mosaic_run *team_member(struct mosaic_run *r, int64_t device);
/* what a buffer here is there; NULL: not there yet */
struct mosaic_buffer *team_buffer(struct mosaic_run *there, const struct mosaic_buffer *here);
/* Others go on until the semaphore has so much. 0; 1: it never will; -1: the run is over. */
int team_await(struct mosaic_run *r, const uint32_t *semaphore, int64_t amount);
void team_yield(struct mosaic_run *r);                  /* others go on first */

int mosaic_run_block(struct mosaic_run *r, const struct mosaic_block *b);
/* 0, or -1: a semaphore is left raised; `at` is where it was made */
int mosaic_check_semaphore(struct mosaic_run *r, const struct mosaic_op *at,
                           const struct mosaic_value *v);
/* where the operand's block of this step begins, by its index map */
int mosaic_find_block(struct mosaic_run *r, int operand, int64_t *first);
/* 0, or -1: it begins outside of its array */
int mosaic_check_block(struct mosaic_run *r, int operand, const struct mosaic_type *array,
                       const int64_t *first);
void mosaic_free_values(struct mosaic_run *r);

static inline struct mosaic_datum *mosaic_datum(struct mosaic_run *r, const struct mosaic_value *v)
{
    return &r->value[v->id];
}
static inline struct mosaic_datum *mosaic_in(struct mosaic_run *r, const struct mosaic_op *op,
                                             int operand)
{
    return &r->value[op->operand[operand]->id];
}
static inline int64_t mosaic_int_in(struct mosaic_run *r, const struct mosaic_value *v)
{
    return r->value[v->id].integer;
}
/* The result's words, of its type's count, to be written; scalars have one. */
uint32_t *mosaic_out(struct mosaic_run *r, const struct mosaic_op *op);
void mosaic_set_int(struct mosaic_run *r, const struct mosaic_value *v, int64_t x);
/* words of a value, scalars as one word */
const uint32_t *mosaic_words(struct mosaic_run *r, const struct mosaic_value *v);
void mosaic_copy_value(struct mosaic_run *r, const struct mosaic_value *to,
                       const struct mosaic_value *from);
/* values of the operation that has ended a block, from operand `first` on, as those of `to` */
void mosaic_pass_on(struct mosaic_run *r, int first, struct mosaic_value *const *to, int count);

/* bits of an element as memory has them, and the word that stands for it here; types that have some */
bool mosaic_has_bits(enum mosaic_element e);
uint32_t mosaic_bits_of(enum mosaic_element e, uint32_t word);
uint32_t mosaic_word_of_bits(enum mosaic_element e, uint32_t bits);

/* an element of a view, which may be several of its buffer's (run_cast.c) */
uint32_t mosaic_view_load(struct mosaic_run *r, const struct mosaic_op *op,
                          const struct mosaic_view *v, int64_t word, bool is_used);
void mosaic_view_store(struct mosaic_run *r, const struct mosaic_op *op,
                       const struct mosaic_view *v, int64_t word, uint32_t x);

/* A new buffer of a reference's type as the view of `v`, holding nothing that anybody has written */
void mosaic_allocate(struct mosaic_run *r, const struct mosaic_value *v);
struct mosaic_view mosaic_whole(struct mosaic_buffer *b, const struct mosaic_type *t);
uint32_t mosaic_unwritten(enum mosaic_element e);

/* an element rounded to its type: floats to nearest even, integers by their low bits with sign */
float mosaic_round(enum mosaic_element e, float x);
int64_t mosaic_wrap(enum mosaic_element e, int64_t x);

/* words from an index to the next along each dimension of a dense vector */
void mosaic_strides(const struct mosaic_type *t, int64_t *stride);
static inline int64_t mosaic_at(const int64_t *index, const int64_t *stride, int rank)
{
    int64_t sum = 0;

    for (int d = 0; d < rank; d++)
        sum += index[d] * stride[d];
    return sum;
}
/* -1, with the message: the operation's vector has no such dimension */
int mosaic_check_dim(struct mosaic_run *r, const struct mosaic_op *op, int64_t dim, int rank);

/* The next index of a box in row-major order; false behind the last one. */
bool mosaic_next(int64_t *index, const int64_t *dim, int rank);
#endif
