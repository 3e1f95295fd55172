/*
 * Emits the elementwise operations of a fused computation, by a table of functions, part by part.
 */
#include "stack/kernels/loop/fused_impl.h"

#include <assert.h>
#include <string.h>

#include "isa/isa.h"

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

bool fused_is_elementwise(const struct graph_node *n)
{
    return graph_op_is_elementwise(n->op) || (n->op == HLO_CONSTANT && !n->literal);
}

/* nodes whose bf16 values others compute with; stores round anyway */
static void find_read(struct fused *f)
{
    for (int i = 0; i < f->body->node_count; i++)
        for (int k = 0; k < f->body->node[i].operand_count; k++)
            f->is_read[f->body->node[i].operand[k]] = true;
}

void fused_init(struct fused *f, struct vcode *c, const struct chip *chip,
                const struct graph *body, int parts, struct arena *a)
{
    size_t count = (size_t)body->node_count + 1;

    memset(f, 0, sizeof(*f));
    f->code = c;
    f->chip = chip;
    f->body = body;
    f->parts = parts;
    f->value = arena_array(a, count, sizeof(*f->value));
    f->is_made = arena_array(a, count, sizeof(*f->is_made));
    f->is_read = arena_array(a, count, sizeof(*f->is_read));
    f->is_leaf = arena_array(a, count, sizeof(*f->is_leaf));
    find_read(f);
}

void fused_restart(struct fused *f)
{
    memset(f->is_made, 0, (size_t)f->body->node_count * sizeof(*f->is_made));
}

/* ----- types */

opnd fused_round_bf16(struct vcode *c, opnd x)
{
    return R(emit_vunpack_c_l(c, R(emit_vpack_c_bf16(c, x, x))));
}

struct isa_operand fused_constant(enum graph_dtype t, double value)
{
    switch (t) {
    case DTYPE_F32: return F(value);
    case DTYPE_BF16: return I(f32_bits(f32_round_to_bf16((float)value)));
    case DTYPE_U32: return I((uint32_t)value);
    case DTYPE_PRED: return I(value != 0);
    default: return I(value);
    }
}

void fused_unpack(struct vcode *c, const struct chip *chip, enum graph_dtype dtype, int tile,
                  struct fused_value *out)
{
    int bytes = array_element_bytes(dtype);

    (void)chip;
    out->is_mask = dtype == DTYPE_PRED;
    for (int p = 0; p < 4 / bytes; p++)
        if (bytes == 4)
            out->part[p] = R(tile);
        else if (bytes == 2)
            out->part[p] = R(emit_d_v(c, p ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(tile)));
        else
            out->part[p] = R(emit_vunpack_c_8(c, R(tile), (enum isa_vunpack_c_8_x0)p,
                                              dtype == DTYPE_S8 ? VUNPACK_C_8_S8 : VUNPACK_C_8_U8));
    for (int p = 0; p < 4 && out->is_mask; p++)
        out->part[p] = R(emit_vnez(c, out->part[p].value));
}

int fused_pack(struct vcode *c, const struct chip *chip, enum graph_dtype dtype,
               const struct fused_value *value)
{
    struct isa_operand p[FUSED_PARTS_MAX];
    int bytes = array_element_bytes(dtype), half[2];

    (void)chip;
    for (int i = 0; i < 4 / bytes; i++)
        p[i] = value->is_mask ? choose(c, value->part[i].value, I(1), I(0)) : value->part[i];
    if (bytes == 4)
        return vcode_in_register(c, p[0]);
    if (bytes == 2)
        return emit_vpack_c_bf16(c, p[1], p[0]);
    for (int i = 0; i < 2; i++)
        half[i] = emit_vpack_b16(c, p[2 * i + 1], p[2 * i], VPACK_B16_C);
    return emit_vpack_c_b8(c, R(half[1]), R(half[0]), VPACK_C_B8_B8);
}

struct isa_op fused_combine(enum graph_reduce kind, enum graph_dtype t, int to, opnd a, opnd b)
{
    bool is_unsigned = t == DTYPE_U32 || t == DTYPE_U8;

    switch (kind) {
    case REDUCE_ADD: return isa_make_d_vv(is_float(t) ? OP_VADD_F32 : OP_VADD_S32, to, a, b);
    case REDUCE_MUL: return isa_make_d_vv(is_float(t) ? OP_VMUL_F32 : OP_VMUL_U32, to, a, b);
    case REDUCE_AND: return isa_vand_u32(to, a, b);
    case REDUCE_OR: return isa_vor_u32(to, a, b);
    default: break;
    }
    if (is_float(t))
        return isa_make_d_vv(kind == REDUCE_MAX ? OP_VMAX_F32 : OP_VMIN_F32, to, a, b);
    return isa_vmax_int(to, a, b, kind == REDUCE_MIN, is_unsigned);
}

/* ----- predicates */

static int as_mask(struct vcode *c, opnd x)
{
    return x.kind == OPERAND_REG ? x.value : emit_vmmov(c, x);
}

static opnd mask_op(struct vcode *c, enum isa_opcode code, opnd a, opnd b)
{
    int second = as_mask(c, b);

    return R(emit_m_nn(c, code, as_mask(c, a), second));
}

static opnd mask_not(struct vcode *c, opnd a)
{
    return R(emit_vmneg(c, as_mask(c, a)));
}

/* of predicates, false below true */
static opnd compare_masks(struct vcode *c, enum graph_compare direction, opnd a, opnd b)
{
    switch (direction) {
    case COMPARE_EQ: return mask_not(c, mask_op(c, OP_VMXOR, a, b));
    case COMPARE_NE: return mask_op(c, OP_VMXOR, a, b);
    case COMPARE_LT: return mask_op(c, OP_VMAND, mask_not(c, a), b);
    case COMPARE_LE: return mask_op(c, OP_VMOR, mask_not(c, a), b);
    case COMPARE_GT: return mask_op(c, OP_VMAND, a, mask_not(c, b));
    default: return mask_op(c, OP_VMOR, a, mask_not(c, b));
    }
}

static opnd compare(struct vcode *c, enum graph_compare direction, enum graph_dtype t, opnd a,
                    opnd b)
{
    static const struct {
        enum isa_opcode f32, s32;
        enum isa_vcmp_u32_x0 u32;
    } rows[] = {
        [COMPARE_EQ] = {OP_VCMP_EQ_F32, OP_VCMP_EQ_S32, VCMP_U32_EQ},
        [COMPARE_NE] = {OP_VCMP_NE_F32, OP_VCMP_NE_S32, VCMP_U32_NE},
        [COMPARE_LT] = {OP_VCMP_LT_F32, OP_VCMP_LT_S32, VCMP_U32_LT},
        [COMPARE_LE] = {OP_VCMP_LE_F32, OP_VCMP_LE_S32, VCMP_U32_LE},
        [COMPARE_GT] = {OP_VCMP_GT_F32, OP_VCMP_GT_S32, VCMP_U32_GT},
        [COMPARE_GE] = {OP_VCMP_GE_F32, OP_VCMP_GE_S32, VCMP_U32_GE},
    };

    if (t == DTYPE_PRED)
        return compare_masks(c, direction, a, b);
    if (t == DTYPE_U32)
        return R(emit_vcmp_u32(c, a, b, rows[direction].u32));
    return R(emit_m_vv(c, is_float(t) ? rows[direction].f32 : rows[direction].s32, a, b));
}

static opnd predicate(struct vcode *c, const struct graph_node *n, enum graph_dtype t,
                      const opnd *o)
{
    opnd other;

    switch (n->op) {
    case HLO_COMPARE: return compare(c, n->direction, t, o[0], o[1]);
    case HLO_AND: return mask_op(c, OP_VMAND, o[0], o[1]);
    case HLO_OR: return mask_op(c, OP_VMOR, o[0], o[1]);
    case HLO_XOR: return mask_op(c, OP_VMXOR, o[0], o[1]);
    case HLO_NOT: return mask_not(c, o[0]);
    case HLO_IS_FINITE: return mask_not(c, R(emit_vweird_f32(c, vcode_in_register(c, o[0]))));
    case HLO_SELECT:
        other = mask_op(c, OP_VMAND, mask_not(c, o[0]), o[2]);
        return mask_op(c, OP_VMOR, mask_op(c, OP_VMAND, o[0], o[1]), other);
    case HLO_CONVERT:
        if (t == DTYPE_PRED)
            return R(as_mask(c, o[0]));
        return R(emit_m_vv(c, is_float(t) ? OP_VCMP_NE_F32 : OP_VCMP_NE_S32, o[0], I(0)));
    default:
        assert(n->op == HLO_COPY);
        return R(as_mask(c, o[0]));
    }
}

/* ----- numbers */

static opnd clamp(struct vcode *c, enum graph_dtype t, const opnd *o)
{
    enum graph_op up = HLO_MAXIMUM, down = HLO_MINIMUM;

    if (is_float(t))
        return fused_float_binary(c, down, fused_float_binary(c, up, o[1], o[0]), o[2]);
    return fused_integer_binary(c, down, t, fused_integer_binary(c, up, t, o[1], o[0]), o[2]);
}

static opnd convert(struct vcode *c, enum graph_dtype from, enum graph_dtype to, opnd x)
{
    if (from != DTYPE_PRED)
        return fused_convert(c, from, to, x);
    return choose(c, as_mask(c, x), fused_constant(to, 1), fused_constant(to, 0));
}

static opnd number(struct vcode *c, const struct graph_node *n, enum graph_dtype from,
                   const opnd *o)
{
    enum graph_dtype t = n->shape.dtype;

    switch (n->op) {
    case HLO_CONVERT: return convert(c, from, t, o[0]);
    case HLO_COPY:
    case HLO_BITCAST_CONVERT: return o[0];
    case HLO_SELECT: return choose(c, as_mask(c, o[0]), o[1], o[2]);
    case HLO_CLAMP: return clamp(c, t, o);
    default: break;
    }
    if (n->operand_count == 1)
        return is_float(t) ? fused_float_unary(c, n->op, o[0])
                           : fused_integer_unary(c, n->op, t, o[0]);
    return is_float(t) ? fused_float_binary(c, n->op, o[0], o[1])
                       : fused_integer_binary(c, n->op, t, o[0], o[1]);
}

/* results that are bf16 values already when the operands are */
static bool keeps_bf16(const struct graph_node *n, enum graph_dtype from)
{
    if (n->op == HLO_CONVERT)
        return from == DTYPE_BF16 || from == DTYPE_PRED || from == DTYPE_S8 || from == DTYPE_U8;
    return (graph_op_traits(n->op) & TRAIT_KEEPS_BF16) != 0;
}

/* e^-x: its negation that has no other use yet goes into the constant of the exponential */
static bool takes_sign(const struct fused *f, const struct graph_node *n)
{
    int x = n->operand[0];

    return n->op == HLO_EXP && f->body->node[x].op == HLO_NEGATE && !f->is_made[x]
           && !f->is_leaf[x];
}

/* the node whose value operand i is made of */
static int operand_of(const struct fused *f, const struct graph_node *n, int i)
{
    return takes_sign(f, n) ? f->body->node[n->operand[0]].operand[0] : n->operand[i];
}

static opnd make_part(struct fused *f, int node, int p)
{
    const struct graph_node *n = &f->body->node[node];
    enum graph_dtype from = f->body->node[n->operand[0]].shape.dtype;
    opnd o[3], made;
    bool is_constant = true;

    if (n->op == HLO_COMPARE || n->op == HLO_IS_FINITE || n->op == HLO_CONVERT)
        from = f->body->node[n->operand[0]].shape.dtype;
    for (int i = 0; i < n->operand_count; i++) {
        o[i] = f->value[operand_of(f, n, i)].part[p];
        is_constant &= o[i].kind == OPERAND_IMM;
    }
    if (is_constant && from != DTYPE_PRED)
        o[0] = R(vcode_in_register(f->code, o[0]));
    made = n->shape.dtype == DTYPE_PRED ? predicate(f->code, n, from, o)
           : takes_sign(f, n)           ? fused_exponential(f->code, o[0], true)
                                        : number(f->code, n, from, o);
    if (n->shape.dtype == DTYPE_BF16 && f->is_read[node] && !keeps_bf16(n, from))
        made = fused_round_bf16(f->code, made);
    return made;
}

static bool same_operand(const struct isa_operand *a, const struct isa_operand *b)
{
    return a->kind == b->kind && a->value == b->value;
}

/* parts of equal operands have equal results: of a row of values, a scalar */
static bool same_part(const struct fused *f, int node, int p)
{
    const struct graph_node *n = &f->body->node[node];

    for (int i = 0; i < n->operand_count; i++)
        if (!same_operand(&f->value[operand_of(f, n, i)].part[p],
                          &f->value[operand_of(f, n, i)].part[0]))
            return false;
    return true;
}

static void make(struct fused *f, int node)
{
    const struct graph_node *n = &f->body->node[node];
    struct fused_value *v = &f->value[node];

    v->is_mask = n->shape.dtype == DTYPE_PRED;
    for (int p = 0; p < f->parts; p++) {
        if (n->op == HLO_CONSTANT) {
            v->part[p] = p ? v->part[0] : fused_constant(n->shape.dtype, n->value);
            if (p == 0 && v->is_mask)
                v->part[0] = R(as_mask(f->code, v->part[0]));
        } else {
            v->part[p] = p && same_part(f, node, p) ? v->part[0] : make_part(f, node, p);
        }
    }
}

/* a constant, or a constant spread over a shape */
static int constant_of(const struct graph *g, int node)
{
    if (g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT && !g->node[node].literal ? node : NODE_NONE;
}

int fused_emit(struct fused *f, int node, struct err *e)
{
    const struct graph_node *n = &f->body->node[node];
    int constant = constant_of(f->body, node);

    if (f->is_made[node])
        return 0;
    if (constant != NODE_NONE && constant != node) {
        if (fused_emit(f, constant, e))
            return -1;
        f->value[node] = f->value[constant];
    } else if (!fused_is_elementwise(n) || f->is_leaf[node]) {
        if (f->leaf(f, node, &f->value[node], f->user, e))
            return -1;
    } else {
        for (int i = 0; i < n->operand_count; i++)
            if (fused_emit(f, operand_of(f, n, i), e))
                return -1;
        make(f, node);
    }
    f->is_made[node] = true;
    return 0;
}

/* ----- costs */

static int free_leaf(struct fused *f, int node, struct fused_value *out, void *user,
                     struct err *e)
{
    (void)user;
    (void)e;
    out->is_mask = f->body->node[node].shape.dtype == DTYPE_PRED;
    out->part[0] = R(out->is_mask ? vcode_mask(f->code) : vcode_vreg(f->code));
    return 0;
}

void fused_count(const struct vcode *c, struct fused_cost *out)
{
    int *const count[SLOT_COUNT] = {[SLOT_VALU] = &out->valu, [SLOT_EUP] = &out->eup,
                                    [SLOT_LOAD] = &out->load, [SLOT_STORE] = &out->store,
                                    [SLOT_PUSH] = &out->push, [SLOT_POP] = &out->pop};

    memset(out, 0, sizeof(*out));
    for (size_t b = 0; b < c->block_count; b++)
        for (size_t i = 0; i < c->block[b].op_count; i++) {
            int *at = count[isa_info((enum isa_opcode)c->block[b].op[i].op.code)->slot];

            if (at)
                ++*at;
        }
    out->valu += out->eup;              /* each takes a slot there too */
}

void fused_cost(const struct graph *body, const struct chip *chip, struct fused_cost *out)
{
    fused_cost_of(body, chip, NULL, false, out);
}

void fused_cost_of(const struct graph *body, const struct chip *chip, const bool *is_marked,
                   bool wanted, struct fused_cost *out)
{
    struct arena a;
    struct vcode c;
    struct fused f;
    struct err e;

    arena_init(&a);
    vcode_init(&c, &a);
    fused_init(&f, &c, chip, body, 1, &a);
    f.leaf = free_leaf;
    for (int i = 0; i < body->node_count; i++)
        if (!is_marked || is_marked[i] == wanted)
            fused_emit(&f, i, &e);
    fused_count(&c, out);
    vcode_fini(&c);
    arena_fini(&a);
}
