/* Compiles a module's steps to segments, and links them to the program. */
#include "stack/module/module_impl.h"

#include "stack/collective/collective_table.h"
#include "stack/module/link.h"
#include "stack/module/tuning.h"
#include "stack/kernels/registry.h"

#include <string.h>

/* collectives have the end of SMEM, also between their parts */
static void share_smem(const struct module_plan *p, const struct module_step *step, bool is_beside,
                       struct kernel_job *job)
{
    int64_t bytes = module_plan_collective_smem(p->settings);

    if (step->sums) {
        job->smem += job->smem_bytes - bytes;
        job->smem_bytes = bytes;
    } else if (is_beside) {
        job->smem_bytes -= bytes;
    }
}

struct kernel_job module_plan_job(const struct module_plan *p, const struct module_step *step,
                                  bool is_beside, int64_t vmem_bytes)
{
    const struct module_settings *s = p->settings;
    int first_flag = module_plan_kernel_flags(s);
    int flags = (int)s->chip->sync_flags - s->message_flags - first_flag -
                module_plan_collective_flags(p) - module_plan_peer_flags(p);
    struct kernel_job job = {
        .chip = s->chip, .codegen = s->codegen, .name = step->name, .source = step->source,
        .body = step->body, .operand_count = step->operand_count,
        .result_count = step->result_count,
        .operand = (const struct array *const *)step->operand,
        .result = (const struct array *const *)step->result,
        .vmem_rows = vmem_bytes / ARRAY_ROW_BYTES,
        .first_flag = first_flag, .flag_count = flags, .sums = step->sums,
        .loop = step->loop, .smem = LINK_SMEM_END, .smem_bytes = s->chip->smem_bytes - LINK_SMEM_END,
        .core_count = module_cores(s)};

    share_smem(p, step, is_beside, &job);
    if (step->peers) {
        step->peers->first_flag = first_flag + flags;
        job.peers = step->peers;
    }
    return job;
}

static struct kernel_job job_of(const struct module_plan *p, const struct module_step *step)
{
    int at = (int)(step - p->step);
    bool is_beside = module_plan_is_beside_sum(p, at);

    return module_plan_job(p, step, is_beside,
                           is_beside ? module_plan_scoped_bytes(p->settings)
                                     : plan_free_bytes(p, at));
}

/* an operand that is changed in its place is written as far as it is read */
static int64_t payload_of(const struct module_plan *p, const struct module_step *s)
{
    int64_t bytes = 0;

    if (s->sums && s->sums->part)
        return 0;
    for (int i = 0; i < s->operand_count; i++)
        bytes += array_payload_bytes(&module_plan_read(p, s, i)->array);
    for (int i = 0; i < s->result_count; i++) {
        bool is_changed = s->operand_count > 0 &&
                          module_plan_is_changed(p, s, module_plan_buffer(p, s->result[i]));

        bytes += array_payload_bytes(is_changed ? &module_plan_read(p, s, 0)->array
                                                : &s->result[i]->array);
    }
    return bytes;
}

/* the same tiling on core 1 */
static int make_peer(struct module_kernel *k, struct memo *memo, struct arena *a, struct err *e)
{
    struct segment *segment = arena_alloc(a, sizeof(*segment));
    struct kernel_job job = k->job;

    job.core = 1;
    job.tiling = &k->segment->tiling;
    job.memo = memo;
    k->peer_segment = segment;
    return kernel_compile(&job, a, segment, e);
}

static int make_kernel(struct module *m, const struct module_plan *p,
                       const struct module_step *step, struct arena *a, struct err *e)
{
    struct module_kernel *k = &m->kernel[m->kernel_count];
    const struct kernel_kind *kind = kernel_kind_of(step->body);
    struct segment *segment = arena_alloc(a, sizeof(*segment));
    struct kernel_job job;

    *k = (struct module_kernel){
        .name = step->name, .source = step->source, .category = kind ? kind->category : "",
        .job = job_of(p, step), .segment = segment, .item = m->item_count, .times = step->times,
        .unit = step->unit,
        .payload_bytes = payload_of(p, step)};
    if (!step->sums || step->sums->part == 0)
        k->flops = graph_flops(step->body);
    k->job.tiling = tuning_find(p->settings->tuning, &k->job);
    job = k->job;
    job.memo = p->memo;                 /* which k->job outlives */
    if (kernel_compile(&job, a, segment, e)
        || (p->settings->megacore && make_peer(k, p->memo, a, e)))
        return -1;
    m->chips_differ |= (segment->table && !segment->table->lists.is_uniform) || step->peers;
    m->asks_number |= step->peers != NULL;
    m->flops += k->flops * k->times;
    m->kernel_count++;
    return 0;
}

static struct link_item *add_item(struct module *m, enum link_kind kind, const char *note)
{
    struct link_item *item = &m->item[m->item_count++];

    *item = (struct link_item){.kind = kind, .note = note};
    return item;
}

static struct link_item *add_copy(struct module *m, const struct module_shadow *s,
                                  enum link_kind kind)
{
    struct link_item *item = add_item(m, kind, s->hbm->array.name);

    item->from = &s->hbm->array;
    item->to = &s->vmem->array;
    item->flag = s->flag;
    return item;
}

/* flags of copies end there */
static void add_barrier(struct module *m, struct module_plan *p, int step)
{
    add_item(m, LINK_BARRIER, LINK_BARRIER_NOTE)->flag =
        module_plan_copy_flags(p->settings->chip);
    m->barrier_count++;
    p->barrier_step = step;
}

/* a copy that takes longer by its bytes than until its first byte has come */
static bool is_long(const struct module_plan *p, const struct module_shadow *s)
{
    const struct chip *c = p->settings->chip;

    return (double)s->hbm->array.bytes > (double)c->dma_core_gbps * (double)c->dma_read_ns;
}

/*
 * Copies that start before a step, and those that are waited for there. One that a later step reads
 * and that is long, or hidden by the kernels until then, starts behind the first copies of this
 * step's kernel: before or beside them, it would take its share of the memory's rate from what is
 * needed now.
 */
static void add_copies_before(struct module *m, const struct module_plan *p, int step)
{
    for (int i = 0; i < p->shadow_count; i++) {
        const struct module_shadow *s = &p->shadow[i];

        if (s->first == step && !s->is_again)
            add_copy(m, s, LINK_COPY_START)->is_beside =
                s->step > step && (is_long(p, s) || s->is_hidden)
                && !p->settings->kept;  /* its compiler's schedule says what starts first */
    }
    for (int i = 0; i < p->shadow_count; i++)
        if (p->shadow[i].step == step && !p->shadow[i].is_again)
            add_copy(m, &p->shadow[i], LINK_COPY_DONE);
}

void module_plan_use_shadows(struct module_plan *p, bool is_used)
{
    for (int i = 0; i < p->shadow_count; i++) {
        const struct module_shadow *s = &p->shadow[i];

        p->step[s->step].operand[s->operand] = is_used ? s->vmem : s->hbm;
    }
}

static const char *note_of(const struct module_settings *s, const struct module_step *step)
{
    if (s->notes_are_lines && step->body->node[step->body->node_count - 1].op == HLO_MOSAIC)
        return NULL;                    /* its bundles have their own */
    return s->notes_are_sources && *step->source ? step->source : step->name;
}

/* kernels leave their first flag, and their SMEM, as they found them */
static void add_guard(struct module *m, const struct module_plan *p, int index, struct arena *a)
{
    const struct module_step *step = &p->step[index];
    struct link_item *item = add_item(
        m, step->kind == STEP_BRANCH ? LINK_BRANCH : LINK_LOOP_EXIT, step->name);

    item->from = &step->operand[0]->array;
    item->flag = module_plan_kernel_flags(p->settings);
    item->count = step->count;
    item->is_assumed = step->kind == STEP_BRANCH ? step->is_assumed
                                                 : p->step[step->other].is_assumed;
    if (!item->is_assumed && !item->from->is_fixed && !m->asks_values)
        m->asks_values = *step->source ? arena_printf(a, "%s (%s)", step->name, step->source)
                                       : step->name;
}

/* where cores come from several ways, none knows what the other has seen of the last barriers */
static void add_meeting(struct module *m, struct module_plan *p, int index)
{
    if (p->settings->megacore)
        add_barrier(m, p, index);
}

static int64_t trips_of(const struct module_step *begin)
{
    return begin->count > 0 ? begin->count : 1;
}

static int add_step(struct module *m, struct module_plan *p, int index, int64_t *times,
                    struct arena *a, struct err *e)
{
    struct module_step *step = &p->step[index];
    struct link_item *item;

    step->times = *times;
    if (module_plan_needs_barrier(p, index))
        add_barrier(m, p, index);
    switch (step->kind) {
    case STEP_KERNEL:
        if (make_kernel(m, p, step, a, e)) {
            if (step->sums)
                return -1;
            p->refused[p->refused_count++] = step->name;
            return 0;
        }
        add_item(m, LINK_SEGMENT, note_of(p->settings, step))->segment =
            m->kernel[m->kernel_count - 1].segment;
        break;
    case STEP_LOOP_BEGIN:
        item = add_item(m, LINK_LOOP_BEGIN, step->name);
        item->count = step->count;
        item->is_assumed = step->is_assumed;
        *times *= trips_of(step);
        add_meeting(m, p, index);
        break;
    case STEP_LOOP_END:
        add_item(m, LINK_LOOP_END, step->name);
        *times /= trips_of(&p->step[step->other]);
        add_meeting(m, p, index);
        break;
    case STEP_LOOP_EXIT:
    case STEP_BRANCH:
        add_guard(m, p, index, a);
        break;
    case STEP_ELSE:
        add_item(m, LINK_ELSE, step->name);
        add_meeting(m, p, index);
        break;
    case STEP_JOIN:
        add_item(m, LINK_JOIN, step->name);
        add_meeting(m, p, index);
        break;
    }
    return 0;
}

int module_make_kernels(struct module *m, struct module_plan *p, struct arena *a, struct err *e)
{
    const struct module_settings *s = p->settings;
    int64_t times = 1;

    m->kernel = arena_array(a, (size_t)p->step_count + 1, sizeof(*m->kernel));
    m->item = arena_array(a, (size_t)(2 * p->step_count + 2 * p->shadow_count) + 1,
                          sizeof(*m->item));
    p->refused = arena_array(a, (size_t)p->step_count + 1, sizeof(*p->refused));
    m->kernel_count = m->item_count = p->barrier_step = 0;
    m->barrier_count = 0;
    m->chips_differ = false;
    m->asks_values = NULL;
    m->flops = 0;
    for (int i = 0; i < p->step_count; i++) {
        if (s->on_stage)
            s->on_stage(s->user, "kernels", i, p->step_count);
        add_copies_before(m, p, i);
        if (add_step(m, p, i, &times, a, e))
            return -1;
    }
    return p->refused_count ? -1 : 0;
}

static bool refuses(const struct module_plan *p, const struct module_step *step)
{
    struct kernel_job job = job_of(p, step);
    const struct kernel_kind *kind = kernel_kind_of(step->body);
    bool has_vmem = false;
    struct tiling t;

    for (int k = 0; k < step->operand_count; k++)
        has_vmem |= step->operand[k]->array.space == SPACE_VMEM;
    for (int k = 0; k < step->result_count; k++)
        has_vmem |= step->result[k]->array.space == SPACE_VMEM;
    return has_vmem && kind && kind->tilings(&job, &t, 1) == 0;
}

int module_plan_find_refusals(struct module_plan *p)
{
    int count = 0;

    module_plan_use_shadows(p, true);
    for (int i = 0; i < p->step_count; i++)
        if (p->step[i].kind == STEP_KERNEL && refuses(p, &p->step[i])) {
            p->step[i].is_in_hbm = true;
            count++;
        }
    if (count)
        module_plan_use_shadows(p, false);
    return count;
}
