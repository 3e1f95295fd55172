/*
 * Emits the code of a double buffer: waits for the copies into one half, works on it and sends it
 * while the other fills.
 */
#include "stack/kernels/index/index_double_buffer.h"

#define PRED_OUT 9

/* Words of SMEM, for registers are few. */
enum buffer_word {
    BUFFER_FREE_AFTER,                  /* granules to have left the buffer at hand */
    BUFFER_FETCHED, BUFFER_OUT_TO, BUFFER_OUT_GRANULES, /* of the buffer before */
    BUFFER_WORDS
};

static struct isa_operand get(struct index_double_buffer *r, enum buffer_word k)
{
    return index_word_get(r->w, r->words + 4 * k);
}

static void set(struct index_double_buffer *r, enum buffer_word k, struct isa_operand value)
{
    index_word_set(r->w, r->words + 4 * k, value);
}

void index_double_buffer_begin(struct index_double_buffer *r, struct index_work *w,
                               int64_t buffer_granules)
{
    r->w = w;
    r->granule = w->vmem_next * INDEX_ROW_GRANULES;
    r->stride = buffer_granules;
    w->vmem_next += 2 * buffer_granules / INDEX_ROW_GRANULES;
    r->fetch_flag = w->flag_index + 1;
    r->out_flag = w->flag_index + 3;
    r->out_code = index_copy_code(SPACE_VMEM, w->result->space);
    r->parity = builder_reg(&w->m);
    builder_set(&w->m, r->parity, I(0));
    r->words = w->smem_next;
    w->smem_next += 4 * BUFFER_WORDS;
    for (int k = 0; k < BUFFER_WORDS; k++)
        set(r, (enum buffer_word)k, I(0));
}

struct isa_operand index_double_buffer_at_hand(struct index_double_buffer *r)
{
    return builder_add(&r->w->m, builder_mul(&r->w->m, r->parity, r->stride), I(r->granule));
}

void index_double_buffer_open(struct index_double_buffer *r)
{
    int kept = r->w->m.next_sreg;

    struct isa_operand third = get(r, BUFFER_FREE_AFTER);
    builder_await(&r->w->m, builder_add(&r->w->m, r->parity, I(r->out_flag)), third);
    r->w->m.next_sreg = kept;
}

/* the buffer before the one at hand: wait, work, send */
static void finish(struct index_double_buffer *r)
{
    struct index_work *w = r->w;
    struct builder *m = &w->m;
    int kept = m->next_sreg;
    struct isa_operand before = builder_reg(m), from, flag, granules, to;

    emit_sxor(&w->code, before.value, r->parity, I(1));
    struct isa_operand third = get(r, BUFFER_FETCHED);
    builder_await(&w->m, builder_add(m, before, I(r->fetch_flag)), third);
    if (r->work)
        r->work(w, before, r->user);
    from = builder_add(m, builder_mul(m, before, r->stride), I(r->granule));
    flag = builder_add(m, before, I(r->out_flag));
    granules = get(r, BUFFER_OUT_GRANULES);
    to = get(r, BUFFER_OUT_TO);
    emit_scmp_gt(&w->code, PRED_OUT, granules, I(0));
    vcode_put(&w->code, isa_if(PRED_OUT, isa_make_dma(r->out_code, from, granules, to, flag)));
    m->next_sreg = kept;
}

void index_double_buffer_close(struct index_double_buffer *r, int64_t fetched,
                               struct isa_operand out_to, int64_t out_granules)
{
    struct index_work *w = r->w;
    int kept = w->m.next_sreg;

    finish(r);
    set(r, BUFFER_FREE_AFTER, get(r, BUFFER_OUT_GRANULES));
    set(r, BUFFER_FETCHED, I(fetched));
    set(r, BUFFER_OUT_GRANULES, I(out_granules));
    set(r, BUFFER_OUT_TO, out_to);
    emit_sxor(&w->code, r->parity.value, r->parity, I(1));
    w->m.next_sreg = kept;
}

void index_send(struct index_double_buffer *r, int64_t fetched, int64_t out_smem,
                int64_t out_granules)
{
    struct index_work *w = r->w;
    int kept = w->m.next_sreg;
    struct isa_operand to;

    index_double_buffer_close(r, fetched, index_word_get(w, out_smem), out_granules);
    w->m.next_sreg = kept;
    to = index_word_get(w, out_smem);
    emit_sadd(&w->code, to.value, to, I(out_granules));
    index_word_set(w, out_smem, to);
    w->m.next_sreg = kept;
}

void index_double_buffer_end(struct index_double_buffer *r)
{
    struct builder *m = &r->w->m;
    int kept = m->next_sreg;
    struct isa_operand before = builder_reg(m);

    finish(r);
    struct isa_operand third_2 = get(r, BUFFER_FREE_AFTER);
    builder_await(&r->w->m, builder_add(m, r->parity, I(r->out_flag)), third_2);
    emit_sxor(&r->w->code, before.value, r->parity, I(1));
    struct isa_operand third = get(r, BUFFER_OUT_GRANULES);
    builder_await(&r->w->m, builder_add(m, before, I(r->out_flag)), third);
    m->next_sreg = kept;
}
