/*
 * Concatenates segments into a core's program: merges their notes and symbols, and writes markers,
 * gaps and prefetches between.
 */
#include "stack/module/link.h"

#include "base/hash.h"
#include "isa/op_make.h"

#include <assert.h>
#include <string.h>

#include "isa/overlay.h"

#define GRANULES_PER_TILE (ARRAY_TILE_BYTES / ARRAY_GRANULE_BYTES)
#define WORK 0                          /* the scalar register of what stands between segments */
#define LOOP_PRED 0
#define FLOWS_MAX 64                    /* loops and conditionals in each other */
#define EXITS_MAX 4                     /* branches out of one */

#define LATE_MAX 64                     /* copies that start inside a segment; more: before it */

struct note {
    const char *text;
    uint32_t number;
    UT_hash_handle hh;
};

/* a loop or conditional that has begun and not ended */
struct flow {
    enum link_kind begun_by;            /* LINK_LOOP_BEGIN, LINK_BRANCH, or then LINK_ELSE */
    uint32_t start;                     /* of a loop, where rounds begin */
    int counter;                        /* its depth among counted loops; -1: it has none */
    bool is_assumed;
    size_t exit[EXITS_MAX];             /* operations that branch to the end, or to ELSE */
    int exit_count;
};

struct linker {
    const struct chip *chip;
    struct arena *a;
    struct isa_op *op;
    size_t op_count, op_capacity;
    struct isa_bundle *bundle;
    size_t bundle_count, bundle_capacity;
    struct isa_symbol *symbol;
    size_t symbol_count, symbol_capacity;
    const char **note;
    size_t note_count, note_capacity;
    struct note *notes;                 /* by text */
    struct flow flow[FLOWS_MAX];
    int flow_count, counter_count, kernel_count;
    struct { const struct link_item *item[LATE_MAX]; int count; } late;     /* COPY_STARTs */
};

static uint32_t note_number(struct linker *l, const char *text)
{
    struct note *n;

    if (!text || !*text)
        return 0;
    HASH_FIND_STR(l->notes, text, n);
    if (n)
        return n->number;
    n = arena_alloc(l->a, sizeof(*n));
    n->text = arena_strdup(l->a, text);
    l->note = mem_grow(l->note, &l->note_capacity, l->note_count + 1, sizeof(*l->note));
    l->note[l->note_count++] = n->text;
    n->number = (uint32_t)l->note_count;
    HASH_ADD_KEYPTR(hh, l->notes, n->text, strlen(n->text), n);
    return n->number;
}

static void add_bundle(struct linker *l, uint32_t note)
{
    l->bundle = mem_grow(l->bundle, &l->bundle_capacity, l->bundle_count + 1, sizeof(*l->bundle));
    l->bundle[l->bundle_count++] =
        (struct isa_bundle){.first_op = (uint32_t)l->op_count, .note = note};
}

static void add_op(struct linker *l, const struct isa_op *op)
{
    l->op = mem_grow(l->op, &l->op_capacity, l->op_count + 1, sizeof(*l->op));
    l->op[l->op_count++] = *op;
    l->bundle[l->bundle_count - 1].op_count++;
}

/* a bundle of one operation */
static void put(struct linker *l, uint32_t note, struct isa_op op)
{
    add_bundle(l, note);
    add_op(l, &op);
}

static void add_symbol(struct linker *l, const char *name, uint32_t bundle)
{
    l->symbol = mem_grow(l->symbol, &l->symbol_capacity, l->symbol_count + 1, sizeof(*l->symbol));
    l->symbol[l->symbol_count++] = (struct isa_symbol){.name = name, .bundle = bundle};
}

static bool is_spill(const char *note)
{
    size_t length = strlen(note), suffix = strlen(VCODE_SPILL_SUFFIX);

    return length >= suffix && !strcmp(note + length - suffix, VCODE_SPILL_SUFFIX);
}

/* number in the linked program of each of the segment's notes; [0]: of bundles without one */
static uint32_t *merge_notes(struct linker *l, const struct isa_program *p, const char *note)
{
    uint32_t *number = arena_array(l->a, (size_t)p->note_count + 1, sizeof(*number));

    number[0] = note_number(l, note);
    for (uint32_t i = 0; i < p->note_count; i++) {
        const char *text = p->note[i];

        if (note && is_spill(text))
            text = arena_printf(l->a, "%s%s", note, VCODE_SPILL_SUFFIX);
        else if (note)
            text = note;
        number[i + 1] = note_number(l, text);
    }
    return number;
}

/* "k3_loop"; with its bundle where the segment has that name twice */
static const char *symbol_name(const struct linker *l, const struct isa_program *p, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(p->symbol[k].name, p->symbol[i].name))
            return arena_printf(l->a, "k%d_%s_%u", l->kernel_count, p->symbol[i].name,
                                (unsigned)p->symbol[i].bundle);
    return arena_printf(l->a, "k%d_%s", l->kernel_count, p->symbol[i].name);
}

static int check_flag(const struct linker *l, const struct link_item *item, struct err *e)
{
    if (item->flag >= 0 && item->flag < l->chip->sync_flags)
        return 0;
    return err_set(e, "%s: sync flag %d out of 0..%d", item->note ? item->note : "copy",
                   item->flag, (int)l->chip->sync_flags - 1);
}

static bool is_same_layout(const struct array *x, const struct array *y)
{
    if (!shape_equal(&x->shape, &y->shape))
        return false;
    for (int i = 0; i < x->shape.rank; i++)
        if (x->order[i] != y->order[i])
            return false;
    return true;
}

static const char *copy_note(const struct linker *l, const struct link_item *item)
{
    return item->note ? item->note : arena_printf(l->a, "copy of %s", item->from->name);
}

static int32_t granules_of(const struct link_item *item)
{
    return (int32_t)(item->from->tile_count * GRANULES_PER_TILE);
}

static void put_copy(struct linker *l, const struct link_item *item)
{
    static const enum isa_opcode code[2][2] = {
        [SPACE_HBM] = {[SPACE_HBM] = OP_DMA_HBM_HBM, [SPACE_VMEM] = OP_DMA_HBM_VMEM},
        [SPACE_VMEM] = {[SPACE_HBM] = OP_DMA_VMEM_HBM, [SPACE_VMEM] = OP_DMA_VMEM_VMEM}};
    const struct array *from = item->from, *to = item->to;

    put(l, note_number(l, copy_note(l, item)),
        isa_make_dma(code[from->space][to->space],
                     I((int32_t)(from->address / ARRAY_GRANULE_BYTES)), I(granules_of(item)),
                     I((int32_t)(to->address / ARRAY_GRANULE_BYTES)), I(item->flag)));
}

/*
 * Where late copies start: the bundle of the first wait for a copy into vector memory, in straight
 * code from the segment's first bundle on, into which nothing branches; or where the loop begins in
 * which that wait stands, if what it waits for first has been asked for before. 0: there is none.
 */
static uint32_t first_wait(const struct isa_program *p)
{
    uint32_t wait = 0, asked = 0;       /* bundles; `asked` is behind the first copy that was asked for */

    for (uint32_t b = 0; b < p->bundle_count && !wait; b++)
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            enum isa_opcode code = (enum isa_opcode)p->op[p->bundle[b].first_op + i].code;

            if (code == OP_SBR || (code == OP_DMA_DONE && !asked))
                return 0;
            if (code == OP_DMA_HBM_VMEM && !asked)
                asked = b + 1;
            if (code == OP_DMA_DONE)
                wait = b;
        }
    for (uint32_t i = 0; i < p->op_count; i++)
        if (p->op[i].code == OP_SBR && (uint32_t)p->op[i].operand[0].value <= wait)
            wait = (uint32_t)p->op[i].operand[0].value;
    return wait >= asked ? wait : 0;
}

static void put_late_copies(struct linker *l)
{
    for (int i = 0; i < l->late.count; i++)
        put_copy(l, l->late.item[i]);
    l->late.count = 0;
}

static void add_segment(struct linker *l, const struct isa_program *p, const char *note)
{
    const uint32_t *number = merge_notes(l, p, note), first = (uint32_t)l->bundle_count;
    uint32_t wait = first_wait(p), late = (uint32_t)l->late.count;

    add_symbol(l, arena_printf(l->a, "k%d", l->kernel_count), first);
    for (uint32_t i = 0; i < p->symbol_count; i++)
        add_symbol(l, symbol_name(l, p, i),
                   first + p->symbol[i].bundle + (p->symbol[i].bundle > wait ? late : 0));
    for (uint32_t b = 0; b < p->bundle_count; b++) {
        if (b == wait)
            put_late_copies(l);
        add_bundle(l, number[p->bundle[b].note]);
        if (!note)                      /* its own notes are of lines */
            l->bundle[l->bundle_count - 1].line = p->bundle[b].line;
        for (uint32_t i = 0; i < p->bundle[b].op_count; i++) {
            struct isa_op op = p->op[p->bundle[b].first_op + i];

            if (op.code == OP_SBR)
                op.operand[0].value += (int32_t)(first + late);
            add_op(l, &op);
        }
    }
}

/* The wait of a gap is charged to the marker behind it, so that the kernel does not get it. */
static void add_kernel(struct linker *l, const struct link_item *item)
{
    uint32_t note = note_number(l, "between kernels");
    int64_t cycles = l->chip->launch_kernel_ns * l->chip->chip_clock_mhz / 1000;

    if (cycles > 0 && (l->kernel_count || l->flow_count))
        put(l, note, isa_vdelay(I(cycles)));
    put(l, note, isa_vtrace(I(l->kernel_count)));
    add_segment(l, &item->segment->program, item->note);
    l->kernel_count++;
}

static int check_copy(const struct linker *l, const struct link_item *item, struct err *e)
{
    const struct array *from = item->from, *to = item->to;
    char x[128], y[128];

    if (check_flag(l, item, e))
        return -1;
    if (!is_same_layout(from, to))
        return err_set(e, "a copy cannot make %s of %s", array_print(to, y, sizeof(y)),
                       array_print(from, x, sizeof(x)));
    if (from->tile_count > INT32_MAX / GRANULES_PER_TILE)
        return err_set(e, "copy of %s: more than 256 GiB at once", from->name);
    return 0;
}

static int add_copy(struct linker *l, const struct link_item *item, struct err *e)
{
    if (check_copy(l, item, e))
        return -1;
    if (!item->from->tile_count)
        return 0;
    if (item->is_beside && l->late.count < LATE_MAX)
        l->late.item[l->late.count++] = item;
    else
        put_copy(l, item);
    return 0;
}

static int add_wait(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, copy_note(l, item));

    if (check_flag(l, item, e))
        return -1;
    if (!item->from->tile_count)
        return 0;
    put(l, note, isa_dma_done(I(item->flag), I(granules_of(item))));
    put(l, note, isa_vsyncadd(I(item->flag), I(-granules_of(item))));
    return 0;
}

static struct isa_operand counter_of(const struct flow *f)
{
    return I(LINK_SMEM + 4 * f->counter);
}

/* where the flow that `item` goes on with or ends has begun; NULL, with a message: it has not */
static struct flow *innermost(struct linker *l, const struct link_item *item,
                              enum link_kind begun_by, const char *what, struct err *e)
{
    struct flow *f = l->flow_count ? &l->flow[l->flow_count - 1] : NULL;

    if (f && f->begun_by == begun_by)
        return f;
    err_set(e, "%s: %s that has not begun", item->note ? item->note : "flow", what);
    return NULL;
}

static struct flow *begin_flow(struct linker *l, const struct link_item *item, struct err *e)
{
    struct flow *f = &l->flow[l->flow_count];

    if (l->flow_count == FLOWS_MAX) {
        err_set(e, "%s: loops and conditionals nested deeper than %d",
                item->note ? item->note : "flow", FLOWS_MAX);
        return NULL;
    }
    *f = (struct flow){.begun_by = item->kind, .counter = -1, .is_assumed = item->is_assumed};
    l->flow_count++;
    return f;
}

/* the branch and its delay bundles; the target is put there by set_exits unless it is known */
static void put_branch(struct linker *l, uint32_t note, struct isa_op branch)
{
    put(l, note, branch);
    for (int64_t i = 0; i < l->chip->core_branch_delay_bundles; i++)
        add_bundle(l, note);
}

static int put_exit(struct linker *l, struct flow *f, uint32_t note, struct isa_op branch,
                    struct err *e)
{
    if (f->exit_count == EXITS_MAX)
        return err_set(e, "a loop with more than %d exits", EXITS_MAX);
    f->exit[f->exit_count++] = l->op_count;
    put_branch(l, note, branch);
    return 0;
}

static void set_exits(struct linker *l, struct flow *f)
{
    for (int i = 0; i < f->exit_count; i++)
        l->op[f->exit[i]].operand[0].value = (int32_t)l->bundle_count;
    f->exit_count = 0;
}

static int begin_loop(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, item->note);
    struct flow *f = begin_flow(l, item, e);

    if (!f)
        return -1;
    if (item->count < 0 || item->count > INT32_MAX)
        return err_set(e, "a loop of %lld rounds, at most 2147483647 are possible",
                       (long long)item->count);
    if (item->count > 0) {
        if (l->counter_count == LINK_LOOPS_MAX)
            return err_set(e, "loops that count nested deeper than %d", LINK_LOOPS_MAX);
        f->counter = l->counter_count++;
        put(l, note, isa_smov(WORK, I(item->count)));
        put(l, note, isa_sst(NONE, counter_of(f), R(WORK)));
    }
    f->start = (uint32_t)l->bundle_count;
    return 0;
}

static int end_loop(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, item->note);
    struct flow *f = innermost(l, item, LINK_LOOP_BEGIN, "a loop ends", e);

    if (!f)
        return -1;
    if (f->counter >= 0 && !f->is_assumed) {
        put(l, note, isa_sld(WORK, NONE, counter_of(f)));
        put(l, note, isa_sadd(WORK, R(WORK), I(-1)));
        put(l, note, isa_sst(NONE, counter_of(f), R(WORK)));
        put(l, note, isa_scmp_gt(LOOP_PRED, R(WORK), I(0)));
        put_branch(l, note, isa_if(LOOP_PRED, isa_sbr(f->start)));
    } else {
        put_branch(l, note, isa_sbr(f->start));
    }
    set_exits(l, f);
    l->counter_count -= f->counter >= 0;
    l->flow_count--;
    return 0;
}

/* the word of a predicate comes to SMEM, or, if nobody asks for it, takes as long */
static int fetch_predicate(struct linker *l, const struct link_item *item, struct err *e)
{
    static const enum isa_opcode code[2][2] = {
        [SPACE_HBM] = {OP_DMA_HBM_SMEM, OP_DMA_HBM_VMEM},
        [SPACE_VMEM] = {OP_DMA_VMEM_SMEM, OP_DMA_VMEM_VMEM}};
    uint32_t note = note_number(l, item->note);
    const struct shape *s = &item->from->shape;
    int64_t smem = LINK_SMEM_END / ARRAY_GRANULE_BYTES;

    if (check_flag(l, item, e))
        return -1;
    if (s->rank != 0 || s->dtype != DTYPE_PRED)
        return err_set(e, "%s: %s is no scalar predicate", item->note ? item->note : "branch",
                       item->from->name);
    put(l, note, isa_make_dma(code[item->from->space][item->is_assumed],
                              I((int32_t)(item->from->address / ARRAY_GRANULE_BYTES)), I(1),
                              I(item->is_assumed ? 0 : (int32_t)smem), I(item->flag)));
    put(l, note, isa_dma_done(I(item->flag), I(1)));
    put(l, note, isa_vsyncadd(I(item->flag), I(-1)));
    return 0;
}

/* LOOP_PRED: the predicate holds; it is the lowest byte of its word */
static void test_predicate(struct linker *l, uint32_t note)
{
    put(l, note, isa_sld(WORK, NONE, I(LINK_SMEM_END)));
    put(l, note, isa_sand(WORK, R(WORK), I(1)));
    put(l, note, isa_scmp_ne(LOOP_PRED, R(WORK), I(0)));
}

static int exit_loop(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, item->note);
    struct flow *f = innermost(l, item, LINK_LOOP_BEGIN, "a loop is left", e);

    if (!f || fetch_predicate(l, item, e))
        return -1;
    if (f->is_assumed) {
        put(l, note, isa_sld(WORK, NONE, counter_of(f)));
        put(l, note, isa_scmp_gt(LOOP_PRED, R(WORK), I(0)));
        put(l, note, isa_sadd(WORK, R(WORK), I(-1)));
        put(l, note, isa_sst(NONE, counter_of(f), R(WORK)));
    } else {
        test_predicate(l, note);
    }
    return put_exit(l, f, note, isa_unless(LOOP_PRED, isa_sbr(0)), e);
}

static int begin_branch(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, item->note);
    struct flow *f = begin_flow(l, item, e);

    if (!f || fetch_predicate(l, item, e))
        return -1;
    if (item->is_assumed)
        return item->count ? 0 : put_exit(l, f, note, isa_sbr(0), e);
    test_predicate(l, note);
    return put_exit(l, f, note, isa_unless(LOOP_PRED, isa_sbr(0)), e);
}

/* what was taken ends; those who did not take it come here */
static int begin_else(struct linker *l, const struct link_item *item, struct err *e)
{
    struct flow *f = innermost(l, item, LINK_BRANCH, "the other branch of a conditional", e);
    struct flow behind = {.begun_by = LINK_ELSE, .counter = -1};

    if (!f || put_exit(l, &behind, note_number(l, item->note), isa_sbr(0), e))
        return -1;
    set_exits(l, f);
    *f = behind;
    return 0;
}

static int join_branches(struct linker *l, const struct link_item *item, struct err *e)
{
    struct flow *f = innermost(l, item, LINK_ELSE, "a conditional ends", e);

    if (!f)
        return -1;
    set_exits(l, f);
    l->flow_count--;
    return 0;
}

/* Each core raises the other's flag and takes back what the other has raised. */
static int add_barrier(struct linker *l, const struct link_item *item, struct err *e)
{
    uint32_t note = note_number(l, item->note);
    struct isa_operand flag = I(item->flag);

    if (check_flag(l, item, e))
        return -1;
    if (l->chip->chip_cores != 2)
        return err_set(e, "a barrier of the cores of a chip: %s has %d, two are needed",
                       l->chip->chip_name, (int)l->chip->chip_cores);
    put(l, note, isa_sld(WORK, NONE, I(SMEM_PEER)));
    put(l, note, isa_vsyncadd_r(flag, I(1), R(WORK)));
    put(l, note, isa_vwait_ge(flag, I(1)));
    put(l, note, isa_vsyncadd(flag, I(-1)));
    return 0;
}

static int add_item(struct linker *l, const struct link_item *item, struct err *e)
{
    if (item->kind != LINK_SEGMENT && item->kind != LINK_COPY_START && item->kind != LINK_COPY_DONE)
        put_late_copies(l);
    switch (item->kind) {
    case LINK_SEGMENT:
        add_kernel(l, item);
        return 0;
    case LINK_COPY_START: return add_copy(l, item, e);
    case LINK_COPY_DONE: return add_wait(l, item, e);
    case LINK_LOOP_BEGIN: return begin_loop(l, item, e);
    case LINK_LOOP_END: return end_loop(l, item, e);
    case LINK_LOOP_EXIT: return exit_loop(l, item, e);
    case LINK_BRANCH: return begin_branch(l, item, e);
    case LINK_ELSE: return begin_else(l, item, e);
    case LINK_JOIN: return join_branches(l, item, e);
    case LINK_BARRIER: return add_barrier(l, item, e);
    }
    return 0;
}

static int add_items(struct linker *l, const struct link_item *item, int count,
                     struct link_result *out, struct err *e)
{
    out->first_bundle = arena_array(l->a, (size_t)count + 1, sizeof(*out->first_bundle));
    for (int i = 0; i < count; i++) {
        out->first_bundle[i] = (uint32_t)l->bundle_count;
        if (add_item(l, &item[i], e))
            return -1;
        if (item[i].kind == LINK_SEGMENT) {
            const struct vcode_stats *s = &item[i].segment->stats;

            out->stats.spill_count += s->spill_count;
            if (s->spill_tiles > out->stats.spill_tiles)
                out->stats.spill_tiles = s->spill_tiles;
            if (s->vreg_peak > out->stats.vreg_peak)
                out->stats.vreg_peak = s->vreg_peak;
        }
    }
    put_late_copies(l);
    out->first_bundle[count] = (uint32_t)l->bundle_count;
    if (l->flow_count)
        return err_set(e, "%d loops or conditionals have not ended", l->flow_count);
    put(l, 0, isa_shalt());
    return 0;
}

static void take_program(const struct linker *l, const char *name, struct link_result *out)
{
    struct isa_overlays overlays;

    out->program = (struct isa_program){
        .name = arena_strdup(l->a, name),
        .op_count = (uint32_t)l->op_count, .bundle_count = (uint32_t)l->bundle_count,
        .symbol_count = (uint32_t)l->symbol_count, .note_count = (uint32_t)l->note_count,
        .op = arena_copy(l->a, l->op, l->op_count, sizeof(*l->op)),
        .bundle = arena_copy(l->a, l->bundle, l->bundle_count, sizeof(*l->bundle)),
        .symbol = arena_copy(l->a, l->symbol, l->symbol_count, sizeof(*l->symbol)),
        .note = arena_copy(l->a, l->note, l->note_count, sizeof(*l->note))};
    isa_overlays(&out->program, l->chip->core_imem_bundles,
                 (int)l->chip->core_branch_delay_bundles, l->a, &overlays);
    out->overlay_count = overlays.count;
    out->stats.op_count = (int64_t)l->op_count;
    out->stats.bundle_count = (int64_t)l->bundle_count;
}

int link_program(const struct link_item *item, int count, const struct chip *chip,
                 const char *name, struct arena *a, struct link_result *out, struct err *e)
{
    struct linker l = {.chip = chip, .a = a};
    int status;

    memset(out, 0, sizeof(*out));
    status = add_items(&l, item, count, out, e);
    if (!status)
        take_program(&l, name, out);
    HASH_CLEAR(hh, l.notes);
    mem_free(l.op);
    mem_free(l.bundle);
    mem_free(l.symbol);
    mem_free(l.note);
    return status;
}
