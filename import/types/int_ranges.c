/* Ranges of integers, from operands to results. */
#include "import/types/int_ranges.h"

enum { LITERAL_MAX = 1 << 20 };         /* elements that are looked at */

struct finding {
    const struct hlo_module *m;
    const struct hlo_computation *c;
    const struct int_range *of;
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static struct int_range united(struct int_range x, struct int_range y)
{
    return (struct int_range){least(x.low, y.low), most(x.high, y.high)};
}

/* all that the type has; of u64 what an int64_t can say */
static struct int_range all_of(enum hlo_element e)
{
    int bits = hlo_element_bits(e);

    if (e == ELEMENT_PRED)
        return (struct int_range){0, 1};
    if (!hlo_element_is_integer(e) || bits >= 64)
        return (struct int_range){INT64_MIN, INT64_MAX};
    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED)
        return (struct int_range){-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1};
    return (struct int_range){0, ((int64_t)1 << bits) - 1};
}

/* a result within its type; what could wrap around may be anything */
static struct int_range within(enum hlo_element e, struct int_range x, bool overflows)
{
    struct int_range all = all_of(e);

    if (e == ELEMENT_U64)
        all.low = 0;
    return overflows || x.low < all.low || x.high > all.high ? all_of(e) : x;
}

static struct int_range of_literal(const struct hlo_literal *l, enum hlo_element e)
{
    int64_t count = l && l->data ? l->is_splat ? 1 : hlo_type_elements(&l->type) : 0;
    struct int_range x = {INT64_MAX, INT64_MIN};

    if (count == 0 || count > LITERAL_MAX)
        return all_of(e);
    for (int64_t i = 0; i < count; i++) {
        int64_t value = hlo_element_load_int(e, hlo_literal_at(l, i));

        x = united(x, (struct int_range){value, value});
    }
    return e == ELEMENT_U64 && x.low < 0 ? all_of(e) : x;
}

static struct int_range product(struct int_range x, struct int_range y, bool *overflows)
{
    int64_t corner[4];
    struct int_range z = {INT64_MAX, INT64_MIN};

    *overflows = __builtin_mul_overflow(x.low, y.low, &corner[0]);
    *overflows |= __builtin_mul_overflow(x.low, y.high, &corner[1]);
    *overflows |= __builtin_mul_overflow(x.high, y.low, &corner[2]);
    *overflows |= __builtin_mul_overflow(x.high, y.high, &corner[3]);
    for (int i = 0; i < 4; i++)
        z = united(z, (struct int_range){corner[i], corner[i]});
    return z;
}

static struct int_range sum(struct int_range x, struct int_range y, bool *overflows)
{
    struct int_range z;

    *overflows = __builtin_add_overflow(x.low, y.low, &z.low);
    *overflows |= __builtin_add_overflow(x.high, y.high, &z.high);
    return z;
}

static struct int_range difference(struct int_range x, struct int_range y, bool *overflows)
{
    struct int_range z;

    *overflows = __builtin_sub_overflow(x.low, y.high, &z.low);
    *overflows |= __builtin_sub_overflow(x.high, y.low, &z.high);
    return z;
}

/* no quotient or remainder is larger than the dividend; by zero the quotient is -1 */
static struct int_range quotient(struct int_range x, struct int_range y, bool *overflows)
{
    int64_t size;

    *overflows = x.low == INT64_MIN;
    size = *overflows ? 0 : most(-x.low, x.high);
    if (x.low >= 0 && y.low > 0)
        return (struct int_range){0, x.high};
    return (struct int_range){least(-size, -1), size};
}

static struct int_range operand(const struct finding *f, const struct hlo_instruction *i, int k)
{
    return f->of[i->operand[k]];
}

/* a sum of so many elements, or the extreme of them */
static struct int_range reduced(const struct finding *f, const struct hlo_instruction *i,
                            bool *overflows)
{
    const struct hlo_computation *body = &f->m->computation[hlo_detail(i)->computation[0]];
    const struct hlo_instruction *root = &body->instruction[body->root];
    const struct hlo_type *t = f->c->instruction[i->operand[0]].type;
    struct int_range x = operand(f, i, 0), start = operand(f, i, 1), times = {1, 1}, z;
    bool other;

    if (i->operand_count != 2 || body->parameter_count != 2 || root->operand_count != 2
        || body->instruction[root->operand[0]].op != OPCODE_PARAMETER
        || body->instruction[root->operand[1]].op != OPCODE_PARAMETER
        || root->operand[0] == root->operand[1])
        return all_of(i->type->element);
    if (root->op == OPCODE_MAXIMUM || root->op == OPCODE_MINIMUM)
        return united(x, start);
    if (root->op != OPCODE_ADD)
        return all_of(i->type->element);
    for (int k = 0; k < hlo_detail(i)->dims.count; k++)
        times.high = times.low = times.low * most(t->dim[hlo_detail(i)->dims.item[k]], 1);
    z = product(united(x, (struct int_range){0, 0}), times, &other);
    z = sum(z, start, overflows);
    *overflows |= other;
    return z;
}

static struct int_range of_operation(const struct finding *f, const struct hlo_instruction *i,
                                 bool *overflows)
{
    enum hlo_element e = i->type->element;
    struct int_range x = i->operand_count ? operand(f, i, 0) : all_of(e), y;

    y = i->operand_count > 1 ? operand(f, i, 1) : x;
    switch (i->op) {
    case OPCODE_CONSTANT:
        return of_literal(i->literal, e);
    case OPCODE_IOTA:
        return (struct int_range){0, most(i->type->dim[i->index] - 1, 0)};
    case OPCODE_CONVERT:
        return hlo_element_is_integer(f->c->instruction[i->operand[0]].type->element)
                       || f->c->instruction[i->operand[0]].type->element == ELEMENT_PRED
                   ? x : all_of(e);
    case OPCODE_BROADCAST: case OPCODE_RESHAPE: case OPCODE_SLICE: case OPCODE_TRANSPOSE:
    case OPCODE_REVERSE: case OPCODE_COPY: case OPCODE_DYNAMIC_SLICE: case OPCODE_GATHER:
    case OPCODE_ALL_GATHER:
        return x;
    case OPCODE_PAD: case OPCODE_DYNAMIC_UPDATE_SLICE:
        return united(x, y);
    case OPCODE_CONCATENATE:
        for (int k = 1; k < i->operand_count; k++)
            x = united(x, operand(f, i, k));
        return x;
    case OPCODE_SELECT:
        return united(y, operand(f, i, 2));
    case OPCODE_CLAMP:
        return united(x, operand(f, i, 2));
    case OPCODE_ADD:
        return sum(x, y, overflows);
    case OPCODE_SUBTRACT:
        return difference(x, y, overflows);
    case OPCODE_MULTIPLY:
        return product(x, y, overflows);
    case OPCODE_DIVIDE:
        return quotient(x, y, overflows);
    case OPCODE_REMAINDER:
        return (struct int_range){least(x.low, 0), most(x.high, 0)};
    case OPCODE_MAXIMUM:
        return (struct int_range){most(x.low, y.low), most(x.high, y.high)};
    case OPCODE_MINIMUM:
        return (struct int_range){least(x.low, y.low), least(x.high, y.high)};
    case OPCODE_NEGATE:
        return difference((struct int_range){0, 0}, x, overflows);
    case OPCODE_ABS:
        *overflows = x.low == INT64_MIN;
        return *overflows ? x : (struct int_range){0, most(-x.low, x.high)};
    case OPCODE_AND:
        return x.low >= 0 && y.low >= 0 ? (struct int_range){0, least(x.high, y.high)} : all_of(e);
    case OPCODE_SIGN:
        return (struct int_range){-1, 1};
    case OPCODE_POPCNT: case OPCODE_COUNT_LEADING_ZEROS:
        return (struct int_range){0, 64};
    case OPCODE_REDUCE:
        return reduced(f, i, overflows);
    default:
        return all_of(e);
    }
}

void int_ranges_find(struct int_ranges *r, const struct hlo_module *m, struct arena *a)
{
    r->of = arena_array(a, (size_t)m->computation_count + 1, sizeof(*r->of));
    for (int c = 0; c < m->computation_count; c++) {
        struct finding f = {.m = m, .c = &m->computation[c]};
        struct int_range *of = arena_array(a, (size_t)f.c->count + 1, sizeof(*of));

        f.of = r->of[c] = of;
        for (int k = 0; k < f.c->count; k++) {
            const struct hlo_instruction *i = &f.c->instruction[k];
            bool is_integer =
                !hlo_type_is_tuple(i->type) && hlo_element_is_integer(i->type->element);
            bool overflows = false;
            struct int_range x =
                all_of(hlo_type_is_tuple(i->type) ? ELEMENT_S64 : i->type->element);

            if (is_integer) {
                x = of_operation(&f, i, &overflows);
                x = within(i->type->element, x, overflows);
            }
            of[k] = x;
        }
    }
}

bool int_ranges_fit(const struct int_ranges *r, int computation, int instruction)
{
    struct int_range x = r->of[computation][instruction];

    return x.low >= INT32_MIN && x.high <= INT32_MAX;
}
