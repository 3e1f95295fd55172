/*
 * Evaluates expressions while it reads them: a recursive-descent parser with precedence climbing
 * for binary operators.
 */
#include "cli/debug/debug_expr.h"

#include "base/floats.h"
#include "base/units.h"
#include "cli/debug/debug_names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 60

/* Evaluates while it reads. What && and || leave out is read too, but its values cannot fail. */
struct parser {
    struct machine *m;
    struct err *e;
    const char *at;
    cycle_t cycle;
    int core, depth, skipping;
};

static int parse_binary(struct parser *p, int least, struct debug_value *v);

static struct debug_value integer(int64_t i)
{
    return (struct debug_value){.i = i};
}

static struct debug_value floating(double f)
{
    return (struct debug_value){.is_float = true, .f = f};
}

static double as_double(const struct debug_value *v)
{
    return v->is_float ? v->f : (double)v->i;
}

bool debug_is_true(const struct debug_value *v)
{
    return v->is_float ? v->f != 0 : v->i != 0;
}

bool debug_is_same(const struct debug_value *a, const struct debug_value *b)
{
    if (a->is_float != b->is_float)
        return false;
    return a->is_float ? memcmp(&a->f, &b->f, sizeof(a->f)) == 0 : a->i == b->i;
}

char *debug_value_text(const struct debug_value *v, char *buf, size_t buf_bytes)
{
    if (v->is_float)
        snprintf(buf, buf_bytes, "%.9g", v->f);
    else
        snprintf(buf, buf_bytes, "%lld", (long long)v->i);
    return buf;
}

/* ---- reading ---- */

static void skip_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool take(struct parser *p, const char *token)
{
    size_t length = strlen(token);

    skip_space(p);
    if (strncmp(p->at, token, length) != 0)
        return false;
    p->at += length;
    return true;
}

static int fail_here(struct parser *p, const char *wanted)
{
    skip_space(p);
    if (*p->at)
        return err_set(p->e, "%s is needed at \"%.40s\"", wanted, p->at);
    return err_set(p->e, "%s is needed at the end of the expression", wanted);
}

static int expect(struct parser *p, const char *token)
{
    char wanted[8];

    if (take(p, token))
        return 0;
    snprintf(wanted, sizeof(wanted), "\"%s\"", token);
    return fail_here(p, wanted);
}

static int parse_number(struct parser *p, struct debug_value *v)
{
    const char *digits = p->at;
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end, *float_end;

    *v = integer((int64_t)strtoull(digits, &end, is_hex ? 16 : 10));
    if (!is_hex) {
        double f = strtod(digits, &float_end);

        if (float_end > end) {
            *v = floating(f);
            end = float_end;
        }
    }
    if (end == digits || isalnum((unsigned char)*end) || *end == '_')
        return fail_here(p, "a number");
    p->at = end;
    return 0;
}

static int parse_whole(struct parser *p, struct debug_value *v)
{
    if (parse_binary(p, 0, v))
        return -1;
    if (v->is_float && p->skipping)
        *v = integer(0);
    return v->is_float ? err_set(p->e, "an index is a whole number, not %.9g", v->f) : 0;
}

/* "[a]" or "[a,b]" */
static int parse_indices(struct parser *p, int count, int64_t index[2])
{
    struct debug_value v;

    if (expect(p, "["))
        return -1;
    for (int i = 0; i < count; i++) {
        if ((i > 0 && expect(p, ",")) || parse_whole(p, &v))
            return -1;
        index[i] = v.i;
    }
    return expect(p, "]");
}

/* ---- names ---- */

static int parse_cast(struct parser *p, enum debug_cast cast, struct debug_value *v)
{
    if (expect(p, "(") || parse_binary(p, 0, v) || expect(p, ")"))
        return -1;
    switch (cast) {
    case CAST_F32:
        *v = v->is_float ? floating((double)(float)v->f)
                         : floating((double)f32_from_bits((uint32_t)v->i));
        return 0;
    case CAST_BF16:
        *v = v->is_float ? floating((double)f32_round_to_bf16((float)v->f))
                         : floating((double)f32_from_bf16((uint16_t)v->i));
        return 0;
    default:
        if (v->is_float)
            v->i = fabs(v->f) < 9e18 ? (int64_t)v->f : 0;
        *v = integer(cast == CAST_U32 ? (int64_t)(uint32_t)v->i : (int64_t)(int32_t)(uint32_t)v->i);
        return 0;
    }
}

static int parse_name(struct parser *p, struct debug_value *v)
{
    struct debug_name name;
    int64_t index[2] = {0, 0}, value;
    struct err e;

    if (debug_name_find(p->m, p->core, &p->at, &name, p->e))
        return -1;
    if (name.cast != CAST_NONE)
        return parse_cast(p, name.cast, v);
    if (name.index_count > 0) {
        skip_space(p);
        if (*p->at != '[')
            return err_set(p->e, "%s needs an index: %s", name.text, name.example);
        if (parse_indices(p, name.index_count, index))
            return -1;
    }
    *v = integer(0);
    if (p->skipping)
        return 0;
    if (debug_name_read(p->m, &name, p->cycle, index, &value, &e)) {
        *p->e = e;
        return -1;
    }
    *v = integer(value);
    return 0;
}

static int parse_primary(struct parser *p, struct debug_value *v)
{
    skip_space(p);
    if (take(p, "("))
        return parse_binary(p, 0, v) || expect(p, ")") ? -1 : 0;
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_number(p, v);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_name(p, v);
    return fail_here(p, "a value");
}

static int parse_unary(struct parser *p, struct debug_value *v)
{
    char sign;
    int status;

    skip_space(p);
    sign = *p->at;
    if (p->depth >= DEPTH_MAX)
        return err_set(p->e, "more than %d levels of brackets and signs", DEPTH_MAX);
    p->depth++;
    if (sign != '-' && sign != '!' && sign != '~') {
        status = parse_primary(p, v);
    } else {
        p->at++;
        status = parse_unary(p, v);
    }
    p->depth--;
    if (status != 0)
        return -1;
    if (sign == '!')
        *v = integer(!debug_is_true(v));
    else if (sign == '~' && v->is_float && !p->skipping)
        return err_set(p->e, "~ is for whole numbers, not %.9g", v->f);
    else if (sign == '~')
        *v = integer(~v->i);
    else if (sign == '-')
        *v = v->is_float ? floating(-v->f) : integer((int64_t)(0 - (uint64_t)v->i));
    return 0;
}

/* ---- operators ---- */

enum operator {
    OPERATOR_OR, OPERATOR_AND, OPERATOR_EQ, OPERATOR_NE, OPERATOR_LE, OPERATOR_GE, OPERATOR_SHL,
    OPERATOR_SHR, OPERATOR_LT, OPERATOR_GT, OPERATOR_BIT_OR, OPERATOR_BIT_XOR, OPERATOR_BIT_AND,
    OPERATOR_ADD, OPERATOR_SUB, OPERATOR_MUL, OPERATOR_DIV, OPERATOR_MOD, OPERATOR_COUNT
};

/* tokens that begin with another one come before it; bits bind closer than comparisons */
static const struct {
    const char *token;
    int level;
} operators[OPERATOR_COUNT] = {
    [OPERATOR_OR] = {"||", 1}, [OPERATOR_AND] = {"&&", 2}, [OPERATOR_EQ] = {"==", 3},
    [OPERATOR_NE] = {"!=", 3}, [OPERATOR_LE] = {"<=", 3}, [OPERATOR_GE] = {">=", 3},
    [OPERATOR_SHL] = {"<<", 7}, [OPERATOR_SHR] = {">>", 7}, [OPERATOR_LT] = {"<", 3},
    [OPERATOR_GT] = {">", 3}, [OPERATOR_BIT_OR] = {"|", 4}, [OPERATOR_BIT_XOR] = {"^", 5},
    [OPERATOR_BIT_AND] = {"&", 6}, [OPERATOR_ADD] = {"+", 8}, [OPERATOR_SUB] = {"-", 8},
    [OPERATOR_MUL] = {"*", 9}, [OPERATOR_DIV] = {"/", 9}, [OPERATOR_MOD] = {"%", 9},
};

static int apply_float(struct parser *p, enum operator op, double a, double b,
                       struct debug_value *v)
{
    switch (op) {
    case OPERATOR_EQ: *v = integer(a == b); return 0;
    case OPERATOR_NE: *v = integer(a != b); return 0;
    case OPERATOR_LT: *v = integer(a < b); return 0;
    case OPERATOR_LE: *v = integer(a <= b); return 0;
    case OPERATOR_GT: *v = integer(a > b); return 0;
    case OPERATOR_GE: *v = integer(a >= b); return 0;
    case OPERATOR_ADD: *v = floating(a + b); return 0;
    case OPERATOR_SUB: *v = floating(a - b); return 0;
    case OPERATOR_MUL: *v = floating(a * b); return 0;
    case OPERATOR_DIV: *v = floating(a / b); return 0;
    default:
        return err_set(p->e, "%s is for whole numbers", operators[op].token);
    }
}

static int apply_divide(struct parser *p, enum operator op, int64_t a, int64_t b,
                        struct debug_value *v)
{
    if (b == 0)
        return err_set(p->e, "%lld %s 0", (long long)a, operators[op].token);
    if (b == -1)                        /* INT64_MIN has no opposite */
        *v = integer(op == OPERATOR_DIV ? (int64_t)(0 - (uint64_t)a) : 0);
    else
        *v = integer(op == OPERATOR_DIV ? a / b : a % b);
    return 0;
}

static int apply_shift(struct parser *p, enum operator op, int64_t a, int64_t b,
                       struct debug_value *v)
{
    if (b < 0 || b > 63)
        return err_set(p->e, "shift by %lld; 0..63 is possible", (long long)b);
    *v = integer(op == OPERATOR_SHL ? (int64_t)((uint64_t)a << b) : a >> b);
    return 0;
}

static int apply_integer(struct parser *p, enum operator op, int64_t a, int64_t b,
                         struct debug_value *v)
{
    switch (op) {
    case OPERATOR_EQ: *v = integer(a == b); return 0;
    case OPERATOR_NE: *v = integer(a != b); return 0;
    case OPERATOR_LT: *v = integer(a < b); return 0;
    case OPERATOR_LE: *v = integer(a <= b); return 0;
    case OPERATOR_GT: *v = integer(a > b); return 0;
    case OPERATOR_GE: *v = integer(a >= b); return 0;
    case OPERATOR_BIT_OR: *v = integer(a | b); return 0;
    case OPERATOR_BIT_XOR: *v = integer(a ^ b); return 0;
    case OPERATOR_BIT_AND: *v = integer(a & b); return 0;
    case OPERATOR_ADD: *v = integer((int64_t)((uint64_t)a + (uint64_t)b)); return 0;
    case OPERATOR_SUB: *v = integer((int64_t)((uint64_t)a - (uint64_t)b)); return 0;
    case OPERATOR_MUL: *v = integer((int64_t)((uint64_t)a * (uint64_t)b)); return 0;
    case OPERATOR_SHL: case OPERATOR_SHR: return apply_shift(p, op, a, b, v);
    default: return apply_divide(p, op, a, b, v);
    }
}

static int apply(struct parser *p, enum operator op, const struct debug_value *right,
                 struct debug_value *v)
{
    struct debug_value left = *v;

    if (p->skipping) {
        *v = integer(0);
        return 0;
    }
    if (op == OPERATOR_OR || op == OPERATOR_AND) {
        bool a = debug_is_true(&left), b = debug_is_true(right);

        *v = integer(op == OPERATOR_OR ? a || b : a && b);
        return 0;
    }
    if (left.is_float || right->is_float)
        return apply_float(p, op, as_double(&left), as_double(right), v);
    return apply_integer(p, op, left.i, right->i, v);
}

static enum operator next_operator(struct parser *p)
{
    enum operator op = 0;

    skip_space(p);
    while (op < OPERATOR_COUNT
           && strncmp(p->at, operators[op].token, strlen(operators[op].token)) != 0)
        op++;
    return op;
}

/* operators that bind closer than `least`, from the left */
static int parse_binary(struct parser *p, int least, struct debug_value *v)
{
    struct debug_value right;
    enum operator op;

    if (parse_unary(p, v))
        return -1;
    while ((op = next_operator(p)) < OPERATOR_COUNT && operators[op].level > least) {
        bool is_settled = (op == OPERATOR_OR && debug_is_true(v))
                          || (op == OPERATOR_AND && !debug_is_true(v));
        struct debug_value left = integer(debug_is_true(v));

        p->at += strlen(operators[op].token);
        p->skipping += is_settled;
        if (parse_binary(p, operators[op].level, &right))
            return -1;
        p->skipping -= is_settled;
        if (is_settled)
            *v = left;
        else if (apply(p, op, &right, v))
            return -1;
    }
    return 0;
}

int debug_evaluate(struct machine *m, int core, cycle_t cycle, const char *text,
                   struct debug_value *value, struct err *e)
{
    struct parser p = {.m = m, .e = e, .at = text, .cycle = cycle, .core = core};

    if (parse_binary(&p, 0, value))
        return -1;
    skip_space(&p);
    return *p.at ? fail_here(&p, "an operator") : 0;
}
