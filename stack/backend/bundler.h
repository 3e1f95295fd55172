/*
 * Bundles for hand-made loops: operations with physical registers, given in
 * program order, each put into the first bundle in which its registers are
 * ready and a slot is free. Interlocks would make any placement right; this
 * one makes it dense.
 *
 * Code is made in sections. Nothing moves from one section into another.
 * Inside a section registers, and the order of pushes and of pops of each
 * matrix, cross-lane and the transcendental unit, are kept, and the FIFO of the last
 * never holds more than it can; memory is not looked at: the caller orders accesses
 * that touch by sections or by `not_before`.
 *
 * A section with an initiation interval (II) is the body of a loop that is
 * software-pipelined: it is `ii` bundles long and an operation placed at time t runs t / II
 * rounds later than its round began, in bundle t mod II. All pushes into the
 * transcendental unit come before those of the next round, and all pops before its.
 */
#ifndef STACK_BUNDLER_H
#define STACK_BUNDLER_H
#include "base/arena.h"
#include "isa/check.h"
#include "isa/op_make.h"
#include "sim/chip/chip.h"

#define BUNDLER_LABEL_MAX 512
#define BUNDLER_EUP_MAX 32              /* results of the transcendental unit under way */

/* times in the section, -1 = never */
struct bundler_register { int ready, first_written, written, read; };

struct bundler {
    const struct chip *chip;
    struct isa_limits limits;
    struct isa_op *op;                  /* of the finished sections */
    struct isa_bundle *bundle;
    size_t op_count, op_capacity, bundle_count, bundle_capacity;
    const char *note[BUNDLER_LABEL_MAX];
    uint32_t note_count, current_note;
    struct { const char *name; int64_t bundle; } label[BUNDLER_LABEL_MAX];

    /* the open section */
    struct bundler_placed { struct isa_op op; int at; } *placed;
    size_t placed_count, placed_capacity;
    int (*row)[SLOT_COUNT];             /* operations by bundle and slot */
    size_t row_capacity;
    int length, ii;
    bool is_too_long;                   /* more than fits the II, or than a value lives */
    struct bundler_register v[ISA_VREG_MAX], s[ISA_SREG_COUNT], p[ISA_PRED_ALWAYS + 1];
    struct bundler_register m[ISA_MASK_COUNT];
    int first_eup_push, last_eup_push, first_eup_pop, last_eup_pop;
    int eup_push_count, eup_pop_count;
    int eup_push_at[BUNDLER_EUP_MAX], eup_pop_at[BUNDLER_EUP_MAX];      /* the last ones */
    int eup_held;                       /* with an II: results in the FIFO at once, at most */
    int eup_under_way;                  /* pushed in finished sections and not popped there */
    int last_push[2][ISA_UNIT_MAX], last_pop[2][ISA_UNIT_MAX];  /* matrix, cross-lane units */
    int first_pop[2][ISA_UNIT_MAX];
};

void bundler_init(struct bundler *b, const struct chip *chip);
void bundler_fini(struct bundler *b);

/* Open a section; II 0: straight code. `note` (not copied) names it in reports. */
void bundler_begin(struct bundler *b, const char *note, int ii);
/* Place the operation as early as it can be, or at `not_before` or later; returns its time. */
int bundler_add(struct bundler *b, struct isa_op op);
int bundler_add_after(struct bundler *b, int not_before, struct isa_op op);
/* Place it at this time whatever its registers; its slot must be free. */
void bundler_add_at(struct bundler *b, int at, struct isa_op op);
/*
 * Place two operations in adjacent bundles, the second not guarded by and not
 * using what the first gives; returns the time of the first.
 */
int bundler_put_pair(struct bundler *b, const struct isa_op *first, const struct isa_op *second,
                     int not_before);
/* The operation placed last, to correct an immediate. */
struct isa_op *bundler_last(struct bundler *b);
/* Close the section; with a branch, the delay bundles are its last ones. */
void bundler_end(struct bundler *b);
void bundler_end_branch(struct bundler *b, int label, int pred, bool is_negated);
void bundler_drop(struct bundler *b);   /* close it and forget its code */

/* Finished code behind the last section: branches inside it only, counting from its start. */
void bundler_append(struct bundler *b, const struct isa_program *p);

/* Label `label` (0..BUNDLER_LABEL_MAX - 1) is the next section; `name` is not copied. */
void bundler_label(struct bundler *b, int label, const char *name);

/* All sections as a program whose memory is `a`'s. */
void bundler_finish(struct bundler *b, const char *name, struct arena *a,
                    struct isa_program *out);
#endif
