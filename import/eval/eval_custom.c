/* Which custom calls the host carries out; the others are refused by name. */
#include "import/eval/custom.h"
#include "import/eval/sort.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *target;
    eval_handler handler;
} customs[] = {
#define CUSTOM(target, function) { target, function },
#include "import/eval/custom.def"
};

/* an operation of another dialect that stands as a custom call: its opcode */
static enum hlo_opcode opcode_of(const char *target)
{
    char name[64] = "chlo.";
    const char *dot = strchr(target, '.');

    if (!dot || (strncmp(target, "mhlo.", 5) && strncmp(target, "chlo.", 5)) ||
        strlen(dot) > sizeof(name) - 8)
        return OPCODE_COUNT;
    strcpy(name + 5, dot + 1);
    return hlo_opcode_find_stablehlo(name, strlen(name));
}

static int run_as(struct call *c, enum hlo_opcode op)
{
    struct hlo_instruction i = *c->i;
    struct call as = *c;
    int status;

    i.op = op;
    as.i = &i;
    status = eval_handler_of(op)(&as);
    c->result = as.result;
    return status;
}

int eval_custom_call(struct call *c)
{
    const char *target = hlo_detail(c->i)->target ? hlo_detail(c->i)->target : "";
    enum hlo_opcode op = opcode_of(target);

    for (size_t k = 0; k < sizeof(customs) / sizeof(customs[0]); k++)
        if (!strcmp(customs[k].target, target))
            return customs[k].handler(c);
    if (op != OPCODE_COUNT && eval_handler_of(op))
        return run_as(c, op);
    return call_fail(c, "the custom call \"%s\" is of another platform or unknown; export the "
                        "program for the TPU (jax.export with platforms=['tpu'])", target);
}

int custom_topk(struct call *c)
{
    return sort_topk(c, true);
}

/* operands, then their initial values; the best ones by the comparison, exactly, along a dimension */
int custom_approx_topk(struct call *c)
{
    int count = c->i->operand_count / 2, rank = c->operand[0]->rank, along, status = 0;
    struct hlo_type t = {.rank = rank};
    struct value **sorted = mem_alloc((size_t)count * sizeof(*sorted));

    t.dim = c->operand[0]->dim;
    along = hlo_partial_dimension(c->i, &t);
    if (hlo_detail(c->i)->computation_count != 1 || along < 0)
        status = call_fail(c, "it needs one comparison and a reduction_dim below %d", rank);
    if (!status && c->i->type->element == ELEMENT_TUPLE)
        call_result_tuple(c);
    for (int k = 0; k < count && !status; k++) {
        sorted[k] = call_array(c, c->operand[k]->element, rank, c->operand[k]->dim);
        status = sorted[k] ? 0 : -1;
    }
    if (!status)
        status = sort_operands(c, count, along, sorted);
    for (int k = 0; k < count && !status; k++) {
        struct value *to = c->i->type->element == ELEMENT_TUPLE
                               ? call_part(c, k) : call_result(c) ? NULL : c->result;
        struct stride_copy s = { .rank = rank };

        status = to ? 0 : -1;
        if (!to)
            break;
        value_strides(sorted[k], s.from_step);
        value_strides(to, s.to_step);
        for (int d = 0; d < rank; d++)
            s.dim[d] = to->dim[d] < sorted[k]->dim[d] ? to->dim[d] : sorted[k]->dim[d];
        stride_copy(s, value_element_bytes(to), to->data, sorted[k]->data);
    }
    for (int k = 0; k < count; k++)
        value_drop(&c->ev->pool, sorted[k]);
    mem_free(sorted);
    return status;
}
