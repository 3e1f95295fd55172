/* Which queues a program and its host have between them, and how often each is used in a run. */
#include "import/structure/structure_queue.h"

#include "import/program/order.h"
#include "import/structure/structure.h"

#define USES_MAX INT32_MAX

const char *structure_queue_name(enum structure_queue_kind kind)
{
    static const char *const names[] = {"infeed", "receive", "outfeed", "send", "none"};

    return names[kind];
}

/* the queue that it uses, with kind, channel and type only */
static struct structure_queue used_by(const struct hlo_computation *c,
                                      const struct hlo_instruction *i)
{
    bool is_host = hlo_detail(i)->groups && hlo_detail(i)->groups->is_host_transfer;
    struct structure_queue q = {.kind = QUEUE_NONE, .type.element = ELEMENT_TOKEN, .at = i};

    if ((i->op == OPCODE_INFEED || i->op == OPCODE_RECV) && i->type->part_count >= 2)
        q.type = i->type->part[0];
    else if (i->op == OPCODE_OUTFEED || i->op == OPCODE_SEND)
        q.type = *c->instruction[i->operand[0]].type;
    if (q.type.element == ELEMENT_TOKEN)
        return q;
    switch (i->op) {
    case OPCODE_INFEED: q.kind = QUEUE_INFEED; break;
    case OPCODE_OUTFEED: q.kind = QUEUE_OUTFEED; break;
    case OPCODE_RECV: q.kind = is_host ? QUEUE_RECEIVE : QUEUE_NONE; break;
    case OPCODE_SEND: q.kind = is_host ? QUEUE_SEND : QUEUE_NONE; break;
    default: break;
    }
    q.goes_in = q.kind == QUEUE_INFEED || q.kind == QUEUE_RECEIVE;
    q.channel =
        q.kind == QUEUE_RECEIVE || q.kind == QUEUE_SEND ? hlo_detail(i)->groups->channel_id : 0;
    return q;
}

static int find(const struct structure_queues *q, const struct structure_queue *wanted)
{
    for (int k = 0; k < q->count; k++) {
        const struct structure_queue *item = &q->item[k];

        if (item->kind == wanted->kind && item->channel == wanted->channel &&
            hlo_type_equal(&item->type, &wanted->type))
            return k;
    }
    return -1;
}

int structure_queue_of(const struct structure_queues *q, const struct hlo_computation *c,
                       const struct hlo_instruction *i)
{
    struct structure_queue used = used_by(c, i);

    return used.kind == QUEUE_NONE ? -1 : find(q, &used);
}

struct finding {
    const struct hlo_module *m;
    struct structure_queues *q;
    size_t capacity;
    int64_t *runs;                      /* of each computation in a run of the entry; -1: not known */
};

/* -1 stays what is not known */
static int64_t product(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return 0;
    if (a < 0 || b < 0)
        return -1;
    return b > USES_MAX / a ? USES_MAX : a * b;
}

static int64_t sum(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return -1;
    return b > USES_MAX - a ? USES_MAX : a + b;
}

static void note(struct finding *f, struct structure_queue used, int64_t runs)
{
    struct structure_queues *q = f->q;
    int k = find(q, &used);

    if (k < 0) {
        int *leaves = used.goes_in ? &q->leaves_in : &q->leaves_out;

        used.leaves = hlo_type_leaves(&used.type);
        used.first = *leaves;
        *leaves += used.leaves;
        k = q->count;
        MEM_ADD(q->item, q->count, f->capacity) = used;
    }
    q->item[k].uses = sum(q->item[k].uses, runs);
}

/* A branch that is not taken uses nothing: what is counted of conditionals is a bound. */
static void look(struct finding *f, int computation)
{
    const struct hlo_computation *c = &f->m->computation[computation];
    int64_t runs = f->runs[computation];

    for (int k = 0; k < c->count && runs != 0; k++) {
        const struct hlo_instruction *i = &c->instruction[k];
        struct structure_queue used = used_by(c, i);
        int64_t inside = runs;

        if (used.kind != QUEUE_NONE)
            note(f, used, runs);
        if (i->op == OPCODE_WHILE)
            inside = product(runs, structure_find_trips(f->m, computation, i));
        for (int n = 0; n < hlo_detail(i)->computation_count; n++)
            f->runs[hlo_detail(i)->computation[n]] =
                sum(f->runs[hlo_detail(i)->computation[n]], inside);
    }
}

static bool has_queue(const struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int k = 0; k < m->computation[c].count; k++)
            if (used_by(&m->computation[c], &m->computation[c].instruction[k]).kind != QUEUE_NONE)
                return true;
    return false;
}

void structure_find_queues(const struct hlo_module *m, struct arena *a, struct structure_queues *q)
{
    struct finding f = {.m = m, .q = q};
    int *order;

    *q = (struct structure_queues){0};
    if (m->entry < 0 || !has_queue(m))
        return;
    order = mem_alloc((size_t)m->computation_count * sizeof(*order));
    f.runs = mem_alloc((size_t)m->computation_count * sizeof(*f.runs));
    f.runs[m->entry] = 1;
    if (hlo_call_order(m, order) == 0)
        for (int k = m->computation_count; k-- > 0;)
            look(&f, order[k]);         /* callers before those that they call */
    q->item = arena_take(a, q->item, (size_t)q->count, sizeof(*q->item));
    mem_free(order);
    mem_free(f.runs);
}

int64_t structure_queue_capacity(const struct structure_queue *q, int64_t otherwise)
{
    int64_t wanted = q->uses >= 0 ? q->uses : otherwise;

    return wanted > 0 ? wanted : 1;
}
