/* Evaluates small computations of scalars. */
#include "import/structure/structure_scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCALARS_MAX 256                 /* instructions of a computation that is tried */

struct scalar scalar_float(double number)
{
    return (struct scalar){.is_float = true, .number = number};
}

struct scalar scalar_integer(int64_t integer)
{
    return (struct scalar){.integer = integer};
}

/* as the element type holds it: floats rounded, integers wrapped */
static struct scalar as_element(enum hlo_element e, struct scalar x)
{
    unsigned char bytes[16] = {0};

    if (hlo_element_is_complex(e))
        return x;
    if (hlo_element_is_float(e)) {
        hlo_element_store(e, x.is_float ? x.number : (double)x.integer, bytes);
        return scalar_float(hlo_element_load(e, bytes));
    }
    if (e == ELEMENT_PRED)
        return scalar_integer(x.is_float ? x.number != 0.0 : x.integer != 0);
    hlo_element_store_int(e, x.is_float ? (int64_t)fmax(fmin(x.number, 9.2e18), -9.2e18)
                                        : x.integer, bytes);
    return scalar_integer(hlo_element_load_int(e, bytes));
}

static struct scalar bits_as(enum hlo_element from, enum hlo_element to, struct scalar x)
{
    unsigned char bytes[16] = {0};

    if (x.is_float)
        hlo_element_store(from, x.number, bytes);
    else
        hlo_element_store_int(from, x.integer, bytes);
    return hlo_element_is_float(to) ? scalar_float(hlo_element_load(to, bytes))
                                    : scalar_integer(hlo_element_load_int(to, bytes));
}

/* an integer in the same order as IEEE's total order of floats */
static int64_t total_order(double x)
{
    int64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static bool compare(const struct hlo_instruction *i, enum hlo_element e, struct scalar x,
                    struct scalar y)
{
    double a = x.number, b = y.number;
    int order;

    if (x.is_float && i->comparison != HLO_COMPARE_TOTAL) {
        if (isnan(a) || isnan(b))
            return i->direction == HLO_NE;
        order = (a > b) - (a < b);
    } else {
        int64_t p = x.is_float ? total_order(a) : x.integer;
        int64_t q = x.is_float ? total_order(b) : y.integer;

        order = e == ELEMENT_U64 ? ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q)
                                 : (p > q) - (p < q);
    }
    switch (i->direction) {
    case HLO_EQ: return order == 0;
    case HLO_NE: return order != 0;
    case HLO_LT: return order < 0;
    case HLO_LE: return order <= 0;
    case HLO_GT: return order > 0;
    default: return order >= 0;
    }
}

static bool float_binary(enum hlo_opcode op, double a, double b, double *out)
{
    switch (op) {
    case OPCODE_ADD: *out = a + b; return true;
    case OPCODE_SUBTRACT: *out = a - b; return true;
    case OPCODE_MULTIPLY: *out = a * b; return true;
    case OPCODE_DIVIDE: *out = a / b; return true;
    case OPCODE_MAXIMUM: *out = isnan(a) || isnan(b) ? (double)NAN : fmax(a, b); return true;
    case OPCODE_MINIMUM: *out = isnan(a) || isnan(b) ? (double)NAN : fmin(a, b); return true;
    default: return false;
    }
}

static bool integer_binary(enum hlo_opcode op, int64_t a, int64_t b, int bits, int64_t *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b, mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;

    switch (op) {
    case OPCODE_ADD: *out = (int64_t)(x + y); return true;
    case OPCODE_SUBTRACT: *out = (int64_t)(x - y); return true;
    case OPCODE_MULTIPLY: *out = (int64_t)(x * y); return true;
    case OPCODE_MAXIMUM: *out = a > b ? a : b; return true;
    case OPCODE_MINIMUM: *out = a < b ? a : b; return true;
    case OPCODE_AND: *out = a & b; return true;
    case OPCODE_OR: *out = a | b; return true;
    case OPCODE_XOR: *out = a ^ b; return true;
    case OPCODE_SHIFT_LEFT: *out = y >= (uint64_t)bits ? 0 : (int64_t)(x << y); return true;
    case OPCODE_SHIFT_RIGHT_LOGICAL:
        *out = y >= (uint64_t)bits ? 0 : (int64_t)((x & mask) >> y);
        return true;
    case OPCODE_SHIFT_RIGHT_ARITHMETIC:
        *out = a >> (y >= (uint64_t)bits ? bits - 1 : (int)y);
        return true;
    default: return false;
    }
}

static bool binary(const struct hlo_instruction *i, struct scalar x, struct scalar y,
                   struct scalar *out)
{
    bool is_known;

    out->is_float = x.is_float;
    is_known = x.is_float ? float_binary(i->op, x.number, y.number, &out->number)
                          : integer_binary(i->op, x.integer, y.integer,
                                           hlo_element_bits(i->type->element), &out->integer);
    *out = as_element(i->type->element, *out);
    return is_known;
}

static bool unary(const struct hlo_instruction *i, enum hlo_element from, struct scalar x,
                  struct scalar *out)
{
    *out = x;
    switch (i->op) {
    case OPCODE_NEGATE: out->number = -x.number; out->integer = -x.integer; break;
    case OPCODE_ABS: out->number = fabs(x.number); out->integer = llabs(x.integer); break;
    case OPCODE_NOT: out->integer = from == ELEMENT_PRED ? !x.integer : ~x.integer; break;
    case OPCODE_SIGN:
        out->number = (x.number > 0) - (x.number < 0);
        out->integer = (x.integer > 0) - (x.integer < 0);
        break;
    case OPCODE_IS_FINITE: *out = scalar_integer(isfinite(x.number)); break;
    case OPCODE_BITCAST_CONVERT: *out = bits_as(from, i->type->element, x); return true;
    case OPCODE_CONVERT: case OPCODE_COPY: case OPCODE_RESHAPE: case OPCODE_BROADCAST:
    case OPCODE_BITCAST: break;
    default: return false;
    }
    *out = as_element(i->type->element, *out);
    return true;
}

static bool is_scalar(const struct hlo_type *t)
{
    return t->rank == 0 && !hlo_type_is_tuple(t);
}

/* value[] of the instructions before this one; false: not known */
static bool evaluate(const struct hlo_computation *c, const struct hlo_instruction *i,
                     const struct scalar *parameter, const struct scalar *value,
                     struct scalar *out)
{
    const struct scalar *x = i->operand_count > 0 ? &value[i->operand[0]] : NULL;
    const struct scalar *y = i->operand_count > 1 ? &value[i->operand[1]] : NULL;
    enum hlo_element from = x ? c->instruction[i->operand[0]].type->element : ELEMENT_PRED;

    switch (i->op) {
    case OPCODE_PARAMETER:
        *out = parameter[i->index];
        return true;
    case OPCODE_CONSTANT:
        if (!i->literal || !i->literal->data)
            return false;
        *out = hlo_element_is_float(i->type->element)
                   ? scalar_float(hlo_element_load(i->type->element, i->literal->data))
                   : scalar_integer(hlo_element_load_int(i->type->element, i->literal->data));
        return true;
    case OPCODE_COMPARE:
        *out = scalar_integer(compare(i, from, *x, *y));
        return true;
    case OPCODE_SELECT:
        *out = x->integer ? *y : value[i->operand[2]];
        return true;
    default:
        return i->operand_count == 2 ? binary(i, *x, *y, out)
                                     : i->operand_count == 1 && unary(i, from, *x, out);
    }
}

const struct hlo_instruction *scalar_result(const struct hlo_module *m, int computation,
                                            int result)
{
    const struct hlo_computation *c = &m->computation[computation];
    const struct hlo_instruction *root = &c->instruction[c->root];

    if (root->op != OPCODE_TUPLE)
        return root;
    return result < root->operand_count ? &c->instruction[root->operand[result]] : root;
}

bool scalar_evaluate(const struct hlo_module *m, int computation, const struct scalar *parameter,
                     struct scalar *result, int count)
{
    const struct hlo_computation *c = &m->computation[computation];
    struct scalar value[SCALARS_MAX] = {0};

    if (c->count > SCALARS_MAX)
        return false;
    for (int i = 0; i < c->count; i++) {
        const struct hlo_instruction *n = &c->instruction[i];

        if (n->op == OPCODE_TUPLE && i == c->root)
            continue;
        if (!is_scalar(n->type) || hlo_element_is_complex(n->type->element) ||
            !evaluate(c, n, parameter, value, &value[i]))
            return false;
    }
    for (int k = 0; k < count; k++) {
        const struct hlo_instruction *r = scalar_result(m, computation, k);

        if (r->op == OPCODE_TUPLE)
            return false;
        result[k] = value[r - c->instruction];
    }
    return true;
}

void scalar_used(const struct hlo_module *m, int computation, int result, bool *used)
{
    const struct hlo_computation *c = &m->computation[computation];
    bool *needed = mem_alloc((size_t)c->count + 1);

    memset(used, 0, (size_t)c->parameter_count * sizeof(*used));
    needed[scalar_result(m, computation, result) - c->instruction] = true;
    for (int i = c->count - 1; i >= 0; i--) {
        const struct hlo_instruction *n = &c->instruction[i];

        if (needed[i] && n->op == OPCODE_PARAMETER)
            used[n->index] = true;
        for (int k = 0; needed[i] && k < n->operand_count; k++)
            needed[n->operand[k]] = true;
    }
    mem_free(needed);
}
