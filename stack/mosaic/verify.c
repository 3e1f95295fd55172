/* What every kernel must satisfy before anybody carries it out or makes code of it. */
#include "stack/mosaic/verify_impl.h"

#include <string.h>

static const struct { int operands, results, regions; } counts[] = {
#define MOSAIC(id, name, operands, results, regions, eval) {operands, results, regions},
#include "stack/mosaic/ops.def"
};

static int check_segments(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    int64_t sum = 0;

    for (int i = 0; i < op->segment_count; i++) {
        if (op->segment[i] < 0)
            return mosaic_refuse(k, op, e, "a group of %d operands", op->segment[i]);
        sum += op->segment[i];
    }
    if (op->segment_count && sum != op->operand_count)
        return mosaic_refuse(k, op, e, "groups of %lld operands in all; it has %d", (long long)sum,
                             op->operand_count);
    return 0;
}

static int check_counts(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    int operands = counts[op->code].operands, results = counts[op->code].results;
    int regions = counts[op->code].regions;

    if ((operands >= 0 && operands != op->operand_count) ||
        (results >= 0 && results != op->result_count) ||
        (regions >= 0 && regions != op->region_count))
        return mosaic_refuse(k, op, e, "%d operands, %d results, %d regions; %d, %d, %d are its "
                             "own", op->operand_count, op->result_count, op->region_count,
                             operands, results, regions);
    return 0;
}

/* Elementwise operations: all operands and the result have the same sizes. */
static bool is_elementwise(enum mosaic_code c)
{
    return (c >= MOSAIC_ADDI && c <= MOSAIC_ASSUME_MULTIPLE) ;
}

static int check_shapes(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    const struct mosaic_type *t = op->result_count ? &op->result[0]->type : NULL;

    for (int i = 0; t && i < op->operand_count; i++) {
        const struct mosaic_type *o = &op->operand[i]->type;
        bool is_cond = op->code == MOSAIC_SELECT && i == 0 && o->kind == MOSAIC_SCALAR;

        if (is_cond)
            continue;
        if (o->kind != t->kind || o->kind == MOSAIC_REF || o->rank != t->rank ||
            memcmp(o->dim, t->dim, (size_t)t->rank * sizeof(*t->dim))) {
            char a[96], b[96];

            return mosaic_refuse(k, op, e, "operand %d is %s, the result %s", i,
                                 mosaic_type_print(o, a, sizeof(a)),
                                 mosaic_type_print(t, b, sizeof(b)));
        }
    }
    return 0;
}

/* memref.load and memref.store are of one element. */
static int check_element(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    const struct mosaic_type *t = op->code == MOSAIC_LOAD    ? &op->result[0]->type
                                  : op->code == MOSAIC_STORE ? &op->operand[0]->type : NULL;
    char text[96];

    if (!t || t->kind == MOSAIC_SCALAR)
        return 0;
    return mosaic_refuse(k, op, e, "%s; it is of one element",
                         mosaic_type_print(t, text, sizeof(text)));
}

/* Loads and stores: a reference, an index for each of its dimensions. */
static int check_access(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    bool is_grouped = op->segment_count > 0;
    bool has_value = op->result_count == 0;
    int at, count;

    if (is_grouped) {
        mosaic_group(op, has_value, &count);
        at = has_value;
        mosaic_group(op, has_value + 1, &count);
    } else {
        at = has_value;
        count = op->operand_count - at - 1;
    }
    if (at >= op->operand_count || !mosaic_is_ref(op->operand[at]))
        return mosaic_refuse(k, op, e, "operand %d is no reference to memory", at);
    if (count != op->operand[at]->type.rank)
        return mosaic_refuse(k, op, e, "%d indices of an array of %d dimensions", count,
                             op->operand[at]->type.rank);
    for (int i = 0; i < count; i++)
        if (op->operand[at + 1 + i]->type.kind != MOSAIC_SCALAR)
            return mosaic_refuse(k, op, e, "index %d is no scalar", i);
    return check_element(k, op, e);
}

static int check_terminator(const struct mosaic_kernel *k, const struct mosaic_block *b,
                            const struct mosaic_op *around, struct err *e)
{
    const struct mosaic_op *last = b->op_count ? b->op[b->op_count - 1] : NULL;
    int wanted = around ? around->result_count : -1;

    if (!last) {
        if (around && around->result_count)
            return mosaic_refuse(k, around, e, "a region without an end");
        return 0;
    }
    for (int i = 0; i < b->op_count; i++) {
        enum mosaic_code c = b->op[i]->code;
        bool ends = c == MOSAIC_RETURN || c == MOSAIC_YIELD || c == MOSAIC_TPU_YIELD ||
                    c == MOSAIC_CONDITION;

        if (ends != (i == b->op_count - 1))
            return mosaic_refuse(k, b->op[i], e, ends ? "it ends its region before the end"
                                                      : "it stands where its region must end");
    }
    if (around && around->code != MOSAIC_WHILE && wanted != last->operand_count)
        return mosaic_refuse(k, last, e, "%d values for %d results", last->operand_count, wanted);
    return 0;
}

static int check_block(const struct mosaic_kernel *k, const struct mosaic_block *b,
                       const struct mosaic_op *around, struct err *e);

static int check_loops(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    int carried = op->operand_count - 3;

    if (op->code == MOSAIC_FOR && (carried < 0 || op->result_count != carried ||
                                   op->region[0]->argument_count != carried + 1))
        return mosaic_refuse(k, op, e, "%d operands, %d results and %d arguments of its body",
                             op->operand_count, op->result_count,
                             op->region[0]->argument_count);
    if (op->code == MOSAIC_WHILE &&
        (op->region[0]->argument_count != op->operand_count ||
         op->region[1]->argument_count != op->result_count || op->region[0]->op_count == 0 ||
         op->region[0]->op[op->region[0]->op_count - 1]->operand_count != op->result_count + 1 ||
         op->region[1]->op_count == 0 ||
         op->region[1]->op[op->region[1]->op_count - 1]->operand_count != op->operand_count))
        return mosaic_refuse(k, op, e, "its regions do not take and give what it carries");
    if (op->code == MOSAIC_IF && (op->region_count < 1 || op->region_count > 2 ||
                                  (op->result_count && op->region_count != 2)))
        return mosaic_refuse(k, op, e, "%d regions", op->region_count);
    return 0;
}

#define ELEMENTS_MAX (INT64_C(1) << 28)

/* a value that a region gives or takes has the type of what stands for it */
static int check_same(const struct mosaic_kernel *k, const struct mosaic_op *op,
                      const struct mosaic_value *a, const struct mosaic_value *b, struct err *e)
{
    char x[96], y[96];

    if (a->type.kind == b->type.kind &&
        (a->type.kind == MOSAIC_REF || mosaic_type_equal(&a->type, &b->type)))
        return 0;
    return mosaic_refuse(k, op, e, "%s becomes %s", mosaic_type_print(&b->type, x, sizeof(x)),
                         mosaic_type_print(&a->type, y, sizeof(y)));
}

static int check_passed(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    const struct mosaic_op *last[2] = {NULL, NULL};
    int status = 0;

    for (int r = 0; r < op->region_count && r < 2; r++)
        if (op->region[r] && op->region[r]->op_count)
            last[r] = op->region[r]->op[op->region[r]->op_count - 1];
    for (int i = 0; op->code == MOSAIC_FOR && i < op->result_count && !status; i++)
        status = check_same(k, op, op->region[0]->argument[i + 1], op->operand[i + 3], e) ||
                 check_same(k, op, op->result[i], op->operand[i + 3], e) ||
                 !last[0] || i >= last[0]->operand_count ||
                 check_same(k, op, op->result[i], last[0]->operand[i], e);
    for (int i = 0; op->code == MOSAIC_WHILE && i < op->operand_count && !status; i++)
        status = check_same(k, op, op->region[0]->argument[i], op->operand[i], e) ||
                 check_same(k, op, op->region[0]->argument[i], last[1]->operand[i], e);
    for (int i = 0; op->code == MOSAIC_WHILE && i < op->result_count && !status; i++)
        status = check_same(k, op, op->result[i], last[0]->operand[i + 1], e) ||
                 check_same(k, op, op->region[1]->argument[i], last[0]->operand[i + 1], e);
    for (int r = 0; r < op->region_count && op->code != MOSAIC_FOR && op->code != MOSAIC_WHILE; r++) {
        const struct mosaic_block *b = op->region[r];
        const struct mosaic_op *end = b->op_count ? b->op[b->op_count - 1] : NULL;

        for (int i = 0; i < op->result_count && !status; i++)
            status = !end || i >= end->operand_count ||
                     check_same(k, op, op->result[i], end->operand[i], e);
    }
    if (status && !e->msg[0])
        return mosaic_refuse(k, op, e, "its regions do not give what it does");
    return status ? -1 : 0;
}

static int check_sizes(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    for (int i = 0; i < op->result_count; i++) {
        const struct mosaic_type *t = &op->result[i]->type;

        if (t->kind == MOSAIC_VECTOR && (mosaic_elements(t) < 1 || mosaic_elements(t) > ELEMENTS_MAX))
            return mosaic_refuse(k, op, e, "a vector of no elements or of more than 2^28");
        if (op->code == MOSAIC_ALLOCA && mosaic_elements(t) > ELEMENTS_MAX)
            return mosaic_refuse(k, op, e, "a buffer of more than 2^28 elements");
    }
    return 0;
}

static int check_op(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    if (check_segments(k, op, e))
        return -1;
    if (op->code == MOSAIC_UNKNOWN)
        return 0;                       /* refused by who meets it */
    if (check_counts(k, op, e) || check_loops(k, op, e))
        return -1;
    if (is_elementwise(op->code) && check_shapes(k, op, e))
        return -1;
    if (check_sizes(k, op, e) || mosaic_verify_vector(k, op, e) || mosaic_verify_memory(k, op, e))
        return -1;
    switch (op->code) {
    case MOSAIC_VECTOR_LOAD: case MOSAIC_VECTOR_STORE: case MOSAIC_TPU_VECTOR_LOAD:
    case MOSAIC_TPU_VECTOR_STORE: case MOSAIC_STRIDED_LOAD: case MOSAIC_STRIDED_STORE:
    case MOSAIC_LOAD: case MOSAIC_STORE:
        if (check_access(k, op, e))
            return -1;
        break;
    default: break;
    }
    for (int i = 0; i < op->region_count; i++)
        if (check_block(k, op->region[i], op, e))
            return -1;
    return check_passed(k, op, e);
}

static int check_block(const struct mosaic_kernel *k, const struct mosaic_block *b,
                       const struct mosaic_op *around, struct err *e)
{
    for (int i = 0; i < b->op_count; i++)
        if (check_op(k, b->op[i], e))
            return -1;
    return check_terminator(k, b, around, e);
}

/* Blocks have the rank of their array; the argument has the shape of the block. */
static int check_windows(const struct mosaic_kernel *k, struct err *e)
{
    for (int i = 0; i < k->operand_count; i++) {
        const struct mosaic_window *w = &k->window[i];
        const struct mosaic_value *v =
            k->main->body->argument[k->grid_rank + k->prefetch_count + i];
        const struct mosaic_type *t = &k->array[k->prefetch_count + i];

        if (!mosaic_is_ref(v))
            return err_set(e, "kernel %s: argument of operand %d is no memory", k->name, i);
        if (v->type.rank != t->rank || v->type.element != t->element) {
            char a[96], b[96];

            return err_set(e, "kernel %s: operand %d is %s; the kernel takes %s", k->name, i,
                           mosaic_type_print(t, a, sizeof(a)),
                           mosaic_type_print(&v->type, b, sizeof(b)));
        }
        if (w->is_windowed && (!w->transform->body->op_count ||
            w->transform->body->op[w->transform->body->op_count - 1]->operand_count != t->rank ||
            w->transform->body->argument_count != k->grid_rank + k->prefetch_count))
            return err_set(e, "kernel %s: the index map of operand %d does not give an index for "
                           "each of its %d dimensions", k->name, i, t->rank);
        for (int d = 0; w->is_windowed && d < t->rank; d++)
            if (w->bound[d] != v->type.dim[d])
                return err_set(e, "kernel %s: operand %d has blocks of %lld in dimension %d; the "
                               "kernel takes %lld", k->name, i, (long long)w->bound[d], d,
                               (long long)v->type.dim[d]);
    }
    return 0;
}

int mosaic_verify(const struct mosaic_kernel *k, struct err *e)
{
    if (k->array && check_windows(k, e))
        return -1;
    for (int i = 0; i < k->function_count; i++)
        if (check_block(k, k->function[i]->body, NULL, e))
            return -1;
    return 0;
}
