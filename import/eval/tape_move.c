/*
 * Moves of elements to places known beforehand: slices, transposes, concatenations and the like, as
 * runs of elements. Which element goes where is asked of the operation's own handler, which moves
 * numbers in place of the elements.
 */
#include "import/eval/handlers.h"
#include "import/eval/tape_impl.h"

#include <string.h>

enum { RESULT_MAX = 4096, OPERANDS_MAX = 65536, EACH_BELOW = 3 };

/* elements from + 0, step, 2 step .. of an operand become to, to + 1, .. */
struct tape_move_run {
    int32_t operand, from, step, to, count;
};

static bool moves(enum hlo_opcode op)
{
    switch (op) {
    case OPCODE_BROADCAST: case OPCODE_TRANSPOSE: case OPCODE_REVERSE: case OPCODE_CONCATENATE:
    case OPCODE_SLICE: case OPCODE_PAD:
        return true;
    default:
        return false;
    }
}

/* an operand's elements as numbers, from `first` on */
static void number(const struct tape_register *r, int32_t first, struct value *v)
{
    int32_t *to = mem_alloc((size_t)r->count * sizeof(*to) + 1);

    for (int64_t i = 0; i < r->count; i++)
        to[i] = first + (int32_t)i;
    *v = r->v;
    v->element = ELEMENT_S32;
    v->data = to;
}

/* which number has come to which place; false where the handler has failed */
static bool ask(struct eval *ev, const struct tape_step *s, struct value **operand, int32_t *place)
{
    struct value result = s->to[0]->v;
    struct call c = {.f = s->frame, .ev = ev, .i = &s->frame->c->instruction[s->index],
                     .index = s->index, .operand = operand,
                     .place = &result};
    bool is_fine;

    result.element = ELEMENT_S32;
    result.data = place;
    is_fine = !s->handler(&c);
    if (is_fine && c.result->is_splat)
        stride_fill(place, c.result->data, sizeof(*place), s->to[0]->count);
    else if (is_fine && c.result->data != place)
        memcpy(place, c.result->data, (size_t)s->to[0]->count * sizeof(*place));
    value_drop(&ev->pool, c.result);
    return is_fine;
}

/* as many elements as follow the one at `at` in steps of the same size, within its operand */
static struct tape_move_run run_at(const struct tape_step *s, const int32_t *place, int32_t at)
{
    int32_t x = place[at], first = 0, k = 0, n = (int32_t)s->to[0]->count;
    struct tape_move_run r = {.to = at, .count = 1};

    for (; x >= first + s->from[k]->count; k++)
        first += (int32_t)s->from[k]->count;
    r.operand = k;
    r.from = x - first;
    r.step = at + 1 < n ? place[at + 1] - x : 0;
    while (at + r.count < n && place[at + r.count] == x + r.count * r.step &&
           place[at + r.count] >= first && place[at + r.count] < first + s->from[k]->count)
        r.count++;
    return r;
}

static struct tape_move *runs_of(struct tape *t, const struct tape_step *s, int32_t *place)
{
    struct tape_move *m = arena_alloc(&t->arena, sizeof(*m));
    int32_t n = (int32_t)s->to[0]->count;
    size_t capacity = 0;

    for (int32_t at = 0; at < n; at += m->run[m->run_count - 1].count) {
        struct tape_move_run r = run_at(s, place, at);

        MEM_ADD(m->run, m->run_count, capacity) = r;
    }
    m->run = arena_take(&t->arena, m->run, (size_t)m->run_count, sizeof(*m->run));
    if (s->from_count == 1 && m->run_count > 1 && n < m->run_count * EACH_BELOW)
        m->each = arena_copy(&t->arena, place, (size_t)n, sizeof(*place));
    return m;
}

/* the operation's runs; NULL where its handler has failed */
static struct tape_move *find_runs(struct eval *ev, struct tape *t, const struct tape_step *s)
{
    struct value *numbers = mem_alloc((size_t)s->from_count * sizeof(*numbers));
    struct value **operand = mem_alloc((size_t)s->from_count * sizeof(*operand));
    int32_t *place = mem_alloc((size_t)s->to[0]->count * sizeof(*place) + 1), first = 0;
    struct tape_move *m = NULL;

    for (int k = 0; k < s->from_count; k++) {
        number(s->from[k], first, &numbers[k]);
        operand[k] = &numbers[k];
        first += (int32_t)s->from[k]->count;
    }
    if (ask(ev, s, operand, place))
        m = runs_of(t, s, place);
    for (int k = 0; k < s->from_count; k++)
        mem_free(numbers[k].data);
    mem_free(numbers);
    mem_free(operand);
    mem_free(place);
    return m;
}

struct element16 { uint64_t half[2]; };

#define COPY(name, T) \
    static void name(const struct tape_step *s) \
    { \
        const struct tape_move *m = s->move; \
        T *to = s->to[0]->v.data; \
        const T *from = s->from[0]->v.data; \
        if (m->each) { \
            for (int64_t i = 0; i < s->to[0]->count; i++) \
                to[i] = from[m->each[i]]; \
            return; \
        } \
        for (int k = 0; k < m->run_count; k++) { \
            const struct tape_move_run *r = &m->run[k]; \
            const T *x = (const T *)s->from[r->operand]->v.data + r->from; \
            T *z = to + r->to; \
            for (int32_t i = 0; i < r->count; i++) \
                z[i] = x[i * r->step]; \
        } \
    }

COPY(copy1, uint8_t)
COPY(copy2, uint16_t)
COPY(copy4, uint32_t)
COPY(copy8, uint64_t)
COPY(copy16, struct element16)

static void make_view(struct tape *t, struct tape_step *s, const struct tape_move_run *r)
{
    s->from = arena_copy(&t->arena, &s->from[r->operand], 1, sizeof(*s->from));
    s->from_count = 1;
    s->kind = TAPE_VIEW;
    s->offset = (size_t)r->from * value_element_bytes(&s->to[0]->v);
}

bool tape_move_make(struct eval *ev, struct tape *t, struct tape_step *s)
{
    size_t bytes = value_element_bytes(&s->to[0]->v);
    struct tape_move *m;
    int64_t all = 0;

    for (int k = 0; k < s->from_count; k++)
        all += s->from[k]->count;
    if (!moves(s->frame->c->instruction[s->index].op) || all > OPERANDS_MAX ||
        s->to[0]->count > RESULT_MAX || !(m = find_runs(ev, t, s)))
        return false;
    m->copy = bytes == 1 ? copy1 : bytes == 2 ? copy2 : bytes == 4 ? copy4 : bytes == 8 ? copy8
                                                                           : copy16;
    if (m->run_count == 1 && (m->run->step == 1 || m->run->count == 1)) {
        make_view(t, s, m->run);
        return true;
    }
    s->kind = TAPE_MOVE;
    s->move = m;
    return true;
}
