/*
 * Attention kernels: what is copied when, around the steps of attention_core.c.
 */
#include "stack/kernels/misc/attention.h"

#include "base/units.h"
#include "stack/kernels/misc/attention_core.h"
#include "stack/backend/abi.h"
#include "stack/backend/builder.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TILE_GRANULES (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)
#define ROW_GRANULES (ARRAY_ROW_BYTES / ARRAY_GRANULE_BYTES)
#define TILE_SUBLANES 8
#define PACKED_ROWS 16
#define SPILL_TILES 32
#define TOKEN_ROWS 9                    /* of VMEM: a tile, and one so that banks differ */
#define HEADS_OF_TILE 8                 /* pairs of k and v in the 16 rows of a token's tile */
#define BLOCK_DEFAULT 512
#define RAGGED_ROWS_DEFAULT 256
#define FAR (1 << 28)                   /* a row may see every key of any block */
#define PRED_MORE 8
#define PAGE_STEP 7919                  /* a prime: pages of a sequence lie anywhere */

/* ----- sizes */

static int64_t group_of(const struct attention *p) { return p->heads_q / p->heads_kv; }
static int64_t pages_of_one(const struct attention *p) { return div_up(p->kv_len, p->page_tokens); }
/* entries of a sequence in the table: whole blocks, the last ones any page that exists */
static int64_t table_of_one(const struct attention *p)
{
    return div_up(p->kv_len, p->block_kv) * p->pages_per_block;
}
static int64_t blocks_of_q(const struct attention *p) { return div_up(p->q_len, p->block_q); }

/* rows of q that a step has for a head of k: of one query, its group in 16 */
static int64_t step_rows(const struct attention *p)
{
    return p->q_len == 1 ? PACKED_ROWS : group_of(p) * p->block_q;
}

static int64_t q_bytes(const struct attention *p)
{
    int64_t rows = p->form == ATTENTION_FLASH
                   ? p->heads_q * p->q_len : blocks_of_q(p) * p->heads_kv * step_rows(p);

    return p->sequences * rows * ATTENTION_DEPTH * 2;
}

static int64_t pages_bytes(const struct attention *p)
{
    int64_t rows = p->form == ATTENTION_RAGGED ? PACKED_ROWS : p->heads_kv;

    return p->sequences * pages_of_one(p) * p->page_tokens * rows * ATTENTION_DEPTH * 2;
}

static int64_t divisor_below(int64_t x, int64_t most)
{
    while (x % most)
        most--;
    return most;
}

static void set_defaults(struct attention *p, const struct chip *chip)
{
    int64_t step;

    if (p->form == ATTENTION_FLASH) {
        p->block_q = p->block_q ? p->block_q : divisor_below(p->q_len, BLOCK_DEFAULT);
        p->block_kv = p->block_kv ? p->block_kv : divisor_below(p->kv_len, BLOCK_DEFAULT);
        return;
    }
    if (p->form == ATTENTION_PAGED || p->q_len == 1)
        p->block_q = 1;
    else if (!p->block_q)
        p->block_q = round_up(p->q_len < RAGGED_ROWS_DEFAULT ? p->q_len : RAGGED_ROWS_DEFAULT,
                              PACKED_ROWS);
    p->page_tokens = p->page_tokens ? p->page_tokens : PACKED_ROWS;
    if (!p->pages_per_block) {
        step = round_up(p->kv_len, chip->mxu_size);
        p->pages_per_block = (step < BLOCK_DEFAULT ? step : BLOCK_DEFAULT) / p->page_tokens;
    }
    p->block_kv = p->page_tokens * p->pages_per_block;
}

static int check_sizes(const struct attention *p, const struct chip *chip, struct err *e)
{
    if (chip->mxu_accumulators)
        return err_set(e, "attention: %s has accumulators, which its kernels do not use",
                       chip->chip_name);
    if (p->heads_q % p->heads_kv)
        return err_set(e, "attention: %lld heads of q do not share %lld of k evenly",
                       (long long)p->heads_q, (long long)p->heads_kv);
    if (p->block_kv % ARRAY_LANES)
        return err_set(e, "attention: blocks of %lld keys, multiples of 128 are made",
                       (long long)p->block_kv);
    if (p->form == ATTENTION_FLASH && (p->q_len % p->block_q || p->kv_len % p->block_kv ||
                                       p->block_q % PACKED_ROWS))
        return err_set(e, "attention: %lld queries in blocks of %lld, %lld keys in blocks of "
                       "%lld; blocks of queries are multiples of 16", (long long)p->q_len,
                       (long long)p->block_q, (long long)p->kv_len, (long long)p->block_kv);
    if (p->form != ATTENTION_FLASH && p->page_tokens % PACKED_ROWS)
        return err_set(e, "attention: pages of %lld tokens, multiples of 16 are made",
                       (long long)p->page_tokens);
    if ((p->form == ATTENTION_PAGED && p->q_len != 1) ||
        (p->form != ATTENTION_FLASH && p->q_len == 1 && group_of(p) > TILE_SUBLANES))
        return err_set(e, "attention: %lld queries of %lld heads for each of k; of one query up "
                       "to 8 heads are made", (long long)p->q_len, (long long)group_of(p));
    if (p->form == ATTENTION_RAGGED && p->heads_kv > HEADS_OF_TILE)
        return err_set(e, "attention: %lld heads of k, up to 8 are made",
                       (long long)p->heads_kv);
    return 0;
}

int attention_plan(struct attention *p, const struct chip *chip, int64_t hbm, int64_t *end,
                   struct err *e)
{
    int64_t kv = p->sequences * p->heads_kv * p->kv_len * ATTENTION_DEPTH * 2, at = hbm;

    set_defaults(p, chip);
    if (check_sizes(p, chip, e))
        return -1;
    if (p->form != ATTENTION_FLASH)
        kv = pages_bytes(p);
    p->q = at;
    p->o = p->q + q_bytes(p);
    p->k = p->o + q_bytes(p);
    p->v = p->form == ATTENTION_RAGGED ? p->k : p->k + kv;
    p->table = p->v + kv;
    at = p->table;
    if (p->form != ATTENTION_FLASH)
        at += round_up(p->sequences * table_of_one(p) * 4, ARRAY_TILE_BYTES);
    *end = at;
    return 0;
}

/* ----- code that all forms share */

struct making {
    const struct attention *p;
    const struct kernel_job *job;
    struct vcode code;
    struct builder m;
    struct attention_core k;
    int64_t vmem_next;                  /* row */
    int sreg_next;                      /* of those that a step keeps; m has the others */
};

static struct isa_operand keep(struct making *x)
{
    assert(x->sreg_next < ISA_SREG_COUNT);
    return R(x->sreg_next++);
}

static struct isa_operand loop_begin(struct making *x, int64_t count)
{
    struct isa_operand counter = keep(x);

    vcode_loop_begin(&x->code, counter.value, count);
    return counter;
}

static int64_t take_rows(struct making *x, int64_t rows)
{
    int64_t at = x->vmem_next;

    x->vmem_next += rows;
    return at;
}

static void set(struct making *x, int sreg, struct isa_operand value)
{
    builder_set(&x->m, R(sreg), value);
}

static void advance(struct making *x, struct isa_operand r, int64_t by)
{
    emit_sadd(&x->code, r.value, r, I(by));
}

static void set_core(struct making *x, int64_t heads, int64_t members, int64_t groups)
{
    struct attention_core *k = &x->k;

    k->c = &x->code;
    k->chip = x->job->chip;
    k->heads = heads;
    k->members = members;
    k->groups = groups;
    k->keys = x->p->block_kv;
    k->scale = (float)(1.4426950408889634 / sqrt((double)ATTENTION_DEPTH));
    k->s_row = take_rows(x, core_score_rows(k));
    k->m_row = take_rows(x, core_state_rows(k));
    k->l_row = take_rows(x, core_state_rows(k));
    k->alpha_row = take_rows(x, core_state_rows(k));
    k->acc_row = take_rows(x, core_state_rows(k));
}

static int check_room(struct making *x, struct err *e)
{
    int64_t left = x->job->vmem_row + x->job->vmem_rows - SPILL_TILES * TILE_SUBLANES
                   - x->vmem_next;

    if (left >= 0)
        return 0;
    return err_set(e, "attention: its blocks take %lld KiB of VMEM, %lld KiB more than there is",
                   (long long)((x->vmem_next - x->job->vmem_row) / 2), (long long)(-left / 2));
}

static void copy(struct making *x, enum isa_opcode code, struct isa_operand from,
                 struct isa_operand to, int64_t granules, struct isa_operand flag, int pred)
{
    vcode_put(&x->code, isa_if(pred, isa_make_dma(code, from, I(granules), to, flag)));
}

static int finish(struct making *x, struct arena *a, struct segment *out, struct err *e)
{
    int64_t spill = x->job->vmem_row + x->job->vmem_rows - SPILL_TILES * TILE_SUBLANES;

    return kernel_finish(x->job, &x->code, spill, SPILL_TILES, a, out, e);
}

/* ----- flash: all of a head's q, k and v in VMEM, the next head's on their way */

struct flash {
    struct making *x;
    int64_t q_granules, kv_granules;    /* of a head */
    int64_t buffer, stride;             /* granule of the first of two: q, k, v, o; and on */
    struct isa_operand turn, head, out_wait;
};

static void flash_fetch(struct flash *f, struct isa_operand head, struct isa_operand turn,
                        int pred)
{
    struct making *x = f->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg;
    struct isa_operand to = builder_add(m, builder_mul(m, turn, f->stride), I(f->buffer));
    struct isa_operand flag = builder_add(m, turn, I(x->job->first_flag));
    struct isa_operand kv = builder_mul(m, builder_div(m, head, group_of(p)), f->kv_granules);
    int mark = m->next_sreg;

    copy(x, OP_DMA_HBM_VMEM,
         builder_add(m, builder_mul(m, head, f->q_granules), I(p->q / ARRAY_GRANULE_BYTES)), to,
         f->q_granules, flag, pred);
    m->next_sreg = mark;
    copy(x, OP_DMA_HBM_VMEM, builder_add(m, kv, I(p->k / ARRAY_GRANULE_BYTES)),
         builder_add(m, to, I(f->q_granules)), f->kv_granules, flag, pred);
    m->next_sreg = mark;
    copy(x, OP_DMA_HBM_VMEM, builder_add(m, kv, I(p->v / ARRAY_GRANULE_BYTES)),
         builder_add(m, to, I(f->q_granules + f->kv_granules)), f->kv_granules, flag, pred);
    m->next_sreg = kept;
}

/* all blocks of keys that rows from `first` on see */
static void flash_keys(struct flash *f, struct isa_operand first)
{
    struct making *x = f->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg;
    int mark = x->sreg_next;
    struct isa_operand counter, key = keep(x), end = keep(x);

    builder_set(m, key, I(0));
    builder_set(m, end,
                p->is_causal
                    ? builder_min(m, builder_add(m, first, I(p->block_q + p->kv_len - p->q_len)),
                                  I(p->kv_len))
                    : I(p->kv_len));
    m->next_sreg = kept;
    counter = loop_begin(x, 1);
    set(x, SREG_LIMIT,
        p->is_causal ? builder_sub(m, builder_add(m, first, I(p->kv_len - p->q_len)), key)
                     : I(FAR));
    m->next_sreg = kept;
    core_step(&x->k);
    advance(x, R(SREG_KEYS), p->block_kv / PACKED_ROWS * TILE_SUBLANES);
    advance(x, R(SREG_VALUES), p->block_kv / PACKED_ROWS * TILE_SUBLANES);
    advance(x, key, p->block_kv);
    builder_while_end(&x->m, counter, key, end);
    m->next_sreg = kept;
    x->sreg_next = mark;
}

static void flash_head(struct flash *f)
{
    struct making *x = f->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg, mark = x->sreg_next;
    int64_t q_rows = f->q_granules / ROW_GRANULES, kv_rows = f->kv_granules / ROW_GRANULES;
    struct isa_operand base = keep(x), first = keep(x), q = keep(x), counter;

    builder_set(m, base,
                builder_add(m, builder_mul(m, f->turn, f->stride / ROW_GRANULES),
                            I(f->buffer / ROW_GRANULES)));
    builder_set(m, q, base);
    builder_set(m, first, I(0));
    counter = loop_begin(x, p->q_len / p->block_q);
    set(x, SREG_Q, q);
    set(x, SREG_KEYS, builder_add(m, base, I(q_rows)));
    set(x, SREG_VALUES, builder_add(m, base, I(q_rows + kv_rows)));
    m->next_sreg = kept;
    core_begin(&x->k);
    flash_keys(f, first);
    set(x, SREG_Q, builder_add(m, q, I(q_rows + 2 * kv_rows)));
    m->next_sreg = kept;
    core_end(&x->k);
    advance(x, q, p->block_q / PACKED_ROWS * TILE_SUBLANES);
    advance(x, first, p->block_q);
    builder_loop_end(m, counter);
    x->sreg_next = mark;
}

static void flash_out(struct flash *f)
{
    struct making *x = f->x;
    struct builder *m = &x->m;
    int kept = m->next_sreg;
    struct isa_operand from = builder_add(m, builder_mul(m, f->turn, f->stride),
                                          I(f->buffer + f->q_granules + 2 * f->kv_granules));

    copy(x, OP_DMA_VMEM_HBM, from,
         builder_add(m, builder_mul(m, f->head, f->q_granules), I(x->p->o / ARRAY_GRANULE_BYTES)),
         f->q_granules, builder_add(m, f->turn, I(x->job->first_flag + 2)), ISA_PRED_ALWAYS);
    m->next_sreg = kept;
}

static void flash_loop(struct flash *f, int64_t heads)
{
    struct making *x = f->x;
    struct builder *m = &x->m;
    int first_flag = x->job->first_flag, kept = m->next_sreg;
    struct isa_operand counter, next, other, flag;

    flash_fetch(f, I(0), I(0), ISA_PRED_ALWAYS);
    counter = loop_begin(x, heads);
    vcode_await(&x->code, builder_add(m, f->turn, I(first_flag)),
                f->q_granules + 2 * f->kv_granules, -1);
    next = builder_add(m, f->head, I(1));
    emit_scmp_lt(&x->code, PRED_MORE, next, I(heads));
    other = builder_sub(m, I(1), f->turn);
    flash_fetch(f, next, other, PRED_MORE);
    /* the buffer of results two heads before */
    emit_scmp_ge(&x->code, PRED_MORE, f->head, I(2));
    flag = builder_add(m, f->turn, I(first_flag + 2));
    vcode_await(&x->code, flag, f->q_granules, PRED_MORE);
    m->next_sreg = kept;
    flash_head(f);
    flash_out(f);
    advance(x, f->head, 1);
    emit_ssub(&x->code, f->turn.value, I(1), f->turn);
    builder_loop_end(m, counter);
    vcode_await(&x->code, I(first_flag + 2), f->q_granules, -1);
    if (heads > 1)
        vcode_await(&x->code, I(first_flag + 3), f->q_granules, -1);
}

static int make_flash(struct making *x, struct err *e)
{
    const struct attention *p = x->p;
    struct flash f = {.x = x};

    f.q_granules = p->q_len / PACKED_ROWS * TILE_GRANULES;
    f.kv_granules = p->kv_len / PACKED_ROWS * TILE_GRANULES;
    f.stride = 2 * f.q_granules + 2 * f.kv_granules;
    f.buffer = take_rows(x, 2 * f.stride / ROW_GRANULES) * ROW_GRANULES;
    x->k.is_causal = x->k.is_masked = p->is_causal;
    set_core(x, 1, 1, p->block_q / TILE_SUBLANES);
    if (check_room(x, e))
        return -1;
    f.turn = keep(x);
    f.head = keep(x);
    builder_set(&x->m, f.turn, I(0));
    builder_set(&x->m, f.head, I(0));
    flash_loop(&f, p->sequences * p->heads_q);
    return 0;
}

/* ----- pages: steps in one row, the pages of the next step on their way */

struct paged {
    struct making *x;
    int64_t heads;                      /* loops over heads of k: 1 where a step has all */
    int64_t blocks, q_blocks;
    int64_t keys, values, stride;       /* granule of the first of two buffers, to the second */
    int64_t q_rows, q_buffer, o_buffer; /* of a step; VMEM rows of all of them */
    int64_t table_smem;
    struct isa_operand turn, step, left;
    struct isa_operand sequence, head, block;   /* of the step whose pages are fetched next */
    struct isa_operand q_block;
};

/* page number `i` of a step, guarded by p: from the table's word at `at` */
static void fetch_page(struct paged *g, int64_t i, struct isa_operand at, struct isa_operand to,
                       struct isa_operand flag)
{
    struct making *x = g->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg;
    int64_t tiles = p->page_tokens / PACKED_ROWS, tokens = p->page_tokens;
    int64_t pages = p->sequences * pages_of_one(p);
    struct isa_operand id = builder_reg(m), from;

    emit_sld(&x->code, id.value, at, I(4 * i));
    if (p->form == ATTENTION_RAGGED) {
        from = builder_add(m, builder_mul(m, id, tokens * TILE_GRANULES),
                           I(p->k / ARRAY_GRANULE_BYTES));
        vcode_put(&x->code,
                  isa_if(PRED_MORE,
                         isa_dma_hbm_vmem_strided(
                             from, I(tokens * TILE_GRANULES),
                             builder_add(m, to, I(i * tokens * TOKEN_ROWS * ROW_GRANULES)), flag,
                             I(TILE_GRANULES), I(TOKEN_ROWS * ROW_GRANULES), I(TILE_GRANULES))));
        m->next_sreg = kept;
        return;
    }
    id = builder_mul(m, builder_add(m, id, builder_mul(m, g->head, pages)), tiles * TILE_GRANULES);
    to = builder_add(m, to, I(i * tiles * TILE_GRANULES));
    copy(x, OP_DMA_HBM_VMEM, builder_add(m, id, I(p->k / ARRAY_GRANULE_BYTES)), to,
         tiles * TILE_GRANULES, flag, PRED_MORE);
    copy(x, OP_DMA_HBM_VMEM, builder_add(m, id, I(p->v / ARRAY_GRANULE_BYTES)),
         builder_add(m, to, I(g->values - g->keys)), tiles * TILE_GRANULES, flag, PRED_MORE);
    m->next_sreg = kept;
}

/* counter + carry, or 0; carry becomes what goes to the next counter */
static void count_on(struct paged *g, struct isa_operand counter, int64_t end,
                     struct isa_operand carry)
{
    struct making *x = g->x;
    struct isa_operand more = R(PRED_MORE);

    emit_sadd(&x->code, counter.value, counter, carry);
    emit_scmp_lt(&x->code, more.value, counter, I(end));
    emit_select(&x->code, counter.value, more.value, counter, I(0));
    emit_select(&x->code, carry.value, more.value, I(0), I(1));
}

/* the pages of the step that the counters stand at, into buffer `turn`; then they go on */
static void fetch_step(struct paged *g, struct isa_operand turn)
{
    struct making *x = g->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg, mark;
    struct isa_operand at = builder_reg(m), to = builder_reg(m), flag = builder_reg(m), carry;

    mark = m->next_sreg;
    emit_scmp_gt(&x->code, PRED_MORE, g->left, I(0));
    builder_set(
        m, at,
        builder_add(m,
                    builder_shift(m,
                                  builder_add(m, builder_mul(m, g->sequence, table_of_one(p)),
                                              builder_mul(m, g->block, p->pages_per_block)),
                                  2),
                    I(g->table_smem)));
    builder_set(m, to, builder_add(m, builder_mul(m, turn, g->stride), I(g->keys)));
    builder_set(m, flag, builder_add(m, turn, I(x->job->first_flag)));
    m->next_sreg = mark;
    for (int64_t i = 0; i < p->pages_per_block; i++)
        fetch_page(g, i, at, to, flag);
    advance(x, g->left, -1);
    carry = builder_reg(m);
    builder_set(m, carry, I(1));
    count_on(g, g->block, g->blocks, carry);
    count_on(g, g->q_block, g->q_blocks, carry);
    count_on(g, g->head, g->heads, carry);
    emit_sadd(&x->code, g->sequence.value, g->sequence, carry);
    m->next_sreg = kept;
}

static int64_t step_granules(const struct paged *g)
{
    const struct attention *p = g->x->p;

    return p->form == ATTENTION_RAGGED
           ? p->block_kv * TILE_GRANULES : 2 * p->block_kv / PACKED_ROWS * TILE_GRANULES;
}

/* a block of keys: its pages have come, those of the next one are asked for, then the step */
static void paged_block(struct paged *g, struct isa_operand first, struct isa_operand key)
{
    struct making *x = g->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg;
    struct isa_operand flag = builder_add(m, g->turn, I(x->job->first_flag));

    for (int64_t i = 0; i < p->pages_per_block; i++)    /* a wait for each copy, as each has */
        vcode_await(&x->code, flag, step_granules(g) / p->pages_per_block, -1);
    m->next_sreg = kept;
    fetch_step(g, builder_sub(m, I(1), g->turn));
    m->next_sreg = kept;
    set(x, SREG_KEYS,
        builder_add(m, builder_mul(m, g->turn, g->stride / ROW_GRANULES),
                    I(g->keys / ROW_GRANULES)));
    set(x, SREG_VALUES, builder_add(m, R(SREG_KEYS), I((g->values - g->keys) / ROW_GRANULES)));
    set(x, SREG_LIMIT, builder_sub(m, builder_add(m, first, I(p->kv_len - p->q_len)), key));
    m->next_sreg = kept;
    core_step(&x->k);
    advance(x, key, p->block_kv);
    emit_ssub(&x->code, g->turn.value, I(1), g->turn);
}

static void paged_blocks(struct paged *g, int64_t count, bool is_masked, struct isa_operand first,
                         struct isa_operand key)
{
    struct making *x = g->x;
    int mark = x->sreg_next;
    struct isa_operand counter;

    if (!count)
        return;
    x->k.is_masked = is_masked;
    counter = loop_begin(x, count);
    paged_block(g, first, key);
    builder_loop_end(&x->m, counter);
    x->sreg_next = mark;
}

/* blocks of keys of one sequence, head and block of queries; step: number of the q tiles */
static void paged_row(struct paged *g, struct isa_operand first)
{
    struct making *x = g->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int kept = m->next_sreg, mark = x->sreg_next;
    /* that every query sees whole: the first one sees kv_len - q_len + 1 keys */
    int64_t whole = (p->kv_len - p->q_len + 1) / p->block_kv;
    struct isa_operand key = keep(x);

    set(x, SREG_Q, builder_add(m, builder_mul(m, g->step, g->q_rows), I(g->q_buffer)));
    m->next_sreg = kept;
    core_begin(&x->k);
    builder_set(m, key, I(0));
    paged_blocks(g, whole, false, first, key);
    paged_blocks(g, g->blocks - whole, true, first, key);
    set(x, SREG_Q, builder_add(m, builder_mul(m, g->step, g->q_rows), I(g->o_buffer)));
    m->next_sreg = kept;
    core_end(&x->k);
    advance(x, g->step, 1);
    x->sreg_next = mark;
}

static void paged_loop(struct paged *g)
{
    struct making *x = g->x;
    struct builder *m = &x->m;
    const struct attention *p = x->p;
    int64_t rows = p->sequences * g->heads;
    int64_t granules = rows * g->q_blocks * g->q_rows * ROW_GRANULES;
    int64_t table = round_up(p->sequences * table_of_one(p) * 4, ARRAY_GRANULE_BYTES)
                    / ARRAY_GRANULE_BYTES;
    struct isa_operand flag = I(x->job->first_flag + 2), counter, inner, first;

    copy(x, OP_DMA_HBM_SMEM, I(p->table / ARRAY_GRANULE_BYTES),
         I(g->table_smem / ARRAY_GRANULE_BYTES), table, flag, ISA_PRED_ALWAYS);
    copy(x, OP_DMA_HBM_VMEM, I(p->q / ARRAY_GRANULE_BYTES), I(g->q_buffer * ROW_GRANULES), granules,
         I(flag.value + 1), ISA_PRED_ALWAYS);
    vcode_await(&x->code, flag, table, -1);
    fetch_step(g, I(0));
    vcode_await(&x->code, I(flag.value + 1), granules, -1);
    first = keep(x);
    counter = loop_begin(x, rows);
    builder_set(m, first, I(0));
    inner = loop_begin(x, g->q_blocks);
    paged_row(g, first);
    advance(x, first, p->block_q);
    builder_loop_end(m, inner);
    builder_loop_end(m, counter);
    copy(x, OP_DMA_VMEM_HBM, I(g->o_buffer * ROW_GRANULES), I(p->o / ARRAY_GRANULE_BYTES), granules,
         flag, ISA_PRED_ALWAYS);
    vcode_await(&x->code, flag, granules, -1);
}

static void take_buffers(struct paged *g)
{
    struct making *x = g->x;
    const struct attention *p = x->p;
    bool is_ragged = p->form == ATTENTION_RAGGED;
    int64_t tokens = p->block_kv;
    int64_t rows = is_ragged ? tokens * TOKEN_ROWS : tokens / PACKED_ROWS * TILE_SUBLANES;
    int64_t steps = p->sequences * g->heads * g->q_blocks;

    g->keys = take_rows(x, 2 * (is_ragged ? rows : 2 * rows)) * ROW_GRANULES;
    g->values = is_ragged ? g->keys : g->keys + rows * ROW_GRANULES;
    g->stride = (is_ragged ? rows : 2 * rows) * ROW_GRANULES;
    g->q_rows = (is_ragged ? p->heads_kv : 1) * step_rows(p) / PACKED_ROWS * TILE_SUBLANES;
    g->q_buffer = take_rows(x, steps * g->q_rows);
    g->o_buffer = take_rows(x, steps * g->q_rows);
}

static void set_paged_core(struct paged *g)
{
    struct making *x = g->x;
    const struct attention *p = x->p;
    bool is_ragged = p->form == ATTENTION_RAGGED, is_one = p->q_len == 1;

    x->k.is_causal = !is_one;
    x->k.token_rows = is_ragged ? TOKEN_ROWS : 0;
    x->k.key_head_rows = is_ragged ? 1 : 0;
    x->k.q_head_rows = step_rows(p) / PACKED_ROWS * TILE_SUBLANES;
    set_core(x, is_ragged ? p->heads_kv : 1, is_one ? 1 : group_of(p),
             is_one ? 1 : p->block_q / TILE_SUBLANES);
}

static int make_paged(struct making *x, struct err *e)
{
    const struct attention *p = x->p;
    struct paged g = {.x = x, .heads = p->form == ATTENTION_RAGGED ? 1 : p->heads_kv,
                      .blocks = div_up(p->kv_len, p->block_kv), .q_blocks = blocks_of_q(p)};
    struct isa_operand *counter[] = {&g.turn, &g.step, &g.sequence, &g.head, &g.block,
                                     &g.q_block, &g.left};

    take_buffers(&g);
    set_paged_core(&g);
    g.table_smem = round_up(x->job->smem, ARRAY_GRANULE_BYTES);
    if (g.table_smem + p->sequences * table_of_one(p) * 4 + ARRAY_GRANULE_BYTES
        > x->job->smem + x->job->smem_bytes)
        return err_set(e, "attention: a table of %lld pages does not fit %lld bytes of SMEM",
                       (long long)(p->sequences * table_of_one(p)),
                       (long long)x->job->smem_bytes);
    if (check_room(x, e))
        return -1;
    for (size_t i = 0; i < sizeof(counter) / sizeof(counter[0]); i++) {
        *counter[i] = keep(x);
        builder_set(&x->m, *counter[i], I(0));
    }
    builder_set(&x->m, g.left, I(p->sequences * g.heads * g.q_blocks * g.blocks));
    paged_loop(&g);
    return 0;
}

void attention_fill_table(const struct attention *p, int32_t *entry)
{
    int64_t pages = p->sequences * pages_of_one(p), k = 0;

    for (int64_t s = 0; s < p->sequences; s++)
        for (int64_t i = 0; i < table_of_one(p); i++)
            entry[s * table_of_one(p) + i] =
                (int32_t)(i < pages_of_one(p) ? k++ * PAGE_STEP % pages : 0);
}

int64_t attention_table_entries(const struct attention *p)
{
    return p->form == ATTENTION_FLASH ? 0 : p->sequences * table_of_one(p);
}

int attention_emit(const struct attention *p, const struct kernel_job *job, struct arena *a,
                   struct segment *out, struct err *e)
{
    struct making x = {.p = p, .job = job, .vmem_next = job->vmem_row};
    int status;

    memset(out, 0, sizeof(*out));
    vcode_init(&x.code, a);
    x.code.note = job->name;
    builder_init(&x.m, &x.code, job->chip);
    x.m.next_sreg = SREG_CORE;
    x.m.sreg_end = SREG_CORE_END;
    x.sreg_next = SREG_CORE_END;
    status = p->form == ATTENTION_FLASH ? make_flash(&x, e) : make_paged(&x, e);
    if (!status)
        status = finish(&x, a, out, e);
    vcode_fini(&x.code);
    return status;
}
