/* Emits straight code, values and loops for all parts of the generator of convolutions. */
#include <assert.h>

#include "stack/kernels/conv/conv_emit.h"

int conv_put(struct conv_gen *g, int not_before, enum isa_opcode code, int count,
             const struct isa_operand *operand)
{
    struct isa_op op = bundler_op(code, 0, count, operand);

    return bundler_put(&g->b, &op, not_before);
}

int conv_put_if(struct conv_gen *g, int pred, bool is_negated, enum isa_opcode code, int count,
                const struct isa_operand *operand)
{
    struct isa_op op = bundler_op(code, 0, count, operand);

    op.pred = (uint8_t)pred;
    op.pred_is_negated = is_negated;
    return bundler_put(&g->b, &op, 0);
}

void conv_begin(struct conv_gen *g, const char *note)
{
    bundler_begin(&g->b, note, 0);
    g->temp = 0;
}

void conv_end(struct conv_gen *g)
{
    bundler_end(&g->b);
}

void conv_end_branch(struct conv_gen *g, int label, int pred, bool is_negated)
{
    bundler_end_branch(&g->b, label, pred, is_negated);
}

int conv_label(struct conv_gen *g)
{
    return g->label++;
}

void conv_here(struct conv_gen *g, int label)
{
    bundler_label(&g->b, label, arena_printf(g->a, "l%d", label));
}

/* ----- values */

struct conv_value conv_known(int64_t x)
{
    return (struct conv_value){.is_known = true, .known = x};
}

struct conv_value conv_in(int reg)
{
    return (struct conv_value){.reg = reg};
}

struct isa_operand conv_operand(struct conv_value v)
{
    return v.is_known ? IMM(v.known) : REG(v.reg);
}

static int new_register(struct conv_gen *g)
{
    assert(g->temp < ISA_SREG_COUNT);
    return g->temp++;
}

static struct conv_value combine(struct conv_gen *g, enum isa_opcode code, struct conv_value a,
                                 struct conv_value b)
{
    int to = new_register(g);

    PUT(g, code, REG(to), conv_operand(a), conv_operand(b));
    return conv_in(to);
}

struct conv_value conv_add(struct conv_gen *g, struct conv_value a, struct conv_value b)
{
    if (a.is_known && b.is_known)
        return conv_known(a.known + b.known);
    if (a.is_known && a.known == 0)
        return b;
    if (b.is_known && b.known == 0)
        return a;
    return combine(g, OP_SADD, a, b);
}

struct conv_value conv_sub(struct conv_gen *g, struct conv_value a, struct conv_value b)
{
    if (b.is_known)
        return conv_add(g, a, conv_known(-b.known));
    return combine(g, OP_SSUB, a, b);
}

struct conv_value conv_mul(struct conv_gen *g, struct conv_value a, struct conv_value b)
{
    if (a.is_known && b.is_known)
        return conv_known(a.known * b.known);
    if ((a.is_known && a.known == 0) || (b.is_known && b.known == 1))
        return a;
    if ((b.is_known && b.known == 0) || (a.is_known && a.known == 1))
        return b;
    return combine(g, OP_SMUL, a, b);
}

static struct conv_value extreme(struct conv_gen *g, struct conv_value a, struct conv_value b,
                                 bool is_max)
{
    int to;

    if (a.is_known && b.is_known)
        return (a.known > b.known) == is_max ? a : b;
    to = new_register(g);
    PUT(g, OP_SMIN_MAX, REG(to), conv_operand(a), conv_operand(b), IMM(is_max), IMM(0));
    return conv_in(to);
}

struct conv_value conv_min(struct conv_gen *g, struct conv_value a, struct conv_value b)
{
    return extreme(g, a, b, false);
}

struct conv_value conv_max(struct conv_gen *g, struct conv_value a, struct conv_value b)
{
    return extreme(g, a, b, true);
}

int conv_to_register(struct conv_gen *g, struct conv_value v)
{
    int to;

    if (!v.is_known)
        return v.reg;
    to = new_register(g);
    PUT(g, OP_SMOV, REG(to), IMM(v.known));
    return to;
}

struct conv_value conv_load_word(struct conv_gen *g, int64_t smem)
{
    int to = new_register(g);

    PUT(g, OP_SLD, REG(to), operand_none(), IMM(smem));
    return conv_in(to);
}

void conv_store_word(struct conv_gen *g, int64_t smem, struct conv_value v)
{
    PUT(g, OP_SST, operand_none(), IMM(smem), conv_operand(v));
}

/* ----- loops */

int conv_loop(struct conv_gen *g, int reg, int64_t count)
{
    int label = conv_label(g);

    conv_begin(g, NULL);
    PUT(g, OP_SMOV, REG(reg), IMM(count));
    conv_end(g);
    conv_here(g, label);
    return label;
}

void conv_loop_end(struct conv_gen *g, int label, int reg)
{
    PUT(g, OP_SSUB, REG(reg), REG(reg), IMM(1));
    PUT(g, OP_SCMP_GT, REG(P_LOOP), REG(reg), IMM(0));
    conv_end_branch(g, label, P_LOOP, false);
}

/* behind the words of the windows: the indices of the fetch, then those in use */
int64_t conv_index_word(const struct conv_gen *g, bool is_fetch, int grid)
{
    return conv_word(g, (is_fetch ? 0 : GRID_DIMS) + grid);
}

int64_t conv_word(const struct conv_gen *g, int word)
{
    return g->p->job->smem + 4 * (g->p->smem_words + word);
}
