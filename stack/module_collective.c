/*
 * All-reduces between replicas: one kernel each, over a bucket in HBM in which its operands
 * stand one behind the other, padding and all, and become the sums.
 */
#include "stack/module_impl.h"

#include "stack/kernel_collective.h"

#define KERNEL_FLAGS_MIN 8

static int add_part(struct plan *p, int bucket, const struct array *a, int64_t *end)
{
    int part = plan_add_buffer(p, BUFFER_SUMS, a->bytes);

    p->buffer[part].stands_for = bucket;
    p->buffer[part].offset = *end;
    *end += a->bytes;
    p->buffer[bucket].payload_bytes += array_payload_bytes(a);
    return part;
}

/* the table of operations, which the host fills */
static const struct array *add_table(struct plan *p, const char *name, int64_t bytes)
{
    struct shape shape = shape_make(DTYPE_U32, 1, (int64_t[]){bytes / 4});

    return &plan_new_value(p, arena_printf(p->arena, "%s.table", name), &shape, BUFFER_CONSTANT,
                           -1)->array;
}

static struct kernel_sums *make_sums(struct plan *p, const char *name,
                                     const struct collective_room *room)
{
    struct kernel_sums *sums = arena_alloc(p->arena, sizeof(*sums));

    sums->slice = p->settings->slice;
    sums->table = add_table(p, name, room->table_bytes);
    sums->first_flag = p->collective_count++;   /* its number, until all are known */
    if (room->flag_count > p->collective_flags)
        p->collective_flags = room->flag_count;
    return sums;
}

int plan_add_collective(struct plan *p, struct step s, enum graph_dtype dtype, struct err *e)
{
    const struct module_settings *settings = p->settings;
    int bucket = plan_add_buffer(p, BUFFER_SUMS, 0);
    struct collective_room room;
    int64_t end = 0;

    for (int k = 0; k < s.operand_count; k++) {
        struct value *from = s.operand[k];
        int part = add_part(p, bucket, &from->array, &end);

        s.operand[k] = plan_new_value(p, from->array.name, &from->array.shape, BUFFER_SUMS, part);
        s.result[k] = plan_new_value(p, s.name, &from->array.shape, BUFFER_SUMS, part);
        plan_add_copy(p, from, s.operand[k]);
        p->step[p->step_count - 1].fills_bucket = true;
    }
    if (collective_room_of(settings->chip, settings->slice, plan_scoped_bytes(settings), dtype, end,
                        &room, e))
        return -1;
    p->buffer[bucket].bytes = room.bucket_bytes;
    s.sums = make_sums(p, s.name, &room);
    plan_add_step(p, s);
    return 0;
}

/* ----- flags */

/* that all-reduces may have: not those of copies ahead of kernels, and some are left to kernels */
static int flags_most(const struct plan *p)
{
    const struct chip *c = p->settings->chip;

    return (int)c->sync_flags - plan_copy_flags(c) - KERNEL_FLAGS_MIN;
}

int plan_collective_flags(const struct plan *p)
{
    int sets = p->collective_count;

    while (sets > 2 && sets * p->collective_flags > flags_most(p) / 2)
        sets--;
    return sets * p->collective_flags;
}

/*
 * An all-reduce that has ended here may go on elsewhere, but the one behind it ends only after
 * that: flags are used again by the one after the next at the earliest.
 */
static int set_flags(struct plan *p, struct err *e)
{
    int all = plan_collective_flags(p), first = (int)p->settings->chip->sync_flags - all;

    if (all > flags_most(p))
        return err_set(e, "all-reduces take %d sync flags, %d of the %d that a core has are free",
                       all, flags_most(p) < 0 ? 0 : flags_most(p),
                       (int)p->settings->chip->sync_flags);
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].sums)
            p->step[i].sums->first_flag =
                first + p->step[i].sums->first_flag * p->collective_flags % all;
    return 0;
}

/* ----- who writes into the bucket */

/* the first step that writes it, if no loop begins or ends from there to `end`; else -1 */
static int writer_of(const struct plan *p, const struct buffer *b, int end)
{
    for (int i = 0; i < end; i++)
        for (int k = 0; k < p->step[i].result_count; k++)
            if (plan_buffer(p, p->step[i].result[k]) == b) {
                for (int at = i; at < end; at++)
                    if (p->step[at].kind != STEP_KERNEL)
                        return -1;
                return i;
            }
    return -1;
}

/* from `begin` on, or as an output */
static bool is_read(const struct plan *p, const struct buffer *b, int begin)
{
    for (int i = begin; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            if (plan_buffer(p, p->step[i].operand[k]) == b)
                return true;
    return b->role != BUFFER_TEMPORARY;
}

/* the copy's source may be made in the place of its result */
static bool may_fill(const struct plan *p, int copy)
{
    const struct step *s = &p->step[copy];
    const struct buffer *from = plan_buffer(p, s->operand[0]);

    return from->role == BUFFER_TEMPORARY && from->bytes == s->result[0]->array.bytes &&
           writer_of(p, from, copy) >= 0 && !is_read(p, from, copy + 1);
}

int plan_fill_buckets(struct plan *p, struct err *e)
{
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].fills_bucket && may_fill(p, i)) {
            plan_buffer(p, p->step[i].operand[0])->stands_for = p->step[i].result[0]->buffer;
            plan_remove_step(p, i--);
        }
    return set_flags(p, e);
}
