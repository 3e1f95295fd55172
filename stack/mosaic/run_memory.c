/* Memory on the host: loads, stores, views of arrays, copies and semaphores. */
#include "stack/mosaic/run_impl.h"
#include "stack/mosaic/watch_impl.h"

#include <string.h>

#include "base/floats.h"

static int64_t place_of(const struct mosaic_view *v, const int64_t *index)
{
    int64_t at = v->offset;

    for (int d = 0; d < v->rank; d++)
        at += index[d] * v->stride[d];
    return at;
}

/* Indices that stand behind a reference, each within its dimension with `size` elements from it. */
static int read_index(struct mosaic_run *r, const struct mosaic_op *op, int first, int rank,
                      int64_t *index)
{
    for (int d = 0; d < rank; d++)
        index[d] = mosaic_int_in(r, op->operand[first + d]);
    return 0;
}

static int check_within(struct mosaic_run *r, const struct mosaic_op *op,
                        const struct mosaic_view *v, const int64_t *index, const int64_t *size)
{
    for (int d = 0; d < v->rank; d++)
        if (index[d] < 0 || index[d] + size[d] > v->dim[d])
            return mosaic_stop(r, op, "elements %lld to %lld of dimension %d, which has %lld",
                               (long long)index[d], (long long)(index[d] + size[d] - 1), d,
                               (long long)v->dim[d]);
    return 0;
}

/* ----- vectors: a box of memory, from an index on, with strides */

struct access {
    const struct mosaic_view *view;
    const struct mosaic_type *t;        /* of the vector */
    int64_t first[MOSAIC_RANK_MAX], step[MOSAIC_RANK_MAX];
    const uint32_t *mask;               /* NULL: all elements */
    bool adds;
};

static int find_access(struct mosaic_run *r, const struct mosaic_op *op, bool is_store,
                       bool is_grouped, struct access *a)
{
    const struct mosaic_attr *strides = mosaic_attr(op, "strides");
    const struct mosaic_value *mask = is_grouped ? mosaic_in_group(op, is_store ? 3 : 2) : NULL;
    int base = is_store;
    int64_t size[MOSAIC_RANK_MAX];

    *a = (struct access){.view = &mosaic_in(r, op, base)->view,
                         .t = is_store ? &op->operand[0]->type : &op->result[0]->type,
                         .adds = is_store && mosaic_int(op, "add", 0) != 0,
                         .mask = mask ? mosaic_words(r, mask) : NULL};
    if (a->t->kind != MOSAIC_VECTOR || a->t->rank != a->view->rank)
        return mosaic_stop(r, op, "a vector of %d dimensions of memory of %d", a->t->rank,
                           a->view->rank);
    read_index(r, op, base + 1, a->view->rank, a->first);
    for (int d = 0; d < a->t->rank; d++) {
        a->step[d] = strides && d < strides->count ? strides->ints[d] : 1;
        size[d] = (a->t->dim[d] - 1) * a->step[d] + 1;
    }
    return check_within(r, op, a->view, a->first, size);
}

static int64_t word_in(const struct access *a, const int64_t *index)
{
    int64_t where[MOSAIC_RANK_MAX];

    for (int d = 0; d < a->t->rank; d++)
        where[d] = a->first[d] + index[d] * a->step[d];
    return place_of(a->view, where);
}

static uint32_t sum_of(enum mosaic_element e, uint32_t a, uint32_t b)
{
    if (mosaic_element_kind(e) == MOSAIC_KIND_FLOAT)
        return f32_bits(mosaic_round(e, f32_from_bits(a) + f32_from_bits(b)));
    return (uint32_t)mosaic_wrap(e, (int64_t)(int32_t)a + (int32_t)b);
}

static int load(struct mosaic_run *r, const struct mosaic_op *op, bool is_grouped)
{
    int64_t index[MOSAIC_RANK_MAX] = {0}, i = 0;
    uint32_t *to = mosaic_out(r, op);
    bool is_used = watch_is_used(r, op);
    struct access a;

    if (find_access(r, op, false, is_grouped, &a))
        return -1;
    do {
        bool is_read = !a.mask || a.mask[i];
        int64_t word = word_in(&a, index);

        if (is_read && (is_used || a.view->cast.parts))
            to[i] = mosaic_view_load(r, op, a.view, word, is_used);
        else
            to[i] = is_read ? a.view->buffer->word[word] : 0;
        i++;
    } while (mosaic_next(index, a.t->dim, a.t->rank));
    return 0;
}

static int store(struct mosaic_run *r, const struct mosaic_op *op, bool is_grouped)
{
    const uint32_t *from = mosaic_words(r, op->operand[0]);
    int64_t index[MOSAIC_RANK_MAX] = {0}, i = 0;
    struct access a;

    if (find_access(r, op, true, is_grouped, &a))
        return -1;
    do {
        int64_t word = word_in(&a, index);

        if (!a.mask || a.mask[i])
            mosaic_view_store(r, op, a.view, word,
                              a.adds ? sum_of(a.t->element,
                                              mosaic_view_load(r, op, a.view, word, true), from[i])
                                     : from[i]);
        i++;
    } while (mosaic_next(index, a.t->dim, a.t->rank));
    return 0;
}

int mosaic_eval_vector_load(struct mosaic_run *r, const struct mosaic_op *op)
{
    return load(r, op, op->segment_count > 0);
}

int mosaic_eval_vector_store(struct mosaic_run *r, const struct mosaic_op *op)
{
    return store(r, op, op->segment_count > 0);
}

int mosaic_eval_strided_load(struct mosaic_run *r, const struct mosaic_op *op)
{
    return load(r, op, false);
}

int mosaic_eval_strided_store(struct mosaic_run *r, const struct mosaic_op *op)
{
    return store(r, op, false);
}

/* ----- scalars */

static const int64_t ones[MOSAIC_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};

int mosaic_eval_load(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_view *v = &mosaic_in(r, op, 0)->view;
    int64_t index[MOSAIC_RANK_MAX];
    uint32_t word;

    read_index(r, op, 1, v->rank, index);
    if (check_within(r, op, v, index, ones))
        return -1;
    word = mosaic_view_load(r, op, v, place_of(v, index), watch_is_used(r, op));
    mosaic_set_int(r, op->result[0], (int32_t)word);
    return 0;
}

int mosaic_eval_store(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_view *v = &mosaic_in(r, op, 1)->view;
    int64_t index[MOSAIC_RANK_MAX];

    read_index(r, op, 2, v->rank, index);
    if (check_within(r, op, v, index, ones))
        return -1;
    mosaic_view_store(r, op, v, place_of(v, index), mosaic_words(r, op->operand[0])[0]);
    return 0;
}

/* ----- references */

int mosaic_eval_alloca(struct mosaic_run *r, const struct mosaic_op *op)
{
    if (mosaic_elements(&op->result[0]->type) < 0)
        return mosaic_stop(r, op, "a buffer whose size is not known");
    mosaic_allocate(r, op->result[0]);
    return 0;
}

int mosaic_eval_sem_alloc(struct mosaic_run *r, const struct mosaic_op *op)
{
    return mosaic_eval_alloca(r, op);
}

int mosaic_eval_sem_barrier(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct mosaic_datum *d = mosaic_datum(r, op->result[0]);

    d->view = mosaic_whole(&r->barrier, &op->result[0]->type);
    return 0;
}

int mosaic_eval_dim(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_view *v = &mosaic_in(r, op, 0)->view;
    int64_t d = mosaic_int_in(r, op->operand[1]);

    if (d < 0 || d >= v->rank)
        return mosaic_stop(r, op, "dimension %lld of %d", (long long)d, v->rank);
    mosaic_set_int(r, op->result[0], v->dim[d]);
    return 0;
}

/* groups: reference, offsets, sizes of the dimensions that the type leaves open */
int mosaic_eval_memref_slice(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    struct mosaic_view v = mosaic_in(r, op, 0)->view;
    int sizes = 0, first = op->segment_count ? mosaic_group(op, 2, &sizes) : 1 + v.rank;
    int64_t index[MOSAIC_RANK_MAX] = {0}, size[MOSAIC_RANK_MAX] = {0};

    if (t->rank != v.rank || op->operand_count < 1 + v.rank)
        return mosaic_stop(r, op, "offsets of %d dimensions of %d", op->operand_count - 1, v.rank);
    read_index(r, op, 1, v.rank, index);
    for (int d = 0; d < v.rank; d++) {
        size[d] = t->dim[d];
        if (size[d] == MOSAIC_DYNAMIC && first < op->operand_count)
            size[d] = mosaic_int_in(r, op->operand[first++]);
    }
    if (check_within(r, op, &v, index, size))
        return -1;
    v.offset = place_of(&v, index);
    memcpy(v.dim, size, sizeof(v.dim));
    mosaic_datum(r, op->result[0])->view = v;
    return 0;
}

static bool is_dense(const struct mosaic_view *v)
{
    int64_t stride = 1;

    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->dim[d] != 1 && v->stride[d] != stride)
            return false;
        stride *= v->dim[d];
    }
    return true;
}

/* the same elements with dimensions of one less or more, or, of a dense array, others */
int mosaic_eval_memref_view(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    struct mosaic_view from = mosaic_in(r, op, 0)->view, v = from;
    int at = 0;

    v.rank = t->rank;
    for (int d = 0; d < t->rank; d++) {
        int64_t size = t->dim[d];

        while (at < from.rank && from.dim[at] == 1 && size != 1 &&
               (size != MOSAIC_DYNAMIC || from.rank - at > t->rank - d))
            at++;
        if (size == MOSAIC_DYNAMIC && at < from.rank)
            size = from.dim[at];
        v.dim[d] = size;
        v.stride[d] = at < from.rank && from.dim[at] == size ? from.stride[at] : 0;
        at += at < from.rank && from.dim[at] == size;
    }
    for (; at < from.rank && from.dim[at] == 1; at++)
        continue;
    if (at != from.rank) {
        struct mosaic_view dense;

        if (!is_dense(&from) || from.cast.parts)
            return mosaic_stop(r, op, "other dimensions of a part of an array");
        dense = mosaic_whole(from.buffer, t);
        dense.offset = from.offset;
        v = dense;
    }
    mosaic_datum(r, op->result[0])->view = v;
    return 0;
}

/* ----- semaphores and copies */

/* a word of a semaphore's memory, here or in a member of the team */
struct flag { struct mosaic_buffer *buffer; int64_t word; };

static struct flag flag_of(struct mosaic_run *r, const struct mosaic_value *v)
{
    const struct mosaic_view *view = &mosaic_datum(r, v)->view;

    return (struct flag){view->buffer, view->offset};
}

static uint32_t *word_of(const struct flag *f) { return &f->buffer->word[f->word]; }

int mosaic_eval_sem_read(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct flag f = flag_of(r, op->operand[0]);

    team_yield(r);                      /* a loop may wait so */
    mosaic_set_int(r, op->result[0], (int32_t)*word_of(&f));
    return 0;
}

/* the member of the team that a device is, *there; NULL: this one, or none is named */
static int find_device(struct mosaic_run *r, const struct mosaic_op *op,
                       const struct mosaic_value *device, struct mosaic_run **there)
{
    struct mosaic_run *found = device ? team_member(r, mosaic_int_in(r, device)) : r;

    if (!found)
        return mosaic_stop(r, op, "it reaches device %lld, and the kernel runs on %d",
                           (long long)mosaic_int_in(r, device), team_count(r));
    *there = found == r ? NULL : found;
    return 0;
}

static int over_there(struct mosaic_run *r, const struct mosaic_op *op, struct mosaic_run *there,
                      struct mosaic_buffer **buffer)
{
    if (there)
        *buffer = team_buffer(there, *buffer);
    return *buffer ? 0 : mosaic_stop(r, op, "it reaches a buffer that device %d does not have yet",
                                     there->s->device);
}

static void raise_flag(struct mosaic_run *r, const struct flag *f, int64_t by)
{
    *word_of(f) += (uint32_t)by;
    watch_tell(r, f->buffer, f->word);
}

int mosaic_eval_sem_signal(struct mosaic_run *r, const struct mosaic_op *op)
{
    struct flag f = flag_of(r, op->operand[0]);
    struct mosaic_run *there;

    if (find_device(r, op, mosaic_in_group(op, 2), &there) || over_there(r, op, there, &f.buffer))
        return -1;
    raise_flag(r, &f, mosaic_int_in(r, op->operand[1]));
    return 0;
}

static int await(struct mosaic_run *r, const struct mosaic_op *op, const struct mosaic_value *sem,
                 int64_t amount)
{
    struct flag f = flag_of(r, sem);
    uint32_t *s = word_of(&f);
    int status = team_await(r, s, amount);

    if (status > 0)
        return mosaic_stop(r, op, "it waits for %lld and the semaphore has %d: nothing that has "
                           "been started raises it", (long long)amount, (int)*s);
    if (status)
        return -1;
    *s -= (uint32_t)amount;
    watch_learn(r, f.buffer, f.word);
    watch_wait(r, s, amount);
    return 0;
}

int mosaic_eval_sem_wait(struct mosaic_run *r, const struct mosaic_op *op)
{
    return await(r, op, op->operand[0], mosaic_int_in(r, op->operand[1]));
}

static int64_t bytes_of(const struct mosaic_view *v, enum mosaic_element e)
{
    int64_t n = 1;

    for (int d = 0; d < v->rank; d++)
        n *= v->dim[d];
    return (n * mosaic_element_bits(e) + 7) / 8;
}

/* what nobody has written stays so where it is copied to */
static void copy_word(struct mosaic_buffer *to, int64_t at, const struct mosaic_buffer *from,
                      int64_t from_at)
{
    to->word[at] = from->word[from_at];
    if (to->marks.written)
        to->marks.written[at] = !from->marks.written || from->marks.written[from_at];
}

/* groups: source, its semaphore, target, its semaphore, device, core */
int mosaic_eval_enqueue_dma(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_value *source = mosaic_in_group(op, 0), *target = mosaic_in_group(op, 2);
    const struct mosaic_value *sent = mosaic_in_group(op, 1), *done = mosaic_in_group(op, 3);
    struct flag sent_flag = {NULL, 0}, done_flag = {NULL, 0};
    struct mosaic_view from, to;
    struct mosaic_run *there;
    int64_t index[MOSAIC_RANK_MAX] = {0}, bytes;

    if (!source || !target || !mosaic_is_ref(source) || !mosaic_is_ref(target))
        return mosaic_stop(r, op, "it has no source or no target");
    from = mosaic_datum(r, source)->view;
    to = mosaic_datum(r, target)->view;
    if (from.rank != to.rank || memcmp(from.dim, to.dim, (size_t)to.rank * sizeof(*to.dim)))
        return mosaic_stop(r, op, "source and target have different sizes");
    if (from.cast.parts || to.cast.parts)
        return mosaic_stop(r, op, "a copy of memory that is seen as another type");
    if (sent)
        sent_flag = flag_of(r, sent);
    if (done)
        done_flag = flag_of(r, done);
    if (find_device(r, op, mosaic_in_group(op, 4), &there) ||
        over_there(r, op, there, &to.buffer) ||
        (done && over_there(r, op, there, &done_flag.buffer)))
        return -1;
    bytes = bytes_of(&to, target->type.element);
    watch_copy(r, op, &from, &to, there, done ? word_of(&done_flag) : NULL,
               sent ? word_of(&sent_flag) : NULL, bytes);
    do
        copy_word(to.buffer, place_of(&to, index), from.buffer, place_of(&from, index));
    while (mosaic_next(index, to.dim, to.rank));
    if (done)
        raise_flag(r, &done_flag, bytes);
    if (sent)
        raise_flag(r, &sent_flag, bytes);
    return 0;
}

/* wait_dma2: semaphore, source, target; wait_dma: the groups of the copy, target or source */
int mosaic_eval_wait_dma(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_value *sem, *target;

    if (op->code == MOSAIC_WAIT_DMA2) {
        sem = mosaic_in_group(op, 0);
        target = mosaic_in_group(op, 2);
    } else {
        bool is_target = mosaic_int(op, "wait_target", 1) != 0;

        sem = mosaic_in_group(op, is_target ? 3 : 1);
        target = mosaic_in_group(op, is_target ? 2 : 0);
    }
    if (!sem || !target)
        return mosaic_stop(r, op, "it names no semaphore or no target");
    return await(r, op, sem, bytes_of(&mosaic_datum(r, target)->view, target->type.element));
}
