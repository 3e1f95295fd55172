/* From steps to segments, and from segments to the program. */
#include "stack/module_impl.h"

#include "stack/link.h"
#include "stack/tuning.h"

#include <string.h>

#define COPY_FLAGS_MAX 40               /* XLA's limit of prefetches under way */

static int copy_flags(const struct chip *c)
{
    return c->sync_flags >= 4 * COPY_FLAGS_MAX ? COPY_FLAGS_MAX : (int)c->sync_flags / 4;
}

static struct kernel_job job_of(const struct module_settings *s, const struct step *step)
{
    int flags = copy_flags(s->chip);

    return (struct kernel_job){
        .chip = s->chip, .codegen = s->codegen, .name = step->name, .source = step->source,
        .body = step->body, .operand_count = step->operand_count,
        .result_count = step->result_count,
        .operand = (const struct array *const *)step->operand,
        .result = (const struct array *const *)step->result,
        .vmem_rows = plan_scoped_bytes(s) / ARRAY_ROW_BYTES,
        .first_flag = flags, .flag_count = (int)s->chip->sync_flags - flags,
        .smem = LINK_SMEM_END, .smem_bytes = s->chip->smem_bytes - LINK_SMEM_END,
        .core_count = 1};
}

static int64_t payload_of(const struct step *s)
{
    int64_t bytes = 0;

    for (int i = 0; i < s->operand_count; i++)
        bytes += array_payload_bytes(&s->operand[i]->array);
    for (int i = 0; i < s->result_count; i++)
        bytes += array_payload_bytes(&s->result[i]->array);
    return bytes;
}

static int make_kernel(struct module *m, const struct module_settings *s,
                       const struct step *step, struct arena *a, struct err *e)
{
    struct module_kernel *k = &m->kernel[m->kernel_count];
    const struct kernel_kind *kind = kernel_kind_of(step->body);
    struct segment *segment = arena_alloc(a, sizeof(*segment));

    *k = (struct module_kernel){
        .name = step->name, .source = step->source, .category = kind ? kind->category : "",
        .job = job_of(s, step), .segment = segment, .item = m->item_count, .times = step->times,
        .flops = graph_flops(step->body), .payload_bytes = payload_of(step)};
    k->job.tiling = tuning_find(s->tuning, &k->job);
    if (kernel_compile(&k->job, a, segment, e))
        return -1;
    m->flops += k->flops * k->times;
    m->kernel_count++;
    return 0;
}

int module_make_kernels(struct module *m, struct plan *p, struct arena *a, struct err *e)
{
    const struct module_settings *s = p->settings;
    int64_t times = 1;

    m->kernel = arena_array(a, (size_t)p->step_count + 1, sizeof(*m->kernel));
    m->item = arena_array(a, (size_t)p->step_count + 1, sizeof(*m->item));
    m->kernel_count = m->item_count = 0;
    m->flops = 0;
    for (int i = 0; i < p->step_count; i++) {
        struct step *step = &p->step[i];
        struct link_item *item = &m->item[m->item_count];

        if (s->on_stage)
            s->on_stage(s->user, "kernels", i, p->step_count);
        times = step->kind == STEP_LOOP_END ? times / p->step[step->other].count : times;
        step->times = times;
        item->note = step->name;
        switch (step->kind) {
        case STEP_KERNEL:
            if (make_kernel(m, s, step, a, e))
                return -1;
            item->kind = LINK_SEGMENT;
            item->segment = m->kernel[m->kernel_count - 1].segment;
            break;
        case STEP_LOOP_BEGIN:
            item->kind = LINK_LOOP_BEGIN;
            item->count = step->count;
            times *= step->count;
            break;
        case STEP_LOOP_END:
            item->kind = LINK_LOOP_END;
        }
        m->item_count++;
    }
    return 0;
}

int module_link(struct module *m, const struct module_settings *s, struct arena *a,
                struct err *e)
{
    m->core_count = 1;
    m->linked = arena_alloc(a, sizeof(*m->linked));
    return link_program(m->item, m->item_count, s->chip, m->graph.name, a, m->linked, e);
}
