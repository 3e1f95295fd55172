/*
 * Saves and restores variables for the API: checkpoints of all of a strategy's, and single ones as
 * .npy.
 */
#include <inttypes.h>
#include <string.h>

#include "api/dataset.h"
#include "data/distribute.h"
#include "train/strategy/strategy_checkpoint.h"
#include "train/checkpoint/tensor_npy.h"

static sy_status check(const sy_strategy *s, const sy_checkpoint *c)
{
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!c || !c->folder)
        return api_fail_text("checkpoint: the %s is NULL", c ? "folder" : "description");
    if (c->step < 0 || c->epoch < 0 || c->keep < 0)
        return api_fail_text("checkpoint: step %" PRId64 ", epoch %" PRId64 ", keep %d; none can "
                             "be negative", c->step, c->epoch, c->keep);
    if (c->data && api_distributed_strategy(c->data) != s)
        return api_fail_text("checkpoint: the data is of another strategy");
    return SY_OK;
}

int api_hold_folder(sy_strategy *s, const char *folder, struct err *e)
{
    if (s->folder && strcmp(s->folder, folder) == 0)
        return 0;
    outfile_unlock(&s->lock);
    s->folder = NULL;
    if (checkpoint_lock(&s->lock, folder, e))
        return -1;
    s->folder = arena_strdup(&s->arena, folder);
    return 0;
}

sy_status sy_checkpoint_save(sy_strategy *s, const sy_checkpoint *c)
{
    struct checkpoint_state state;
    struct bytes position = {0};
    struct err e;
    int status;

    if (check(s, c))
        return SY_ERROR;
    status = api_hold_folder(s, c->folder, &e);
    if (!status && c->data)
        status = api_distributed_save(c->data, &position, &e);
    state = (struct checkpoint_state){.step = c->step, .epoch = c->epoch,
                                      .data_position = position.data,
                                      .data_position_bytes = position.size};
    if (!status)
        status = strategy_save(s->strategy, c->folder, &state, NULL, 0, c->keep, &e);
    mem_free(position.data);
    return status ? api_fail(&e) : SY_OK;
}

sy_status sy_checkpoint_restore(sy_strategy *s, sy_checkpoint *c)
{
    struct checkpoint open;
    struct err skipped, e;
    int status;

    if (check(s, c))
        return SY_ERROR;
    status = strategy_restore(s->strategy, c->folder, 0, &open, &skipped, &e);
    if (status < 0)
        return api_fail(&e);
    if (status == 0)
        return api_restored(0, &skipped);
    c->step = open.state.step;
    c->epoch = open.state.epoch;
    status = c->data && open.state.data_position_bytes
                 ? api_distributed_resume(c->data, open.state.data_position,
                                          open.state.data_position_bytes, &e)
                 : 0;
    checkpoint_close(&open);
    return status ? api_fail(&e) : api_restored(1, &skipped);
}

/* ----- .npy */

static struct checkpoint_tensor tensor_of(const sy_variable *v, void *data)
{
    const struct variable *own = &v->strategy->set.variable[v->number];

    return checkpoint_memory(own->name, own->shape.dtype == DTYPE_F32   ? ST_F32
                                        : own->shape.dtype == DTYPE_S32 ? ST_I32 : ST_U32,
                             own->shape.rank, own->shape.dim, data);
}

static size_t bytes_of(const sy_variable *v)
{
    return (size_t)shape_elems(&v->strategy->set.variable[v->number].shape) * 4;
}

sy_status sy_variable_save_npy(const sy_variable *v, const char *path)
{
    struct checkpoint_tensor t;
    sy_status status;
    struct err e;
    void *data;

    if (!v || !path)
        return api_fail_text("the %s is NULL", v ? "path" : "variable");
    data = mem_alloc(bytes_of(v));
    status = sy_variable_read(v, data, bytes_of(v));
    t = tensor_of(v, data);
    if (status == SY_OK && tensor_to_npy(&t, path, &e))
        status = api_fail(&e);
    mem_free(data);
    return status;
}

sy_status sy_variable_load_npy(sy_variable *v, const char *path)
{
    struct checkpoint_tensor t;
    sy_status status = SY_OK;
    struct err e;
    void *data;

    if (!v || !path)
        return api_fail_text("the %s is NULL", v ? "path" : "variable");
    data = mem_alloc(bytes_of(v));
    t = tensor_of(v, data);
    if (tensor_from_npy(&t, path, &e))
        status = api_fail(&e);
    if (status == SY_OK)
        status = sy_variable_write(v, data, bytes_of(v));
    mem_free(data);
    return status;
}
