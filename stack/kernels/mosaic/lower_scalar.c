/*
 * Scalars of a kernel: constants, folded as far as they go, and words of SMEM. A block's registers
 * keep those that it has read or made, so that SMEM is read once; the back end renames them.
 */
#include "stack/kernels/mosaic/tile.h"

#include <math.h>
#include <string.h>

#include "base/floats.h"
#include "stack/mosaic/run.h"

#define PRED_FIRST 1                    /* p0 belongs to loops */
#define PRED_COUNT 12

void scalar_forget(struct lower *l)
{
    for (int i = 0; i < LOWER_CACHE_COUNT; i++)
        l->cache[i] = -1;
}

int scalar_pred(struct lower *l)
{
    l->next_pred = (l->next_pred + 1) % PRED_COUNT;
    return PRED_FIRST + l->next_pred;
}

static int use_register(struct lower *l, int at)
{
    l->cache_used[at] = ++l->cache_uses;
    return LOWER_CACHE_FIRST + at;
}

/* The one that has not been used for longest: operands of what is being written are still there. */
int scalar_register(struct lower *l)
{
    int at = 0;

    for (int i = 1; i < LOWER_CACHE_COUNT; i++)
        if (l->cache_used[i] < l->cache_used[at])
            at = i;
    l->cache[at] = -1;
    return use_register(l, at);
}

struct isa_operand scalar_use(struct lower *l, struct scalar s)
{
    int reg;

    if (s.is_known)
        return I(s.value);
    for (int i = 0; i < LOWER_CACHE_COUNT; i++)
        if (l->cache[i] == s.smem)
            return R(use_register(l, i));
    reg = scalar_register(l);
    emit_sld(&l->code, reg, NONE, I(s.smem));
    l->cache[reg - LOWER_CACHE_FIRST] = s.smem;
    return R(reg);
}

struct scalar scalar_word(struct lower *l)
{
    struct scalar s = {.smem = l->next_smem};

    l->next_smem += 4;
    if (l->next_smem > l->smem_end)
        pallas_fail(l, NULL, "its scalars need more than the %d bytes of SMEM",
                   (int)l->job->smem_bytes);
    return s;
}

#define KEPT_WORD 3                     /* in place of a region: the only store of a word */

struct scalar scalar_keep(struct lower *l, struct isa_operand in)
{
    struct scalar s;

    if (in.kind == OPERAND_IMM)
        return scalar_known(in.value);
    s = scalar_word(l);
    vcode_put(&l->code, isa_sst(NONE, I(s.smem), in))->region = KEPT_WORD;
    if (in.value >= LOWER_CACHE_FIRST && in.value < LOWER_CACHE_FIRST + LOWER_CACHE_COUNT)
        l->cache[in.value - LOWER_CACHE_FIRST] = s.smem;
    return s;
}

/* ----- words that nobody reads */

static bool is_at(const struct isa_op *op, int base, int64_t *word)
{
    if (op->operand[base].kind == OPERAND_REG || op->operand[base + 1].kind != OPERAND_IMM)
        return false;
    *word = ((op->operand[base].kind == OPERAND_IMM ? op->operand[base].value : 0) +
             (int64_t)op->operand[base + 1].value) / 4;
    return true;
}

static void note_reads(const struct vcode_block *b, bool *is_read, int64_t words)
{
    int64_t word;

    for (size_t i = 0; i < b->op_count; i++)
        if (b->op[i].op.code == OP_SLD && is_at(&b->op[i].op, 1, &word) && word >= 0 &&
            word < words)
            is_read[word] = true;
}

static void drop_stores(struct vcode_block *b, const bool *is_read)
{
    size_t kept = 0;
    int64_t word;

    for (size_t i = 0; i < b->op_count; i++)
        if (b->op[i].op.code != OP_SST || b->op[i].region != KEPT_WORD ||
            !is_at(&b->op[i].op, 0, &word) || is_read[word])
            b->op[kept++] = b->op[i];
    b->op_count = kept;
}

void scalar_drop_unread(struct lower *l)
{
    int64_t words = l->next_smem / 4 + 1;
    bool *is_read = mem_alloc((size_t)words * sizeof(*is_read));

    for (size_t i = 0; i < l->code.block_count; i++)
        note_reads(&l->code.block[i], is_read, words);
    for (size_t i = 0; i < l->code.block_count; i++)
        drop_stores(&l->code.block[i], is_read);
    mem_free(is_read);
}

/* ----- what has been computed before */

static bool is_same(struct scalar a, struct scalar b)
{
    return a.is_known == b.is_known && (a.is_known ? a.value == b.value : a.smem == b.smem);
}

static bool was_made(const struct lower *l, int code, struct scalar a, struct scalar b,
                     struct scalar *result)
{
    for (int i = l->made_count - 1; i >= 0; i--)
        if (l->made[i].code == code && is_same(l->made[i].a, a) && is_same(l->made[i].b, b)) {
            *result = l->made[i].result;
            return true;
        }
    return false;
}

static struct scalar made(struct lower *l, int code, struct scalar a, struct scalar b,
                          struct scalar result)
{
    if (l->made_count < MADE_MAX)
        l->made[l->made_count++] = (struct made){code, a, b, result};
    return result;
}

static bool is_of_word(struct scalar s, int smem) { return !s.is_known && s.smem == smem; }

/* a word is written: what was computed of it is of the past */
static void forget_word(struct lower *l, int smem)
{
    for (int i = 0; i < l->made_count; i++)
        if (is_of_word(l->made[i].a, smem) || is_of_word(l->made[i].b, smem) ||
            is_of_word(l->made[i].result, smem))
            l->made[i].code = -1;
}

void scalar_scope_begin(struct lower *l)
{
    if (l->made_scopes < MADE_SCOPES_MAX)
        l->made_scope[l->made_scopes] = l->made_count;
    l->made_scopes++;
}

void scalar_scope_end(struct lower *l)
{
    l->made_scopes--;
    if (l->made_scopes >= MADE_SCOPES_MAX)
        l->made_count = 0;
    else if (l->made_count > l->made_scope[l->made_scopes])
        l->made_count = l->made_scope[l->made_scopes];
}

void scalar_forget_made(struct lower *l)
{
    for (int i = 0; i < l->made_count; i++)
        l->made[i].code = -1;
}

void scalar_write(struct lower *l, struct scalar to, struct scalar from)
{
    struct isa_operand value = scalar_use(l, from);

    for (int i = 0; i < LOWER_CACHE_COUNT; i++)
        if (l->cache[i] == to.smem)
            l->cache[i] = -1;
    forget_word(l, to.smem);
    emit_sst(&l->code, NONE, I(to.smem), value);
}

/* one operation of the scalar unit on two values */
static struct scalar binary(struct lower *l, enum isa_opcode code, struct isa_operand a,
                            struct isa_operand b)
{
    int to = scalar_register(l);

    vcode_put(&l->code, isa_make_e_ss(code, to, a, b));
    return scalar_keep(l, R(to));
}

struct scalar scalar_add(struct lower *l, struct scalar a, struct scalar b)
{
    struct scalar before;
    struct isa_operand x;

    if (a.is_known && b.is_known)
        return scalar_known((int64_t)(int32_t)((uint32_t)a.value + (uint32_t)b.value));
    if (a.is_known && a.value == 0)
        return b;
    if (b.is_known && b.value == 0)
        return a;
    if (was_made(l, MOSAIC_ADDI, a, b, &before))
        return before;
    x = scalar_use(l, a);
    return made(l, MOSAIC_ADDI, a, b, binary(l, OP_SADD, x, scalar_use(l, b)));
}

struct scalar scalar_sub(struct lower *l, struct scalar a, struct scalar b)
{
    struct scalar before;
    struct isa_operand x;

    if (a.is_known && b.is_known)
        return scalar_known((int64_t)(int32_t)((uint32_t)a.value - (uint32_t)b.value));
    if (b.is_known && b.value == 0)
        return a;
    if (was_made(l, MOSAIC_SUBI, a, b, &before))
        return before;
    x = scalar_use(l, a);
    return made(l, MOSAIC_SUBI, a, b, binary(l, OP_SSUB, x, scalar_use(l, b)));
}

struct scalar scalar_mul(struct lower *l, struct scalar a, int64_t by)
{
    struct scalar before, b = scalar_known(by);
    struct isa_operand x;

    if (a.is_known)
        return scalar_known((int64_t)(int32_t)((uint32_t)a.value * (uint32_t)by));
    if (by == 0)
        return scalar_known(0);
    if (by == 1)
        return a;
    if (was_made(l, MOSAIC_MULI, a, b, &before))
        return before;
    x = scalar_use(l, a);
    if (by > 0 && (by & (by - 1)) == 0)
        return made(l, MOSAIC_MULI, a, b,
                    binary(l, OP_SSHLL, x, I(__builtin_ctzll((unsigned long long)by))));
    return made(l, MOSAIC_MULI, a, b, binary(l, OP_SMUL, x, I(by)));
}

static void float_by_vector(struct lower *l, const struct mosaic_op *op);

struct scalar scalar_of(struct lower *l, const struct mosaic_value *v)
{
    if (l->is_late[v->id] && l->place[v->id].is_there)
        cell_to_scalar(l, v);
    else if (l->is_late[v->id])
        float_by_vector(l, v->op);
    return l->scalar[v->id];
}

int scalar_test(struct lower *l, struct scalar s, bool is_zero)
{
    struct isa_operand x = scalar_use(l, s);
    int p = scalar_pred(l);

    if (is_zero)
        emit_scmp_eq(&l->code, p, x, I(0));
    else
        emit_scmp_ne(&l->code, p, x, I(0));
    return p;
}

static void set(struct lower *l, const struct mosaic_op *op, struct scalar s)
{
    l->scalar[op->result[0]->id] = s;
}

static bool is_scalar(const struct mosaic_op *op)
{
    return op->result[0]->type.kind == MOSAIC_SCALAR;
}

/* ----- what a scalar is surely a multiple of */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;

        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

#define MULTIPLE_MAX (1 << 20)
#define MULTIPLE_DEPTH 24

static int64_t multiple(struct lower *l, const struct mosaic_value *v, int depth)
{
    struct scalar s = l->scalar[v->id];
    const struct mosaic_op *op = v->op;
    int64_t a, b;

    if (s.is_known)
        return s.value == 0 ? MULTIPLE_MAX : s.value < 0 ? -(int64_t)s.value : s.value;
    if (!op || depth == 0)
        return 1;
    switch (op->code) {
    case MOSAIC_ASSUME_MULTIPLE:
        return mosaic_int(op, "multiple", 1);
    case MOSAIC_INDEX_CAST: case MOSAIC_EXTSI: case MOSAIC_EXTUI: case MOSAIC_INDEX_CASTUI:
        return multiple(l, op->operand[0], depth - 1);
    case MOSAIC_MULI:
        a = multiple(l, op->operand[0], depth - 1);
        b = multiple(l, op->operand[1], depth - 1);
        return a < MULTIPLE_MAX && b < MULTIPLE_MAX && a * b < MULTIPLE_MAX ? a * b : MULTIPLE_MAX;
    case MOSAIC_ADDI: case MOSAIC_SUBI: case MOSAIC_MINSI: case MOSAIC_MAXSI:
        return gcd(multiple(l, op->operand[0], depth - 1), multiple(l, op->operand[1], depth - 1));
    case MOSAIC_SELECT:
        return gcd(multiple(l, op->operand[1], depth - 1), multiple(l, op->operand[2], depth - 1));
    default: return 1;
    }
}

int64_t scalar_multiple(struct lower *l, const struct mosaic_value *v)
{
    return multiple(l, v, MULTIPLE_DEPTH);
}

/* ----- operations */

int pallas_constant(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_attr *value = mosaic_attr(op, "value");
    const struct mosaic_type *t = &op->result[0]->type;

    if (!value)
        return pallas_fail(l, op, "a constant without a value");
    if (t->kind != MOSAIC_SCALAR)
        return 0;
    set(l, op, scalar_known(mosaic_is_float(t) ? (int64_t)(int32_t)f32_bits((float)value->number)
                            : t->element == MOSAIC_I1 ? value->integer & 1 : value->integer));
    return 0;
}

static bool fold(enum mosaic_code c, int32_t a, int32_t b, int32_t *to)
{
    switch (c) {
    case MOSAIC_DIVSI: case MOSAIC_REMSI:
        if (b == 0 || (a == INT32_MIN && b == -1))
            return false;
        *to = c == MOSAIC_DIVSI ? a / b : a % b;
        return true;
    case MOSAIC_DIVUI: case MOSAIC_REMUI:
        if (b == 0)
            return false;
        *to = (int32_t)(c == MOSAIC_DIVUI ? (uint32_t)a / (uint32_t)b : (uint32_t)a % (uint32_t)b);
        return true;
    case MOSAIC_ANDI: *to = a & b; return true;
    case MOSAIC_ORI: *to = a | b; return true;
    case MOSAIC_XORI: *to = a ^ b; return true;
    case MOSAIC_MINSI: *to = a < b ? a : b; return true;
    case MOSAIC_MAXSI: *to = a > b ? a : b; return true;
    case MOSAIC_SHLI: *to = (uint32_t)b < 32 ? (int32_t)((uint32_t)a << b) : 0; return true;
    default: return false;
    }
}

/* Quotient and rest without sign, by constants where there are such, else by the divider. */
static struct isa_operand divide(struct lower *l, struct isa_operand a, struct isa_operand b,
                                 bool is_rest)
{
    int q = scalar_register(l), r = scalar_register(l);

    if (b.kind == OPERAND_IMM && b.value > 0 && (b.value & (b.value - 1)) == 0) {
        if (is_rest)
            emit_sand(&l->code, q, a, I(b.value - 1));
        else
            emit_sshrl(&l->code, q, a, I(__builtin_ctz((unsigned)b.value)));
        return R(q);
    }
    vcode_put(&l->code, isa_sdivrem(a, b));
    vcode_put(&l->code, isa_spop_drf(q));
    vcode_put(&l->code, isa_spop_drf(r));
    return R(is_rest ? r : q);
}

/* With signs: of the magnitudes, and the sign of the quotient, or of the dividend. */
static struct isa_operand divide_signed(struct lower *l, struct isa_operand a,
                                        struct isa_operand b, bool is_rest)
{
    int sign_a = scalar_register(l), sign_b = scalar_register(l), x = scalar_register(l),
        y = scalar_register(l);
    struct isa_operand q;

    emit_sshra(&l->code, sign_a, a, I(31));
    emit_sxor(&l->code, x, a, R(sign_a));
    emit_ssub(&l->code, x, R(x), R(sign_a));
    emit_sshra(&l->code, sign_b, b, I(31));
    emit_sxor(&l->code, y, b, R(sign_b));
    emit_ssub(&l->code, y, R(y), R(sign_b));
    q = divide(l, R(x), b.kind == OPERAND_IMM && b.value > 0 ? b : R(y), is_rest);
    if (!is_rest)
        emit_sxor(&l->code, sign_a, R(sign_a), R(sign_b));
    emit_sxor(&l->code, q.value, q, R(sign_a));
    emit_ssub(&l->code, q.value, q, R(sign_a));
    return q;
}

static enum isa_opcode plain_code(enum mosaic_code c)
{
    switch (c) {
    case MOSAIC_ANDI: return OP_SAND;
    case MOSAIC_ORI: return OP_SOR;
    case MOSAIC_XORI: return OP_SXOR;
    case MOSAIC_SHLI: return OP_SSHLL;
    case MOSAIC_SHRSI: return OP_SSHRA;
    case MOSAIC_SHRUI: return OP_SSHRL;
    default: return OP_SMUL;
    }
}

struct scalar scalar_remainder(struct lower *l, struct scalar a, int64_t by)
{
    struct isa_operand x;
    int to;

    if (a.is_known)
        return scalar_known((a.value % by + by) % by);
    x = scalar_use(l, a);
    if (by & (by - 1)) {                /* of a negative one the rest is negative, too */
        a = scalar_add(l, scalar_keep(l, divide_signed(l, x, I(by), true)), scalar_known(by));
        return scalar_keep(l, divide_signed(l, scalar_use(l, a), I(by), true));
    }
    to = scalar_register(l);
    emit_sand(&l->code, to, x, I(by - 1));
    return scalar_keep(l, R(to));
}

static struct scalar integer(struct lower *l, const struct mosaic_op *op, struct scalar a,
                             struct scalar b)
{
    enum mosaic_code c = op->code;
    struct isa_operand x, y;
    int32_t known;
    int to;

    if (a.is_known && b.is_known && fold(c, a.value, b.value, &known))
        return scalar_known(known);
    switch (c) {
    case MOSAIC_ADDI: return scalar_add(l, a, b);
    case MOSAIC_SUBI: return scalar_sub(l, a, b);
    case MOSAIC_MULI:
        if (a.is_known || b.is_known)
            return scalar_mul(l, a.is_known ? b : a, a.is_known ? a.value : b.value);
        break;
    default: break;
    }
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    switch (c) {
    case MOSAIC_DIVSI: case MOSAIC_REMSI:
        return scalar_keep(l, divide_signed(l, x, y, c == MOSAIC_REMSI));
    case MOSAIC_DIVUI: case MOSAIC_REMUI:
        return scalar_keep(l, divide(l, x, y, c == MOSAIC_REMUI));
    case MOSAIC_MINSI: case MOSAIC_MAXSI: case MOSAIC_MINUI: case MOSAIC_MAXUI:
        to = scalar_register(l);
        emit_smin_max(&l->code, to, x, y,
                      c == MOSAIC_MINSI || c == MOSAIC_MINUI ? SMIN_MAX_MIN : SMIN_MAX_MAX,
                      c == MOSAIC_MINSI || c == MOSAIC_MAXSI ? SMIN_MAX_S32 : SMIN_MAX_U32);
        return scalar_keep(l, R(to));
    case MOSAIC_ABSI:
        to = scalar_register(l);
        emit_ssub(&l->code, to, I(0), x);
        emit_smin_max(&l->code, to, R(to), x, SMIN_MAX_MAX, SMIN_MAX_S32);
        return scalar_keep(l, R(to));
    default: return binary(l, plain_code(c), x, y);
    }
}

int pallas_integer(struct lower *l, const struct mosaic_op *op)
{
    struct scalar x, y, result;

    if (!is_scalar(op))
        return 0;
    x = scalar_of(l, op->operand[0]);
    y = scalar_of(l, op->operand[op->operand_count - 1]);
    if (!was_made(l, (int)op->code, x, y, &result))
        result = made(l, (int)op->code, x, y, integer(l, op, x, y));
    set(l, op, result);
    return 0;
}

static bool compare_known(int64_t predicate, int32_t a, int32_t b)
{
    uint32_t ua = (uint32_t)a, ub = (uint32_t)b;
    const bool holds[] = {a == b, a != b, a < b, a <= b, a > b, a >= b, ua < ub, ua <= ub, ua > ub,
                          ua >= ub};

    return predicate >= 0 && predicate < 10 && holds[predicate];
}

static struct scalar from_predicate(struct lower *l, int p)
{
    int to = scalar_register(l);

    emit_select(&l->code, to, p, I(1), I(0));
    return scalar_keep(l, R(to));
}

/* 0 or 1 */
static bool is_truth(const struct mosaic_value *v)
{
    return v->type.element == MOSAIC_I1 ||
           (v->op && v->op->code == MOSAIC_EXTUI && v->op->operand[0]->type.element == MOSAIC_I1);
}

#define CODE_OF_PREDICATE MOSAIC_UNKNOWN        /* of what has been compared, behind operations */

int pallas_cmpi(struct lower *l, const struct mosaic_op *op)
{
    static const enum isa_opcode is_signed[] = {OP_SCMP_EQ, OP_SCMP_NE, OP_SCMP_LT, OP_SCMP_LE,
                                                OP_SCMP_GT, OP_SCMP_GE};
    static const enum isa_scmp_u32_x0 is_unsigned[] = {SCMP_U32_LT, SCMP_U32_LE, SCMP_U32_GT,
                                                       SCMP_U32_GE};
    int64_t predicate = mosaic_int(op, "predicate", 0);
    struct scalar a, b, result;
    struct isa_operand x, y;
    int p;

    if (!is_scalar(op))
        return 0;
    a = scalar_of(l, op->operand[0]);
    b = scalar_of(l, op->operand[1]);
    if (predicate < 0 || predicate > 9)
        return pallas_fail(l, op, "predicate %lld", (long long)predicate);
    if (a.is_known && b.is_known) {
        set(l, op, scalar_known(compare_known(predicate, a.value, b.value)));
        return 0;
    }
    if (predicate == 1 && b.is_known && b.value == 0 && is_truth(op->operand[0])) {
        set(l, op, a);                  /* a truth that is not 0 is itself */
        return 0;
    }
    if (was_made(l, CODE_OF_PREDICATE + (int)predicate, a, b, &result)) {
        set(l, op, result);
        return 0;
    }
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    p = scalar_pred(l);
    if (predicate < 6)
        vcode_put(&l->code, isa_make_q_ss(is_signed[predicate], p, x, y));
    else
        emit_scmp_u32(&l->code, p, x, y, is_unsigned[predicate - 6]);
    set(l, op, made(l, CODE_OF_PREDICATE + (int)predicate, a, b, from_predicate(l, p)));
    return 0;
}

int pallas_cmpf(struct lower *l, const struct mosaic_op *op)
{
    static const enum isa_scmp_f32_x0 codes[] = {SCMP_F32_EQ, SCMP_F32_GT, SCMP_F32_GE,
                                                 SCMP_F32_LT, SCMP_F32_LE, SCMP_F32_NE};
    int64_t predicate = mosaic_int(op, "predicate", 0);
    int p;

    if (!is_scalar(op))
        return 0;
    if ((predicate < 1 || predicate > 6) && predicate != 13)
        return pallas_fail(l, op, "predicate %lld of scalars", (long long)predicate);
    {
        struct isa_operand x = scalar_use(l, scalar_of(l, op->operand[0]));
        struct isa_operand y = scalar_use(l, scalar_of(l, op->operand[1]));

        p = scalar_pred(l);
        emit_scmp_f32(&l->code, p, x, y, codes[predicate == 13 ? 5 : predicate - 1]);
    }
    set(l, op, from_predicate(l, p));
    return 0;
}

int pallas_select(struct lower *l, const struct mosaic_op *op)
{
    struct scalar c;
    int p, to;

    if (!is_scalar(op))
        return 0;
    c = scalar_of(l, op->operand[0]);
    if (c.is_known) {
        set(l, op, scalar_of(l, op->operand[c.value ? 1 : 2]));
        return 0;
    }
    p = scalar_test(l, c, false);
    {
        struct isa_operand x = scalar_use(l, scalar_of(l, op->operand[1]));
        struct isa_operand y = scalar_use(l, scalar_of(l, op->operand[2]));

        to = scalar_register(l);
        emit_select(&l->code, to, p, x, y);
    }
    set(l, op, scalar_keep(l, R(to)));
    return 0;
}

/* Integers of scalars are words, booleans 0 or 1: only what changes the bits is an operation. */
int pallas_convert(struct lower *l, const struct mosaic_op *op)
{
    bool from_float = mosaic_is_float(&op->operand[0]->type);
    bool to_float = mosaic_is_float(&op->result[0]->type);
    struct scalar a;
    int to;

    if (!is_scalar(op))
        return 0;
    a = scalar_of(l, op->operand[0]);
    if (from_float == to_float) {
        bool is_bit = op->result[0]->type.element == MOSAIC_I1;

        if (op->code == MOSAIC_EXTSI && op->operand[0]->type.element == MOSAIC_I1)
            a = scalar_sub(l, scalar_known(0), a);
        set(l, op, is_bit && !a.is_known ? binary(l, OP_SAND, scalar_use(l, a), I(1)) : a);
        return 0;
    }
    to = scalar_register(l);
    if (to_float)
        vcode_put(&l->code, isa_scvt_s32_f32(to, scalar_use(l, a)));
    else
        vcode_put(&l->code, isa_scvt_f32_s32(to, scalar_use(l, a)));
    set(l, op, scalar_keep(l, R(to)));
    return 0;
}

/*
 * What the scalar unit has not: by the vector unit, and back by its queue. Where vectors alone need
 * it, it is pulled as they are and this is not called.
 */
static void float_by_vector(struct lower *l, const struct mosaic_op *op)
{
    struct isa_operand x = scalar_use(l, scalar_of(l, op->operand[0]));
    struct isa_operand y = scalar_use(l, scalar_of(l, op->operand[op->operand_count - 1]));
    opnd a, b;
    int to;

    l->is_late[op->result[0]->id] = false;

    a = x.kind == OPERAND_IMM ? R(emit_vmov(&l->code, x)) : R(emit_vstv(&l->code, x.value));
    b = y.kind == OPERAND_IMM ? R(emit_vmov(&l->code, y)) : R(emit_vstv(&l->code, y.value));
    a = tile_arithmetic(&l->code, op, a, b);
    emit_vpush(&l->code, vcode_in_register(&l->code, a));
    to = scalar_register(l);
    vcode_put(&l->code, isa_spop(to));
    set(l, op, scalar_keep(l, R(to)));
}

/* the exponent alone: its reciprocal is exact */
static bool is_power_of_two(struct scalar s)
{
    uint32_t exponent = (uint32_t)s.value >> 23 & 255;

    return s.is_known && ((uint32_t)s.value & 0x7fffff) == 0 && exponent > 1 && exponent < 253;
}

#define WHOLE_FROM F(8388608.0)         /* all floats from 2^23 on are whole numbers */

/* The whole number towards zero, and one more or less where that is on the wrong side of x. */
static int whole(struct lower *l, struct isa_operand x, bool is_up)
{
    int to = scalar_register(l), other = scalar_register(l), size = scalar_register(l);

    vcode_put(&l->code, isa_scvt_f32_s32(to, x));
    vcode_put(&l->code, isa_scvt_s32_f32(to, R(to)));
    vcode_put(&l->code, isa_sadd_f32(other, R(to), F(is_up ? 1.0 : -1.0)));
    emit_scmp_f32(&l->code, 1, R(to), x, is_up ? SCMP_F32_LT : SCMP_F32_GT);
    emit_select(&l->code, to, 1, R(other), R(to));
    emit_sand(&l->code, size, x, I(INT32_MAX));
    emit_scmp_f32(&l->code, 1, R(size), WHOLE_FROM, SCMP_F32_LT);
    emit_select(&l->code, to, 1, R(to), x);
    return to;
}

int pallas_float(struct lower *l, const struct mosaic_op *op)
{
    struct scalar a, b;
    struct isa_operand x, y;
    int to;

    if (!is_scalar(op))
        return 0;
    if (l->is_late[op->operand[0]->id] || l->is_late[op->operand[op->operand_count - 1]->id]) {
        l->is_late[op->result[0]->id] = true;
        return 0;
    }
    a = scalar_of(l, op->operand[0]);
    b = scalar_of(l, op->operand[op->operand_count - 1]);
    if (a.is_known && b.is_known) {
        float known = mosaic_float(op->code, f32_from_bits((uint32_t)a.value),
                                   f32_from_bits((uint32_t)b.value));

        set(l, op, scalar_known((int32_t)f32_bits(known)));
        return 0;
    }
    x = scalar_use(l, a);
    y = scalar_use(l, b);
    to = scalar_register(l);
    switch (op->code) {
    case MOSAIC_ADDF: vcode_put(&l->code, isa_sadd_f32(to, x, y)); break;
    case MOSAIC_SUBF: vcode_put(&l->code, isa_ssub_f32(to, x, y)); break;
    case MOSAIC_MULF: vcode_put(&l->code, isa_smul_f32(to, x, y)); break;
    case MOSAIC_CEIL: case MOSAIC_FLOOR:
        set(l, op, scalar_keep(l, R(whole(l, x, op->code == MOSAIC_CEIL))));
        return 0;
    case MOSAIC_DIVF:
        if (!is_power_of_two(b)) {
            l->is_late[op->result[0]->id] = true;
            return 0;
        }
        vcode_put(&l->code, isa_smul_f32(to, x, F(1.0 / (double)f32_from_bits((uint32_t)b.value))));
        break;
    case MOSAIC_NEGF: emit_sxor(&l->code, to, x, I(INT32_MIN)); break;
    case MOSAIC_ABSF: emit_sand(&l->code, to, x, I(INT32_MAX)); break;
    case MOSAIC_MAXIMUMF: emit_smin_max_f32(&l->code, to, x, y, SMIN_MAX_F32_MAX); break;
    case MOSAIC_MINIMUMF: emit_smin_max_f32(&l->code, to, x, y, SMIN_MAX_F32_MIN); break;
    default:
        l->is_late[op->result[0]->id] = true;
        return 0;
    }
    set(l, op, scalar_keep(l, R(to)));
    return 0;
}

int pallas_same(struct lower *l, const struct mosaic_op *op)
{
    if (is_scalar(op))
        set(l, op, scalar_of(l, op->operand[0]));
    return 0;
}

int pallas_iteration_bound(struct lower *l, const struct mosaic_op *op)
{
    int64_t dim = mosaic_int(op, "dim", 0);

    if (dim < 0 || dim >= l->k->grid_rank)
        return pallas_fail(l, op, "dimension %lld of a grid of %d", (long long)dim,
                          l->k->grid_rank);
    set(l, op, l->bound[dim]);
    return 0;
}
