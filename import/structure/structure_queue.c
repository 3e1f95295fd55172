/*
 * Queues between a program and its host as arrays of the entry, with counters (structure_queue.h).
 *
 * Each computation that uses a queue, or calls one that does, has slots: values that it carries, for
 * each queue its counter, then its arrays. In the entry they begin as parameters and zeros; a loop's
 * body, its condition and branches get them behind what they had as parameter, bodies and branches
 * give them behind what they had as result.
 */
#include "import/structure/structure_queue.h"

#include "import/structure/structure_impl.h"

#include <string.h>

struct user {                           /* a computation that slots go through */
    bool has_slots, is_closed;
    bool is_condition;                  /* of a loop: it has slots, but does not give them back */
    int *slot;                          /* their values now; NULL: not begun */
    int parameter;                      /* what stands for parameter 0 as it was */
};

struct queuing {
    struct hlo_rewrite rewrite;         /* first */
    const struct structure_queues *q;
    int64_t otherwise;
    struct arena *arena;
    int entry, slots;
    int *first;                         /* by queue: its counter's slot */
    struct hlo_type *type;              /* of the slots */
    bool *is_kept;                      /* those that the entry gives back */
    struct user *user;                  /* by computation */
};

/* ----- slots */

static void name_slots(struct queuing *w)
{
    const struct structure_queues *q = w->q;

    w->first = arena_array(w->arena, (size_t)q->count + 1, sizeof(*w->first));
    w->type = arena_array(w->arena, (size_t)(q->count + q->leaves_in + q->leaves_out) + 1,
                          sizeof(*w->type));
    w->is_kept = arena_array(w->arena, (size_t)(q->count + q->leaves_in + q->leaves_out) + 1,
                             sizeof(*w->is_kept));
    for (int k = 0; k < q->count; k++) {
        w->first[k] = w->slots;
        w->is_kept[w->slots] = true;
        w->type[w->slots++] = hlo_scalar_type(ELEMENT_S32);
        for (int n = 0; n < q->item[k].leaves; n++) {
            const struct hlo_type *leaf = hlo_type_leaf(&q->item[k].type, n);
            int64_t *dim = arena_array(w->arena, (size_t)leaf->rank + 1, sizeof(*dim));

            dim[0] = structure_queue_capacity(&q->item[k], w->otherwise);
            for (int d = 0; d < leaf->rank; d++)
                dim[1 + d] = leaf->dim[d];
            w->is_kept[w->slots] = !q->item[k].goes_in;
            w->type[w->slots++] = hlo_array_type(w->arena, leaf->element, leaf->rank + 1, dim);
        }
    }
}

static int parameter_named(struct hlo_builder *b, int64_t number, const struct hlo_type *t,
                           const char *name)
{
    const struct hlo_instruction i = {.op = OPCODE_PARAMETER, .type = t, .index = number,
                                      .label = hlo_label(name)};

    return hlo_add(b->module, b->computation, &i);
}

static void begin_entry(struct queuing *w, struct hlo_builder *b, struct user *u)
{
    int number = w->rewrite.old->computation[w->entry].parameter_count;

    for (int k = 0; k < w->q->count; k++) {
        const struct structure_queue *q = &w->q->item[k];
        const struct hlo_type *t = &w->type[w->first[k]];

        u->slot[w->first[k]] = hlo_constant_int(b, t, 0);
        for (int n = 0; n < q->leaves; n++) {
            int slot = w->first[k] + 1 + n;

            if (q->goes_in) {
                u->slot[slot] = parameter_named(
                    b, number++, &w->type[slot],
                    arena_printf(w->arena, "%s_%d", structure_queue_name(q->kind), q->first + n));
            } else {
                struct hlo_type zero = hlo_scalar_type(w->type[slot].element);

                u->slot[slot] = hlo_splat(b, hlo_constant(b, &zero, 0), &w->type[slot]);
            }
        }
    }
}

static struct hlo_type with_slots(const struct queuing *w, const struct hlo_type *t)
{
    int own = hlo_type_is_tuple(t) ? t->part_count : 1;
    struct hlo_type *part = arena_array(w->arena, (size_t)(own + w->slots), sizeof(*part));

    memcpy(part, hlo_type_is_tuple(t) ? t->part : t, (size_t)own * sizeof(*part));
    memcpy(part + own, w->type, (size_t)w->slots * sizeof(*part));
    return hlo_tuple_type(w->arena, own + w->slots, part);
}

/* of a tuple with slots what it was without them; slot[] are its slots */
static int take_apart(struct queuing *w, struct hlo_builder *b, int tuple,
                      const struct hlo_type *was, int *slot)
{
    int own = hlo_type_is_tuple(was) ? was->part_count : 1, result;
    int *part = mem_alloc((size_t)own * sizeof(*part) + sizeof(*part));

    for (int k = 0; k < own; k++)
        part[k] = hlo_tuple_element(b, tuple, k);
    result = hlo_type_is_tuple(was) ? hlo_tuple(b, own, part) : part[0];
    for (int k = 0; k < w->slots; k++)
        slot[k] = hlo_tuple_element(b, tuple, own + k);
    mem_free(part);
    return result;
}

/* a tuple of what `value` is, part by part, and the slots as they are now, or those of `only` */
static int put_together(struct queuing *w, struct hlo_builder *b, int value, const bool *only)
{
    struct hlo_type t = *hlo_type_of(b, value);
    int own = hlo_type_is_tuple(&t) ? t.part_count : 1, tuple, count = own;
    int *part = mem_alloc((size_t)(own + w->slots) * sizeof(*part));

    part[0] = value;
    for (int k = 0; hlo_type_is_tuple(&t) && k < own; k++)
        part[k] = structure_element(b, value, k);
    for (int s = 0; s < w->slots; s++)
        if (!only || only[s])
            part[count++] = w->user[b->computation].slot[s];
    tuple = hlo_tuple(b, count, part);
    mem_free(part);
    return tuple;
}

static struct user *begin(struct queuing *w, struct hlo_builder *b)
{
    struct user *u = &w->user[b->computation];
    const struct hlo_computation *old = &w->rewrite.old->computation[b->computation];

    if (u->slot)
        return u;
    u->slot = arena_array(w->arena, (size_t)w->slots + 1, sizeof(*u->slot));
    if (b->computation == w->entry) {
        begin_entry(w, b, u);
    } else {
        const struct hlo_instruction *was = &old->instruction[old->parameter[0]];
        struct hlo_type t = with_slots(w, was->type);

        u->parameter =
            take_apart(w, b, parameter_named(b, 0, &t, hlo_name_in(b->module->arena, was)),
                       was->type, u->slot);
    }
    return u;
}

static void close_user(struct queuing *w, struct hlo_module *m, int computation)
{
    struct hlo_builder b = {.module = m, .computation = computation};
    struct hlo_computation *c = &m->computation[computation];
    struct user *u = &w->user[computation];
    int root = c->root;

    if (u->is_closed)
        return;
    u->is_closed = true;
    begin(w, &b);
    if (!u->is_condition)
        root = put_together(w, &b, root, computation == w->entry ? w->is_kept : NULL);
    m->computation[computation].root = root;
}

/* ----- operations */

/* entry number `counter` of an array of them */
static int take(struct hlo_builder *b, int array, int counter)
{
    struct hlo_type t = *hlo_type_of(b, array), word = hlo_scalar_type(ELEMENT_S32);
    int *start = mem_alloc((size_t)t.rank * sizeof(*start)), entry;
    int64_t *sizes = mem_alloc((size_t)t.rank * sizeof(*sizes));

    for (int d = 0; d < t.rank; d++) {
        start[d] = d ? start[1] : counter;
        if (d == 1)
            start[1] = hlo_constant_int(b, &word, 0);
        sizes[d] = d ? t.dim[d] : 1;
    }
    entry = hlo_reshape(b, hlo_dynamic_slice(b, array, start, sizes), t.rank - 1, t.dim + 1);
    mem_free(start);
    mem_free(sizes);
    return entry;
}

static int put(struct hlo_builder *b, int array, int counter, int entry)
{
    struct hlo_type t = *hlo_type_of(b, array), word = hlo_scalar_type(ELEMENT_S32);
    int *start = mem_alloc((size_t)t.rank * sizeof(*start)), made;
    int64_t *dim = mem_alloc((size_t)t.rank * sizeof(*dim));

    dim[0] = 1;
    start[0] = counter;
    for (int d = 1; d < t.rank; d++) {
        start[d] = d > 1 ? start[1] : hlo_constant_int(b, &word, 0);
        dim[d] = t.dim[d];
    }
    made = hlo_dynamic_update_slice(b, array, hlo_reshape(b, entry, t.rank, dim), start);
    mem_free(start);
    mem_free(dim);
    return made;
}

/* an entry of the queue, a tuple where it is one; leaf[] its arrays from the left */
static int entry_of(struct hlo_builder *b, const struct hlo_type *t, const int **leaf)
{
    int *part, tuple;

    if (!hlo_type_is_tuple(t))
        return *(*leaf)++;
    part = mem_alloc((size_t)t->part_count * sizeof(*part) + sizeof(*part));
    for (int k = 0; k < t->part_count; k++)
        part[k] = entry_of(b, &t->part[k], leaf);
    tuple = hlo_tuple(b, t->part_count, part);
    mem_free(part);
    return tuple;
}

static void leaves_of(struct hlo_builder *b, int value, int **leaf)
{
    struct hlo_type t = *hlo_type_of(b, value);

    if (!hlo_type_is_tuple(&t)) {
        *(*leaf)++ = value;
        return;
    }
    for (int k = 0; k < t.part_count; k++)
        leaves_of(b, structure_element(b, value, k), leaf);
}

static void count_one(struct hlo_builder *b, int *counter)
{
    struct hlo_type word = hlo_scalar_type(ELEMENT_S32);

    *counter = hlo_binary(b, OPCODE_ADD, *counter, hlo_constant_int(b, &word, 1));
}

/* (entry, token) of an infeed, (entry, context, token) of a receive */
static int take_in(struct queuing *w, struct hlo_builder *b, int queue,
                   const struct hlo_instruction *from, const int *operand)
{
    const struct structure_queue *q = &w->q->item[queue];
    int *slot = &begin(w, b)->slot[w->first[queue]];
    int *leaf = mem_alloc((size_t)(q->leaves + 1) * sizeof(*leaf));
    struct hlo_type word = hlo_scalar_type(ELEMENT_U32);
    const int *next = leaf;
    int part[3];

    for (int n = 0; n < q->leaves; n++)
        leaf[n] = take(b, slot[1 + n], slot[0]);
    count_one(b, &slot[0]);
    part[0] = entry_of(b, &q->type, &next);
    part[1] = part[2] = operand[0];
    if (from->op == OPCODE_RECV)
        part[1] = hlo_constant_int(b, &word, 0);
    mem_free(leaf);
    return hlo_tuple(b, from->op == OPCODE_RECV ? 3 : 2, part);
}

/* the token of an outfeed, (entry, context, token) of a send */
static int give_out(struct queuing *w, struct hlo_builder *b, int queue,
                    const struct hlo_instruction *from, const int *operand)
{
    const struct structure_queue *q = &w->q->item[queue];
    int *slot = &begin(w, b)->slot[w->first[queue]];
    int *leaf = mem_alloc((size_t)(q->leaves + 1) * sizeof(*leaf)), *next = leaf;
    struct hlo_type word = hlo_scalar_type(ELEMENT_U32);

    leaves_of(b, operand[0], &next);
    for (int n = 0; n < q->leaves; n++)
        slot[1 + n] = put(b, slot[1 + n], slot[0], leaf[n]);
    count_one(b, &slot[0]);
    mem_free(leaf);
    if (from->op == OPCODE_OUTFEED)
        return operand[1];
    return hlo_tuple(b, 3, (int[]){operand[0], hlo_constant_int(b, &word, 0), operand[1]});
}

/* the end of a receive is (entry, token), that of a send the token */
static int finish(struct hlo_builder *b, const struct hlo_instruction *from, int started)
{
    int token = structure_element(b, started, 2);

    if (from->op == OPCODE_SEND_DONE)
        return token;
    return hlo_tuple(b, 2, (int[]){structure_element(b, started, 0), token});
}

static bool is_host_end(const struct queuing *w, const struct hlo_builder *b,
                        const struct hlo_instruction *from)
{
    const struct hlo_computation *c = &w->rewrite.old->computation[b->computation];

    return (from->op == OPCODE_SEND_DONE || from->op == OPCODE_RECV_DONE) &&
           structure_queue_of(w->q, c, &c->instruction[from->operand[0]]) >= 0;
}

/* ----- what calls those that use queues */

static bool calls_user(const struct queuing *w, const struct hlo_instruction *i)
{
    for (int k = 0; k < hlo_detail(i)->computation_count; k++)
        if (w->user[hlo_detail(i)->computation[k]].has_slots)
            return true;
    return false;
}

static int carry(struct queuing *w, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct hlo_instruction i = *from;
    int *with = mem_alloc((size_t)from->operand_count * sizeof(*with)), made;
    struct user *u = begin(w, b);

    for (int k = 0; k < hlo_detail(from)->computation_count; k++)
        close_user(w, b->module, hlo_detail(from)->computation[k]);
    for (int k = 0; k < from->operand_count; k++)
        with[k] = from->op == OPCODE_CONDITIONAL && k == 0 ? operand[k]
                                                           : put_together(w, b, operand[k], NULL);
    i.type = HLO_TYPE(with_slots(w, from->type));
    /* its sharding spoke of the tuple as it was */
    hlo_own_detail(b->module->arena, &i)->sharding_count = 0;
    made = take_apart(w, b, hlo_copy_instruction(b, &i, with), from->type, u->slot);
    mem_free(with);
    return made;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    struct queuing *w = (struct queuing *)r;
    const struct hlo_computation *c = &r->old->computation[b->computation];
    int queue;

    if (!w->user[b->computation].has_slots)
        return -1;
    queue = structure_queue_of(w->q, c, from);
    if (queue >= 0)
        return w->q->item[queue].goes_in ? take_in(w, b, queue, from, operand)
                                         : give_out(w, b, queue, from, operand);
    if (is_host_end(w, b, from))
        return finish(b, from, operand[0]);
    if (from->op == OPCODE_PARAMETER && b->computation != w->entry)
        return begin(w, b)->parameter;
    return calls_user(w, from) ? carry(w, b, from, operand) : -1;
}

/* ----- which computations */

/* -1: an operation that the slots do not go through */
static int mark(struct queuing *w, const struct hlo_module *m, const struct hlo_instruction *i,
                bool *is_changed, struct err *e)
{
    const char *file = m->file ? m->file : "";

    if (i->op != OPCODE_WHILE && i->op != OPCODE_CONDITIONAL)
        return err_at(e, file, i->line, i->col, "%s: %s: what it calls uses a queue of the host, "
                      "which only loops and conditionals may", hlo_name(i), hlo_opcode_name(i->op));
    for (int k = 0; k < hlo_detail(i)->computation_count; k++) {
        struct user *u = &w->user[hlo_detail(i)->computation[k]];

        *is_changed |= !u->has_slots;
        u->has_slots = true;
        u->is_condition |= i->op == OPCODE_WHILE && k == 1;
    }
    return 0;
}

static int find_users(struct queuing *w, const struct hlo_module *m, struct err *e)
{
    bool is_changed = true;

    w->user[m->entry].has_slots = true;
    while (is_changed) {
        is_changed = false;
        for (int c = 0; c < m->computation_count; c++) {
            for (int k = 0; k < m->computation[c].count; k++) {
                const struct hlo_instruction *i = &m->computation[c].instruction[k];

                if (!w->user[c].has_slots && (calls_user(w, i) ||
                    structure_queue_of(w->q, &m->computation[c], i) >= 0))
                    w->user[c].has_slots = is_changed = true;
                if (calls_user(w, i) && mark(w, m, i, &is_changed, e))
                    return -1;
            }
        }
    }
    return 0;
}

static int refuse_conditions(const struct queuing *w, const struct hlo_module *m, struct err *e)
{
    for (int c = 0; c < m->computation_count; c++) {
        for (int k = 0; w->user[c].is_condition && k < m->computation[c].count; k++) {
            const struct hlo_instruction *i = &m->computation[c].instruction[k];

            if (structure_queue_of(w->q, &m->computation[c], i) >= 0 || calls_user(w, i))
                return err_at(e, m->file ? m->file : "", i->line, i->col, "%s: %s where a loop's "
                              "condition is computed", hlo_name(i), hlo_opcode_name(i->op));
        }
    }
    return 0;
}

/* a result that was no tuple is now the first part of one */
static void shift_aliases(struct hlo_module *m, const struct hlo_type *was)
{
    for (int k = 0; k < m->alias_count && !hlo_type_is_tuple(was); k++)
        m->alias[k].output = hlo_ints_copy(m->arena, (int64_t[]){0}, 1);
}

int structure_queues(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     const struct structure_queues *q, int64_t otherwise, struct err *e)
{
    struct queuing w = {.rewrite = {.visit = visit}, .q = q, .otherwise = otherwise, .arena = a,
                        .entry = old->entry};
    const struct hlo_computation *entry = &old->computation[old->entry];

    w.user = arena_array(a, (size_t)old->computation_count + 1, sizeof(*w.user));
    name_slots(&w);
    if (find_users(&w, old, e) || refuse_conditions(&w, old, e) ||
        hlo_rewrite_module(old, made, a, &w.rewrite, e))
        return -1;
    close_user(&w, made, made->entry);
    shift_aliases(made, entry->instruction[entry->root].type);
    made->entry_parameter = NULL;       /* these spoke of the entry as it was */
    made->entry_parameter_count = 0;
    made->entry_result = NULL;
    return 0;
}
