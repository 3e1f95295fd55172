/*
 * Places and copies of a program that is kept as its own compiler left it (stack/hlo/kept.h):
 * arrays of memory space 1 stay in VMEM, others go through HBM, and what the schedule copies to
 * VMEM is copied from where it starts to its first reader, beside the kernels between.
 *
 * Not kept: copies whose readers stand in a loop or branch that begins behind their start, and
 * copies to HBM, which are kernels.
 */
#include "stack/module/module_impl.h"

static bool is_in_vmem(const struct module_plan *p, const struct module_value *v)
{
    return v->fetch || p->buffer[v->buffer].kept == PLACE_VMEM;
}

/* an array of its own, and the kernel that copies to it */
static struct module_value *copy_to(struct module_plan *p, const struct kept_edge *edge,
                                    struct module_value *from)
{
    struct module_value *v = module_plan_new_value(p, from->array.name, &from->array.shape,
                                                   BUFFER_TEMPORARY, -1);

    module_plan_add_copy(p, from, v);
    p->step[p->step_count - 1].unit = edge->unit;
    p->buffer[v->buffer].kept = edge->in_vmem ? PLACE_VMEM : PLACE_HBM;
    p->buffer[v->buffer].unit = edge->unit;
    kept_note(p->settings->kept, edge->unit, "a kernel copies, which nothing runs beside");
    return v;
}

static void add_fetch(struct module_plan *p, struct module_value *v, int unit)
{
    int done = p->settings->kept->unit[unit].done;

    p->fetch = mem_grow(p->fetch, &p->fetch_capacity, (size_t)p->fetch_count + 2,
                        sizeof(*p->fetch));
    p->fetch[++p->fetch_count] = (struct module_fetch){.unit = unit, .done = done};
    v->fetch = p->fetch_count;
}

struct module_value *module_plan_keep_edge(struct module_plan *p, const struct kept_edge *edge,
                                           struct module_value *from, struct module_value *v)
{
    const struct kept_program *kept = p->settings->kept;
    struct module_buffer *b = &p->buffer[v->buffer];

    if (!kept)
        return v;
    if (kept->unit[edge->unit].kind != KEPT_COPY) {
        b->kept = edge->in_vmem ? PLACE_VMEM : PLACE_HBM;
        b->unit = edge->unit;
        return v;
    }
    if (!edge->in_vmem || is_in_vmem(p, from))
        return copy_to(p, edge, from);
    add_fetch(p, v, edge->unit);
    return v;
}

/* ---- copies ---- */

/* by step: the begin of the loop or branch around it, or its else; -1: none */
static int *blocks_around(const struct module_plan *p)
{
    int *around = mem_alloc(((size_t)p->step_count + 1) * sizeof(*around)), now = -1;

    for (int i = 0; i < p->step_count; i++) {
        enum module_step_kind kind = p->step[i].kind;

        if (kind == STEP_LOOP_END || kind == STEP_JOIN || kind == STEP_ELSE)
            now = now < 0 ? -1 : around[now];
        around[i] = now;
        if (kind == STEP_LOOP_BEGIN || kind == STEP_BRANCH || kind == STEP_ELSE)
            now = i;
    }
    return around;
}

struct reading {                        /* of one fetched array */
    int first, from, last;              /* steps: the copy starts before; first and last reader */
    struct module_value *value;
    bool is_apart;                      /* in several blocks */
};

static bool reads_fetched(const struct module_plan *p, int step, int operand, int fetch)
{
    const struct module_step *s = &p->step[step];

    return s->kind == STEP_KERNEL && !s->is_in_hbm && s->operand[operand]->fetch == fetch;
}

/* the last step before `end` that makes what is copied; -1: it is there before all steps */
static int last_writer(const struct module_plan *p, const struct module_value *v, int end)
{
    int last = -1;

    for (int i = 0; i < end; i++)
        for (int k = 0; k < p->step[i].result_count; k++)
            if (module_plan_buffer(p, p->step[i].result[k]) == module_plan_buffer(p, v))
                last = i;
    return last;
}

static struct reading find_reading(const struct module_plan *p, int fetch, const int *around)
{
    struct reading r = {.first = -1, .from = -1, .last = -1};
    int made;

    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->step[i].operand_count; k++)
            if (reads_fetched(p, i, k, fetch)) {
                r.value = r.from < 0 ? p->step[i].operand[k] : r.value;
                r.is_apart |= r.from >= 0 && around[i] != around[r.from];
                r.from = r.from < 0 ? i : r.from;
                r.last = i;
            }
    made = r.from < 0 ? -1 : last_writer(p, r.value, r.from);
    for (int i = r.from; i > made; i--) /* back to the first step behind the copy's start */
        if (p->step[i].unit > p->fetch[fetch].unit || !p->step[i].unit)
            r.first = around[i] == around[r.from] ? i : r.first;
        else
            break;
    for (int i = r.first; i >= 0 && i < r.from; i++)    /* no block begins or ends on the way */
        r.first = p->step[i].kind != STEP_KERNEL ? i + 1 : r.first;
    return r;
}

static bool keep_copy(struct module_plan *p, struct module *m, int fetch, const int *around)
{
    struct reading r = find_reading(p, fetch, around);
    struct module_buffer *b;
    int flag;

    if (r.from >= 0 && r.value->array.space == SPACE_VMEM)
        return true;                    /* made here, and there already */
    if (r.from < 0 || r.is_apart || around[r.from] >= 0)
        return false;
    flag = module_plan_free_flag(p, r.first, r.from);
    b = flag < 0 ? NULL : module_plan_add_shadow_buffer(p, m, r.value, r.first, r.last);
    for (int i = r.from; b && i <= r.last; i++)
        for (int k = 0; k < p->step[i].operand_count; k++) {
            bool is_again = p->shadow_count && p->shadow[p->shadow_count - 1].flag == flag &&
                            p->shadow[p->shadow_count - 1].hbm->fetch == fetch;

            if (reads_fetched(p, i, k, fetch))
                module_plan_add_shadow(p, (struct module_shadow){
                    .step = i, .operand = k, .first = is_again ? i : r.first, .flag = flag,
                    .hbm = p->step[i].operand[k], .is_again = is_again}, b);
        }
    m->prefetch_count += b != NULL;
    return b;
}

void module_plan_keep_copies(struct module_plan *p, struct module *m)
{
    int *around = blocks_around(p);

    for (int f = 1; f <= p->fetch_count; f++)
        p->fetch[f].is_kept = keep_copy(p, m, f, around);
    mem_free(around);
}

/* ---- what became of them ---- */

static void tell_buffer(const struct module_plan *p, const struct module_buffer *b)
{
    struct kept_program *kept = p->settings->kept;

    if (!module_buffer_lives(b) || b->kept != PLACE_VMEM)
        return;
    if (b->space == SPACE_VMEM) {
        kept->vmem_kept++;
        return;
    }
    kept->vmem_lost++;
    kept_note(kept, b->unit, "its result in VMEM lies in HBM: %s",
              b->must_stay ? "it leaves the program"
                           : "a kernel takes none there, or there is no room");
}

void module_plan_tell_kept(const struct module_plan *p)
{
    struct kept_program *kept = p->settings->kept;

    if (!kept)
        return;
    kept->vmem_kept = kept->vmem_lost = kept->copies_kept = kept->copies_lost = 0;
    for (int i = 0; i < p->buffer_count; i++)
        tell_buffer(p, &p->buffer[i]);
    for (int f = 1; f <= p->fetch_count; f++) {
        kept->copies_kept += p->fetch[f].is_kept;
        kept->copies_lost += !p->fetch[f].is_kept;
        if (!p->fetch[f].is_kept)
            kept_note(kept, p->fetch[f].unit, "its readers take it from HBM");
    }
}
