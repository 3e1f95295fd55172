/* Tells what computations of scalars are: sums, extremes, orders. */
#include "import/structure/structure.h"

#include "import/structure/structure_scalar.h"

#include <math.h>

#define COUNT(list) ((int)(sizeof(list) / sizeof((list)[0])))

#define ABOVE_ONE 5                     /* the point that differs from one in its last bit */

static const double points[] = {-INFINITY, -2.0, -1.0, 0.0, 1.0, 1.0, 3.0, INFINITY};

/* TensorFlow's second gradients of pools compare the upper halves of words: these two are equal so */
static double above_one(enum hlo_element e)
{
    unsigned char bytes[16] = {0};

    hlo_element_store(e, 1.0, bytes);
    bytes[0]++;
    return hlo_element_load(e, bytes);
}

static struct scalar point(enum hlo_element e, int k)
{
    static const int64_t numbers[COUNT(points)] = {-100, -2, -1, 0, 1, 2, 3, 100};

    if (hlo_element_is_float(e))
        return scalar_float(k == ABOVE_ONE ? above_one(e) : points[k]);
    if (hlo_element_kind(e) == ELEMENT_KIND_SIGNED)
        return scalar_integer(hlo_element_bits(e) < 8 ? 0 : numbers[k]);
    if (e == ELEMENT_PRED)
        return scalar_integer(k & 1);
    return scalar_integer(hlo_element_bits(e) < 8 ? 0 : k);
}

static bool is_equal(struct scalar x, struct scalar y)
{
    return x.is_float ? x.number == y.number : x.integer == y.integer;
}

static bool is_less(struct scalar x, struct scalar y)
{
    return x.is_float ? x.number < y.number : x.integer < y.integer;
}

/* an instruction behind conversions to a wider float */
static const struct hlo_instruction *behind_converts(const struct hlo_computation *c,
                                                     const struct hlo_instruction *i)
{
    while (i->op == OPCODE_CONVERT && hlo_element_is_float(i->type->element) &&
           hlo_element_is_float(c->instruction[i->operand[0]].type->element))
        i = &c->instruction[i->operand[0]];
    return i;
}

static bool is_parameter(const struct hlo_computation *c, int instruction, int number)
{
    const struct hlo_instruction *i = behind_converts(c, &c->instruction[instruction]);

    return i->op == OPCODE_PARAMETER && i->index == number;
}

static bool is_commutative(enum hlo_opcode op)
{
    return op == OPCODE_ADD || op == OPCODE_MULTIPLY || op == OPCODE_MAXIMUM ||
           op == OPCODE_MINIMUM || op == OPCODE_AND || op == OPCODE_OR || op == OPCODE_XOR;
}

/* written in another way: by a comparison and a selection */
static enum hlo_opcode tried_extreme(const struct hlo_module *m, int computation)
{
    const struct hlo_computation *c = &m->computation[computation];
    bool is_max = true, is_min = true;
    enum hlo_element e;

    if (c->parameter_count != 2 || c->parameter[0] < 0 ||
        c->instruction[c->root].op == OPCODE_TUPLE)
        return OPCODE_COUNT;
    e = c->instruction[c->parameter[0]].type->element;
    if (e == ELEMENT_PRED || hlo_element_bits(e) < 8)
        return OPCODE_COUNT;
    for (int k = 0; k < COUNT(points) * COUNT(points); k++) {
        struct scalar p[2] = {point(e, k / COUNT(points)), point(e, k % COUNT(points))}, r;

        if (!scalar_evaluate(m, computation, p, &r, 1) || r.is_float != p[0].is_float)
            return OPCODE_COUNT;
        is_max = is_max && is_equal(r, is_less(p[0], p[1]) ? p[1] : p[0]);
        is_min = is_min && is_equal(r, is_less(p[0], p[1]) ? p[0] : p[1]);
    }
    return is_max ? OPCODE_MAXIMUM : is_min ? OPCODE_MINIMUM : OPCODE_COUNT;
}

enum hlo_opcode structure_combines(const struct hlo_module *m, int computation, int result)
{
    const struct hlo_computation *c = &m->computation[computation];
    const struct hlo_instruction *r = behind_converts(c, scalar_result(m, computation, result));
    int group = c->parameter_count / 2;

    if (r->type->rank != 0 || hlo_type_is_tuple(r->type))
        return OPCODE_COUNT;
    if (r->op == OPCODE_PARAMETER && r->index == group + result)
        return OPCODE_PARAMETER;
    if (r->operand_count == 2 && is_commutative(r->op) &&
        ((is_parameter(c, r->operand[0], result) && is_parameter(c, r->operand[1], group + result)) ||
         (is_parameter(c, r->operand[1], result) && is_parameter(c, r->operand[0], group + result))))
        return r->op;
    return tried_extreme(m, computation);
}

/* at one pair of values and places: the more extreme one, of equal ones the first */
static bool finds_extreme(const struct hlo_module *m, int computation, struct scalar a,
                          struct scalar b, bool is_max)
{
    struct scalar p[4] = {a, scalar_integer(1), b, scalar_integer(2)}, r[2];
    bool takes_second = is_max ? is_less(a, b) : is_less(b, a);

    for (int swapped = 0; swapped < 2; swapped++) {
        if (swapped) {                  /* the later one comes first */
            p[0] = b;
            p[1] = scalar_integer(2);
            p[2] = a;
            p[3] = scalar_integer(1);
            if (is_equal(a, b))         /* keeping the one before is as good */
                continue;
        }
        if (!scalar_evaluate(m, computation, p, r, 2) || !is_equal(r[0], takes_second ? b : a) ||
            r[1].is_float || r[1].integer != (takes_second ? 2 : 1))
            return false;
    }
    return true;
}

bool structure_extreme(const struct hlo_module *m, int computation, enum hlo_direction *direction)
{
    const struct hlo_computation *c = &m->computation[computation];
    enum hlo_element e;

    if (c->parameter_count != 4 || c->instruction[c->root].op != OPCODE_TUPLE ||
        c->instruction[c->root].operand_count != 2)
        return false;
    for (int k = 0; k < 4; k++)
        if (c->parameter[k] < 0)
            return false;
    e = c->instruction[c->parameter[0]].type->element;
    if (!hlo_element_is_integer(c->instruction[c->parameter[1]].type->element) ||
        e == ELEMENT_PRED || hlo_element_bits(e) < 8)
        return false;
    for (int is_max = 0; is_max < 2; is_max++) {
        bool finds = true;

        for (int k = 0; finds && k < COUNT(points) * COUNT(points); k++)
            finds = finds_extreme(m, computation, point(e, k / COUNT(points)),
                                  point(e, k % COUNT(points)), is_max);
        *direction = is_max ? HLO_GT : HLO_LT;
        if (finds)
            return true;
    }
    return false;
}

bool structure_selects(const struct hlo_module *m, int computation, enum hlo_direction *direction)
{
    const struct hlo_computation *c = &m->computation[computation];
    bool is_max = true, is_min = true;
    enum hlo_element e;

    if (c->parameter_count != 2 || c->parameter[0] < 0)
        return false;
    e = c->instruction[c->parameter[0]].type->element;
    for (int k = 0; k < COUNT(points) * COUNT(points); k++) {
        struct scalar p[2] = {point(e, k / COUNT(points)), point(e, k % COUNT(points))}, r;

        if (!scalar_evaluate(m, computation, p, &r, 1))
            return false;
        if (is_equal(p[0], p[1])) {     /* the first of equals stays, as the graph has it */
            is_max = is_max && r.integer;
            is_min = is_min && r.integer;
        } else {
            is_max = is_max && !!r.integer == is_less(p[1], p[0]);
            is_min = is_min && !!r.integer == is_less(p[0], p[1]);
        }
    }
    *direction = is_max ? HLO_GE : HLO_LE;
    return is_max != is_min;
}
