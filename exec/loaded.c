/* Compiles graphs, makes the machines they run on, and moves values of leaves in and out. */
#include "exec/loaded.h"

#include "import/lower/lower_values.h"
#include "stack/module/module_once.h"
#include "stack/module/module_run.h"

#include <string.h>

int loaded_cores_each(const struct chip *chip, bool has_megacore)
{
    return has_megacore ? (int)chip->chip_cores : 1;
}

int loaded_compile(const struct graph *g, struct module_settings *settings, int devices,
                   const int32_t *core, const struct slice *slice, struct arena *a,
                   struct loaded *l, struct err *e)
{
    int cores_each = loaded_cores_each(settings->chip, settings->megacore);

    l->devices = devices;
    l->core = arena_array(a, (size_t)devices, sizeof(*l->core));
    for (int i = 0; i < devices; i++)
        l->core[i] = core ? core[i] : i * cores_each;
    if (settings->replica_count > 1) {
        settings->slice = slice;
        settings->device_core = l->core;
    }
    l->has_megacore = settings->megacore;
    return module_compile_once(g, settings, l->cache, a, &l->module, &l->was_found, e);
}

int loaded_make_machine(struct loaded *l, const struct slice *slice, const struct chip *chip,
                        struct machine_options *options, struct err *e)
{
    options->shared_hbm = l->has_megacore;
    l->machine = machine_create(slice, chip, options, e);
    return l->machine ? 0 : -1;
}

int loaded_put(struct loaded *l, struct err *e)
{
    for (int i = 0; i < l->devices; i++)
        if (module_load(&l->module, l->machine, l->core[i], e))
            return -1;
    return 0;
}

void loaded_drop_machine(struct loaded *l)
{
    machine_destroy(l->machine);
    l->machine = NULL;
}

struct loaded_device loaded_device(const struct loaded *l, int number)
{
    return (struct loaded_device){.module = &l->module, .machine = l->machine,
                                  .core = l->core[number], .number = number};
}

int loaded_write_leaf(const struct loaded_device *d, const struct lowered_leaf *leaf,
                      const void *from, struct arena *a, struct err *e)
{
    void **word = lowered_pack(leaf, from, NULL, a);

    for (int i = 0; i < leaf->count; i++)
        if (leaf->graph[i] >= 0 &&
            module_write(d->module, d->machine, d->core, leaf->graph[i], word[i], e))
            return -1;
    return 0;
}

int loaded_read_into(const struct loaded_device *d, const struct lowered_leaf *leaf, void *to,
                     struct arena *a, struct err *e)
{
    void *data;

    if (lowered_is_same(leaf) && leaf->graph[0] >= 0)
        return module_read(d->module, d->machine, d->core, leaf->graph[0], to, e);
    data = loaded_read_leaf(d, leaf, NULL, a, e);
    if (!data)
        return -1;
    memcpy(to, data, hlo_type_bytes(&leaf->leaf.type));
    return 0;
}

void *loaded_read_leaf(const struct loaded_device *d, const struct lowered_leaf *leaf,
                       int64_t *size, struct arena *a, struct err *e)
{
    size_t count = (size_t)hlo_type_elements(&leaf->leaf.type) + 1;
    void **word = arena_array(a, (size_t)leaf->count + 1, sizeof(*word));

    for (int i = 0; i < leaf->count; i++) {
        word[i] = arena_array(a, i < leaf->leaf.parts ? count : 1, 4);
        if (leaf->graph[i] >= 0 &&
            module_read(d->module, d->machine, d->core, leaf->graph[i], word[i], e))
            return NULL;
    }
    return lowered_unpack(leaf, word, size, a);
}
