/* Types of tuples, calls, loops and what several devices do together. */
#include "import/program/infer_impl.h"

#include <inttypes.h>

const struct hlo_computation *infer_callee(const struct infer *x, int role)
{
    return &x->m->computation[hlo_detail(x->i)->computation[role]];
}

const struct hlo_type *infer_callee_parameter(const struct infer *x, int role, int n)
{
    const struct hlo_computation *c = infer_callee(x, role);

    return c->instruction[c->parameter[n]].type;
}

const struct hlo_type *infer_callee_result(const struct infer *x, int role)
{
    const struct hlo_computation *c = infer_callee(x, role);

    return c->instruction[c->root].type;
}

int infer_check_parameters(struct infer *x, int role, int count)
{
    const struct hlo_computation *c = infer_callee(x, role);

    if (c->parameter_count == count)
        return 0;
    return infer_fail(x, "%.80s has %d parameters, and needs %d", c->name, c->parameter_count,
                      count);
}

int infer_check_parameter(struct infer *x, int role, int n, const struct hlo_type *t)
{
    char is[120], wants[120];

    if (hlo_types_agree(x->m, infer_callee_parameter(x, role, n), t))
        return 0;
    return infer_fail(x, "parameter %d of %.80s is %s, and gets %s", n, infer_callee(x, role)->name,
                      hlo_type_print(infer_callee_parameter(x, role, n), wants, sizeof(wants)),
                      hlo_type_print(t, is, sizeof(is)));
}

struct hlo_type infer_join(struct infer *x, const struct hlo_type *part, int count)
{
    return count == 1 ? part[0] : hlo_tuple_type(x->arena, count, part);
}

const struct hlo_type *infer_part(const struct hlo_type *t, int n)
{
    if (!hlo_type_is_tuple(t))
        return n == 0 ? t : NULL;
    return n < t->part_count ? &t->part[n] : NULL;
}

/* Of floats a reducer may sum wider ones than it is given. */
int infer_check_reducer(struct infer *x, int role, int count)
{
    const struct hlo_type *result = infer_callee_result(x, role);

    if (infer_check_parameters(x, role, 2 * count))
        return -1;
    if (hlo_type_is_tuple(result) ? result->part_count != count : count != 1)
        return infer_fail(x, "%.80s must give %d %s", infer_callee(x, role)->name, count,
                          count == 1 ? "scalar" : "scalars");
    for (int n = 0; n < 2 * count; n++) {
        const struct hlo_type *parameter = infer_callee_parameter(x, role, n);
        const struct hlo_type *part = infer_part(result, n % count);

        if (parameter->rank || part->rank || hlo_type_is_tuple(part)
            || !infer_elements_mix(parameter, part)
            || !infer_elements_mix(parameter, infer_operand(x, n % count)))
            return infer_fail(x, "parameter %d of %.80s must be such a scalar", n,
                              infer_callee(x, role)->name);
    }
    return 0;
}

int infer_tuple(struct infer *x)
{
    struct hlo_type *part = arena_array(x->arena, (size_t)x->i->operand_count, sizeof(*part));

    for (int n = 0; n < x->i->operand_count; n++)
        part[n] = *infer_operand(x, n);
    *x->t = hlo_tuple_type(x->arena, x->i->operand_count, part);
    return 0;
}

static int part_of(struct infer *x, int64_t n)
{
    const struct hlo_type *t = infer_operand(x, 0);

    if (!hlo_type_is_tuple(t) || n < 0 || n >= t->part_count)
        return infer_fail(x, "element %" PRId64 " of a value that has %d", n, t->part_count);
    *x->t = t->part[n];
    return 0;
}

int infer_get_tuple_element(struct infer *x) { return part_of(x, x->i->index); }
int infer_first_of(struct infer *x) { return part_of(x, 0); }
int infer_second_of(struct infer *x) { return part_of(x, 1); }

static int check_arguments(struct infer *x, int role)
{
    if (infer_check_parameters(x, role, x->i->operand_count))
        return -1;
    for (int n = 0; n < x->i->operand_count; n++) {
        if (infer_check_parameter(x, role, n, infer_operand(x, n)))
            return -1;
    }
    return 0;
}

int infer_call(struct infer *x)
{
    *x->t = *infer_callee_result(x, 0);
    return check_arguments(x, 0);
}

int infer_while(struct infer *x)
{
    const struct hlo_type *state = infer_operand(x, 0), *ends = infer_callee_result(x, 1);

    if (check_arguments(x, 0) || check_arguments(x, 1))
        return -1;
    if (!hlo_types_agree(x->m, infer_callee_result(x, 0), state))
        return infer_fail(x, "its body must give what it takes");
    if (ends->element != ELEMENT_PRED || ends->rank)
        return infer_fail(x, "its condition must give pred[]");
    return infer_first(x);
}

/* An operand for each branch, which chooses; the branches give the same. */
int infer_conditional(struct infer *x)
{
    const struct hlo_type *which;
    int count = hlo_detail(x->i)->computation_count;

    if (count < 1 || infer_check_operands(x, count + 1, count + 1) || infer_check_scalar(x, 0))
        return count < 1 ? infer_fail(x, "it has no branches") : -1;
    which = infer_operand(x, 0);
    if (hlo_detail(x->i)->is_predicated ? which->element != ELEMENT_PRED || count != 2
                            : which->element != ELEMENT_S32)
        return infer_fail(x, "it chooses by pred[] one of two branches, or by s32[] any of them");
    for (int n = 0; n < count; n++) {
        if (infer_check_parameters(x, n, 1)
            || infer_check_parameter(x, n, 0, infer_operand(x, n + 1)))
            return -1;
        if (!hlo_types_agree(x->m, infer_callee_result(x, n), infer_callee_result(x, 0)))
            return infer_fail(x, "branch %d gives another type than the first", n);
    }
    *x->t = *infer_callee_result(x, 0);
    return 0;
}

int infer_token(struct infer *x)
{
    *x->t = hlo_scalar_type(ELEMENT_TOKEN);
    return 0;
}

/* ---- several devices ---- */

/* one array for each operand */
int infer_each(struct infer *x)
{
    if (infer_check_operands(x, 1, -1))
        return -1;
    if (x->i->operand_count == 1)
        return infer_same(x);
    return infer_tuple(x);
}

int infer_all_reduce(struct infer *x)
{
    return infer_check_reducer(x, 0, 1) ? -1 : infer_each(x);
}

/* 0: any number of devices may be in a group; with a channel and replicas' numbers all partitions
 * take part, of which a part of a program does not know how many there are */
static int64_t group_size(struct infer *x)
{
    const struct hlo_groups *g = hlo_detail(x->i)->groups;

    return g->size.count ? g->size.item[0] : 0;
}

/* Groups of replicas are as many times larger as each of them has partitions. */
static bool is_group(struct infer *x, int64_t factor)
{
    int64_t size = group_size(x);

    return size == 0 || factor == size ||
           (!hlo_detail(x->i)->groups->use_global_ids && factor % size == 0 &&
            (hlo_detail(x->i)->groups->channel_id > 0 || factor == size * x->m->partition_count));
}

/* Dimension dims[0] of `large` is as many times that of `small` as devices are in a group. */
static int check_factor(struct infer *x, const struct hlo_type *large,
                        const struct hlo_type *small)
{
    int64_t along = hlo_detail(x->i)->dims.item[0];
    bool agree = large->rank == small->rank;

    for (int k = 0; agree && k < large->rank; k++)
        agree = k == along || infer_dim_agrees(large->dim[k], small->dim[k]);
    if (!agree)
        return infer_fail(x, "only dimension %" PRId64 " may have another size", along);
    if (large->dim[along] == HLO_UNBOUNDED || small->dim[along] == HLO_UNBOUNDED
        || (large->dim[along] == 0 && small->dim[along] == 0))
        return 0;
    if (small->dim[along] == 0 || large->dim[along] % small->dim[along]
        || !is_group(x, large->dim[along] / small->dim[along]))
        return infer_fail(x, "%" PRId64 " elements are not %" PRId64 " for each of %" PRId64
                          " devices", large->dim[along], small->dim[along], group_size(x));
    return 0;
}

static int check_gathered(struct infer *x, bool is_gather)
{
    if (infer_check_operands(x, 1, -1) || infer_want_type(x))
        return -1;
    if (hlo_detail(x->i)->dims.count != 1)
        return infer_fail(x, "it needs one dimension");
    for (int n = 0; n < x->i->operand_count; n++) {
        const struct hlo_type *from = infer_operand(x, n), *to = infer_part(x->i->type, n);

        if (!to || !infer_elements_mix(from, to))
            return infer_fail(x, "its result must have an array for each operand");
        if (infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, from->rank)
            || infer_check_dims(x, "dimensions", hlo_detail(x->i)->dims, to->rank)
            || check_factor(x, is_gather ? to : from, is_gather ? from : to))
            return -1;
    }
    return infer_given(x);
}

int infer_all_gather(struct infer *x) { return check_gathered(x, true); }

int infer_reduce_scatter(struct infer *x)
{
    return check_gathered(x, false) ? -1 : infer_check_reducer(x, 0, 1);
}

/* In arrays: each device takes its part of every operand. In one: along a dimension, or two. */
int infer_all_to_all(struct infer *x)
{
    if (infer_check_operands(x, 1, -1))
        return -1;
    if (hlo_detail(x->i)->dims.count == 0)
        return infer_tuple(x);
    if (infer_check_dims(x, "dimensions", (struct hlo_ints){1, hlo_detail(x->i)->dims.item},
                         infer_operand(x, 0)->rank))
        return -1;
    return hlo_detail(x->i)->dims.count == 1 ? infer_same(x) : infer_given(x);
}

/* Of four operands the last two say where in the second the first goes. */
int infer_collective_permute(struct infer *x)
{
    if (x->i->operand_count == 4 && infer_has_type(x)
        && !hlo_type_is_tuple(x->i->type)) {
        *x->t = *infer_operand(x, 1);
        return 0;
    }
    return infer_each(x);
}

/* ((operands), result, state..) */
int infer_async_start(struct infer *x)
{
    const struct hlo_type *t = x->i->type;

    if (check_arguments(x, 0) || infer_want_type(x))
        return -1;
    if (t->part_count < 2 || t->part[0].part_count != x->i->operand_count
        || !hlo_types_agree(x->m, &t->part[1], infer_callee_result(x, 0)))
        return infer_fail(x, "its type must be a tuple of the operands, the result and a state");
    for (int n = 0; n < x->i->operand_count; n++) {
        if (!hlo_types_agree(x->m, &t->part[0].part[n], infer_operand(x, n)))
            return infer_fail(x, "operand %d has another type in its own", n);
    }
    return infer_given(x);
}

/* (where it goes, where it comes from, state) */
int infer_copy_start(struct infer *x)
{
    const struct hlo_type *t = x->i->type;

    if (infer_want_type(x))
        return -1;
    if (t->part_count < 2 || !hlo_types_agree(x->m, &t->part[0], infer_operand(x, 0))
        || !hlo_types_agree(x->m, &t->part[1], infer_operand(x, 0)))
        return infer_fail(x, "its type must be a tuple of the copy, the operand and a state");
    return infer_given(x);
}
