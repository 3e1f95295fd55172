/* Races and reads of what nobody has written, of a kernel on the host. */
#include "stack/mosaic/watch.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "stack/mosaic/watch_impl.h"

/* ----- findings */

/* at the same line, or, without one, the same but for the step of the grid */
static bool is_same(const struct err *a, const struct err *b)
{
    if (a->line || b->line)
        return a->line == b->line && a->col == b->col && !strcmp(a->file, b->file);
    return !strncmp(a->msg, b->msg, strcspn(a->msg, "("));
}

void watch_found(struct mosaic_run *r, enum mosaic_finding_kind kind, const struct mosaic_op *op,
                 const char *fmt, ...)
{
    struct mosaic_watch *w = r->s->watch;
    struct err here, *before = r->err;
    char message[240];
    va_list args;

    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    r->err = &here;
    memset(&here, 0, sizeof(here));
    mosaic_stop(r, op, "%s", message);
    r->err = before;
    for (int i = 0; i < w->count; i++)
        if (w->finding[i].kind == kind && (is_same(&w->finding[i].what, &here) ||
                                           !strcmp(w->finding[i].what.msg, here.msg))) {
            w->finding[i].times++;
            return;
        }
    if (w->count < MOSAIC_FINDINGS_MAX)
        w->finding[w->count++] = (struct mosaic_finding){kind, here, 1};
}

/* ----- uses of values: what goes into stores, copies, control, by way of arithmetic or not */

static void use_operands(struct mosaic_run *r, const struct mosaic_op *op);

static void use(struct mosaic_run *r, const struct mosaic_value *v)
{
    if (r->is_used[v->id])
        return;
    r->is_used[v->id] = true;
    if (v->op && !v->op->region_count)
        use_operands(r, v->op);
}

/* what a selection may leave out is not used by it */
static void use_operands(struct mosaic_run *r, const struct mosaic_op *op)
{
    for (int o = 0; o < op->operand_count; o++)
        if (op->code != MOSAIC_SELECT || o == 0)
            use(r, op->operand[o]);
}

static void find_uses(struct mosaic_run *r, const struct mosaic_block *b)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];

        if (!op->result_count || op->region_count)
            use_operands(r, op);
        for (int k = 0; k < op->region_count; k++)
            find_uses(r, op->region[k]);
    }
}

void watch_begin(struct mosaic_run *r)
{
    if (!r->s->watch)
        return;
    r->is_used = mem_alloc((size_t)r->k->value_count + 1);
    for (int i = 0; i < r->k->function_count; i++)
        find_uses(r, r->k->function[i]->body);
}

bool watch_is_used(const struct mosaic_run *r, const struct mosaic_op *op)
{
    return r->is_used && op->result_count && r->is_used[op->result[0]->id];
}

void watch_end(struct mosaic_run *r)
{
    mem_free(r->is_used);
    mem_free(r->owner);
}

/* ----- what is known of memory */

void watch_buffer(struct mosaic_run *r, struct mosaic_buffer *b, bool is_written)
{
    const struct mosaic_watch *w = r->s->watch;
    size_t count = (size_t)(b->count > 0 ? b->count : 1);

    if (!w)
        return;
    if (w->unwritten && !b->marks.written)
        b->marks.written = mem_alloc(count);
    if (w->races && !b->marks.writes) {
        b->marks.writes = mem_alloc(count * sizeof(uint16_t));
        b->marks.reads = mem_alloc(count * sizeof(uint16_t));
        if (r->clock) {
            b->marks.used = mem_alloc(count * sizeof(uint32_t));
            b->marks.told = mem_alloc(count * (size_t)team_count(r) * sizeof(uint32_t));
        }
    }
    watch_set_written(b, is_written);
}

void watch_set_written(struct mosaic_buffer *b, bool is_written)
{
    if (b->marks.written)
        memset(b->marks.written, is_written, (size_t)b->count);
}

void watch_free(struct mosaic_buffer *b)
{
    mem_free(b->marks.written);
    mem_free(b->marks.writes);
    mem_free(b->marks.reads);
    mem_free(b->marks.used);
    mem_free(b->marks.told);
    b->marks = (struct mosaic_marks){.written = NULL};
}

/* the copy under way that touches a word: as its target, or as its source */
static const struct mosaic_copy *touching(const struct mosaic_run *r, const struct mosaic_buffer *b,
                                          int64_t word, bool is_target)
{
    for (int i = 0; i < r->copies->count; i++) {
        const struct mosaic_copy *c = &r->copies->item[i];
        const struct mosaic_view *v = is_target ? &c->to : &c->from;
        int64_t index[MOSAIC_RANK_MAX] = {0};

        if (v->buffer != b || !(is_target ? c->done : c->sent ? c->sent : c->done))
            continue;
        do
            if (v->offset + mosaic_at(index, v->stride, v->rank) == word)
                return c;
        while (mosaic_next(index, v->dim, v->rank));
    }
    return NULL;
}

static void race(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_buffer *b,
                 int64_t word, bool is_target, const char *doing)
{
    const struct mosaic_copy *c = touching(r, b, word, is_target);
    const char *slash = c && c->op->place.file ? strrchr(c->op->place.file, '/') : NULL;

    watch_found(r, MOSAIC_RACE, op, "it %s memory that a copy under way %s%s%s%s%.0d; nobody has waited "
          "for the copy", doing, is_target ? "writes" : "reads", c ? ", started at " : "",
          c && c->op->place.file ? slash ? slash + 1 : c->op->place.file : "",
          c && c->op->place.file ? ":" : "", c ? c->op->place.line : 0);
}

void watch_load(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_buffer *b,
                int64_t word, bool is_used)
{
    if (b->marks.writes && b->marks.writes[word] && is_used)
        race(r, op, b, word, true, "reads");
    if (is_used)
        watch_use(r, b, word);
    if (b->marks.written && !b->marks.written[word] && is_used)
        watch_found(r, MOSAIC_UNWRITTEN, op, "it reads memory that nothing has written");
}

void watch_store(struct mosaic_run *r, const struct mosaic_op *op, struct mosaic_buffer *b,
                 int64_t word)
{
    if (b->marks.writes && b->marks.writes[word])
        race(r, op, b, word, true, "writes");
    else if (b->marks.reads && b->marks.reads[word])
        race(r, op, b, word, false, "writes");
    watch_use(r, b, word);
    if (b->marks.written)
        b->marks.written[word] = true;
}

/* ----- copies */

/* `by` to the marks of each word of a view */
static void mark(const struct mosaic_view *v, bool is_target, int by)
{
    uint16_t *marks = is_target ? v->buffer->marks.writes : v->buffer->marks.reads;
    int64_t index[MOSAIC_RANK_MAX] = {0};

    if (!marks)
        return;
    do
        marks[v->offset + mosaic_at(index, v->stride, v->rank)] += (uint16_t)by;
    while (mosaic_next(index, v->dim, v->rank));
}

/* a copy that starts where another one is under way */
static void check_copy(struct mosaic_run *r, const struct mosaic_op *op,
                       const struct mosaic_view *v, bool is_target)
{
    const struct mosaic_marks *m = &v->buffer->marks;
    int64_t index[MOSAIC_RANK_MAX] = {0};

    if (!m->writes)
        return;
    do {
        int64_t word = v->offset + mosaic_at(index, v->stride, v->rank);

        if (m->writes[word]) {
            race(r, op, v->buffer, word, true, is_target ? "writes" : "reads");
            return;
        }
        if (is_target && m->reads[word]) {
            race(r, op, v->buffer, word, false, "writes");
            return;
        }
    } while (mosaic_next(index, v->dim, v->rank));
}

void watch_copy(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_view *from,
                const struct mosaic_view *to, const struct mosaic_run *there,
                const uint32_t *done, const uint32_t *sent, int64_t bytes)
{
    struct mosaic_copy *c;

    check_copy(r, op, from, false);
    check_copy(r, op, to, true);
    watch_use_all(r, from);
    if (!there)
        watch_use_all(r, to);
    else
        watch_reach(r, op, to, there);
    mark(from, false, 1);
    mark(to, true, 1);
    c = &MEM_ADD(r->copies->item, r->copies->count, r->copies->capacity);
    *c = (struct mosaic_copy){.op = op, .from = *from, .to = *to, .done = done, .sent = sent,
                              .done_bytes = bytes, .sent_bytes = bytes};
    memcpy(c->step, r->step, sizeof(c->step));
}

static void drop_finished(struct mosaic_run *r)
{
    int kept = 0;

    for (int i = 0; i < r->copies->count; i++)
        if (r->copies->item[i].done || r->copies->item[i].sent)
            r->copies->item[kept++] = r->copies->item[i];
    r->copies->count = kept;
}

/* of a local copy one semaphore tells of both ends */
static void finish(struct mosaic_run *r, struct mosaic_copy *c, bool is_done)
{
    if (is_done) {
        watch_use_all(r, &c->to);
        mark(&c->to, true, -1);
        if (!c->sent && c->sent_bytes >= 0)
            mark(&c->from, false, -1);
        c->done = NULL;
    } else {
        mark(&c->from, false, -1);
        c->sent = NULL;
        c->sent_bytes = -1;
    }
}

void watch_wait(struct mosaic_run *r, const uint32_t *semaphore, int64_t amount)
{
    for (int i = 0; i < r->copies->count && amount > 0; i++) {
        struct mosaic_copy *c = &r->copies->item[i];
        bool is_done = c->done == semaphore;
        int64_t *left = is_done ? &c->done_bytes : &c->sent_bytes, taken;

        if (!is_done && c->sent != semaphore)
            continue;
        taken = *left < amount ? *left : amount;
        *left -= taken;
        amount -= taken;
        if (*left == 0)
            finish(r, c, is_done);
    }
    drop_finished(r);
}

const struct mosaic_copy *watch_copy_of(const struct mosaic_run *r, const uint32_t *semaphore)
{
    for (int i = 0; i < r->copies->count; i++)
        if (r->copies->item[i].done == semaphore || r->copies->item[i].sent == semaphore)
            return &r->copies->item[i];
    return NULL;
}

/* ----- blocks */

void watch_block(struct mosaic_run *r, const struct mosaic_buffer *b, int operand, bool is_in)
{
    for (int64_t i = 0; b->marks.writes && i < b->count; i++)
        if (b->marks.writes[i] || (is_in && b->marks.reads[i])) {
            const struct mosaic_copy *c = touching(r, b, i, b->marks.writes[i] != 0);

            watch_found(r, MOSAIC_RACE, c ? c->op : NULL, "this copy is under way when the block of "
                  "operand %d %s", operand, is_in ? "comes" : "is written back");
            return;
        }
}

void watch_owner(struct mosaic_run *r, int operand, const int64_t *first, int rank)
{
    struct mosaic_owner now = {.operand = operand};

    if (!r->s->watch || !r->s->watch->races || !r->s->watch->two_cores)
        return;
    memcpy(now.first, first, (size_t)rank * sizeof(*first));
    for (int i = 0; i < r->k->grid_rank; i++)
        now.step[i] = r->k->semantics[i] == MOSAIC_ARBITRARY ? 0 : r->step[i];
    for (int i = 0; i < r->owner_count; i++) {
        const struct mosaic_owner *o = &r->owner[i];

        if (o->operand != operand || memcmp(o->first, now.first, sizeof(now.first)))
            continue;
        if (memcmp(o->step, now.step, sizeof(now.step)))
            watch_found(r, MOSAIC_RACE, mosaic_place_of_map(r->k, operand), "a block of operand %d is "
                  "written by steps that differ in a parallel dimension: two cores may write it at "
                  "once", operand);
        return;
    }
    MEM_ADD(r->owner, r->owner_count, r->owner_capacity) = now;
}
