/*
 * Puts computations in the place of their calls, and takes out what only says where or when a value
 * is computed: on one device and in one program each of them is its operand.
 */
#include "import/structure/structure.h"

#include "import/structure/structure_impl.h"

#include <string.h>

#define INSTRUCTIONS_MAX (1 << 24)      /* of a computation, once calls are inlined */

/* custom calls that are their operands, one by one */
static const char *const identities[] = {
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement",
    "MoveToHost", "MoveToDevice", "PinToDevice", "PinToDeviceSram", "Unpin",
    "xla.sdy.FuncResultSharding", "xla.sdy.PropagationBarrier", "LayoutConstraint", "mhlo.copy",
    "AwsNeuronTransferWithStaticRing",
};

static bool is_identity(const struct hlo_instruction *i)
{
    if (i->op != OPCODE_CUSTOM_CALL || !hlo_detail(i)->target || i->operand_count < 1)
        return false;
    for (size_t k = 0; k < sizeof(identities) / sizeof(identities[0]); k++)
        if (strcmp(hlo_detail(i)->target, identities[k]) == 0)
            return true;
    return false;
}

/* one operand as it is, several as the tuple that the result is */
static int operands(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand)
{
    struct hlo_type t = *hlo_type_of(b, operand[0]);

    if (hlo_type_equal(&t, from->type))
        return operand[0];
    if (hlo_type_is_tuple(from->type) && from->type->part_count == from->operand_count)
        return hlo_tuple(b, from->operand_count, operand);
    return -1;
}

static int inline_call(struct hlo_rewrite *r, struct hlo_builder *b,
                       const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_computation *now = &b->module->computation[b->computation];
    const struct hlo_computation *called =
        &b->module->computation[hlo_detail(from)->computation[0]];

    if (now->count + called->count > INSTRUCTIONS_MAX) {
        r->status = err_at(r->err, r->old->file ? r->old->file : "", from->line, from->col,
                           "%s: more than %d instructions once calls are inlined", hlo_name(from),
                           INSTRUCTIONS_MAX);
        return -1;
    }
    return hlo_inline(b, hlo_detail(from)->computation[0], operand);
}

/* the branch that is always taken; -1: that follows from values */
static int lone_branch(const struct hlo_builder *b, const struct hlo_instruction *from, int chosen)
{
    int64_t n = 0;

    if (hlo_detail(from)->computation_count > 1 &&
        !structure_constant(&b->module->computation[b->computation], chosen, &n))
        return -1;
    if (hlo_detail(from)->is_predicated)
        return n ? 0 : 1;
    return n < 0 || n >= hlo_detail(from)->computation_count
               ? hlo_detail(from)->computation_count - 1
               : (int)n;
}

/*
 * JAX chooses among platforms so, long after it is known which one it is: by a number that another
 * conditional gives.
 */
static int inline_branch(struct hlo_rewrite *r, struct hlo_builder *b,
                         const struct hlo_instruction *from, const int *operand)
{
    int branch = lone_branch(b, from, operand[0]);
    struct hlo_instruction call = *from;

    if (branch < 0)
        return -1;
    call.detail = HLO_COPIED_DETAIL(from);
    call.detail->computation = &hlo_detail(from)->computation[branch];
    return inline_call(r, b, &call, &operand[1 + branch]);
}

/* the start of an asynchronous pair is a tuple of operands, result and more: [1] is the result */
static int start_pair(struct hlo_builder *b, const struct hlo_instruction *from, int source,
                      int result)
{
    int count = from->type->part_count, *part, tuple;

    if (!hlo_type_is_tuple(from->type) || count < 2)
        return result;
    part = mem_alloc((size_t)count * sizeof(*part));
    part[0] = source;
    part[1] = result;
    for (int k = 2; k < count; k++) {
        struct hlo_type word = hlo_scalar_type(ELEMENT_U32);

        part[k] = hlo_constant_int(b, &word, 0);
    }
    tuple = hlo_tuple(b, count, part);
    mem_free(part);
    return tuple;
}

static int start_async(struct hlo_rewrite *r, struct hlo_builder *b,
                       const struct hlo_instruction *from, const int *operand)
{
    int result = inline_call(r, b, from, operand);

    if (result < 0)
        return -1;
    return start_pair(b, from, hlo_tuple(b, from->operand_count, operand), result);
}

/* all-reduce-start and its like: the operation itself, of the type that its done has */
static int start_collective(struct hlo_builder *b, const struct hlo_instruction *from,
                            const int *operand, enum hlo_opcode op)
{
    struct hlo_instruction plain = *from;
    bool is_pair = op != OPCODE_ALL_REDUCE && hlo_type_is_tuple(from->type);
    int result, source;

    plain.op = op;
    if (is_pair)
        plain.type = &from->type->part[1];
    result = hlo_copy_instruction(b, &plain, operand);
    if (!is_pair)
        return result;
    source = from->operand_count == 1 ? operand[0] : hlo_tuple(b, from->operand_count, operand);
    return start_pair(b, from, source, result);
}

/* what has become of a start: the second part of a pair, or the result itself */
static int finish(struct hlo_builder *b, const struct hlo_instruction *from, int start)
{
    struct hlo_type t = *hlo_type_of(b, start);

    if (hlo_type_is_tuple(&t) && t.part_count >= 2 && hlo_type_equal(&t.part[1], from->type))
        return structure_element(b, start, 1);
    return start;
}

/* (destination, source, context): the first is the copy */
static int finish_copy(struct hlo_builder *b, const struct hlo_instruction *from, int start)
{
    struct hlo_type t = *hlo_type_of(b, start);

    (void)from;
    return hlo_type_is_tuple(&t) ? structure_element(b, start, 0) : start;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    switch (from->op) {
    case OPCODE_CALL: case OPCODE_FUSION:
        return inline_call(r, b, from, operand);
    case OPCODE_CONDITIONAL:
        return inline_branch(r, b, from, operand);
    case OPCODE_ASYNC_START:
        return start_async(r, b, from, operand);
    case OPCODE_ALL_REDUCE_START:
        return start_collective(b, from, operand, OPCODE_ALL_REDUCE);
    case OPCODE_ALL_GATHER_START:
        return start_collective(b, from, operand, OPCODE_ALL_GATHER);
    case OPCODE_COLLECTIVE_PERMUTE_START:
        return start_collective(b, from, operand, OPCODE_COLLECTIVE_PERMUTE);
    case OPCODE_COPY_START:
        return start_pair(b, from, operand[0], operand[0]);
    case OPCODE_COPY_DONE:
        return finish_copy(b, from, operand[0]);
    case OPCODE_ASYNC_DONE: case OPCODE_ALL_REDUCE_DONE: case OPCODE_ALL_GATHER_DONE:
    case OPCODE_COLLECTIVE_PERMUTE_DONE:
        return finish(b, from, operand[0]);
    case OPCODE_COPY: case OPCODE_OPT_BARRIER:
        return hlo_place_more(hlo_place_of(from))->edge ? -1 : operand[0];      /* a kernel of a program kept as it is */
    case OPCODE_ASYNC_UPDATE: case OPCODE_DOMAIN: case OPCODE_ADD_DEPENDENCY:
        return operand[0];
    case OPCODE_BITCAST:
        return structure_bitcast(r, b, from, operand);
    case OPCODE_GET_TUPLE_ELEMENT:
        return structure_element(b, operand[0], (int)from->index);
    default:
        return is_identity(from) ? operands(b, from, operand) : -1;
    }
}

int structure_inline(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     struct err *e)
{
    return structure_visit(old, made, a, visit, e);
}
