/*
 * What lies in VMEM between and beside kernels.
 *
 * VMEM is cut in two: the first part is the kernels', for windows and scratch,
 * the rest holds arrays. XLA is seen to keep 32 MiB for kernels on chips with a large
 * VMEM (docs/accuracy.md); v2 to v4 have no more than that, and keep nothing.
 *
 *   residents   temporaries, from the kernel that makes them to the last that reads them:
 *               those most read per step that they stay, where they leave room for the argument that
 *               a product copies in
 *   prefetches  operands of products and convolutions, the larger first, copied beside the
 *               kernels before if they take long enough and there is room, else just before;
 *               small operands of moves, beside the kernels before
 *
 * With --codegen best an operand is copied only if other kernels hide that, and a product has what
 * is free for its windows.
 *
 * Of a program that is kept these are its own choices (module_kept.c), but for what its compiler
 * has inside one kernel, which here is made by several.
 *
 * A program of one product so has its copies in and the product one after the other. Results that
 * leave the program stream out beside the product: on v6e 4096x768 by 768x2304 takes 29.7 us, of
 * which 24.6 are launch, copies in and product; its result behind them would be 13 us more.
 */
#include "stack/module/module_impl.h"

#include "stack/kernels/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESIDENT_STEPS_MAX 12           /* an array that stays longer takes room from others, */
#define ROUNDS_GUESSED 16.0             /* of a loop that ends by its condition */
#define READS_MIN 3                     /* of an array by its loop: fewer do not pay for a copy */
#define LOOP_SHARE 16                   /* but for what a loop works on up to this part of it */
#define STEP_SIDE_MAX 1024              /* rows and columns of a product at a time */
#define AHEAD_STEPS_MAX 16              /* a prefetch starts at most so many steps before */
#define MOVED_SHARE 16                  /* of what kernels have: a move of so much is one step */
#define SQUARE_ROWS 128
#define VECTOR_ELEMS 1024               /* of an operation of the vector ALU */
#define COPY_FLAGS_MAX 40               /* XLA's limit of prefetches under way */

int module_plan_copy_flags(const struct chip *c)
{
    return c->sync_flags >= 4 * COPY_FLAGS_MAX ? COPY_FLAGS_MAX : (int)c->sync_flags / 4;
}

int64_t module_plan_scoped_bytes(const struct module_settings *s)
{
    return s->chip->vmem_bytes > KERNEL_VMEM_BYTES ? KERNEL_VMEM_BYTES : s->chip->vmem_bytes;
}

/* how often a step runs in a launch */
static double rounds_of(const struct module_step *s)
{
    double rounds = 1;

    for (const struct kernel_loop *l = s->loop; l; l = l->outer)
        rounds *= l->rounds > 0 && !l->is_assumed ? (double)l->rounds : ROUNDS_GUESSED;
    return rounds;
}

static double part_read(const struct module_plan *p, const struct module_step *s, int k)
{
    return (double)module_plan_read(p, s, k)->array.bytes / (double)s->operand[k]->array.bytes;
}

/* how often all of it is read in a launch, from step `first` to `last` */
static double reads_of(const struct module_plan *p, const struct module_buffer *b, int first, int last)
{
    double reads = 0;

    for (int i = first; i <= last && i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            if (module_plan_buffer(p, p->step[i].operand[k]) == b)
                reads += rounds_of(&p->step[i]) * part_read(p, &p->step[i], k);
    return reads;
}

/* reads and the write, for each step of staying, of which there are as many as its loop has rounds */
double module_plan_gain(const struct module_plan *p, const struct module_buffer *b)
{
    double steps = 1;

    for (int i = b->first + 1; i <= b->last && i < p->step_count; i++)
        steps += rounds_of(&p->step[i]);
    return (1 + reads_of(p, b, b->first, b->last)) / steps;
}

/* all kernels that touch it take arrays in VMEM */
static bool may_stay(const struct module_plan *p, const struct module_buffer *b)
{
    for (int i = b->first; i <= b->last && i < p->step_count; i++) {
        const struct module_step *s = &p->step[i];

        for (int k = 0; s->is_in_hbm && k < s->operand_count; k++)
            if (module_plan_buffer(p, s->operand[k]) == b)
                return false;
        for (int k = 0; s->is_in_hbm && k < s->result_count; k++)
            if (module_plan_buffer(p, s->result[k]) == b)
                return false;
    }
    return true;
}

struct candidate {
    struct module_buffer *buffer;
    double gain;                        /* reads and the write, per step of staying */
};

static int better_first(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;

    if (a->gain != b->gain)
        return a->gain > b->gain ? -1 : 1;
    return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static void note_peak(struct module *m, int64_t end)
{
    if (end > m->vmem_peak_bytes)
        m->vmem_peak_bytes = end;
}

static size_t shadows_max(const struct module_plan *p)
{
    size_t count = (size_t)p->buffer_count + 1;

    for (int i = 0; i < p->step_count; i++)
        count += (size_t)(p->step[i].operand_count + p->step[i].result_count);
    return count;
}

/*
 * A product takes squares of 128 rows and keeps of them what its array has (reads_outside in
 * kernel_dot_grid.c). Several matrices may be taken as one, which ends anywhere in a square.
 */
static int64_t behind_bytes(const struct array *a)
{
    int64_t tiles = a->is_linear ? 0 : SQUARE_ROWS / a->tile_rows;

    return tiles && a->tiles_down % tiles ? (tiles - 1) * a->tiles_across * ARRAY_TILE_BYTES : 0;
}

static void find_behind(struct module_plan *p)
{
    for (int i = 0; i < p->value_count; i++) {
        struct module_buffer *b = module_plan_buffer(p, p->value[i]);
        int64_t bytes = behind_bytes(&p->value[i]->array);

        if (bytes > b->behind_bytes)
            b->behind_bytes = bytes;
    }
}

/* of two cores, each would have a part of an array in its VMEM */
static bool keeps_arrays(const struct module_settings *s) { return !s->megacore; }

/* all of it where a kernel may take it */
static int64_t kernel_bytes(const struct module_plan *p)
{
    for (int i = 0; i < p->step_count; i++) {
        const struct module_step *s = &p->step[i];
        const struct kernel_kind *kind = s->kind == STEP_KERNEL ? kernel_kind_of(s->body) : NULL;

        if (kind && kind->takes_all_vmem)
            return p->settings->chip->vmem_bytes;
    }
    return module_plan_scoped_bytes(p->settings);
}

int64_t module_plan_resident_bytes(const struct module_plan *p, int steps)
{
    const struct module_settings *s = p->settings;

    int64_t room = keeps_arrays(s) ? s->chip->vmem_bytes - module_plan_scoped_bytes(s) : 0;

    return steps < RESIDENT_STEPS_MAX ? room : room / LOOP_SHARE;
}

static bool writes(const struct module_plan *p, const struct module_step *s,
                   const struct module_buffer *b)
{
    for (int i = 0; i < s->result_count; i++)
        if (module_plan_buffer(p, s->result[i]) == b)
            return true;
    return false;
}

/* it is made, or made anew, in each round of a loop */
static bool is_of_loop(const struct module_plan *p, const struct module_buffer *b, int first, int last)
{
    for (int i = first; i <= last && i < p->step_count; i++)
        if (p->step[i].loop && writes(p, &p->step[i], b))
            return true;
    return false;
}

/* the rounds of loops read all of it several times, and it leaves room for what they make */
static bool is_read_in_rounds(const struct module_plan *p, const struct module_buffer *b)
{
    double reads = 0;

    if (b->bytes > module_plan_resident_bytes(p, 0) / 2)
        return false;
    for (int i = b->first; i <= b->last && i < p->step_count; i++)
        for (int k = 0; p->step[i].loop && k < p->step[i].operand_count; k++)
            if (module_plan_buffer(p, p->step[i].operand[k]) == b)
                reads += rounds_of(&p->step[i]) * part_read(p, &p->step[i], k);
    return reads >= READS_MIN;
}

/* so that it is read again soon enough, or often, or is small beside what its loop takes */
static bool is_worth_staying(const struct module_plan *p, const struct module_buffer *b)
{
    int steps = b->last - b->first;

    return b->kept == PLACE_VMEM || steps <= RESIDENT_STEPS_MAX || is_read_in_rounds(p, b) ||
           (b->bytes <= module_plan_resident_bytes(p, steps) && is_of_loop(p, b, b->first, b->last));
}

static bool touches(const struct module_plan *p, const struct module_step *s,
                    const struct module_buffer *b)
{
    for (int k = 0; k < s->operand_count; k++)
        if (module_plan_buffer(p, s->operand[k]) == b)
            return true;
    return writes(p, s, b);
}

bool module_plan_may_be_output(const struct module_plan *p, const struct module_value *v)
{
    const struct module_buffer *b = &p->buffer[v->buffer];
    int first = 0;

    if ((b->role != BUFFER_TEMPORARY && b->role != BUFFER_STATE) || b->stands_for >= 0)
        return false;
    while (first < p->step_count && !touches(p, &p->step[first], b))
        first++;
    return !is_of_loop(p, b, first, p->step_count) || reads_of(p, b, first, p->step_count) < READS_MIN ||
           b->bytes > module_plan_resident_bytes(p, p->step_count - first);
}

static bool is_product(const struct module_step *s)
{
    const struct kernel_kind *kind = s->kind == STEP_KERNEL ? kernel_kind_of(s->body) : NULL;

    return kind && (strcmp(kind->name, "dot") == 0 || strcmp(kind->name, "conv") == 0);
}

/* an argument that nothing changes */
static bool is_constant(const struct module_plan *p, const struct module_buffer *b)
{
    if (b->role != BUFFER_PARAMETER)
        return false;
    for (int i = 0; i < p->step_count; i++)
        if (writes(p, &p->step[i], b))
            return false;
    return true;
}

/* a product with a vector: nothing of the matrix is used twice */
static bool is_vector(const struct module_step *s)
{
    const struct shape *r = &s->result[0]->array.shape;

    return strcmp(kernel_kind_of(s->body)->name, "dot") == 0 && r->rank >= 2 &&
           (r->dim[r->rank - 1] == 1 || r->dim[r->rank - 2] == 1);
}

/* each matrix of a batch is read once, as it comes */
static bool has_batches(const struct module_step *s)
{
    for (int i = 0; i < s->body->node_count; i++)
        if (s->body->node[i].op == HLO_DOT)
            return s->body->node[i].dot.batch_count > 0;
    return false;
}

static int larger_operand(const struct module_step *s)
{
    return s->operand[1]->array.bytes > s->operand[0]->array.bytes;
}

/* the argument that a product copies in, the larger one if both are; or -1 */
static int copied_argument(const struct module_plan *p, const struct module_step *s)
{
    int first = larger_operand(s);

    for (int i = 0; i < 2; i++) {
        int k = i ? !first : first;

        if (is_constant(p, module_plan_buffer(p, s->operand[k])))
            return k;
    }
    return -1;
}

/*
 * Room for what products copy in, before what stays between kernels is placed: XLA is seen to leave
 * scores of 92 MiB in HBM rather than their values (docs/accuracy.md).
 */
static void hold_operands(struct module_plan *p)
{
    for (int i = 0; i < p->step_count; i++) {
        const struct module_step *s = &p->step[i];
        struct module_buffer *b;
        int k;

        if (!is_product(s) || s->operand_count < 2 || s->is_in_hbm || is_vector(s)
            || p->settings->codegen != CODEGEN_XLA || p->settings->kept)
            continue;
        k = copied_argument(p, s);
        if (k < 0 || (has_batches(s) && i == 0))
            continue;
        b = arena_alloc(p->arena, sizeof(*b));
        *b = (struct module_buffer){.bytes = s->operand[k]->array.bytes, .stands_for = -1, .is_held = true,
                                    .first = has_batches(s) ? i - 1 : i, .last = i,
                                    .behind_bytes = behind_bytes(&s->operand[k]->array)};
        module_room_place(&p->vmem, b, SPACE_VMEM);
    }
}

static void release_held(struct module_room *r)
{
    int count = 0;

    for (int i = 0; i < r->count; i++)
        if (!r->placed[i]->is_held)
            r->placed[count++] = r->placed[i];
    r->count = count;
}

void module_plan_residents(struct module_plan *p, struct module *m)
{
    struct candidate *list = mem_alloc((size_t)(p->buffer_count + 1) * sizeof(*list));
    struct module_room *r = &p->vmem;
    int count = 0;

    p->scoped_bytes = kernel_bytes(p);
    *r = (struct module_room){.placed = arena_array(p->arena, shadows_max(p), sizeof(*r->placed)),
                              .base = p->scoped_bytes,
                              .end = keeps_arrays(p->settings) ? p->settings->chip->vmem_bytes
                                                        : p->scoped_bytes};
    m->vmem_peak_bytes = r->base;
    find_behind(p);
    hold_operands(p);
    for (int i = 0; i < p->buffer_count; i++) {
        struct module_buffer *b = &p->buffer[i];

        if (!module_buffer_lives(b) || b->must_stay ||
            (b->role != BUFFER_TEMPORARY && b->role != BUFFER_STATE) ||
            !is_worth_staying(p, b) || b->kept == PLACE_HBM || !may_stay(p, b))
            continue;
        list[count++] = (struct candidate){
            b, b->kept == PLACE_VMEM
                   ? HUGE_VAL           /* not a choice */
                   : module_plan_gain(p, b)};
    }
    qsort(list, (size_t)count, sizeof(*list), better_first);
    for (int i = 0; i < count; i++)
        if (module_room_place(r, list[i].buffer, SPACE_VMEM)) {
            m->resident_count++;
            note_peak(m, list[i].buffer->address + list[i].buffer->bytes);
        }
    release_held(r);
    mem_free(list);
}

int64_t plan_free_bytes(const struct module_plan *p, int step)
{
    int64_t end = p->settings->chip->vmem_bytes;

    if (p->settings->codegen == CODEGEN_XLA || !is_product(&p->step[step]))
        return p->scoped_bytes;
    for (int i = 0; i < p->vmem.count; i++) {
        const struct module_buffer *b = p->vmem.placed[i];

        if (b->first <= step && step <= b->last && b->address < end)
            end = b->address;
    }
    return end;
}

static double copy_cycles(const struct module_plan *p, int64_t bytes)
{
    const struct chip *c = p->settings->chip;

    return (double)bytes * (double)c->chip_clock_mhz / ((double)c->dma_core_gbps * 1e3);
}

/* by the roof: what the step takes at least, a guess at how much a copy beside it can hide */
static double step_cycles(const struct module_plan *p, const struct module_step *s)
{
    double flops, copies = 0;

    if (s->kind != STEP_KERNEL || (s->sums && s->sums->cut_count))
        return 0;
    for (int i = 0; i < s->operand_count; i++)
        if (s->operand[i]->array.space == SPACE_HBM)
            copies += copy_cycles(p, s->operand[i]->array.bytes);
    for (int i = 0; i < s->result_count; i++)
        if (s->result[i]->array.space == SPACE_HBM)
            copies += copy_cycles(p, s->result[i]->array.bytes);
    flops = (double)graph_flops(s->body)
            / (is_product(s) ? chip_core_flops_per_cycle(p->settings->chip)
                             : (double)(VECTOR_ELEMS * p->settings->chip->slots_valu));
    return flops > copies ? flops : copies;
}

/* the earliest step before which the copy may start, and be hidden by what runs from there on */
static int earliest_start(const struct module_plan *p, int step, const struct module_value *v)
{
    double hidden = 0, wanted = copy_cycles(p, v->array.bytes);
    int start = step;

    while (start > 0 && step - start < AHEAD_STEPS_MAX && hidden < wanted) {
        const struct module_step *before = &p->step[start - 1];

        if (before->kind != STEP_KERNEL || writes(p, before, module_plan_buffer(p, v)))
            break;
        hidden += step_cycles(p, before);
        start--;
    }
    return start;
}

int module_plan_free_flag(const struct module_plan *p, int first, int last)
{
    for (int flag = 0; flag < module_plan_copy_flags(p->settings->chip); flag++) {
        bool is_free = true;

        for (int i = 0; i < p->shadow_count && is_free; i++)
            is_free = p->shadow[i].flag != flag || p->shadow[i].step < first ||
                      p->shadow[i].first > last;
        if (is_free)
            return flag;
    }
    return -1;
}

struct module_buffer *module_plan_add_shadow_buffer(struct module_plan *p, struct module *m,
                                                    const struct module_value *v, int first,
                                                    int last)
{
    struct module_buffer *b = arena_alloc(p->arena, sizeof(*b));

    *b = (struct module_buffer){.bytes = v->array.bytes, .first = first, .last = last,
                                .stands_for = -1, .is_copied = true,
                                .behind_bytes = behind_bytes(&v->array)};
    if (!module_room_place(&p->vmem, b, SPACE_VMEM))
        return NULL;
    note_peak(m, b->address + b->bytes);
    return b;
}

void module_plan_add_shadow(struct module_plan *p, struct module_shadow s,
                            const struct module_buffer *b)
{
    s.vmem = arena_alloc(p->arena, sizeof(*s.vmem));
    *s.vmem = *s.hbm;
    s.vmem->array.space = SPACE_VMEM;
    s.vmem->array.address = b->address;
    p->shadow = mem_grow(p->shadow, &p->shadow_capacity, (size_t)p->shadow_count + 1,
                         sizeof(*p->shadow));
    p->shadow[p->shadow_count++] = s;
}

static bool add_shadow(struct module_plan *p, struct module *m, struct module_shadow s)
{
    struct module_buffer *b;

    s.flag = module_plan_free_flag(p, s.first, s.step);
    b = s.flag < 0 ? NULL : module_plan_add_shadow_buffer(p, m, s.hbm, s.first, s.step);
    if (b)
        module_plan_add_shadow(p, s, b);
    return b;
}

/* the kernels beside a copy take longer than it does, from the time at which it is asked for */
static bool is_hidden(const struct module_plan *p, const struct module_shadow *s)
{
    const struct chip *c = p->settings->chip;
    double latency = (double)(c->dma_read_ns * c->chip_clock_mhz) / 1e3, hidden = 0;

    for (int step = s->first; step < s->step; step++)
        hidden += step_cycles(p, &p->step[step]);
    return hidden >= copy_cycles(p, s->hbm->array.bytes) + latency;
}

/* `last_start`: the last step before which the copy may start; true: it is made */
static bool fetch_operand(struct module_plan *p, struct module *m, int step, int index,
                          int last_start)
{
    struct module_value *v = p->step[step].operand[index];

    for (int start = earliest_start(p, step, v); start <= last_start; start++) {
        struct module_shadow s = {.step = step, .operand = index, .hbm = v, .first = start};

        s.is_hidden = is_hidden(p, &s);
        if (add_shadow(p, m, s)) {
            m->prefetch_count++;
            return true;
        }
    }
    return false;
}

/* a step of the product needs all of it: no more rows, or columns, than a step has */
static bool is_one_block(const struct module_step *s, int index)
{
    const struct shape *r = &s->result[0]->array.shape;
    int64_t columns = r->rank > 0 ? r->dim[r->rank - 1] : 1;

    return (index == 1 ? columns : shape_elems(r) / columns) <= STEP_SIDE_MAX;
}

/*
 * The larger first; the other one if something hides its copy or the first step needs it anyway,
 * else it streams (docs/accuracy.md). A product of one row or column reads its matrix once, as it
 * comes; so does one with batches, unless something hides the copy.
 */
static void fetch_operands(struct module_plan *p, struct module *m, int step)
{
    struct module_step *s = &p->step[step];
    int order[2] = {0, 1}, last_start = step;

    if (s->operand_count < 2 || s->is_in_hbm || is_vector(s))
        return;
    if (has_batches(s) || p->settings->codegen == CODEGEN_BEST)
        last_start = step - 1;
    if (larger_operand(s)) {
        order[0] = 1;
        order[1] = 0;
    }
    for (int i = 0; i < 2; i++)
        if (s->operand[order[i]]->array.space == SPACE_HBM
            && fetch_operand(p, m, step, order[i], last_start)
            && !is_one_block(s, order[1]))
            last_start = step - 1;
}

static bool is_move(const struct module_step *s)
{
    const struct kernel_kind *kind = s->kind == STEP_KERNEL ? kernel_kind_of(s->body) : NULL;

    return kind && strcmp(kind->name, "move") == 0;
}

/* a small array that a move takes in one step, which waits for all of it unless it has come before */
static void fetch_moved(struct module_plan *p, struct module *m, int step)
{
    const struct module_step *s = &p->step[step];

    if (s->operand_count == 1 && !s->is_in_hbm && s->operand[0]->array.space == SPACE_HBM
        && s->operand[0]->array.bytes <= module_plan_scoped_bytes(p->settings) / MOVED_SHARE)
        fetch_operand(p, m, step, 0, step - 1);
}

void module_plan_prefetches(struct module_plan *p, struct module *m)
{
    p->shadow_count = 0;
    m->prefetch_count = 0;
    if (p->vmem.end <= p->vmem.base)
        return;
    if (p->settings->kept) {
        module_plan_keep_copies(p, m);
        return;
    }
    for (int i = 0; i < p->step_count; i++)
        if (is_product(&p->step[i]))
            fetch_operands(p, m, i);
        else if (is_move(&p->step[i]) && p->settings->codegen == CODEGEN_XLA)
            fetch_moved(p, m, i);
}
