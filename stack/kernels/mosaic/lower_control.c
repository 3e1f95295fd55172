/* Blocks, conditions and loops of a kernel. */
#include "stack/kernels/mosaic/lower.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

static const struct { pallas_run *run; } rows[MOSAIC_UNKNOWN] = {
#define LOWER(id, run, tile, op) [MOSAIC_##id] = {pallas_##run},
#include "stack/kernels/mosaic/lower.def"
};

int pallas_fail(struct lower *l, const struct mosaic_op *op, const char *fmt, ...)
{
    char message[360];
    va_list args;

    if (l->is_failed)
        return -1;
    l->is_failed = true;
    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    return mosaic_refuse(l->k, op, l->err, "%s", message);
}

/* the line of the source, as the note of the code */
static void note(struct lower *l, const struct mosaic_op *op)
{
    const char *file = op->place.file, *slash;

    if (!file)
        return;
    slash = strrchr(file, '/');
    l->code.note = arena_printf(l->a, "%s %s:%d", op->name, slash ? slash + 1 : file,
                                op->place.line);
}

/* memory may change that no root says to write */
static bool may_write(const struct mosaic_op *op)
{
    return op->region_count || (op->code >= MOSAIC_SEM_ALLOC && op->code <= MOSAIC_WAIT_DMA);
}

static int block_ops(struct lower *l, const struct mosaic_block *b)
{
    for (int i = 0; i < b->op_count && !l->is_failed; i++) {
        const struct mosaic_op *op = b->op[i];
        uint16_t before;

        l->at++;
        l->epoch += may_write(op);
        if (op->code == MOSAIC_UNKNOWN || !rows[op->code].run)
            return pallas_fail(l, op, "cores do not carry this operation out");
        note(l, op);
        before = pallas_origin(&l->code, op);
        if (column_settle(l, op) || rows[op->code].run(l, op))
            return -1;
        l->code.origin = before;
        for (int r = 0; r < op->result_count; r++)
            if (op->result[r]->type.kind == MOSAIC_VECTOR &&
                l->last_use[op->result[r]->id] > l->at)
                l->live[l->live_count++] = op->result[r];
    }
    return l->is_failed ? -1 : 0;
}

int pallas_block(struct lower *l, const struct mosaic_block *b)
{
    int around = l->block_end, status;

    l->block_end = l->at + pallas_count_ops(b);
    l->epoch++;
    scalar_scope_begin(l);
    status = block_ops(l, b);
    scalar_scope_end(l);
    l->epoch++;
    l->block_end = around;
    return status;
}

void pallas_begin_block(struct lower *l)
{
    vcode_begin_block(&l->code);
    scalar_forget(l);
}

#define SKIP_NEVER 0                    /* code that always runs */

size_t pallas_if_begin(struct lower *l, struct scalar s)
{
    size_t skip;

    if (s.is_known)
        return SKIP_NEVER;
    skip = vcode_skip_begin(&l->code, scalar_test(l, s, true));
    scalar_forget(l);
    scalar_scope_begin(l);
    return skip + 1;
}

void pallas_if_end(struct lower *l, size_t skip)
{
    if (skip == SKIP_NEVER)
        return;
    vcode_skip_end(&l->code, skip - 1);
    scalar_forget(l);
    scalar_scope_end(l);
}

int pallas_loop_begin(struct lower *l)
{
    int counter = LOWER_LOOP_FIRST + l->loop_depth;

    if (l->loop_depth == LOWER_LOOPS_MAX) {
        pallas_fail(l, NULL, "loops within loops, more than %d", LOWER_LOOPS_MAX);
        return LOWER_LOOP_FIRST;
    }
    l->loop_depth++;
    pallas_begin_block(l);
    vcode_loop_begin(&l->code, counter, 1);
    scalar_forget(l);
    scalar_forget_made(l);
    scalar_scope_begin(l);
    return counter;
}

void pallas_loop_end(struct lower *l, int counter, struct scalar a, struct scalar b)
{
    struct isa_operand x, y;

    pallas_begin_block(l);
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    emit_scmp_lt(&l->code, 1, x, y);
    emit_select(&l->code, counter, 1, I(2), I(1));
    vcode_loop_end(&l->code, counter);
    scalar_forget(l);
    scalar_scope_end(l);
    l->loop_depth--;
}

/* ----- values that regions take in and give */

static void open_result(struct lower *l, const struct mosaic_op *op, const struct mosaic_value *v)
{
    if (v->type.kind == MOSAIC_SCALAR)
        l->scalar[v->id] = scalar_word(l);
    pallas_take_for(l, v);
    if (v->type.kind == MOSAIC_VECTOR)
        l->place[v->id] = place_new(l, &v->type, op, "a vector that a region gives");
    l->place[v->id].is_spread = place_is_column(&l->place[v->id]);
    pallas_take_for(l, NULL);
}

/* `from` into what stands for `to` */
static int pass(struct lower *l, const struct mosaic_value *to, const struct mosaic_value *from)
{
    if (to->type.kind == MOSAIC_SCALAR) {
        scalar_write(l, l->scalar[to->id], scalar_of(l, from));
        return 0;
    }
    if (to->type.kind == MOSAIC_REF) {
        l->place[to->id] = l->place[from->id];
        return 0;
    }
    if (value_is_column(l, from) && column_turn(l, from))
        return -1;
    return root_add(l, &(struct root){.value = from, .to = l->place[to->id]});
}

static const struct mosaic_op *last_of(const struct mosaic_block *b)
{
    return b->op_count ? b->op[b->op_count - 1] : NULL;
}

static int give_results(struct lower *l, const struct mosaic_op *op, const struct mosaic_block *b)
{
    for (int i = 0; i < op->result_count; i++)
        if (pass(l, op->result[i], last_of(b)->operand[i]))
            return -1;
    return root_flush(l);
}

int pallas_end(struct lower *l, const struct mosaic_op *op)
{
    (void)op;
    return root_flush(l);
}

int pallas_nothing(struct lower *l, const struct mosaic_op *op)
{
    (void)l;
    (void)op;
    return 0;
}

int pallas_later(struct lower *l, const struct mosaic_op *op)
{
    if (op->result[0]->type.kind != MOSAIC_VECTOR)
        return pallas_fail(l, op, "of scalars; of vectors it is made");
    return 0;
}

/* the region that is taken, at once, results being what it gives */
static int inline_region(struct lower *l, const struct mosaic_op *op, const struct mosaic_block *b)
{
    const struct mosaic_op *end = last_of(b);

    if (pallas_block(l, b))
        return -1;
    for (int i = 0; end && i < op->result_count; i++) {
        const struct mosaic_value *from = end->operand[i], *to = op->result[i];

        if (from->type.kind == MOSAIC_SCALAR)
            l->scalar[to->id] = scalar_of(l, from);
        if (from->type.kind == MOSAIC_VECTOR) {
            if (root_materialize(l, from, &l->place[to->id]))
                return -1;
        } else {
            l->place[to->id] = l->place[from->id];
        }
    }
    return 0;
}

static void skip_numbers(struct lower *l, const struct mosaic_block *b)
{
    for (int i = 0; i < b->op_count; i++) {
        l->at++;
        for (int r = 0; r < b->op[i]->region_count; r++)
            skip_numbers(l, b->op[i]->region[r]);
    }
}

int pallas_if(struct lower *l, const struct mosaic_op *op)
{
    struct scalar c = scalar_of(l, op->operand[0]);

    if (c.is_known) {
        int taken = c.value ? 0 : 1, status = 0;

        for (int r = 0; r < op->region_count && !status; r++) {
            if (r == taken)
                status = inline_region(l, op, op->region[r]);
            else
                skip_numbers(l, op->region[r]);
        }
        return status;
    }
    if (root_save(l, -1) || root_flush(l))
        return -1;
    for (int i = 0; i < op->result_count; i++)
        open_result(l, op, op->result[i]);
    for (int r = 0; r < op->region_count; r++) {
        struct scalar is_taken = c;
        size_t skip;

        if (op->region[r]->op_count <= 1 && !op->result_count) {
            skip_numbers(l, op->region[r]);
            continue;
        }
        if (r == 1) {
            struct isa_operand x;
            int to;

            pallas_begin_block(l);
            x = scalar_use(l, c);
            to = scalar_register(l);
            emit_sxor(&l->code, to, x, I(1));
            is_taken = scalar_keep(l, R(to));
        }
        skip = pallas_if_begin(l, is_taken);
        if (pallas_block(l, op->region[r]) || give_results(l, op, op->region[r]))
            return -1;
        pallas_if_end(l, skip);
    }
    return 0;
}

int pallas_switch(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_attr *cases = mosaic_attr(op, "cases");
    struct scalar which = scalar_of(l, op->operand[0]), is_other = scalar_known(1);

    if (root_save(l, -1) || root_flush(l))
        return -1;
    for (int i = 0; i < op->result_count; i++)
        open_result(l, op, op->result[i]);
    if (!which.is_known)
        is_other = scalar_word(l);
    if (!which.is_known)
        scalar_write(l, is_other, scalar_known(1));
    for (int r = 1; r <= op->region_count; r++) {
        const struct mosaic_block *b = op->region[r % op->region_count];
        struct scalar is_taken = is_other;
        size_t skip;

        if (r < op->region_count && (!cases || r > cases->count))
            return pallas_fail(l, op, "%d regions for its cases", op->region_count);
        if (r < op->region_count)
            is_taken = scalar_sub(l, which, scalar_known(cases->ints[r - 1]));
        if (which.is_known && r < op->region_count) {
            is_taken = scalar_known(is_taken.value == 0);
            if (is_taken.value)
                is_other = scalar_known(0);
        } else if (r < op->region_count) {
            int p = scalar_test(l, is_taken, true), to = scalar_register(l);

            emit_select(&l->code, to, p, I(1), I(0));
            is_taken = scalar_keep(l, R(to));
        }
        if (is_taken.is_known && !is_taken.value) {
            skip_numbers(l, b);
            continue;
        }
        skip = pallas_if_begin(l, is_taken);
        if (!which.is_known && r < op->region_count)
            scalar_write(l, is_other, scalar_known(0));
        if (pallas_block(l, b) || give_results(l, op, b))
            return -1;
        pallas_if_end(l, skip);
    }
    return 0;
}

/* Results of operations in a body that is compiled once more would keep their places. */
int pallas_region(struct lower *l, const struct mosaic_op *op)
{
    return inline_region(l, op, op->region[0]);
}

int pallas_call(struct lower *l, const struct mosaic_op *op)
{
    const char *name = mosaic_text(op, "callee", "");

    for (int i = 0; i < l->k->function_count; i++)
        if (!strcmp(l->k->function[i]->name, name))
            return pallas_fail(l, op, "function %s is called; kernels without calls are made", name);
    return pallas_fail(l, op, "no function is called %s", name);
}

#define CARRIED_MAX 32

/* what a loop carries: into places of its own */
static int open_carried(struct lower *l, const struct mosaic_op *op, int first,
                        struct mosaic_value *const *argument, int count)
{
    for (int i = 0; i < count; i++) {
        open_result(l, op, argument[i]);
        if (pass(l, argument[i], op->operand[first + i]))
            return -1;
    }
    return root_flush(l);
}

/* vectors that a loop carries on into its next round */
struct carried {
    struct mosaic_value *const *argument, *const *from;
    int count;
    bool is_done[CARRIED_MAX];
};

static bool is_left(const struct carried *c, int i)
{
    return !c->is_done[i] && c->argument[i]->type.kind != MOSAIC_SCALAR;
}

/* what another one that is left is made of, and so is not written yet */
static bool is_read(struct lower *l, const struct carried *c, int i)
{
    for (int k = 0; k < c->count; k++)
        if (k != i && is_left(c, k) && c->from[k]->type.kind == MOSAIC_VECTOR &&
            value_reads(l, c->from[k], l->place[c->argument[i]->id].region))
            return true;
    return false;
}

/* the first that nothing left reads any more; -1: they read each other, or none is left */
static int next_unread(struct lower *l, const struct carried *c)
{
    for (int i = 0; i < c->count; i++)
        if (is_left(c, i) && !is_read(l, c, i))
            return i;
    return -1;
}

/* One that stays what it is, but in the place of another: a copy of it, before that is written. */
static int copy_aside(struct lower *l, const struct mosaic_value *v, struct place *aside)
{
    struct root r = {.value = v};

    pallas_take_for(l, NULL);
    r.to = *aside = place_new(l, &v->type, v->op, "a vector that changes places");
    return root_add(l, &r) || root_flush(l);
}

static int pass_copy(struct lower *l, const struct mosaic_value *to, const struct mosaic_value *v,
                     const struct place *aside)
{
    struct place own = l->place[v->id];
    int status;

    l->place[v->id] = *aside;
    status = pass(l, to, v) || root_flush(l);
    l->place[v->id] = own;
    return status ? -1 : 0;
}

static int pass_vectors(struct lower *l, struct carried *c)
{
    struct place aside[CARRIED_MAX];

    for (int i = 0; i < c->count; i++)
        c->is_done[i] = c->from[i] == c->argument[i];
    for (int i; (i = next_unread(l, c)) >= 0; c->is_done[i] = true)
        if (pass(l, c->argument[i], c->from[i]))
            return -1;
    /* those that read each other stand in memory of their own before any of them is written */
    for (int i = 0; i < c->count; i++) {
        if (!is_left(c, i))
            continue;
        aside[i] = l->place[c->from[i]->id];
        if (aside[i].is_there ? copy_aside(l, c->from[i], &aside[i]) : root_keep(l, c->from[i]))
            return -1;
    }
    if (root_flush(l))
        return -1;
    for (int i = 0; i < c->count; i++)
        if (is_left(c, i) && !aside[i].is_there)
            aside[i] = l->place[c->from[i]->id];
    for (int i = 0; i < c->count; i++)
        if (is_left(c, i) && pass_copy(l, c->argument[i], c->from[i], &aside[i]))
            return -1;
    return 0;
}

/* Of values that change places with one another all are read before any is written. */
static int next_carried(struct lower *l, const struct mosaic_op *op, int first,
                        struct mosaic_value *const *argument, int count,
                        const struct mosaic_op *end)
{
    struct scalar held[CARRIED_MAX];
    struct carried c = {.argument = argument, .from = end->operand + first, .count = count};

    if (count > CARRIED_MAX)
        return pallas_fail(l, op, "%d values are carried; %d are the most", count, CARRIED_MAX);
    for (int i = 0; i < count; i++) {
        const struct mosaic_value *from = end->operand[first + i];

        if (from->type.kind == MOSAIC_SCALAR)
            held[i] = scalar_of(l, from);
        for (int j = 0; j < i; j++)
            if (from->type.kind == MOSAIC_SCALAR && !held[i].is_known &&
                held[i].smem == l->scalar[argument[j]->id].smem)
                held[i] = scalar_keep(l, scalar_use(l, held[i]));
    }
    /* vectors first: what they are made of may be scalars of this round */
    if (pass_vectors(l, &c))
        return -1;
    if (root_flush(l))
        return -1;
    for (int i = 0; i < count; i++)
        if (argument[i]->type.kind == MOSAIC_SCALAR)
            scalar_write(l, l->scalar[argument[i]->id], held[i]);
    return 0;
}

static void take_carried(struct lower *l, const struct mosaic_op *op,
                         struct mosaic_value *const *argument)
{
    for (int i = 0; i < op->result_count; i++) {
        l->scalar[op->result[i]->id] = l->scalar[argument[i]->id];
        l->place[op->result[i]->id] = l->place[argument[i]->id];
    }
}

static int for_body(struct lower *l, const struct mosaic_op *op, struct scalar end,
                    struct scalar step)
{
    const struct mosaic_block *b = op->region[0];
    struct scalar index = l->scalar[b->argument[0]->id], next;
    int counter = pallas_loop_begin(l);

    if (pallas_block(l, b) ||
        next_carried(l, op, 0, b->argument + 1, op->result_count, last_of(b)))
        return -1;
    pallas_begin_block(l);
    next = scalar_add(l, index, step);
    scalar_write(l, index, next);
    pallas_loop_end(l, counter, index, end);
    return 0;
}

/* one round, whose index is known */
static int for_once(struct lower *l, const struct mosaic_op *op)
{
    struct mosaic_value *const *argument = op->region[0]->argument;

    l->scalar[argument[0]->id] = scalar_of(l, op->operand[0]);
    for (int i = 0; i < op->result_count; i++) {
        const struct mosaic_value *from = op->operand[3 + i];

        if (from->type.kind == MOSAIC_SCALAR)
            l->scalar[argument[i + 1]->id] = scalar_of(l, from);
        l->place[argument[i + 1]->id] = l->place[from->id];
        if (from->type.kind == MOSAIC_VECTOR &&
            root_materialize(l, from, &l->place[argument[i + 1]->id]))
            return -1;
    }
    return inline_region(l, op, op->region[0]);
}

int pallas_for(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_block *b = op->region[0];
    struct scalar first = scalar_of(l, op->operand[0]), end = scalar_of(l, op->operand[1]);
    struct scalar step = scalar_of(l, op->operand[2]), left;
    size_t skip;

    if (first.is_known && end.is_known && step.is_known && first.value < end.value &&
        (int64_t)first.value + step.value >= end.value)
        return for_once(l, op);
    if (root_save(l, -1) || root_flush(l) ||
        open_carried(l, op, 3, b->argument + 1, op->result_count))
        return -1;
    if (step.is_known && step.value <= 0)
        return pallas_fail(l, op, "a loop with a step of %d", step.value);
    l->scalar[b->argument[0]->id] = scalar_word(l);
    scalar_write(l, l->scalar[b->argument[0]->id], first);
    left = scalar_known(1);
    if (first.is_known && end.is_known) {
        left = scalar_known(first.value < end.value);
    } else {
        struct isa_operand x = scalar_use(l, first), y = scalar_use(l, end);
        int to = scalar_register(l);

        emit_scmp_lt(&l->code, 1, x, y);
        emit_select(&l->code, to, 1, I(1), I(0));
        left = scalar_keep(l, R(to));
    }
    take_carried(l, op, b->argument + 1);
    if (left.is_known && !left.value) {
        skip_numbers(l, b);
        return 0;
    }
    skip = pallas_if_begin(l, left);
    if (for_body(l, op, end, step))
        return -1;
    pallas_if_end(l, skip);
    return 0;
}

int pallas_while(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_block *test = op->region[0], *body = op->region[1];
    const struct mosaic_op *condition = last_of(test);
    struct scalar goes_on;
    int counter;
    size_t skip;

    if (root_save(l, -1) || root_flush(l) ||
        open_carried(l, op, 0, test->argument, test->argument_count))
        return -1;
    for (int i = 0; i < op->result_count; i++) {
        open_result(l, op, op->result[i]);
        l->scalar[body->argument[i]->id] = l->scalar[op->result[i]->id];
        l->place[body->argument[i]->id] = l->place[op->result[i]->id];
    }
    goes_on = scalar_word(l);
    counter = pallas_loop_begin(l);
    if (pallas_block(l, test))
        return -1;
    scalar_write(l, goes_on, l->scalar[condition->operand[0]->id]);
    if (next_carried(l, op, 1, op->result, op->result_count, condition))
        return -1;
    skip = pallas_if_begin(l, goes_on);
    if (pallas_block(l, body) ||
        next_carried(l, op, 0, test->argument, test->argument_count, last_of(body)))
        return -1;
    pallas_if_end(l, skip);
    pallas_loop_end(l, counter, scalar_known(0), goes_on);
    return 0;
}
