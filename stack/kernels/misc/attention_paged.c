/*
 * Attention over pages: the keys of a step are pages found through a table in SMEM; those of the
 * next step are on their way. All queries and results are in VMEM, results in their queries' place.
 * At the start table, queries and the first pages come one after the other, as Pallas has them: a
 * kernel begins when its scalars have come, its first step when its block has, and then asks for pages.
 */
#include "stack/kernels/misc/attention_impl.h"

#include "base/units.h"

#define TILE_ROWS 8
#define TOKEN_ROWS 9                    /* of VMEM: a tile, and one so that banks differ */
#define PRED_MORE 8

enum { FLAG_PAGES, FLAG_TABLE = 2, FLAG_Q };    /* pages: one for each buffer */

struct paged {
    struct attention_work *w;
    int64_t heads;                      /* loops over heads of k: 1 where a step has all */
    int64_t blocks, block_pages, page_granules; /* page_granules: of a copy */
    int64_t keys, values, stride;       /* granule of the first of two buffers, to the second */
    int64_t q_rows, q_row, steps;       /* of a step; of the first; how many */
    int64_t rows;                       /* of VMEM, all together */
    int64_t table_smem;
    int next_sreg;
    struct isa_operand turn, q, left;   /* the buffer, the step's queries; steps to fetch for */
    struct isa_operand sequence, head, block, q_block;  /* of the step that is fetched for next */
};

static bool is_ragged(const struct paged *g) { return g->w->a->form == ATTENTION_RAGGED; }

static void place(struct paged *g, struct attention_work *w)
{
    const struct graph_attention *a = w->a;
    int64_t heads, head_tiles = div_up(w->head_rows, ATTENTION_PACKED_ROWS), rows, next;
    bool is_one = w->a->block_q == 1;

    *g = (struct paged){.w = w, .blocks = div_up(w->a->kv_len, w->a->block_kv),
                        .block_pages = a->block_kv / a->page_tokens,
                        .next_sreg = SREG_CORE_END};
    heads = is_ragged(g) ? a->heads_kv : 1;
    rows = is_ragged(g) ? w->a->block_kv * TOKEN_ROWS
                        : w->a->block_kv / ATTENTION_PACKED_ROWS * TILE_ROWS;
    next = w->job->vmem_row;
    g->heads = a->heads_kv / heads;
    g->steps = a->sequences * g->heads * w->q_blocks;
    g->keys = next * ATTENTION_ROW_GRANULES;
    g->values = is_ragged(g) ? g->keys : g->keys + rows * ATTENTION_ROW_GRANULES;
    g->stride = (is_ragged(g) ? rows : 2 * rows) * ATTENTION_ROW_GRANULES;
    g->page_granules = (is_ragged(g) ? a->page_tokens : a->page_tokens / ATTENTION_PACKED_ROWS)
                       * ATTENTION_TILE_GRANULES;
    g->q_rows = heads * head_tiles * TILE_ROWS;
    g->q_row = next + 2 * g->stride / ATTENTION_ROW_GRANULES;
    next = g->q_row + g->steps * g->q_rows;
    w->core.is_causal = !is_one;
    w->core.token_rows = is_ragged(g) ? TOKEN_ROWS : 0;
    w->core.key_head_rows = is_ragged(g);
    w->core.q_head_rows = head_tiles * TILE_ROWS;
    g->rows = attention_place_core(w, next, heads, is_one ? 1 : w->group,
                                   is_one ? 1 : w->a->block_q / TILE_ROWS) - w->job->vmem_row;
}

int64_t attention_paged_rows(struct attention_work *w)
{
    struct paged g;

    place(&g, w);
    return g.rows;
}

/* ----- scalars and copies */

static struct isa_operand keep(struct paged *g) { return operand_reg(g->next_sreg++); }

static void set(struct paged *g, int sreg, struct isa_operand value)
{
    builder_set(&g->w->m, operand_reg(sreg), value);
}

static void advance(struct paged *g, struct isa_operand r, int64_t by)
{
    builder_advance(&g->w->m, r, by);
}

static void wait(struct paged *g, struct isa_operand flag, int64_t granules)
{
    builder_await(&g->w->m, flag, I(granules));
}

static void copy(struct paged *g, enum isa_opcode code, struct isa_operand from,
                 struct isa_operand to, int64_t granules, struct isa_operand flag, int pred)
{
    vcode_put(&g->w->code, isa_if(pred, isa_make_dma(code, from, I(granules), to, flag)));
}

static struct isa_operand flag_of(const struct paged *g, int flag)
{
    return operand_imm(g->w->job->first_flag + flag);
}

static int64_t granule_of(const struct array *a) { return a->address / ARRAY_GRANULE_BYTES; }

/* ----- pages of the next step */

/* page number `i` of a step, if there is one: from the table's word at `at` */
static void fetch_page(struct paged *g, int64_t i, struct isa_operand at, struct isa_operand to,
                       struct isa_operand flag)
{
    struct attention_work *w = g->w;
    struct builder *m = &w->m;
    int64_t granules = g->page_granules;
    int kept = m->next_sreg;
    struct isa_operand id = builder_reg(m), from;

    emit_sld(&w->code, id.value, at, I(4 * i));
    if (is_ragged(g)) {
        from = builder_add(m, builder_mul(m, id, granules), I(granule_of(w->k)));
        to = builder_add(m, to, I(i * w->a->page_tokens * TOKEN_ROWS * ATTENTION_ROW_GRANULES));
        vcode_put(&w->code,
                  isa_if(PRED_MORE,
                         isa_dma_hbm_vmem_strided(from, I(granules), to, flag,
                                                  I(ATTENTION_TILE_GRANULES),
                                                  I(TOKEN_ROWS * ATTENTION_ROW_GRANULES),
                                                  I(ATTENTION_TILE_GRANULES))));
    } else {
        id = builder_mul(m, builder_add(m, id, builder_mul(m, g->head, w->a->pages)), granules);
        to = builder_add(m, to, I(i * granules));
        copy(g, OP_DMA_HBM_VMEM, builder_add(m, id, I(granule_of(w->k))), to, granules, flag,
             PRED_MORE);
        struct isa_operand fourth = builder_add(m, to, I(g->values - g->keys));
        copy(g, OP_DMA_HBM_VMEM, builder_add(m, id, I(granule_of(w->v))), fourth, granules, flag,
             PRED_MORE);
    }
    m->next_sreg = kept;
}

/* counter + carry, or 0; carry becomes what goes to the next counter */
static void count_on(struct paged *g, struct isa_operand counter, int64_t end,
                     struct isa_operand carry)
{
    struct vcode *c = &g->w->code;

    emit_sadd(c, counter.value, counter, carry);
    emit_scmp_lt(c, PRED_MORE, counter, I(end));
    emit_select(c, counter.value, PRED_MORE, counter, I(0));
    emit_select(c, carry.value, PRED_MORE, I(0), I(1));
}

/* the pages of the step that the counters stand at, into buffer `turn`; then they go on */
static void fetch_step(struct paged *g, struct isa_operand turn)
{
    struct builder *m = &g->w->m;
    int kept = m->next_sreg, mark;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), flag = builder_reg(m), carry;

    mark = m->next_sreg;
    emit_scmp_gt(&g->w->code, PRED_MORE, g->left, I(0));
    struct isa_operand third = builder_mul(m, g->block, g->block_pages);
    builder_set(m, at, builder_add(m, builder_shift(m, builder_add(
        m, builder_mul(m, g->sequence, g->w->table_pages), third), 2), I(g->table_smem)));
    builder_set(m, to, builder_add(m, builder_mul(m, turn, g->stride), I(g->keys)));
    builder_set(m, flag, builder_add(m, turn, flag_of(g, FLAG_PAGES)));
    m->next_sreg = mark;
    for (int64_t i = 0; i < g->block_pages; i++)
        fetch_page(g, i, at, to, flag);
    advance(g, g->left, -1);
    carry = builder_reg(m);
    builder_set(m, carry, I(1));
    count_on(g, g->block, g->blocks, carry);
    count_on(g, g->q_block, g->w->q_blocks, carry);
    count_on(g, g->head, g->heads, carry);
    emit_sadd(&g->w->code, g->sequence.value, g->sequence, carry);
    m->next_sreg = kept;
}

/* ----- the steps, in one row */

/* a block of keys: its pages have come, those of the next one are asked for, then the step */
static void one_block(struct paged *g, struct isa_operand first, struct isa_operand key)
{
    struct attention_work *w = g->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand flag = builder_add(m, g->turn, flag_of(g, FLAG_PAGES));

    for (int64_t i = 0; i < g->block_pages; i++)        /* a wait for each page, as each has */
        wait(g, flag, (is_ragged(g) ? 1 : 2) * g->page_granules);
    m->next_sreg = kept;
    fetch_step(g, builder_sub(m, I(1), g->turn));
    m->next_sreg = kept;
    set(g, SREG_KEYS, builder_add(m, builder_mul(m, g->turn, g->stride / ATTENTION_ROW_GRANULES),
                               I(g->keys / ATTENTION_ROW_GRANULES)));
    set(g, SREG_VALUES, builder_add(m, operand_reg(SREG_KEYS),
                                 I((g->values - g->keys) / ATTENTION_ROW_GRANULES)));
    set(g, SREG_LIMIT, builder_sub(m, builder_add(m, first, I(w->a->kv_len - w->a->q_len)), key));
    m->next_sreg = kept;
    core_step(&w->core);
    advance(g, key, w->a->block_kv);
    emit_ssub(&w->code, g->turn.value, I(1), g->turn);
}

static void some_blocks(struct paged *g, int64_t count, bool is_masked, struct isa_operand first,
                        struct isa_operand key)
{
    int mark = g->next_sreg;
    struct isa_operand counter;

    if (!count)
        return;
    g->w->core.is_masked = is_masked;
    counter = keep(g);
    vcode_loop_begin(&g->w->code, counter.value, count);
    one_block(g, first, key);
    builder_loop_end(&g->w->m, counter);
    g->next_sreg = mark;
}

/* blocks of keys of one sequence, head and block of queries */
static void all_blocks(struct paged *g, struct isa_operand first)
{
    const struct graph_attention *a = g->w->a;
    /* that every query sees whole: the first one sees kv_len - q_len + 1 keys */
    int64_t whole = (a->kv_len - a->q_len + 1) / a->block_kv;
    int mark = g->next_sreg;
    struct isa_operand key = keep(g);

    set(g, SREG_Q, g->q);
    core_begin(&g->w->core);
    builder_set(&g->w->m, key, I(0));
    some_blocks(g, whole, false, first, key);
    some_blocks(g, g->blocks - whole, true, first, key);
    core_end(&g->w->core);
    advance(g, g->q, g->q_rows);
    g->next_sreg = mark;
}

static void all_steps(struct paged *g)
{
    struct builder *m = &g->w->m;
    struct isa_operand first = keep(g), counter = keep(g), inner = keep(g);

    vcode_loop_begin(&g->w->code, counter.value, g->steps / g->w->q_blocks);
    builder_set(m, first, I(0));
    vcode_loop_begin(&g->w->code, inner.value, g->w->q_blocks);
    all_blocks(g, first);
    advance(g, first, g->w->a->block_q);
    builder_loop_end(m, inner);
    builder_loop_end(m, counter);
}

static void start_counters(struct paged *g)
{
    struct isa_operand *counter[] = {&g->turn, &g->q, &g->sequence, &g->head, &g->block,
                                     &g->q_block, &g->left};

    for (size_t i = 0; i < COUNT_OF(counter); i++) {
        *counter[i] = keep(g);
        builder_set(&g->w->m, *counter[i], I(0));
    }
    builder_set(&g->w->m, g->q, I(g->q_row));
    builder_set(&g->w->m, g->left, I(g->steps * g->blocks));
}

static int place_table(struct paged *g, struct err *e)
{
    const struct kernel_job *job = g->w->job;
    int64_t entries = g->w->a->sequences * g->w->table_pages;

    g->table_smem = round_up(job->smem, ARRAY_GRANULE_BYTES);
    if (g->table_smem + entries * 4 + ARRAY_GRANULE_BYTES > job->smem + job->smem_bytes)
        return err_set(e, "a table of %lld pages does not fit %lld bytes of SMEM",
                       (long long)entries, (long long)job->smem_bytes);
    return 0;
}

int attention_paged_emit(struct attention_work *w, struct err *e)
{
    struct isa_operand at;
    struct paged g;
    int64_t granules, table;

    place(&g, w);
    if (place_table(&g, e))
        return -1;
    w->m.next_sreg = SREG_CORE;
    w->m.sreg_end = SREG_CORE_END;
    start_counters(&g);
    granules = g.steps * g.q_rows * ATTENTION_ROW_GRANULES;
    table = div_up(w->a->sequences * w->table_pages * 4, ARRAY_GRANULE_BYTES);
    at = I(g.q_row * ATTENTION_ROW_GRANULES);
    copy(&g, OP_DMA_HBM_SMEM, I(granule_of(w->table)),
         I(g.table_smem / ARRAY_GRANULE_BYTES), table, flag_of(&g, FLAG_TABLE), -1);
    wait(&g, flag_of(&g, FLAG_TABLE), table);
    copy(&g, OP_DMA_HBM_VMEM, I(granule_of(w->q)), at, granules, flag_of(&g, FLAG_Q), -1);
    wait(&g, flag_of(&g, FLAG_Q), granules);
    fetch_step(&g, I(0));
    all_steps(&g);
    copy(&g, OP_DMA_VMEM_HBM, at, I(granule_of(w->o)), granules, flag_of(&g, FLAG_TABLE),
         -1);
    wait(&g, flag_of(&g, FLAG_TABLE), granules);
    return 0;
}
