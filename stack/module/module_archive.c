/*
 * Saves and restores a module by one walk. Arrays have numbers, in a list that comes first, so that
 * those which parameters, kernels and constants share are one again.
 */
#include "stack/module/module_archive.h"

#include "base/hash.h"
#include "isa/object.h"
#include "stack/collective/collective_table.h"
#include "stack/hlo/graph_shape.h"
#include "stack/module/module_impl.h"

#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define ELEMENTS_MAX ((int64_t)1 << 40)         /* of an array that is believed */

static const struct field shape_fields[] = {
    SAVED(shape, dtype), SAVED(shape, rank), SAVED(shape, dim)};

static const struct field array_fields[] = {
    SAVED(array, order), SAVED(array, space), SAVED(array, address), SAVED_BOOL(array, is_fixed)};

static const struct field module_fields[] = {
    APART(module, graph), APART(module, array), APART(module, parameter), APART(module, output),
    APART(module, kernel), APART(module, constant), APART(module, item), APART(module, sum),
    APART(module, page), APART(module, kernel_count), SAVED(module, item_count),
    APART(module, constant_count), APART(module, sum_count), APART(module, page_count),
    APART(module, core_device), SAVED(module, core_count), SAVED(module, barrier_count),
    SAVED_BOOL(module, chips_differ), SAVED_BOOL(module, asks_number),
    APART(module, asks_values), APART(module, linked), SAVED(module, hbm_bytes),
    SAVED(module, vmem_peak_bytes), SAVED(module, alive_bytes), SAVED(module, hbm_limit),
    SAVED(module, payload_bytes), SAVED(module, padding_bytes), SAVED(module, flops),
    SAVED(module, remat_count), SAVED(module, prefetch_count), SAVED(module, resident_count),
    SAVED(module, cmem_count),
    APART(module, stage), APART(module, stage_count), APART(module, stage_now)};

static const struct field kernel_fields[] = {
    APART(module_kernel, name), APART(module_kernel, source), APART(module_kernel, category),
    APART(module_kernel, job), APART(module_kernel, segment), APART(module_kernel, peer_segment),
    SAVED(module_kernel, item), SAVED(module_kernel, flops), SAVED(module_kernel, payload_bytes),
    SAVED(module_kernel, times), SAVED(module_kernel, unit)};

static const struct field job_fields[] = {
    SAVED(kernel_job, vmem_row), SAVED(kernel_job, vmem_rows), SAVED(kernel_job, first_flag),
    SAVED(kernel_job, flag_count), SAVED(kernel_job, smem), SAVED(kernel_job, smem_bytes)};

static const struct field stats_fields[] = {
    SAVED(vcode_stats, op_count), SAVED(vcode_stats, bundle_count), SAVED(vcode_stats, spill_count),
    SAVED(vcode_stats, spill_tiles), SAVED(vcode_stats, vreg_peak),
    SAVED(vcode_stats, overlapped_loops)};

static const struct field cost_fields[] = {
    SAVED(kernel_cost, compute_cycles), SAVED(kernel_cost, copy_cycles),
    SAVED(kernel_cost, fixed_cycles), SAVED(kernel_cost, total_cycles),
    SAVED(kernel_cost, hbm_bytes), SAVED(kernel_cost, flops), SAVED(kernel_cost, issued_flops),
    SAVED(kernel_cost, vmem_rows), SAVED(kernel_cost, steps), SAVED_BOOL(kernel_cost, is_idle)};

static const struct field tiling_fields[] = {
    SAVED(tiling, count), SAVED(tiling, size), SAVED(tiling, predicted_cycles)};

static const struct field segment_fields[] = {
    APART(segment, program), APART(segment, stats), APART(segment, cost), APART(segment, tiling),
    APART(segment, table), APART(segment, buffer), APART(segment, buffer_count)};

static const struct field link_fields[] = {
    APART(link_result, program), APART(link_result, stats), SAVED(link_result, overlay_count),
    APART(link_result, first_bundle)};

static const struct field sum_fields[] = {
    APART(module_sum, source), SAVED(module_sum, op), SAVED(module_sum, bytes),
    SAVED_BOOL(module_sum, is_spread)};

static const struct field page_fields[] = {
    SAVED(module_page, core), SAVED(module_page, address), APART(module_page, data),
    APART(module_page, bytes)};

/* an array's number, by where it is */
struct numbered {
    const struct array *array;
    int number;
    UT_hash_handle hh;
};

struct walk {
    struct archive archive;
    const struct module_settings *s;
    struct arena *arena;                /* of all that is made on the way */
    const struct array **list;          /* by number */
    int count;
    struct numbered *by_place;          /* saving */
};

#define WALK(w, table, at) archive_fields(&(w)->archive, table, COUNT_OF(table), at)

static bool is_loading(const struct walk *w) { return archive_is_loading(&w->archive); }

static void check(struct walk *w, bool holds, const char *what)
{
    archive_check(&w->archive, holds, "the kept program has an impossible %s", what);
}

/* a list of `count` elements; loading: of so many as were saved, zeroed */
static void *list_of(struct walk *w, const void *list, int *count, size_t elem_bytes)
{
    size_t n = archive_count(&w->archive, (size_t)*count, 1);

    if (!is_loading(w))
        return (void *)(uintptr_t)list;
    check(w, n <= INT32_MAX, "count");
    *count = w->archive.is_failed ? 0 : (int)n;
    return arena_array(w->arena, (size_t)*count + 1, elem_bytes);
}

static void walk_optional_text(struct walk *w, const char **text)
{
    bool is_there = *text;

    archive_bytes(&w->archive, &is_there, 1);
    if (is_there)
        archive_text(&w->archive, text);
}

/* ----- arrays */

static void number_array(struct walk *w, const struct array *array, size_t *room)
{
    struct numbered *n;

    HASH_FIND_PTR(w->by_place, &array, n);
    if (!array || n)
        return;
    n = arena_alloc(w->arena, sizeof(*n));
    n->array = array;
    n->number = w->count;
    HASH_ADD_PTR(w->by_place, array, n);
    MEM_ADD(w->list, w->count, *room) = array;
}

static void number_arrays(struct walk *w, const struct module *m)
{
    size_t room = 0;

    for (int i = 0; i < m->graph.parameter_count; i++)
        number_array(w, m->parameter[i], &room);
    for (int i = 0; i < m->graph.output_count; i++)
        number_array(w, m->output[i], &room);
    for (int i = 0; i < m->constant_count; i++)
        number_array(w, m->constant[i].array, &room);
    for (int k = 0; k < m->kernel_count; k++) {
        const struct kernel_job *job = &m->kernel[k].job;

        for (int i = 0; i < job->operand_count; i++)
            number_array(w, job->operand[i], &room);
        for (int i = 0; i < job->result_count; i++)
            number_array(w, job->result[i], &room);
    }
}

static bool is_shape(const struct shape *s)
{
    int64_t elements = 1;

    if ((unsigned)s->dtype >= DTYPE_COUNT || s->rank < 0 || s->rank > GRAPH_RANK_MAX)
        return false;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1 || s->dim[i] > ELEMENTS_MAX / elements)
            return false;
        elements *= s->dim[i];
    }
    return true;
}

static bool is_space(enum array_space s)
{
    return s == SPACE_HBM || s == SPACE_VMEM || s == SPACE_CMEM;
}

static bool is_order(const struct array *x)
{
    unsigned seen = 0;

    for (int i = 0; i < x->shape.rank; i++)
        if (x->order[i] >= 0 && x->order[i] < x->shape.rank)
            seen |= 1u << x->order[i];
    return seen == (1u << x->shape.rank) - 1;
}

static void walk_array(struct walk *w, struct array *x)
{
    struct array made;

    archive_text(&w->archive, &x->name);
    WALK(w, shape_fields, &x->shape);
    WALK(w, array_fields, x);
    check(w, is_shape(&x->shape) && is_order(x) && is_space(x->space) &&
                 x->address >= 0, "array");
    if (!is_loading(w) || w->archive.is_failed)
        return;
    array_init(&made, x->name, &x->shape, x->order);
    made.space = x->space;
    made.address = x->address;
    made.is_fixed = x->is_fixed;
    *x = made;
}

static void walk_arrays(struct walk *w)
{
    const struct array **list = list_of(w, w->list, &w->count, sizeof(*list));
    struct array *made = is_loading(w) ? arena_array(w->arena, (size_t)w->count + 1, sizeof(*made))
                                       : NULL;

    for (int i = 0; i < w->count; i++) {
        struct array x;

        if (made) {
            walk_array(w, &made[i]);
            list[i] = &made[i];
        } else {
            x = *list[i];
            walk_array(w, &x);
        }
    }
    w->list = list;
}

static void walk_reference(struct walk *w, const struct array **array)
{
    int32_t number = -1;
    struct numbered *n;

    if (!is_loading(w)) {
        HASH_FIND_PTR(w->by_place, array, n);
        number = n ? n->number : -1;
    }
    archive_bytes(&w->archive, &number, sizeof(number));
    check(w, number >= -1 && number < w->count, "array");
    if (is_loading(w))
        *array = number < 0 || w->archive.is_failed ? NULL : w->list[number];
}

static void walk_references(struct walk *w, const struct array *const **list, int *count)
{
    const struct array **array = list_of(w, *list, count, sizeof(*array));

    for (int i = 0; i < *count; i++) {
        const struct array *x = array[i];

        walk_reference(w, &x);
        check(w, x != NULL, "array");
        if (is_loading(w))
            array[i] = x;
    }
    *list = array;
}

/* ----- programs */

static void walk_program(struct walk *w, struct isa_program *p)
{
    uint8_t *object = NULL;
    const void *bytes;
    size_t size = 0;

    if (!is_loading(w))
        object = isa_object_bytes(p, &size);
    bytes = object;
    archive_blob(&w->archive, &bytes, &size);
    mem_free(object);
    if (is_loading(w) && !w->archive.is_failed &&
        isa_object_parse(bytes, size, "kept program", w->arena, p, w->archive.e))
        w->archive.is_failed = true;
}

static void walk_linked(struct walk *w, struct module *m, struct link_result *l)
{
    size_t items = (size_t)m->item_count + 1;

    walk_program(w, &l->program);
    WALK(w, stats_fields, &l->stats);
    WALK(w, link_fields, l);
    if (is_loading(w)) {
        check(w, items <= (size_t)(w->archive.end - w->archive.at) / sizeof(uint32_t), "item");
        l->first_bundle = arena_array(w->arena, w->archive.is_failed ? 1 : items, sizeof(uint32_t));
    }
    archive_bytes(&w->archive, l->first_bundle, items * sizeof(uint32_t));
    for (size_t i = 0; i < items && !w->archive.is_failed; i++)
        check(w, l->first_bundle[i] <= l->program.bundle_count, "item");
}

static void walk_linked_all(struct walk *w, struct module *m)
{
    check(w, m->core_count >= 1 && m->core_count <= 2 && m->item_count >= 0, "core");
    if (w->archive.is_failed)
        return;
    if (is_loading(w))
        m->linked = arena_array(w->arena, (size_t)m->core_count, sizeof(*m->linked));
    for (int i = 0; i < m->core_count; i++)
        walk_linked(w, m, &m->linked[i]);
}

/* ----- kernels */

/* loading: a segment by its size and cost; its bundles are in the program */
static void walk_segment(struct walk *w, const struct segment **segment)
{
    struct segment *made = is_loading(w) ? arena_alloc(w->arena, sizeof(*made))
                                         : (struct segment *)(uintptr_t)*segment;

    archive_bytes(&w->archive, &made->program.bundle_count, sizeof(made->program.bundle_count));
    WALK(w, segment_fields, made);
    WALK(w, stats_fields, &made->stats);
    WALK(w, cost_fields, &made->cost);
    WALK(w, tiling_fields, &made->tiling);
    check(w, made->tiling.count >= 0 && made->tiling.count <= TILING_MAX, "tiling");
    *segment = made;
}

static void walk_source(struct walk *w, struct graph_node *n)
{
    int32_t op = (int32_t)n->op;

    archive_bytes(&w->archive, &op, sizeof(op));
    check(w, op >= 0 && op < HLO_COUNT, "operation");
    archive_text(&w->archive, &n->source);
    if (is_loading(w) && !w->archive.is_failed)
        n->op = (enum graph_op)op;
}

/* the sources of a body's nodes */
static void walk_body(struct walk *w, const struct graph **body)
{
    bool is_there = *body;
    struct graph *made;
    int count = is_there ? (*body)->node_count : 0;

    archive_bytes(&w->archive, &is_there, 1);
    if (!is_there)
        return;
    if (!is_loading(w)) {
        list_of(w, NULL, &count, 1);
        for (int i = 0; i < count; i++) {
            struct graph_node n = {.op = (*body)->node[i].op, .source = (*body)->node[i].source};

            walk_source(w, &n);
        }
        return;
    }
    *body = made = arena_alloc(w->arena, sizeof(*made));
    made->arena = w->arena;
    made->name = "";
    made->node = list_of(w, NULL, &count, sizeof(*made->node));
    made->node_count = count;
    for (int i = 0; i < count; i++)
        walk_source(w, &made->node[i]);
}

/* that it hears of other cores; what it does with them is in the program and its pages */
static void walk_sums(struct walk *w, const struct kernel_sums **sums)
{
    bool is_there = *sums;

    archive_bytes(&w->archive, &is_there, 1);
    if (is_loading(w) && is_there)
        *sums = arena_alloc(w->arena, sizeof(**sums));
}

static void walk_peers(struct walk *w, const struct kernel_peers **peers)
{
    bool is_there = *peers;

    archive_bytes(&w->archive, &is_there, 1);
    if (is_loading(w) && is_there)
        *peers = arena_alloc(w->arena, sizeof(**peers));
}

static void walk_kernel(struct walk *w, const struct module *m, struct module_kernel *k)
{
    archive_text(&w->archive, &k->name);
    archive_text(&w->archive, &k->source);
    archive_text(&w->archive, &k->category);
    WALK(w, kernel_fields, k);
    WALK(w, job_fields, &k->job);
    walk_references(w, &k->job.operand, &k->job.operand_count);
    walk_references(w, &k->job.result, &k->job.result_count);
    walk_body(w, &k->job.body);
    walk_sums(w, &k->job.sums);
    walk_peers(w, &k->job.peers);
    walk_segment(w, &k->segment);
    if (m->core_count > 1)
        walk_segment(w, &k->peer_segment);
    check(w, k->item >= 0 && k->item < m->item_count, "kernel");
    for (int i = 0; i < m->core_count && !w->archive.is_failed; i++)
        check(w, (i ? k->peer_segment : k->segment)->program.bundle_count <=
                     m->linked[i].first_bundle[k->item + 1], "kernel");
    if (is_loading(w)) {
        k->job.name = k->name;
        k->job.source = k->source;
        k->job.chip = w->s->chip;
        k->job.core_count = m->core_count;
    }
}

/* ----- what lies in HBM before the first launch */

static int device_count(const struct walk *w)
{
    return w->s->replica_count > 1 ? w->s->replica_count : 1;
}

static void walk_constant(struct walk *w, struct module_constant *c)
{
    bool is_literal = c->literal;
    const void *data = is_literal ? c->literal : c->by_device;
    size_t size = 0;

    walk_reference(w, &c->array);
    archive_bytes(&w->archive, &is_literal, 1);
    check(w, c->array != NULL, "constant");
    if (w->archive.is_failed)
        return;
    size = 4 * (is_literal ? (size_t)shape_elems(&c->array->shape) : (size_t)device_count(w));
    if (is_loading(w)) {
        size_t found = 0;

        archive_blob(&w->archive, &data, &found);
        check(w, found == size, "constant");
        data = w->archive.is_failed ? NULL : arena_copy(w->arena, data, size, 1);
    } else {
        archive_blob(&w->archive, &data, &size);
    }
    if (is_literal)
        c->literal = data;
    else
        c->by_device = data;
}

static void walk_page(struct walk *w, struct module_page *p)
{
    size_t size = (size_t)p->bytes;

    WALK(w, page_fields, p);
    archive_blob(&w->archive, &p->data, &size);
    check(w, p->core >= 0 && p->address >= 0, "page");
    p->bytes = (int64_t)size;
}

/* a module that was compiled here has tables; their pages are what another process needs of them */
static struct module_page *list_pages(const struct module *m, const struct module_settings *s,
                                      struct arena *a, int *count)
{
    struct module_page *list = NULL, *made;
    size_t room = 0;

    *count = 0;
    for (int k = 0; k < m->kernel_count; k++) {
        const struct collective_table *t = m->kernel[k].segment->table;

        for (int d = 0; t && d < s->replica_count; d++) {
            int core = s->device_core ? s->device_core[d] : d;

            for (int i = 0; i < module_page_count(t, core); i++) {
                int bytes = collective_table_page_bytes(t);
                int32_t *data = arena_alloc(a, (size_t)bytes);

                if (i < collective_table_pages(t, core))
                    collective_table_page(t, core, i, data);
                MEM_ADD(list, *count, room) = (struct module_page){
                    .core = core, .address = collective_table_address(t, i), .data = data,
                    .bytes = bytes};
            }
        }
    }
    made = arena_take(a, list, (size_t)*count, sizeof(*list));
    return made;
}

/* ----- the whole */

static void walk_graph(struct walk *w, struct graph *g)
{
    int parameters = g->parameter_count, outputs = g->output_count;
    struct graph_output *output = list_of(w, g->output, &outputs, sizeof(*output));

    archive_text(&w->archive, &g->name);
    for (int i = 0; i < outputs; i++) {
        archive_text(&w->archive, &output[i].name);
        archive_bytes(&w->archive, &output[i].alias_parameter, sizeof(output[i].alias_parameter));
    }
    list_of(w, NULL, &parameters, 1);
    for (int i = 0; i < outputs; i++)
        check(w, output[i].alias_parameter < parameters, "output");
    if (!is_loading(w))
        return;
    *g = (struct graph){.arena = w->arena, .name = g->name, .parameter_count = parameters,
                        .output = output, .output_count = outputs};
}

static void walk_sum_list(struct walk *w, struct module *m)
{
    m->sum = list_of(w, m->sum, &m->sum_count, sizeof(*m->sum));
    for (int i = 0; i < m->sum_count; i++) {
        WALK(w, sum_fields, &m->sum[i]);
        archive_text(&w->archive, &m->sum[i].source);
    }
}

static void walk_boundary(struct walk *w, struct module *m)
{
    const struct array *const *parameter = m->parameter, *const *output = m->output;
    int parameters = m->graph.parameter_count, outputs = m->graph.output_count;

    walk_references(w, &parameter, &parameters);
    walk_references(w, &output, &outputs);
    check(w, parameters == m->graph.parameter_count && outputs == m->graph.output_count, "boundary");
    m->parameter = (const struct array **)(uintptr_t)parameter;
    m->output = (const struct array **)(uintptr_t)output;
}

static void walk_module(struct walk *w, struct module *m)
{
    walk_arrays(w);
    walk_graph(w, &m->graph);
    WALK(w, module_fields, m);
    walk_optional_text(w, &m->asks_values);
    walk_boundary(w, m);
    walk_linked_all(w, m);
    m->kernel = list_of(w, m->kernel, &m->kernel_count, sizeof(*m->kernel));
    for (int i = 0; i < m->kernel_count && !w->archive.is_failed; i++)
        walk_kernel(w, m, &m->kernel[i]);
    m->constant = list_of(w, m->constant, &m->constant_count, sizeof(*m->constant));
    for (int i = 0; i < m->constant_count && !w->archive.is_failed; i++)
        walk_constant(w, &m->constant[i]);
    m->page = list_of(w, m->page, &m->page_count, sizeof(*m->page));
    for (int i = 0; i < m->page_count && !w->archive.is_failed; i++)
        walk_page(w, &m->page[i]);
    walk_sum_list(w, m);
}

void module_save(const struct module *m, const struct module_settings *s, struct bytes *to)
{
    struct module copy = *m;
    struct arena a;
    struct walk w = {.archive.out = to, .s = s, .arena = &a};
    const struct array **numbered;

    arena_init(&a);
    if (copy.page_count == 0)
        copy.page = list_pages(m, s, &a, &copy.page_count);
    number_arrays(&w, m);
    numbered = w.list;
    walk_module(&w, &copy);
    HASH_CLEAR(hh, w.by_place);
    mem_free(numbered);
    arena_fini(&a);
}

int module_restore(const void *data, size_t bytes, const struct module_settings *s,
                   struct arena *a, struct module *out, struct err *e)
{
    struct walk w = {.archive = {.at = data, .end = (const unsigned char *)data + bytes, .e = e},
                     .s = s, .arena = a};

    memset(out, 0, sizeof(*out));
    walk_module(&w, out);
    archive_check(&w.archive, w.archive.at == w.archive.end,
                  "the kept program has more than belongs to it");
    return w.archive.is_failed || module_set_devices(out, s, a, e) ? -1 : 0;
}
