/*
 * Collectives that devices do not carry out by themselves: collective-broadcast by an all-gather, of
 * which each device takes the first one's array; sums of types and by computations that the network
 * does not combine by: each device has all arrays sent, and combines them in the order of devices;
 * a ragged all-to-all likewise, of which each takes the rows that are for it.
 */
#include "import/expand/expand.h"
#include "import/expand/site.h"
#include "import/structure/structure.h"

/* a new first dimension, one row for each device of the group */
static int gathered(struct expand_site *s, int x, int64_t devices)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t *dim = arena_array(b->module->arena, (size_t)t.rank + 2, sizeof(*dim)), zero = 0;
    struct hlo_instruction i = {
        .op = OPCODE_ALL_GATHER,
        .operand_count = 1,
        .detail = &(struct hlo_detail){.dims = {1, &zero}, .groups = hlo_detail(s->from)->groups}};

    dim[0] = 1;
    for (int d = 0; d < t.rank; d++)
        dim[d + 1] = t.dim[d];
    x = hlo_reshape(b, x, t.rank + 1, dim);
    dim[0] = devices;
    i.type = HLO_TYPE(hlo_array_type(b->module->arena, t.element, t.rank + 1, dim));
    return hlo_copy_instruction(b, &i, &x);
}

/*
 * Devices of one group: all are of the same size. What numbers of groups stand for depends on the
 * channel: without one replicas, with one replicas and all of their partitions, or devices, where
 * `global`; of a broadcast partitions.
 */
static int64_t group_size(const struct expand_site *s)
{
    const struct hlo_groups *g = hlo_detail(s->from)->groups;
    int64_t replicas = s->old->replica_count, partitions = s->old->partition_count;
    bool has_both = replicas > 1 && partitions > 1, is_sum = s->from->op == OPCODE_ALL_REDUCE || s->from->op == OPCODE_REDUCE_SCATTER;
    bool has_list = g && g->size.count > 0;
    int64_t ids = has_list ? g->size.item[0] : 0;

    if (!g || g->channel_id == 0)
        return has_list ? ids : replicas;
    if (g->use_global_ids)
        return has_list ? ids : replicas * partitions;
    if (!is_sum)
        return has_list ? ids : partitions;
    return !has_list ? replicas * partitions : has_both ? ids * partitions : ids;
}

int expand_collective_broadcast(struct expand_site *s)
{
    struct hlo_type t = *s->from->type;
    int64_t devices = group_size(s);
    int x;

    if (s->from->operand_count != 1 || hlo_type_is_tuple(&t))
        return expand_refuse(s, "it needs one array");
    x = gathered(s, s->operand[0], devices);
    return hlo_reshape(s->b, hlo_slice_dim(s->b, x, 0, 0, 1), t.rank, t.dim);
}

/* whether devices combine elements of this type by this computation on the way */
static bool combines_on_the_way(const struct expand_site *s, enum hlo_element e)
{
    enum hlo_opcode op = structure_combines(s->old, hlo_detail(s->from)->computation[0], 0);
    enum hlo_element part;
    int parts;

    switch (expand_form_of(e, &part, &parts)) {
    case EXPAND_SAME:
        return op == OPCODE_ADD || op == OPCODE_MULTIPLY || op == OPCODE_MAXIMUM ||
               op == OPCODE_MINIMUM || (op != OPCODE_XOR && e == ELEMENT_PRED) ||
               op == OPCODE_AND || op == OPCODE_OR;
    case EXPAND_WIDE:
        return op == OPCODE_MAXIMUM || op == OPCODE_MINIMUM ||
               (hlo_element_is_integer(e) && (op == OPCODE_ADD || op == OPCODE_MULTIPLY ||
                                              op == OPCODE_AND || op == OPCODE_OR));
    case EXPAND_WORDS: case EXPAND_COMPLEX:
        return op == OPCODE_ADD;
    default:
        return false;
    }
}

static bool is_left_to_devices(const struct expand_site *s)
{
    for (int k = 0; k < s->from->operand_count; k++)
        if (!combines_on_the_way(s, expand_operand_type(s, k)->element))
            return !structure_can_lift(s->old, hlo_detail(s->from)->computation[0]);
    return true;
}

/* the rows of dimension `dim`, one after the other, by the computation */
static int combined(struct expand_site *s, int x, int dim, int64_t devices)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *hlo_type_of(b, x);
    int64_t *kept = arena_array(b->module->arena, (size_t)t.rank, sizeof(*kept));
    int sum = -1;

    for (int d = 0; d < t.rank; d++)
        if (d != dim)
            kept[d - (d > dim)] = t.dim[d];
    for (int64_t k = 0; k < devices; k++) {
        int row = hlo_reshape(b, hlo_slice_dim(b, x, dim, k, k + 1), t.rank - 1, kept), next;

        if (sum >= 0)
            structure_lift(b, hlo_detail(s->from)->computation[0], (int[]){sum, row}, &next, 1);
        sum = sum >= 0 ? next : row;
    }
    return sum;
}

int expand_all_reduce(struct expand_site *s)
{
    int64_t devices = group_size(s);
    int *result;

    if (is_left_to_devices(s))
        return EXPAND_KEEP;
    result = arena_array(s->b->module->arena, (size_t)s->from->operand_count, sizeof(*result));
    for (int k = 0; k < s->from->operand_count; k++)
        result[k] = combined(s, gathered(s, s->operand[k], devices), 0, devices);
    return hlo_type_is_tuple(s->from->type) ? hlo_tuple(s->b, s->from->operand_count, result)
                                             : result[0];
}

/* every device is sent its own part by all others; [.., devices x part, ..] is [.., devices, part, ..] */
static int scattered(struct expand_site *s, int x, int64_t devices)
{
    struct hlo_builder *b = s->b;
    struct hlo_instruction i = {.op = OPCODE_ALL_TO_ALL,
                                .operand_count = 1,
                                .type = hlo_type_of(b, x),
                                .detail =
                                    &(struct hlo_detail){.dims = hlo_detail(s->from)->dims,
                                                         .groups = hlo_detail(s->from)->groups}};
    int64_t *dim = arena_array(b->module->arena, (size_t)i.type->rank + 2, sizeof(*dim));
    int at = (int)hlo_detail(s->from)->dims.item[0];

    x = hlo_copy_instruction(b, &i, &x);
    for (int d = 0; d < i.type->rank; d++)
        dim[d + (d >= at)] = i.type->dim[d];
    dim[at] = devices;
    dim[at + 1] = i.type->dim[at] / devices;
    return combined(s, hlo_reshape(b, x, i.type->rank + 1, dim), at, devices);
}

int expand_reduce_scatter(struct expand_site *s)
{
    int64_t devices = group_size(s);
    int *result;

    if (is_left_to_devices(s) || hlo_detail(s->from)->dims.count != 1)
        return EXPAND_KEEP;
    if (s->old->replica_count > 1 && s->old->partition_count > 1 && hlo_detail(s->from)->groups &&
        hlo_detail(s->from)->groups->channel_id > 0) /* of an all-to-all the numbers are others */
        return expand_refuse(s, "over replicas and partitions devices do not combine by this");
    result = arena_array(s->b->module->arena, (size_t)s->from->operand_count, sizeof(*result));
    for (int k = 0; k < s->from->operand_count; k++)
        result[k] = scattered(s, s->operand[k], devices);
    return hlo_type_is_tuple(s->from->type) ? hlo_tuple(s->b, s->from->operand_count, result)
                                             : result[0];
}

/* what each device of the group has in its row for this one, as s32 */
static int sent_here(struct expand_site *s, int operand)
{
    int64_t zero = 0;
    int x = hlo_convert(s->b, s->operand[operand], ELEMENT_S32);
    struct hlo_instruction i = {
        .op = OPCODE_ALL_TO_ALL,
        .operand_count = 1,
        .type = hlo_type_of(s->b, x),
        .detail = &(struct hlo_detail){.dims = {1, &zero}, .groups = hlo_detail(s->from)->groups}};

    return hlo_copy_instruction(s->b, &i, &x);
}

static int number_at(struct hlo_builder *b, int x, int64_t k)
{
    return hlo_reshape(b, hlo_slice_dim(b, x, 0, k, k + 1), 0, NULL);
}

/* `to` with `size` rows of x, from `first` on, in its rows from `at` on */
static int with_rows(struct hlo_builder *b, int to, int x, int first, int at, int size)
{
    struct hlo_type t = *hlo_type_of(b, to), rows = t, value = hlo_scalar_type(t.element);
    int64_t *around = arena_array(b->module->arena, (size_t)t.rank + 1, sizeof(*around));
    int *start = arena_array(b->module->arena, (size_t)t.rank + 1, sizeof(*start)), number, is_new;

    rows.element = ELEMENT_S32;
    number = hlo_iota(b, &rows, 0);
    is_new = hlo_compare(b, HLO_GE, number, hlo_splat(b, at, &rows));
    number = hlo_compare(b, HLO_LT, number, hlo_splat(b, ar_add(b, at, size), &rows));
    is_new = hlo_binary(b, OPCODE_AND, is_new, number);
    around[0] = t.dim[0];               /* so that no start of the slice is clamped */
    x = hlo_pad(b, x, hlo_constant_int(b, &value, 0), around, around, NULL);
    for (int d = 1; d < t.rank; d++)
        start[d] = ar_scalar(b, ELEMENT_S32, 0);
    start[0] = ar_addi(b, ar_sub(b, first, at), t.dim[0]);
    return hlo_select(b, is_new, hlo_dynamic_slice(b, x, start, t.dim), to);
}

/* Each device is sent what all have, and takes the rows that they have for it. */
int expand_ragged_all_to_all(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    struct hlo_type t = *expand_operand_type(s, 0);
    int64_t devices = group_size(s);
    int all, first, size, at, to = s->operand[1];

    for (int k = 2; k < 6; k++)
        if (expand_operand_type(s, k)->rank != 1 || expand_operand_type(s, k)->dim[0] != devices)
            return expand_refuse(s, "each device of a group must have one part for each");
    all = gathered(s, s->operand[0], devices);
    first = sent_here(s, 2);
    size = sent_here(s, 3);
    at = sent_here(s, 4);
    for (int64_t k = 0; k < devices; k++) {
        int x = hlo_reshape(b, hlo_slice_dim(b, all, 0, k, k + 1), t.rank, t.dim);
        int number[3] = {number_at(b, first, k), 0, 0};

        number[1] = number_at(b, at, k);
        number[2] = number_at(b, size, k);
        to = with_rows(b, to, x, number[0], number[1], number[2]);
    }
    return to;
}

/* arrays of several types go one by one */
int expand_all_gather(struct expand_site *s)
{
    int count = s->from->operand_count;
    int *result = arena_array(s->b->module->arena, (size_t)count + 1, sizeof(*result));
    bool is_mixed = false;

    for (int k = 1; k < count; k++)
        is_mixed = is_mixed || expand_operand_type(s, k)->element != expand_operand_type(s, 0)->element;
    if (!is_mixed || !hlo_type_is_tuple(s->from->type))
        return EXPAND_KEEP;
    for (int k = 0; k < count; k++) {
        struct hlo_instruction own = *s->from;

        own.label = 0;
        own.operand_count = 1;
        own.type = &s->from->type->part[k];
        hlo_own_detail(s->b->module->arena, &own)->sharding_count = 0;
        result[k] = hlo_copy_instruction(s->b, &own, &s->operand[k]);
    }
    return hlo_tuple(s->b, count, result);
}
