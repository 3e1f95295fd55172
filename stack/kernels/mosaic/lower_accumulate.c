/*
 * acc[...] += dot(...): a product that a kernel adds to a scratch buffer, and stores back there, is
 * summed up in that buffer by the step of products itself, as sums of its own passes are. Such a
 * buffer lies in columns of 128 lanes, row tile behind row tile, as sums of products do.
 */
#include "stack/kernels/mosaic/product.h"

struct reader { const struct mosaic_value *value; const struct mosaic_op *op; int count; };

static void find_readers(const struct mosaic_block *b, struct reader *r)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        for (int k = 0; k < op->operand_count; k++)
            if (op->operand[k] == r->value) {
                r->op = op;
                r->count++;
            }
        for (int n = 0; n < op->region_count; n++)
            find_readers(op->region[n], r);
    }
}

/* the only operation that reads the value, NULL: there is none, or there are several */
static const struct mosaic_op *only_reader(const struct mosaic_kernel *k,
                                           const struct mosaic_value *v)
{
    struct reader r = {.value = v};

    find_readers(k->main->body, &r);
    return r.count == 1 ? r.op : NULL;
}

static bool is_load(const struct mosaic_op *op)
{
    return op && (op->code == MOSAIC_VECTOR_LOAD || op->code == MOSAIC_TPU_VECTOR_LOAD);
}

static bool is_store(const struct mosaic_op *op)
{
    return op && (op->code == MOSAIC_VECTOR_STORE || op->code == MOSAIC_TPU_VECTOR_STORE) &&
           !(op->segment_count && mosaic_in_group(op, 3)) && !mosaic_int(op, "add", 0);
}

/* all of a buffer of two dimensions is loaded or stored: of what type it is, and from its begin */
static bool is_all(const struct mosaic_op *op, int ref, const struct mosaic_type *t)
{
    const struct mosaic_type *r = &op->operand[ref]->type;

    if (r->rank != 2 || t->rank != 2 || r->dim[0] != t->dim[0] || r->dim[1] != t->dim[1])
        return false;
    for (int k = ref + 1; k < op->operand_count; k++)
        if (!mosaic_is_zero(op->operand[k]))
            return false;
    return true;
}

const struct mosaic_value *accumulated(const struct mosaic_kernel *k, const struct mosaic_op *dot,
                                       const struct mosaic_value **sum)
{
    const struct mosaic_op *add = only_reader(k, dot->result[0]), *store, *load;

    if (!add || (add->code != MOSAIC_ADDF && add->code != MOSAIC_ADDI) || !mosaic_is_zero(dot->operand[2]))
        return NULL;
    load = add->operand[add->operand[0] == dot->result[0] ? 1 : 0]->op;
    store = only_reader(k, add->result[0]);
    if (!is_load(load) || !is_store(store) || store->operand[0] != add->result[0] ||
        load->operand[0] != store->operand[1] || only_reader(k, load->result[0]) != add ||
        !is_all(load, 0, &load->result[0]->type) || !is_all(store, 1, &add->result[0]->type))
        return NULL;
    *sum = add->result[0];
    return load->operand[0];
}

/* ----- buffers */

struct search { const struct mosaic_kernel *k; const struct mosaic_value *ref; bool is_found, is_other; };

static void look(struct search *s, const struct mosaic_block *b)
{
    const struct mosaic_value *sum;

    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        for (int k = 0; k < op->operand_count; k++)
            if (op->operand[k] == s->ref && !(is_load(op) && k == 0) && !(is_store(op) && k == 1))
                s->is_other = true;
        if (op->code == MOSAIC_MATMUL && accumulated(s->k, op, &sum) == s->ref)
            s->is_found = true;
        for (int n = 0; n < op->region_count; n++)
            look(s, op->region[n]);
    }
}

bool accumulates(const struct mosaic_kernel *k, const struct mosaic_value *ref)
{
    struct search s = {.k = k, .ref = ref};

    if (ref->type.rank != 2 || mosaic_element_bits(ref->type.element) != 32 || ref->type.space != MOSAIC_VMEM)
        return false;
    look(&s, k->main->body);
    return s.is_found && !s.is_other;
}

bool place_only_loops_use(const struct mosaic_kernel *k, const struct mosaic_value *ref)
{
    struct search s = {.k = k, .ref = ref};

    if (ref->type.rank != 2 || mosaic_element_bits(ref->type.element) != 32)
        return false;
    look(&s, k->main->body);
    return !s.is_found && !s.is_other;
}
