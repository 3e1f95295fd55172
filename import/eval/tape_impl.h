/* What the parts of tapes share: registers, steps, blocks. Private to import/eval/tape*.c. */
#ifndef IMPORT_EVAL_TAPE_IMPL_H
#define IMPORT_EVAL_TAPE_IMPL_H
#include "import/eval/tape.h"
#include "import/lanes/apply.h"

struct tape_block;

/* An array of a fixed type. Where its elements lie may change: views, states of loops. */
struct tape_register {
    struct value v;                     /* data: where its elements are now */
    struct tape_register *root;         /* whose elements it shows; itself: its own */
    const struct tape_block *owner;     /* which makes it anew each time; NULL: none does */
    int depth;                          /* of the innermost block that it depends on */
    int64_t count;
    size_t bytes;
    int last_use;                       /* the owner's last step that reads these elements */
    bool is_constant, has_storage;
    bool is_moving;                     /* its elements lie elsewhere in another round or run */
    struct value *given;                /* of an argument: the array that it is now */
};

enum tape_kind {
    TAPE_KERNEL,                        /* the operation's kernel over arrays as they are */
    TAPE_APPLY,                         /* the same block by block, widened and rounded */
    TAPE_MOVE,                          /* elements to other places */
    TAPE_VIEW,                          /* elements of the first operand where they lie */
    TAPE_HANDLER,                       /* whatever else, by the operation's handler */
    TAPE_LOOP, TAPE_BRANCH
};

struct tape_step {
    enum tape_kind kind;
    bool is_in_place;                   /* the result overwrites the first operand */
    struct {                            /* of TAPE_KERNEL, all of it in one line of the cache */
        kernel k;
        int64_t count;
        struct tape_register *to;
        struct tape_register *from[APPLY_OPERANDS_MAX];         /* the first for those it has not */
    } direct;
    int from_count, to_count;
    struct tape_register **from, **to;
    union {
        size_t offset;                  /* of TAPE_VIEW: bytes behind the operand's start */
        struct apply *apply;
        struct tape_move *move;
        struct tape_loop *loop;
        struct tape_branch *branch;
    };
    eval_handler handler;               /* of TAPE_HANDLER .. */
    struct value **operand;             /* .. and its operands' values */
    struct frame *frame;                /* the computation that the instruction is of */
    int index;
};

/* Steps that are carried out one behind the other: of a computation, a body, a branch. */
struct tape_block {
    struct tape_block *parent;
    int depth, step_count, result_count;
    size_t capacity;
    struct tape_step *step;
    struct tape_register **result;
    int instructions;                   /* of the program, that it stands for */
    const struct hlo_instruction *last; /* one of them */
};

/* How a part of a loop's state goes from one round to the next. */
enum tape_carry {
    CARRY_NOTHING,                      /* it is what it was */
    CARRY_SWAP,                         /* the two registers change places */
    CARRY_COPY                          /* by way of `room`: a part may become another one's */
};

struct tape_loop {
    struct tape_block condition, body;
    int count;
    struct tape_register **state;       /* parts, which the body reads; body.result is the next */
    enum tape_carry *carry;
    void **room;
};

struct tape_branch {
    bool is_predicated;
    int count;
    struct tape_block *block;
};

struct tape {
    struct tape *next;                  /* of the evaluation */
    int computation, index;             /* index -1: the computation, else a loop in it */
    bool is_fine;
    struct arena arena;
    size_t bytes, bytes_max;            /* that registers take */
    struct tape_block block;
    int argument_count, register_count;
    char *pool;                         /* the next of .. */
    size_t pool_left;                   /* .. bytes that small arrays take, side by side */
    struct tape_register **argument, **all;     /* leaves; all registers */
    size_t all_capacity;
    const struct hlo_type *type;        /* of the result */
};

struct tape_leaves {
    int count;
    struct tape_register **reg;
};

/* Everything of tape.h's promise but the last touches: which steps, on which registers. */
bool tape_compile(struct eval *ev, struct tape *t);
/* Which results may overwrite an operand, how states are carried on, where registers lie. False
 * where that takes too much memory. */
bool tape_finish(struct tape *t);
/* room for its elements; false where the tape has too many */
bool tape_give_storage(struct tape *t, struct tape_register *r);
void *tape_alloc(struct tape *t, size_t bytes);         /* zeroed, 16-byte aligned */

int tape_run_step(struct eval *ev, struct tape_step *s, int device);

/*
 * Makes a move of an operation that moves elements to places known beforehand, or a view where they
 * already lie behind one another. Found by moving numbers. False where it is no such operation, or
 * too large to be worth it.
 */
bool tape_move_make(struct eval *ev, struct tape *t, struct tape_step *s);
struct tape_move {
    void (*copy)(const struct tape_step *s);
    int run_count;
    struct tape_move_run *run;
    int32_t *each;              /* in place of short runs: the first operand's element, by place */
};

static inline struct tape_register *tape_root(struct tape_register *r)
{
    while (r->root != r)
        r = r->root;
    return r;
}
#endif
