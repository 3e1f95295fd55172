/* Emits straight code, values and loops for all parts of the generator of convolutions. */
#include <assert.h>

#include "stack/kernels/conv/conv_emit.h"

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
    return v.is_known ? I(v.known) : R(v.reg);
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

    bundler_add(&g->b, isa_make_e_ss(code, to, conv_operand(a), conv_operand(b)));
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
    bundler_add(&g->b, isa_smin_max(to, conv_operand(a), conv_operand(b), is_max, SMIN_MAX_S32));
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
    bundler_add(&g->b, isa_smov(to, I(v.known)));
    return to;
}

struct conv_value conv_load_word(struct conv_gen *g, int64_t smem)
{
    int to = new_register(g);

    bundler_add(&g->b, isa_sld(to, NONE, I(smem)));
    return conv_in(to);
}

void conv_store_word(struct conv_gen *g, int64_t smem, struct conv_value v)
{
    bundler_add(&g->b, isa_sst(NONE, I(smem), conv_operand(v)));
}

/* ----- loops */

int conv_loop(struct conv_gen *g, int reg, int64_t count)
{
    int label = conv_label(g);

    conv_begin(g, NULL);
    bundler_add(&g->b, isa_smov(reg, I(count)));
    conv_end(g);
    conv_here(g, label);
    return label;
}

void conv_loop_end(struct conv_gen *g, int label, int reg)
{
    bundler_add(&g->b, isa_ssub(reg, R(reg), I(1)));
    bundler_add(&g->b, isa_scmp_gt(P_LOOP, R(reg), I(0)));
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
