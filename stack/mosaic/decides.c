/*
 * Whether what a table in SMEM holds decides what a kernel does: which blocks it works on, which way its
 * branches go, what it copies. A seed, a scale or a row of a buffer in VMEM does not.
 *
 * What is loaded from the table is followed through scalars, other words of SMEM and references, until
 * nothing new is found; vectors are data.
 */
#include "stack/mosaic/extent.h"

enum { HOLDS = 1,                       /* a scalar, or memory that has it */
       LIES = 2 };                      /* a reference: where it lies */

struct trail {
    uint8_t *of;                        /* by value */
    bool has_grown, decides;
};

static void mark(struct trail *t, const struct mosaic_value *v, int how)
{
    if ((t->of[v->id] | how) == t->of[v->id])
        return;
    t->of[v->id] |= (uint8_t)how;
    t->has_grown = true;
}

static bool is_ref(const struct mosaic_value *v) { return v->type.kind == MOSAIC_REF; }

/* memory that a reference is a part of */
static const struct mosaic_value *whole(const struct mosaic_value *v)
{
    while (v->op && v->op->operand_count && is_ref(v->op->operand[0]))
        v = v->op->operand[0];
    return v;
}

/* what any operand has; scalars beside a reference say where its part lies */
static int of_operands(const struct trail *t, const struct mosaic_op *op)
{
    int how = 0;

    for (int i = 0; i < op->operand_count; i++)
        how |= t->of[op->operand[i]->id];
    return how;
}

static int of_part(const struct trail *t, const struct mosaic_op *op)
{
    int how = op->operand_count ? t->of[op->operand[0]->id] : 0;

    for (int i = 1; i < op->operand_count; i++)
        if (t->of[op->operand[i]->id])
            how |= LIES;
    return how;
}

static void follow_block(struct trail *t, const struct mosaic_block *b, const struct mosaic_op *of);

/* values that a region carries go on as any of them does */
static void follow_regions(struct trail *t, const struct mosaic_op *op, int carried)
{
    for (int r = 0; r < op->region_count; r++) {
        const struct mosaic_block *b = op->region[r];

        for (int i = 0; carried && i < b->argument_count; i++)
            if (b->argument[i]->type.kind == MOSAIC_SCALAR)
                mark(t, b->argument[i], HOLDS);
        follow_block(t, b, op);
    }
    for (int i = 0; carried && i < op->result_count; i++)
        if (op->result[i]->type.kind == MOSAIC_SCALAR)
            mark(t, op->result[i], HOLDS);
}

static void follow_yield(struct trail *t, const struct mosaic_op *op, const struct mosaic_op *of)
{
    for (int i = 0; of && i < op->operand_count; i++)
        if (t->of[op->operand[i]->id] & HOLDS && op->operand[i]->type.kind == MOSAIC_SCALAR) {
            for (int k = 0; k < of->result_count; k++)
                if (of->result[k]->type.kind == MOSAIC_SCALAR)
                    mark(t, of->result[k], HOLDS);
            for (int r = 0; r < of->region_count; r++)
                for (int k = 0; k < of->region[r]->argument_count; k++)
                    if (of->region[r]->argument[k]->type.kind == MOSAIC_SCALAR)
                        mark(t, of->region[r]->argument[k], HOLDS);
        }
}

static void follow(struct trail *t, const struct mosaic_op *op, const struct mosaic_op *of)
{
    int how = of_operands(t, op), carried = 0;

    switch (op->code) {
    case MOSAIC_LOAD:
        if (how)
            mark(t, op->result[0], HOLDS);
        return;
    case MOSAIC_STORE:                  /* value, memory, indices */
        if (t->of[op->operand[0]->id])
            mark(t, whole(op->operand[1]), HOLDS);
        return;
    case MOSAIC_VECTOR_LOAD: case MOSAIC_TPU_VECTOR_LOAD: case MOSAIC_STRIDED_LOAD:
    case MOSAIC_VECTOR_STORE: case MOSAIC_TPU_VECTOR_STORE: case MOSAIC_STRIDED_STORE:
    case MOSAIC_DYNAMIC_ROTATE: case MOSAIC_BROADCAST: case MOSAIC_PRNG_SEED:
    case MOSAIC_LOG: case MOSAIC_TRACE_VALUE:
        return;
    case MOSAIC_YIELD: case MOSAIC_TPU_YIELD:
        follow_yield(t, op, of);
        return;
    case MOSAIC_FOR:                    /* bounds and step, then what it carries */
        for (int i = 0; i < op->operand_count; i++)
            if (i < 3)
                t->decides |= t->of[op->operand[i]->id] != 0;
            else
                carried |= t->of[op->operand[i]->id];
        follow_regions(t, op, carried);
        return;
    case MOSAIC_IF: case MOSAIC_SWITCH: case MOSAIC_WHILE: case MOSAIC_CONDITION: case MOSAIC_CALL:
    case MOSAIC_ENQUEUE_DMA: case MOSAIC_WAIT_DMA: case MOSAIC_WAIT_DMA2: case MOSAIC_SEM_SIGNAL:
    case MOSAIC_SEM_WAIT: case MOSAIC_SEM_READ: case MOSAIC_DELAY: case MOSAIC_UNKNOWN:
        t->decides |= how != 0;
        break;
    default: break;
    }
    for (int i = 0; i < op->result_count; i++)
        if (how && op->result[i]->type.kind != MOSAIC_VECTOR)
            mark(t, op->result[i], is_ref(op->result[i]) ? of_part(t, op) : HOLDS);
    follow_regions(t, op, 0);
}

static void follow_block(struct trail *t, const struct mosaic_block *b, const struct mosaic_op *of)
{
    for (int i = 0; i < b->op_count && !t->decides; i++)
        follow(t, b->op[i], of);
}

/* an index map that reads it */
static bool maps_read(const struct mosaic_kernel *k, struct trail *t, int array)
{
    for (int w = 0; w < k->operand_count && array < k->prefetch_count; w++) {
        const struct mosaic_function *f = k->window[w].transform;

        if (!k->window[w].is_windowed || !f || k->grid_rank + array >= f->body->argument_count)
            continue;
        mark(t, f->body->argument[k->grid_rank + array], HOLDS);
        follow_block(t, f->body, NULL);
        for (int i = 0; i < f->body->op_count; i++)
            if (f->body->op[i]->code == MOSAIC_RETURN && of_operands(t, f->body->op[i]))
                return true;
    }
    return false;
}

bool mosaic_decides(const struct mosaic_kernel *k, int array)
{
    const struct mosaic_block *b = k->main->body;
    struct trail t = {.of = mem_alloc((size_t)k->value_count + 1)};
    bool decides = maps_read(k, &t, array);

    mark(&t, b->argument[k->grid_rank + array], HOLDS);
    while (!decides && t.has_grown && !t.decides) {
        t.has_grown = false;
        follow_block(&t, b, NULL);
    }
    decides |= t.decides;
    mem_free(t.of);
    return decides;
}
