/*
 * Which operation of a block has to wait for which.
 *
 * Every edge goes forward in source order, so that the source order itself is
 * always a legal schedule and no set of edges can be circular.
 */
#include "stack/backend/backend.h"
#include "stack/backend/depend.h"

#include <assert.h>
#include <string.h>

#include "sim/chip/limits.h"

static void add_once(int *list, int *count, int number)
{
    for (int i = 0; i < *count; i++)
        if (list[i] == number)
            return;
    list[(*count)++] = number;
}

void depend_regs_read(const struct isa_op *op, struct depend_regs *r)
{
    const struct isa_info *info = isa_info(op->code);
    bool is_guarded = op->pred != ISA_PRED_ALWAYS, is_written;

    memset(r, 0, sizeof(*r));
    r->v_write = r->m_write = -1;
    for (int i = 0; i < op->operand_count; i++) {
        int number = op->operand[i].value;

        if (op->operand[i].kind != OPERAND_REG)
            continue;
        is_written = isa_role_is_written(info->role[i]);
        switch (isa_role_file(info->role[i])) {
        case STATE_V:
            if (is_written)
                r->v_write = number;
            else
                add_once(r->v_read, &r->v_read_count, number);
            break;
        case STATE_M:
            if (is_written)
                r->m_write = number;
            else
                add_once(r->m_read, &r->m_read_count, number);
            break;
        case STATE_P: *(is_written ? &r->p_write : &r->p_read) |= (uint16_t)(1u << number); break;
        default: *(is_written ? &r->s_write : &r->s_read) |= 1u << number; break;
        }
    }
    if (!is_guarded)
        return;
    r->p_read |= (uint16_t)(1u << op->pred);
    r->s_read |= r->s_write;
    r->p_read |= r->p_write;
    if (r->v_write >= 0)
        add_once(r->v_read, &r->v_read_count, r->v_write);
    if (r->m_write >= 0)
        add_once(r->m_read, &r->m_read_count, r->m_write);
}

void depend_add(struct depend *d, int from, int to, int delay)
{
    struct depend_edge *edge;

    if (from < 0)
        return;
    assert(from < to);
    d->edge = mem_grow(d->edge, &d->edge_capacity, d->edge_count + 1, sizeof(*d->edge));
    edge = &d->edge[d->edge_count];
    edge->to = to;
    edge->delay = delay;
    edge->next = d->first_edge[from];
    d->first_edge[from] = (int)d->edge_count++;
    d->pred_count[to]++;
}

/* One register of any file: who wrote it last, and who has read it since. */
struct reg_track {
    int writer;                         /* -1 = nobody in this block */
    int reader;                         /* last element of a list in reader_link, -1 = none */
};
struct reader_link {
    int op, next;
};
struct reg_state {
    struct depend *d;
    const struct code_block *b;
    const struct chip *chip;
    struct reg_track *v, *m, s[ISA_SREG_COUNT], p[ISA_PRED_ALWAYS + 1];
    struct reader_link *link;
    size_t link_count, link_capacity;
};

static int result_cycles(const struct reg_state *st, int i)
{
    return chip_latency_cycles(st->chip, isa_info(st->b->op[i].op.code)->latency_class);
}

static void note_read(struct reg_state *st, struct reg_track *r, int i)
{
    struct reader_link *link;

    if (r->writer >= 0)
        depend_add(st->d, r->writer, i, result_cycles(st, r->writer));
    st->link = mem_grow(st->link, &st->link_capacity, st->link_count + 1, sizeof(*st->link));
    link = &st->link[st->link_count];
    link->op = i;
    link->next = r->reader;
    r->reader = (int)st->link_count++;
}

/* readers may share the writer's bundle (reads come first), an earlier writer may not */
static void note_write(struct reg_state *st, struct reg_track *r, int i)
{
    depend_add(st->d, r->writer, i, 1);
    for (int k = r->reader; k >= 0; k = st->link[k].next)
        if (st->link[k].op != i)
            depend_add(st->d, st->link[k].op, i, 0);
    r->writer = i;
    r->reader = -1;
}

static void track_registers(struct reg_state *st, int i)
{
    const struct depend_regs *r = &st->b->regs[i];

    for (int k = 0; k < r->v_read_count; k++)
        note_read(st, &st->v[r->v_read[k]], i);
    for (int k = 0; k < r->m_read_count; k++)
        note_read(st, &st->m[r->m_read[k]], i);
    for (int k = 0; k < ISA_SREG_COUNT; k++)
        if (r->s_read >> k & 1)
            note_read(st, &st->s[k], i);
    for (int k = 0; k <= ISA_PRED_ALWAYS; k++)
        if (r->p_read >> k & 1)
            note_read(st, &st->p[k], i);
    if (r->v_write >= 0)
        note_write(st, &st->v[r->v_write], i);
    if (r->m_write >= 0)
        note_write(st, &st->m[r->m_write], i);
    for (int k = 0; k < ISA_SREG_COUNT; k++)
        if (r->s_write >> k & 1)
            note_write(st, &st->s[k], i);
    for (int k = 0; k <= ISA_PRED_ALWAYS; k++)
        if (r->p_write >> k & 1)
            note_write(st, &st->p[k], i);
}

static void init_tracks(struct reg_track *r, int count)
{
    for (int i = 0; i < count; i++)
        r[i].writer = r[i].reader = -1;
}

void depend_registers(struct depend *d, const struct code_block *b, const struct chip *chip)
{
    struct reg_state st = {.d = d, .b = b, .chip = chip};

    st.v = arena_array(b->arena, (size_t)b->v_count, sizeof(*st.v));
    st.m = arena_array(b->arena, (size_t)b->m_count, sizeof(*st.m));
    init_tracks(st.v, b->v_count);
    init_tracks(st.m, b->m_count);
    init_tracks(st.s, ISA_SREG_COUNT);
    init_tracks(st.p, ISA_PRED_ALWAYS + 1);
    for (int i = 0; i < b->op_count; i++)
        track_registers(&st, i);
    mem_free(st.link);
}

static void compute_heights(struct depend *d, const struct code_block *b)
{
    for (int i = b->op_count - 1; i >= 0; i--) {
        int height = 0;

        if (b->branch_tail_cycles && b->regs[i].p_write && i == b->op_count - 1)
            height = b->branch_tail_cycles;
        for (int k = d->first_edge[i]; k >= 0; k = d->edge[k].next) {
            int through = d->edge[k].delay + d->height[d->edge[k].to];

            if (through > height)
                height = through;
        }
        d->height[i] = height;
    }
}

void depend_init(struct depend *d, const struct code_block *b)
{
    size_t count = (size_t)b->op_count;

    memset(d, 0, sizeof(*d));
    d->first_edge = arena_array(b->arena, count, sizeof(int));
    d->pred_count = arena_array(b->arena, count, sizeof(int));
    d->height = arena_array(b->arena, count, sizeof(int));
    for (size_t i = 0; i < count; i++)
        d->first_edge[i] = -1;
}

int depend_build(struct depend *d, const struct code_block *b, const struct chip *chip,
                 struct err *e)
{
    depend_init(d, b);
    depend_registers(d, b, chip);
    depend_memory(d, b, chip);
    if (depend_fifos(d, b, chip, NULL, 0, e)) {
        depend_fini(d);
        return -1;
    }
    compute_heights(d, b);
    return 0;
}

void depend_fini(struct depend *d)
{
    mem_free(d->edge);
    memset(d, 0, sizeof(*d));
}
