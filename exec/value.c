/* Values in the form that somebody asks for, and between hosts and devices. */
#include "exec/value.h"

#include "base/arena.h"
#include "exec/resident.h"
#include "import/lower/lower_values.h"

void value_init(struct value *v, size_t bytes)
{
    *v = (struct value){.bytes = bytes};
    pthread_mutex_init(&v->mutex, NULL);
}

void value_fini(struct value *v)
{
    mem_free(v->data);
    resident_free(v->resident);
    pthread_mutex_destroy(&v->mutex);
}

/* `made` becomes the host's form, unless another thread was faster */
static void *take_data(struct value *v, void *made)
{
    void *data;

    pthread_mutex_lock(&v->mutex);
    data = v->data;
    if (!data)
        data = v->data = made;
    pthread_mutex_unlock(&v->mutex);
    if (data != made)
        mem_free(made);
    return data;
}

static void *find_data(struct value *v)
{
    void *data;

    pthread_mutex_lock(&v->mutex);
    data = v->data;
    pthread_mutex_unlock(&v->mutex);
    return data;
}

void *value_room(struct value *v)
{
    void *data = find_data(v);

    return data ? data : take_data(v, mem_alloc_unset(v->bytes + 1));
}

const void *value_data(struct value *v)
{
    void *data = find_data(v), *made;

    if (data || !v->resident)
        return data ? data : value_room(v);
    made = mem_alloc_unset(v->bytes + 1);
    resident_unpack(v->resident, made);
    return take_data(v, made);
}

int value_write(struct value *v, const struct loaded_device *d, const struct lowered_leaf *leaf,
                struct arena *a, struct err *e)
{
    if (v->resident && lowered_is_same(leaf) && leaf->graph[0] >= 0 &&
        resident_is_like(v->resident, d->module->parameter[leaf->graph[0]]))
        return resident_put(v->resident, d->machine, d->core,
                            d->module->parameter[leaf->graph[0]]->address, e);
    return loaded_write_leaf(d, leaf, value_data(v), a, e);
}

int value_read(struct value *v, const struct loaded_device *d, const struct lowered_leaf *leaf,
               struct arena *a, struct err *e)
{
    const struct array *array = lowered_is_same(leaf) && leaf->graph[0] >= 0
                                    ? d->module->output[leaf->graph[0]] : NULL;

    if (!array || v->data || !resident_pays(array))
        return loaded_read_into(d, leaf, value_room(v), a, e);
    v->resident = resident_take(d->machine, d->core, array, e);
    return v->resident ? 0 : -1;
}
