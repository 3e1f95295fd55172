/* From HLO or StableHLO to the graph of one device. */
#include "exec/program_graph.h"

#include "import/read/read.h"
#include "import/structure/structure_message.h"

/* whatever algorithm a product names */
static void raise_precision(struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++) {
        for (int i = 0; i < m->computation[c].count; i++) {
            struct hlo_instruction *n = &m->computation[c].instruction[i];
            struct hlo_dot *dot;

            n->precision[0] = n->precision[1] = HLO_PRECISION_HIGHEST;
            if (hlo_detail(n)->dot && hlo_detail(n)->dot->algorithm) {
                dot = arena_copy(m->arena, hlo_detail(n)->dot, 1, sizeof(*dot));
                dot->algorithm = NULL;
                hlo_own_detail(m->arena, n)->dot = dot;
            }
        }
    }
}

/* of a module that has been read, unless it could not be */
static int take(struct program_graph *p, struct hlo_module *module, const char *name,
                bool is_highest, struct err *e)
{
    *p = (struct program_graph){.devices = 1, .module = module};
    if (!p->module)
        return -1;
    if (p->module->entry < 0)
        return *e->msg ? -1 : err_at(e, name, 0, 0, "it has no entry computation");
    if (hlo_verify(p->module, e) || structure_messages(p->module, e))
        return -1;
    if (is_highest)
        raise_precision(p->module);
    p->device = p->module;
    return 0;
}

int program_graph_read(struct program_graph *p, const char *path, bool is_highest, struct arena *a,
                       struct err *e)
{
    return take(p, program_read(path, a, e), path, is_highest, e);
}

int program_graph_read_bytes(struct program_graph *p, const void *bytes, size_t size,
                             const char *name, bool is_highest, struct arena *a, struct err *e)
{
    return take(p, program_read_bytes(bytes, size, name, a, e), name, is_highest, e);
}

/*
 * Devices that collectives name, 1 more than the highest number: of partitions, which have
 * channels, or of replicas, which have none.
 */
static int64_t devices_named(const struct hlo_module *m, bool are_partitions)
{
    int64_t most = 1;

    for (int c = 0; c < m->computation_count; c++) {
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_groups *g = hlo_detail(&m->computation[c].instruction[i])->groups;

            if (g && (g->channel_id > 0) != are_partitions)
                continue;
            for (int k = 0; g && k < g->id.count; k++)
                most = g->id.item[k] >= most ? g->id.item[k] + 1 : most;
            for (int k = 0; g && !g->is_host_transfer && k < g->pair.count; k++)
                most = g->pair.item[k] >= most ? g->pair.item[k] + 1 : most;
        }
    }
    return most;
}

int program_graph_cut(struct program_graph *p, struct arena *a, struct err *e)
{
    const struct shard_options options = {0};
    int64_t devices;

    if (p->module->replica_count * p->module->partition_count == 1) {   /* old texts do not say */
        p->module->replica_count = devices_named(p->module, false);
        p->module->partition_count = devices_named(p->module, true);
    }
    devices = p->module->replica_count * p->module->partition_count;
    if (devices > INT32_MAX || p->module->partition_count > INT32_MAX)
        return err_at(e, p->module->file ? p->module->file : "", 0, 0,
                      "the program is for %lld devices", (long long)devices);
    p->devices = (int)devices;
    if (!shard_is_wanted(p->module))
        return 0;
    if (shard_program(p->module, &options, &p->cut, a, &p->boundary, e))
        return -1;
    p->device = &p->cut;
    p->module->partition_count = p->boundary.partitions;        /* which shardings may tell alone */
    p->devices = (int)(p->module->replica_count * p->boundary.partitions);
    p->is_cut = p->is_made = true;
    return 0;
}

int program_graph_lower(struct program_graph *p, struct arena *a, struct err *e)
{
    const struct lower_settings settings = {.device_count = p->devices,
                                            .queue_entries = p->queue_entries,
                                            .exact = p->exact,
                                            .known = p->known,
                                            .kept = p->is_kept ? &p->kept : NULL};

    if (lower_program(p->is_kept ? &p->scheduled : p->device, &settings, a, &p->lowered, e))
        return -1;
    p->is_lowered = true;
    return 0;
}

void program_graph_fini(struct program_graph *p)
{
    if (p->is_lowered)
        graph_fini(&p->lowered.graph);
    if (p->is_kept)
        hlo_module_fini(&p->scheduled);
    if (p->is_made)
        hlo_module_fini(&p->cut);
    program_free(p->module);
}
