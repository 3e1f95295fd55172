/* Blocks, loops and conditions of a kernel on the host. */
#include "stack/mosaic/run_impl.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define CALLS_MAX 64
#define TRIPS_MAX (INT64_C(1) << 40)

static mosaic_handler *const handlers[] = {
#define MOSAIC(id, name, operands, results, regions, eval) mosaic_eval_##eval,
#include "stack/mosaic/ops.def"
};

int mosaic_stop(struct mosaic_run *r, const struct mosaic_op *op, const char *fmt, ...)
{
    char message[200], where[80] = "";
    va_list args;

    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    for (int i = 0; i < r->k->grid_rank && strlen(where) < 60; i++)
        text_print(where + strlen(where), sizeof(where) - strlen(where), "%s%lld",
                   i ? ", " : " (grid step ", (long long)r->step[i]);
    return mosaic_refuse(r->k, op, r->err, "%s%s%s", message, where, where[0] ? ")" : "");
}

int mosaic_run_block(struct mosaic_run *r, const struct mosaic_block *b)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        if (r->s->most_operations && ++r->operations > r->s->most_operations)
            return mosaic_stop(r, op, "more than %lld operations",
                               (long long)r->s->most_operations);
        if (op->code == MOSAIC_UNKNOWN)
            return mosaic_stop(r, op, "this operation is not known");
        if (handlers[op->code](r, op))
            return -1;
    }
    return 0;
}

int mosaic_eval_end(struct mosaic_run *r, const struct mosaic_op *op)
{
    r->ended = op;
    return 0;
}

int mosaic_eval_nothing(struct mosaic_run *r, const struct mosaic_op *op)
{
    (void)r;
    (void)op;
    return 0;
}

void mosaic_pass_on(struct mosaic_run *r, int first, struct mosaic_value *const *to, int count)
{
    /* what is passed on may be what is written: first all, then each in its place */
    struct mosaic_datum *held = mem_alloc((size_t)(count + 1) * sizeof(*held));

    for (int i = 0; i < count; i++) {
        struct mosaic_datum *d = mosaic_datum(r, r->ended->operand[first + i]);

        held[i] = *d;
        held[i].own = NULL;
        if (d->word) {
            held[i].word = mem_alloc_unset((size_t)d->count * sizeof(uint32_t) + 1);
            memcpy(held[i].word, d->word, (size_t)d->count * sizeof(uint32_t));
        }
    }
    for (int i = 0; i < count; i++) {
        struct mosaic_datum *d = mosaic_datum(r, to[i]);

        d->integer = held[i].integer;
        d->view = held[i].view;
        if (held[i].word) {
            mem_free(d->word);
            d->word = held[i].word;
            d->count = held[i].count;
        }
    }
    mem_free(held);
}

int mosaic_eval_for(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_block *body = op->region[0];
    int64_t at = mosaic_int_in(r, op->operand[0]), end = mosaic_int_in(r, op->operand[1]);
    int64_t step = mosaic_int_in(r, op->operand[2]);

    if (step <= 0)
        return mosaic_stop(r, op, "a loop with a step of %lld", (long long)step);
    for (int i = 0; i < op->result_count; i++)
        mosaic_copy_value(r, body->argument[i + 1], op->operand[i + 3]);
    for (; at < end; at += step) {
        mosaic_set_int(r, body->argument[0], at);
        if (mosaic_run_block(r, body))
            return -1;
        if (op->result_count)
            mosaic_pass_on(r, 0, body->argument + 1, op->result_count);
    }
    for (int i = 0; i < op->result_count; i++)
        mosaic_copy_value(r, op->result[i], body->argument[i + 1]);
    return 0;
}

int mosaic_eval_while(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_block *test = op->region[0], *body = op->region[1];

    for (int i = 0; i < op->operand_count; i++)
        mosaic_copy_value(r, test->argument[i], op->operand[i]);
    for (int64_t trips = 0; ; trips++) {
        const struct mosaic_op *condition;

        if (trips > TRIPS_MAX)
            return mosaic_stop(r, op, "it does not end");
        if (mosaic_run_block(r, test))
            return -1;
        condition = r->ended;
        if (!mosaic_int_in(r, condition->operand[0])) {
            mosaic_pass_on(r, 1, op->result, op->result_count);
            return 0;
        }
        mosaic_pass_on(r, 1, body->argument, body->argument_count);
        if (mosaic_run_block(r, body))
            return -1;
        mosaic_pass_on(r, 0, test->argument, test->argument_count);
    }
}

static int run_region(struct mosaic_run *r, const struct mosaic_op *op,
                      const struct mosaic_block *b)
{
    if (mosaic_run_block(r, b))
        return -1;
    if (op->result_count)
        mosaic_pass_on(r, 0, op->result, op->result_count);
    return 0;
}

int mosaic_eval_if(struct mosaic_run *r, const struct mosaic_op *op)
{
    int taken = mosaic_int_in(r, op->operand[0]) ? 0 : 1;

    return taken < op->region_count ? run_region(r, op, op->region[taken]) : 0;
}

/* region 0 where no case is meant */
int mosaic_eval_switch(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_attr *cases = mosaic_attr(op, "cases");
    int64_t which = mosaic_int_in(r, op->operand[0]);

    for (int i = 0; cases && i < cases->count && i + 1 < op->region_count; i++)
        if (cases->ints[i] == which)
            return run_region(r, op, op->region[i + 1]);
    return run_region(r, op, op->region[0]);
}

/* run_scoped: what it has allocated ends with it, and semaphores must be as they began */
int mosaic_eval_region(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_block *b = op->region[0];

    if (run_region(r, op, b))
        return -1;
    for (int i = 0; i < b->op_count; i++)
        if (b->op[i]->code == MOSAIC_SEM_ALLOC &&
            mosaic_check_semaphore(r, b->op[i], b->op[i]->result[0]))
            return -1;
    return 0;
}

int mosaic_eval_call(struct mosaic_run *r, const struct mosaic_op *op)
{
    const char *name = mosaic_text(op, "callee", "");
    const struct mosaic_function *f = NULL;
    int status;

    for (int i = 0; i < r->k->function_count; i++)
        if (!strcmp(r->k->function[i]->name, name))
            f = r->k->function[i];
    if (!f || f->body->argument_count != op->operand_count)
        return mosaic_stop(r, op, "no function %s of %d arguments", name, op->operand_count);
    if (++r->depth > CALLS_MAX)
        return mosaic_stop(r, op, "calls within calls, more than %d", CALLS_MAX);
    for (int i = 0; i < op->operand_count; i++)
        mosaic_copy_value(r, f->body->argument[i], op->operand[i]);
    status = run_region(r, op, f->body);
    r->depth--;
    return status;
}

int mosaic_eval_assert(struct mosaic_run *r, const struct mosaic_op *op)
{
    if (mosaic_int_in(r, op->operand[0]))
        return 0;
    return mosaic_stop(r, op, "the kernel's check fails: %s", mosaic_text(op, "msg", ""));
}

int mosaic_eval_iteration_bound(struct mosaic_run *r, const struct mosaic_op *op)
{
    int64_t dim = mosaic_int(op, "dim", 0);

    if (dim < 0 || dim >= r->k->grid_rank)
        return mosaic_stop(r, op, "dimension %lld of a grid of %d", (long long)dim,
                           r->k->grid_rank);
    mosaic_set_int(r, op->result[0], r->grid[dim]);
    return 0;
}

int mosaic_eval_device_id(struct mosaic_run *r, const struct mosaic_op *op)
{
    mosaic_set_int(r, op->result[0], r->s->device);
    return 0;
}

int mosaic_eval_core_id(struct mosaic_run *r, const struct mosaic_op *op)
{
    mosaic_set_int(r, op->result[0], 0);
    return 0;
}
