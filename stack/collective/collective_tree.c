/*
 * A tree of single hops: along the first dim in which a rank is off the root
 * it is one of a chain that ends at the root's coordinate, and its parent is
 * the next one towards it. Chunks of arrays follow each other up and down.
 */
#include "stack/collective/collective_impl.h"

#include "base/units.h"

#define TREE_SLOTS 4
/* small, so that a chunk is soon at the root; four of them fill a link for the time of a step */
#define TREE_CHUNK_LEAST_BYTES (16 * KIB)
#define TREE_CHUNK_MOST_BYTES (256 * KIB)
#define SIDES 2                         /* of the root: upwards, downwards along a dim */
#define CHILDREN (PLAN_DIMS * SIDES)    /* a child is known by its dim and side */

struct tree {
    struct plan_builder *b;
    int64_t bytes, chunk_bytes, chunks;
    bool is_resident;                   /* the array stays in VMEM */
    int64_t array;                      /* there */
    int64_t own_slots, child_slots[CHILDREN];
    int own_flag, sent_flag, up_credit_flag, down_flag;
    int child_flag[CHILDREN], child_credit_flag[CHILDREN];
    int reach[CHILDREN];                /* ranks of the chain on that side of the root */
};

/* One kind of place in the tree. */
struct role {
    int parent_dim, side;               /* -1: the root */
    int child[CHILDREN], child_count;
};

static int shift_to_child(const struct tree *t, int child)
{
    return plan_shift_along(t->b->plan, child / SIDES, child % SIDES ? -1 : 1);
}

static int shift_to_parent(const struct tree *t, const struct role *r)
{
    return plan_shift_along(t->b->plan, r->parent_dim, r->side ? 1 : -1);
}

static struct plan_where array_at(const struct tree *t, int64_t chunk)
{
    if (t->is_resident)
        return (struct plan_where){.space = COLLECTIVE_VMEM,
                                   .offset = t->array + chunk * t->chunk_bytes};
    return (struct plan_where){.space = COLLECTIVE_HBM, .layout = LAYOUT_IN,
                               .offset = chunk * t->chunk_bytes};
}

static struct plan_where hbm_at(const struct tree *t, int64_t chunk)
{
    return (struct plan_where){.space = COLLECTIVE_HBM, .layout = LAYOUT_IN,
                               .offset = chunk * t->chunk_bytes};
}

static struct plan_where slot_at(const struct tree *t, int64_t first, int64_t chunk)
{
    return (struct plan_where){.space = COLLECTIVE_VMEM,
                               .offset = first + chunk % TREE_SLOTS * t->chunk_bytes};
}

static struct plan_shape shape_at(const struct tree *t, int64_t chunk)
{
    int64_t left = t->bytes - chunk * t->chunk_bytes;

    return plan_shape_of_run(left < t->chunk_bytes ? left : t->chunk_bytes);
}

static int64_t first_credits(const struct tree *t)
{
    return t->chunks < TREE_SLOTS ? t->chunks : TREE_SLOTS;
}

static void load_own(struct tree *t, int64_t chunk)
{
    struct plan_where from = hbm_at(t, chunk), to = slot_at(t, t->own_slots, chunk);
    struct plan_shape shape = shape_at(t, chunk);
    int flag = t->own_flag + (int)(chunk % TREE_SLOTS);

    plan_build_wait_pending(t->b, flag);
    plan_build_copy(t->b, &from, &to, &shape, flag);
}

static void add_child(struct tree *t, int child, int64_t chunk,
                      const struct plan_where *sum)
{
    struct plan_where from = slot_at(t, t->child_slots[child], chunk);
    int64_t bytes = shape_at(t, chunk).run_bytes;

    plan_build_wait(t->b, t->child_flag[child] + (int)(chunk % TREE_SLOTS),
                    bytes / PLAN_GRANULE_BYTES);
    plan_build_add(t->b, &from, sum, bytes);
    if (chunk + TREE_SLOTS < t->chunks)
        plan_build_signal(t->b, shift_to_child(t, child), t->up_credit_flag, 1);
}

/* where a rank's sum of the chunk forms: leaves that stream need no place for it */
static struct plan_where begin_sum(struct tree *t, const struct role *r, int64_t chunk)
{
    if (t->is_resident || r->child_count == 0)
        return array_at(t, chunk);
    if (chunk == 0)
        load_own(t, 0);
    if (chunk + 1 < t->chunks)
        load_own(t, chunk + 1);
    plan_build_wait_pending(t->b, t->own_flag + (int)(chunk % TREE_SLOTS));
    return slot_at(t, t->own_slots, chunk);
}

static void pass_up(struct tree *t, const struct role *r, int64_t chunk,
                    const struct plan_where *sum)
{
    bool has_slot = !t->is_resident && r->child_count > 0;
    int slot_flag = t->own_flag + (int)(chunk % TREE_SLOTS);
    struct plan_shape shape = shape_at(t, chunk);

    if (r->parent_dim >= 0) {
        int me = r->parent_dim * SIDES + r->side;
        struct plan_where to = slot_at(t, t->child_slots[me], chunk);

        plan_build_wait(t->b, t->up_credit_flag, 1);
        plan_build_send(t->b, sum, &to, &shape, shift_to_parent(t, r),
                        t->child_flag[me] + (int)(chunk % TREE_SLOTS),
                        has_slot ? slot_flag : t->sent_flag);
    } else if (has_slot) {
        struct plan_where to = hbm_at(t, chunk);

        plan_build_copy(t->b, sum, &to, &shape, slot_flag);
    }
}

static void wait_all(struct tree *t)
{
    for (int i = 0; i < TREE_SLOTS; i++)
        plan_build_wait_pending(t->b, t->own_flag + i);
    plan_build_wait_pending(t->b, t->sent_flag);
}

static void go_up(struct tree *t, const struct role *r)
{
    for (int i = 0; i < r->child_count; i++)
        plan_build_signal(t->b, shift_to_child(t, r->child[i]), t->up_credit_flag,
                          (int)first_credits(t));
    for (int64_t chunk = 0; chunk < t->chunks; chunk++) {
        struct plan_where sum = begin_sum(t, r, chunk);

        for (int i = 0; i < r->child_count; i++)
            add_child(t, r->child[i], chunk, &sum);
        pass_up(t, r, chunk, &sum);
    }
    wait_all(t);
}

static void pass_down(struct tree *t, const struct role *r, int64_t chunk)
{
    struct plan_where at = array_at(t, chunk), in_hbm = hbm_at(t, chunk);
    struct plan_shape shape = shape_at(t, chunk);
    int arrival = t->down_flag + (int)(chunk % TREE_SLOTS);

    for (int i = 0; i < r->child_count; i++) {
        plan_build_wait(t->b, t->child_credit_flag[r->child[i]], 1);
        plan_build_send(t->b, &at, &at, &shape, shift_to_child(t, r->child[i]), arrival,
                        t->sent_flag);
    }
    if (t->is_resident)
        plan_build_copy(t->b, &at, &in_hbm, &shape, t->own_flag);
}

static void go_down(struct tree *t, const struct role *r)
{
    int credit = r->parent_dim < 0 ? 0 : t->child_credit_flag[r->parent_dim * SIDES + r->side];

    if (r->parent_dim >= 0)
        plan_build_signal(t->b, shift_to_parent(t, r), credit, (int)first_credits(t));
    for (int64_t chunk = 0; chunk < t->chunks; chunk++) {
        if (r->parent_dim >= 0) {
            plan_build_wait(t->b, t->down_flag + (int)(chunk % TREE_SLOTS),
                            shape_at(t, chunk).run_bytes / PLAN_GRANULE_BYTES);
            if (chunk + TREE_SLOTS < t->chunks)
                plan_build_signal(t->b, shift_to_parent(t, r), credit, 1);
        }
        pass_down(t, r, chunk);
    }
    wait_all(t);
}

static void write_role(struct tree *t, const struct role *r)
{
    bool sums = t->b->plan->request.kind == COLLECTIVE_ALL_REDUCE;

    if (t->is_resident && (sums || r->parent_dim < 0)) {
        struct plan_where from = hbm_at(t, 0), to = array_at(t, 0);
        struct plan_shape shape = plan_shape_of_run(t->bytes);

        plan_build_copy(t->b, &from, &to, &shape, t->own_flag);
        plan_build_wait_pending(t->b, t->own_flag);
    }
    if (sums)
        go_up(t, r);
    go_down(t, r);
}

/*
 * Below a rank: the first ranks of both chains along the dims before its own,
 * then the next one of its own chain. Sums are taken in this order.
 */
static struct role make_role(const struct tree *t, int dim, int side, bool is_end)
{
    struct role r = {.parent_dim = dim, .side = side};
    int dims = dim < 0 ? PLAN_DIMS : dim;

    for (int i = 0; i < dims * SIDES; i++)
        if (t->reach[i] > 0)
            r.child[r.child_count++] = i;
    if (dim >= 0 && !is_end)
        r.child[r.child_count++] = dim * SIDES + side;
    return r;
}

static void find_reach(struct tree *t)
{
    const struct collective_plan *p = t->b->plan;

    for (int i = 0; i < PLAN_DIMS; i++) {
        int count = p->dim[i].count, root = p->root_coordinate[i];

        t->reach[i * SIDES] = p->dim[i].closes ? count / 2 : count - 1 - root;
        t->reach[i * SIDES + 1] = count - 1 - t->reach[i * SIDES];
    }
}

/* Segments: the root's, then for each child's place a rank inside the chain and its end. */
static void write_roles(struct tree *t, struct arena *a)
{
    struct collective_plan *p = t->b->plan;
    struct role root = make_role(t, -1, 0, false);
    int *table[PLAN_DIMS], segment = 0;

    for (int i = 0; i < PLAN_DIMS; i++)
        p->role[i] = table[i] = arena_array(a, (size_t)p->dim[i].count, sizeof(int));
    write_role(t, &root);
    for (int i = 0; i < CHILDREN; i++)
        for (int is_end = 0; is_end < 2; is_end++) {
            int count = p->dim[i / SIDES].count, reach = t->reach[i];
            struct role r = make_role(t, i / SIDES, i % SIDES, is_end);

            if (reach < (is_end ? 1 : 2))
                continue;
            plan_build_segment(t->b, ++segment);
            write_role(t, &r);
            for (int j = is_end ? reach : 1; j <= (is_end ? reach : reach - 1); j++) {
                int at = p->root_coordinate[i / SIDES] + (i % SIDES ? count - j : j);

                table[i / SIDES][at % count] = segment;
            }
        }
}

static int choose_chunk(struct tree *t, int64_t limit, struct err *e)
{
    int64_t chosen = t->b->plan->request.chunk_bytes;
    int64_t chunk = round_up(t->bytes / 16, PLAN_ROW_BYTES);

    chunk = later(chunk, TREE_CHUNK_LEAST_BYTES);
    chunk = chunk < TREE_CHUNK_MOST_BYTES ? chunk : TREE_CHUNK_MOST_BYTES;
    chunk = chosen ? chosen : chunk < limit ? chunk : limit;
    chunk = chunk < t->bytes ? chunk : round_up(t->bytes, PLAN_ROW_BYTES);
    if (chunk > limit || chunk < PLAN_ROW_BYTES)
        return err_set(e, "chunks of %lld bytes do not fit VMEM; at most %lld bytes",
                       (long long)chunk, (long long)limit);
    t->chunk_bytes = chunk;
    t->chunks = div_up(t->bytes, t->chunk_bytes);
    return 0;
}

/* The array and four slots for each child in VMEM, or besides those four for the own chunk. */
static int place(struct tree *t, struct err *e)
{
    int64_t room = t->b->plan->chip.vmem_bytes;
    int children = 1;

    for (int i = 0; i < CHILDREN; i++)
        children += t->reach[i] > 0;
    t->is_resident = t->bytes <= room / 4;
    if (t->is_resident)
        room -= room / 4;
    if (choose_chunk(t, room / (children * TREE_SLOTS) / PLAN_ROW_BYTES * PLAN_ROW_BYTES, e))
        return -1;
    if (t->is_resident)
        t->array = plan_build_vmem(t->b, t->bytes);
    else
        t->own_slots = plan_build_vmem(t->b, TREE_SLOTS * t->chunk_bytes);
    for (int i = 0; i < CHILDREN; i++)
        if (t->reach[i] > 0)
            t->child_slots[i] = plan_build_vmem(t->b, TREE_SLOTS * t->chunk_bytes);
    return 0;
}

static void take_flags(struct tree *t)
{
    t->own_flag = plan_build_flags(t->b, TREE_SLOTS);
    t->down_flag = plan_build_flags(t->b, TREE_SLOTS);
    t->sent_flag = plan_build_flags(t->b, 2);
    t->up_credit_flag = t->sent_flag + 1;
    for (int i = 0; i < CHILDREN; i++)
        if (t->reach[i] > 0) {
            t->child_flag[i] = plan_build_flags(t->b, TREE_SLOTS + 1);
            t->child_credit_flag[i] = t->child_flag[i] + TREE_SLOTS;
        }
}

int plan_tree(struct collective_plan *p, struct arena *a, struct err *e)
{
    struct plan_builder b;
    struct tree t = {.b = &b, .bytes = p->request.bytes};

    plan_set_axes(p, false, a);
    plan_build_set_root(p);
    plan_build_begin(&b, p, a);
    find_reach(&t);
    if (place(&t, e))
        return -1;
    take_flags(&t);
    write_roles(&t, a);
    p->request.chunk_bytes = t.chunk_bytes < t.bytes ? t.chunk_bytes : t.bytes;
    return plan_build_end(&b, e);
}
