/*
 * How often loops run: a counter that starts at a constant, goes on by a constant and is compared
 * with one; what another loop has counted to is a constant, too. Of several conditions at once the
 * first that fails ends the loop. What XLA has found out stands in backend_config already, and is
 * kept there.
 */
#include "import/structure/structure_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TRIPS_MAX (INT64_C(1) << 40)

enum { DEPTH_MAX = 4 };                 /* loops behind loops, and conditions within conditions */

int64_t structure_trips(const struct hlo_instruction *i)
{
    const char *found =
        hlo_detail(i)->config ? strstr(hlo_detail(i)->config, "known_trip_count") : NULL;
    int64_t trips;

    if (!found)
        return -1;
    found += strcspn(found, "0123456789");
    if (*found == '\0')
        return -1;
    trips = strtoll(found, NULL, 10);
    return trips >= 0 && trips <= TRIPS_MAX ? trips : -1;
}

void structure_set_trips(struct hlo_builder *b, int loop, int64_t trips)
{
    struct hlo_instruction *i = &b->module->computation[b->computation].instruction[loop];

    hlo_own_detail(b->module->arena, i)->config = arena_printf(
        b->module->arena, "{\"known_trip_count\":{\"n\":\"%" PRId64 "\"}}", trips);
}

static int behind_copies(const struct hlo_computation *c, int instruction)
{
    const struct hlo_instruction *i = &c->instruction[instruction];

    while (((i->op == OPCODE_COPY || i->op == OPCODE_BITCAST) && i->operand_count == 1) ||
           (i->op == OPCODE_RESHAPE && hlo_type_equal(i->type, c->instruction[i->operand[0]].type)) ||
           (i->op == OPCODE_CONVERT &&
            i->type->element == c->instruction[i->operand[0]].type->element)) {
        instruction = i->operand[0];
        i = &c->instruction[instruction];
    }
    return instruction;
}

/* which part of the state the value is; 0 of a state that is no tuple; -1: none */
static int part_of(const struct hlo_computation *c, int instruction)
{
    const struct hlo_instruction *i = &c->instruction[behind_copies(c, instruction)];

    if (i->op == OPCODE_PARAMETER)
        return hlo_type_is_tuple(i->type) ? -1 : 0;
    if (i->op == OPCODE_GET_TUPLE_ELEMENT && c->instruction[i->operand[0]].op == OPCODE_PARAMETER)
        return (int)i->index;
    return -1;
}

/* the instruction that is part `part` of what the computation or the state is made of */
static int made_part(const struct hlo_computation *c, int whole, int part)
{
    const struct hlo_instruction *i = &c->instruction[behind_copies(c, whole)];

    if (i->op == OPCODE_TUPLE)
        return part < i->operand_count ? behind_copies(c, i->operand[part]) : -1;
    return hlo_type_is_tuple(i->type) ? -1 : behind_copies(c, whole);
}

/* what the counter goes on by in each round */
static bool step_of(const struct hlo_computation *body, int part, int64_t *step)
{
    int made = made_part(body, body->root, part);
    const struct hlo_instruction *i = made < 0 ? NULL : &body->instruction[made];

    if (!i || (i->op != OPCODE_ADD && i->op != OPCODE_SUBTRACT))
        return false;
    for (int k = 0; k < 2; k++)
        if (part_of(body, i->operand[k]) == part && structure_constant(body, i->operand[1 - k], step) &&
            (i->op == OPCODE_ADD || k == 0)) {
            *step = i->op == OPCODE_ADD ? *step : -*step;
            return true;
        }
    return false;
}

struct loop {
    const struct hlo_module *module;
    const struct hlo_computation *body, *condition, *outside;
    int computation;                    /* number of outside */
    int state;                          /* of outside */
    int depth;
};

static int64_t trips_of(const struct loop *l, int condition, int depth);

static struct loop loop_of(const struct hlo_module *m, int computation,
                           const struct hlo_instruction *i, int state, int depth)
{
    return (struct loop){.module = m, .body = &m->computation[hlo_detail(i)->computation[0]],
                         .condition = &m->computation[hlo_detail(i)->computation[1]],
                         .outside = &m->computation[computation], .computation = computation,
                         .state = state, .depth = depth};
}

static int64_t trips_found(const struct loop *l)
{
    return trips_of(l, l->condition->root, 0);
}

static bool is_kept(const struct loop *l, int part)
{
    int kept = made_part(l->body, l->body->root, part);

    return kept >= 0 && part_of(l->body, kept) == part;
}

/* a part of the state before the first round: a constant, or what another loop leaves */
static bool first_of(const struct loop *l, int part, int64_t *value)
{
    int first = made_part(l->outside, l->state, part);
    const struct hlo_instruction *i = first < 0 ? NULL : &l->outside->instruction[first], *from;
    struct loop before;
    int64_t trips, step = 0;

    if (!i || structure_constant(l->outside, first, value))
        return i != NULL;
    if (i->op != OPCODE_GET_TUPLE_ELEMENT || l->depth >= DEPTH_MAX)
        return false;
    from = &l->outside->instruction[i->operand[0]];
    if (from->op != OPCODE_WHILE)
        return false;
    before = loop_of(l->module, l->computation, from, from->operand[0], l->depth + 1);
    if (!first_of(&before, (int)i->index, value))
        return false;
    if (is_kept(&before, (int)i->index))
        return true;
    trips = structure_trips(from);
    trips = trips >= 0 ? trips : trips_found(&before);
    if (trips < 0 || !step_of(before.body, (int)i->index, &step) || trips > INT32_MAX ||
        llabs(step) > INT32_MAX || llabs(*value) > INT32_MAX)
        return false;
    *value += trips * step;
    return llabs(*value) <= INT32_MAX;  /* beyond that it may have wrapped */
}

/* a constant of the condition, or a part of the state that no round changes */
static bool bound_of(const struct loop *l, int instruction, int64_t *bound)
{
    int part;

    if (structure_constant(l->condition, instruction, bound))
        return true;
    part = part_of(l->condition, instruction);
    return part >= 0 && is_kept(l, part) && first_of(l, part, bound);
}

static enum hlo_direction turned(enum hlo_direction d)
{
    switch (d) {
    case HLO_LT: return HLO_GT;
    case HLO_LE: return HLO_GE;
    case HLO_GT: return HLO_LT;
    case HLO_GE: return HLO_LE;
    default: return d;
    }
}

/* rounds until `x direction bound` is false, x going on by step; -1: not known, or never */
static int64_t count_rounds(int64_t x, int64_t step, enum hlo_direction d, int64_t bound)
{
    int64_t way;

    if (llabs(x) > TRIPS_MAX || llabs(bound) > TRIPS_MAX || llabs(step) > TRIPS_MAX)
        return -1;
    if (d == HLO_GT || d == HLO_GE) {
        x = -x;
        bound = -bound;
        step = -step;
        d = turned(d);
    }
    way = bound - x + (d == HLO_LE);
    if (d == HLO_NE)
        return way == 0 ? 0 : step != 0 && way % step == 0 && way / step > 0 ? way / step : -1;
    if (d == HLO_EQ)
        return way != 0 ? 0 : step != 0 ? 1 : -1;
    if (way <= 0)
        return 0;
    return step > 0 ? (way + step - 1) / step : -1;
}

static int64_t trips_of(const struct loop *l, int condition, int depth)
{
    const struct hlo_instruction *end = &l->condition->instruction[
        behind_copies(l->condition, condition)];

    if (end->op == OPCODE_AND && depth < DEPTH_MAX) {
        int64_t a = trips_of(l, end->operand[0], depth + 1);
        int64_t b = a < 0 ? -1 : trips_of(l, end->operand[1], depth + 1);

        return b < 0 ? -1 : a < b ? a : b;
    }
    if (end->op != OPCODE_COMPARE)
        return -1;
    for (int k = 0; k < 2; k++) {
        int part = part_of(l->condition, end->operand[k]);
        int64_t start, step, bound;

        if (part < 0 || !step_of(l->body, part, &step) ||
            !bound_of(l, end->operand[1 - k], &bound))
            continue;
        if (first_of(l, part, &start))
            return count_rounds(start, step, k == 0 ? end->direction : turned(end->direction),
                                bound);
    }
    return -1;
}

int64_t structure_find_trips(const struct hlo_module *m, int computation,
                             const struct hlo_instruction *loop)
{
    struct loop l = loop_of(m, computation, loop, loop->operand[0], 0);
    int64_t trips = structure_trips(loop);

    return trips >= 0 ? trips : trips_found(&l);
}

int structure_while(struct hlo_rewrite *rewrite, struct hlo_builder *b,
                    const struct hlo_instruction *from, const int *operand)
{
    struct loop l = loop_of(b->module, b->computation, from, operand[0], 0);
    int64_t trips = structure_trips(from) >= 0 ? -1 : trips_found(&l);
    int loop;

    (void)rewrite;
    if (trips < 0)
        return -1;
    loop = hlo_copy_instruction(b, from, operand);
    structure_set_trips(b, loop, trips);
    return loop;
}
