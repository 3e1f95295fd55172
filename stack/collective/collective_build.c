/* Writes a plan's template, operation by operation. */
#include "stack/collective/collective_impl.h"

#include <assert.h>
#include <string.h>

#include "base/units.h"

void plan_build_begin(struct plan_builder *b, struct collective_plan *p, struct arena *a)
{
    memset(b, 0, sizeof(*b));
    b->plan = p;
    b->arena = a;
}

void plan_build_segment(struct plan_builder *b, int number)
{
    assert(number == b->segment_count + 1 && number < PLAN_SEGMENTS);
    for (int i = 0; i < b->flag_count; i++)
        assert(b->pending[i] == 0 || b->is_full);
    b->segment[b->segment_count].count = b->op_count - b->segment[b->segment_count].first;
    b->segment[++b->segment_count].first = b->op_count;
}

int plan_build_end(struct plan_builder *b, struct err *e)
{
    struct collective_plan *p = b->plan;

    plan_build_segment(b, b->segment_count + 1);
    p->op_count = b->op_count;
    p->segment_count = b->segment_count;
    p->segment = arena_copy(b->arena, b->segment, (size_t)b->segment_count, sizeof(*p->segment));
    p->shape_count = b->shape_count;
    p->op = arena_take(b->arena, b->op, (size_t)b->op_count, sizeof(*b->op));
    p->shape = arena_take(b->arena, b->shape, (size_t)b->shape_count, sizeof(*b->shape));
    p->flag_count = b->flag_count;
    p->vmem_bytes = b->vmem_bytes;
    mem_free(b->pending);
    if (b->is_full)
        return err_set(e, "a core would have more than %d operations; take larger chunks",
                       PLAN_OPS_MAX);
    return 0;
}

void plan_build_set_root(struct collective_plan *p)
{
    for (int i = 0; i < PLAN_DIMS; i++)
        p->root_coordinate[i] = p->request.root / p->dim[i].rank_stride % p->dim[i].count;
}

int plan_build_flags(struct plan_builder *b, int count)
{
    int first = b->flag_count;

    b->flag_count += count;
    b->pending = mem_grow(b->pending, &b->pending_capacity, (size_t)b->flag_count,
                          sizeof(*b->pending));
    return first;
}

int64_t plan_build_vmem(struct plan_builder *b, int64_t bytes)
{
    int64_t first = b->vmem_bytes;

    b->vmem_bytes += div_up(bytes, PLAN_ROW_BYTES) * PLAN_ROW_BYTES;
    return first;
}

int64_t plan_shape_bytes(const struct plan_shape *s)
{
    int64_t bytes = s->run_bytes;

    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        bytes *= s->level[i].count;
    return bytes;
}

struct plan_shape plan_shape_of_run(int64_t bytes)
{
    struct plan_shape s = {.run_bytes = bytes};

    for (int i = 0; i < COLLECTIVE_LEVELS; i++)
        s.level[i].count = 1;
    return s;
}

/* Templates repeat a few shapes, the last ones most often. */
static int find_shape(struct plan_builder *b, const struct plan_shape *s)
{
    for (int i = b->shape_count - 1; i >= 0 && i >= b->shape_count - 64; i--)
        if (memcmp(&b->shape[i], s, sizeof(*s)) == 0)
            return i;
    b->shape = mem_grow(b->shape, &b->shape_capacity, (size_t)b->shape_count + 1, sizeof(*s));
    b->shape[b->shape_count] = *s;
    return b->shape_count++;
}

static struct plan_op *put(struct plan_builder *b, int kind)
{
    struct plan_op *o;

    if (b->op_count == PLAN_OPS_MAX) {
        b->is_full = true;
        b->op_count = 0;                /* the template is of no use any more */
    }
    o = &MEM_ADD(b->op, b->op_count, b->op_capacity);
    memset(o, 0, sizeof(*o));
    o->kind = (uint8_t)kind;
    return o;
}

static struct plan_op *put_move(struct plan_builder *b, int kind, const struct plan_where *from,
                                const struct plan_where *to, const struct plan_shape *s)
{
    struct plan_op *o = put(b, kind);

    o->from_space = from->space;
    o->from_layout = from->layout;
    o->from_fixed = from->fixed;
    o->from_shift = from->shift;
    o->from = from->offset;
    o->to_space = to->space;
    o->to_layout = to->layout;
    o->to_fixed = to->fixed;
    o->to_shift = to->shift;
    o->to = to->offset;
    o->shape = find_shape(b, s);
    return o;
}

/* Before a copy: what the flag has to count stays within its 32 bits. */
static void expect(struct plan_builder *b, int flag, const struct plan_shape *s)
{
    int64_t granules = plan_shape_bytes(s) / PLAN_GRANULE_BYTES;

    if (b->pending[flag] + granules > INT32_MAX)
        plan_build_wait_pending(b, flag);
    b->pending[flag] += granules;
}

void plan_build_copy(struct plan_builder *b, const struct plan_where *from,
                     const struct plan_where *to, const struct plan_shape *s, int flag)
{
    expect(b, flag, s);
    put_move(b, COLLECTIVE_COPY, from, to, s)->flag = flag;
}

void plan_build_send(struct plan_builder *b, const struct plan_where *from,
                     const struct plan_where *to, const struct plan_shape *s, int peer_shift,
                     int flag, int source_flag)
{
    struct plan_op *o;

    expect(b, source_flag, s);
    o = put_move(b, COLLECTIVE_SEND, from, to, s);
    o->peer_shift = peer_shift;
    o->flag = flag;
    o->source_flag = source_flag;
}

void plan_build_wait(struct plan_builder *b, int flag, int64_t value)
{
    struct plan_op *o = put(b, COLLECTIVE_WAIT);

    assert(value > 0 && value <= INT32_MAX);
    o->flag = flag;
    o->value = (int32_t)value;
}

void plan_build_wait_pending(struct plan_builder *b, int flag)
{
    if (b->pending[flag] > 0)
        plan_build_wait(b, flag, b->pending[flag]);
    b->pending[flag] = 0;
}

void plan_build_add(struct plan_builder *b, const struct plan_where *from,
                    const struct plan_where *to, int64_t bytes)
{
    struct plan_shape s = plan_shape_of_run(bytes);

    put_move(b, COLLECTIVE_ADD, from, to, &s);
}

void plan_build_signal(struct plan_builder *b, int peer_shift, int flag, int value)
{
    struct plan_op *o = put(b, COLLECTIVE_SIGNAL);

    o->peer_shift = peer_shift;
    o->flag = flag;
    o->value = value;
}
