/*
 * Launches: a call checks its arguments, makes the buffers of the results and comes back; the
 * client's thread then runs one launch after the other, and keeps the promises that they made.
 */
#include "pjrt/buffer/buffer.h"
#include "pjrt/program/program.h"

#include "base/progress.h"
#include "pjrt/abi/functions.h"
#include "pjrt/event/guard.h"
#include "pjrt/program/layouts.h"
#include "pjrt/run/callbacks.h"
#include "pjrt/run/pending.h"

#include <stdio.h>
#include <string.h>

struct launch {
    struct PJRT_Executable *executable;
    struct PJRT_Client *client;
    int devices, arguments, results;
    struct storage **argument, **result;        /* by device, then by number */
    struct callbacks *callbacks;        /* NULL: none */
    struct promise *done;
    int *device;                        /* their ids */
    struct pending pending;
};

static void free_launch(struct launch *l)
{
    for (int i = 0; i < l->devices * l->arguments; i++)
        storage_drop(l->argument[i]);
    for (int i = 0; i < l->devices * l->results; i++)
        storage_drop(l->result[i]);
    callbacks_free(l->callbacks);
    promise_drop(l->done);
    program_drop(l->executable);
    mem_free(l->argument);
    mem_free(l->result);
    mem_free(l->device);
    mem_free(l);
}

/* the first error among what it waits for */
static struct PJRT_Error *wait_for_arguments(const struct launch *l)
{
    for (int i = 0; i < l->devices * l->arguments; i++) {
        struct PJRT_Error *error = promise_wait(l->argument[i]->ready);

        if (error)
            return error;
    }
    return NULL;
}

/* a launch that did not succeed: a callback's answer, what timing mode cannot know, a fault */
static struct PJRT_Error *failure(const struct launch *l, const struct err *e)
{
    const struct executable *x = &l->executable->x;
    char text[sizeof(*e) + 64];

    if (l->callbacks && l->callbacks->error)
        return pjrt_error_copy(l->callbacks->error);
    if (x->settings.engine.mode == MODE_TIMING && x->loaded.module.asks_values)
        return pjrt_error(PJRT_Error_Code_FAILED_PRECONDITION, "%s: SYSTOLE_ASSUME_TRIPS and "
                          "SYSTOLE_ASSUME_BRANCH here", err_format(e, text, sizeof(text)));
    return pjrt_error_of(PJRT_Error_Code_INTERNAL, e);
}

static struct PJRT_Device *device_number(const struct launch *l, int d)
{
    return l->client->device_list[l->device[d]];
}

/* what the program needs beside its arguments and results, while it runs */
static struct PJRT_Error *take_memory(const struct launch *l, int64_t bytes)
{
    char what[256];

    for (int d = 0; d < l->devices; d++) {
        if (device_take_bytes(device_number(l, d), bytes) == 0)
            continue;
        for (int k = 0; k < d; k++)
            device_give_bytes(device_number(l, k), bytes);
        snprintf(what, sizeof(what), "%.200s while it runs", l->executable->name);
        return device_is_full(device_number(l, d), what, bytes);
    }
    return NULL;
}

static struct PJRT_Error *run(const struct launch *l)
{
    int64_t temp_bytes = program_temp_bytes(l->executable);
    struct PJRT_Error *error = wait_for_arguments(l);
    struct value ***argument, ***result;
    int at_once = l->executable->x.is_alone ? 1 : l->devices;
    struct arena a;
    struct err e;

    if (!error)
        error = take_memory(l, temp_bytes);
    if (error)
        return error;
    arena_init(&a);
    argument = arena_array(&a, (size_t)l->devices, sizeof(*argument));
    result = arena_array(&a, (size_t)l->devices, sizeof(*result));
    for (int d = 0; d < l->devices; d++) {
        argument[d] = arena_array(&a, (size_t)l->arguments + 1, sizeof(**argument));
        result[d] = arena_array(&a, (size_t)l->results + 1, sizeof(**result));
        for (int i = 0; i < l->arguments; i++)
            argument[d][i] = &l->argument[d * l->arguments + i]->value;
        for (int i = 0; i < l->results; i++)
            result[d][i] = &l->result[d * l->results + i]->value;
    }
    for (int d = 0; d < l->devices && !error; d += at_once) {
        double began_s = progress_seconds();

        if (executable_launch(&l->executable->x, l->callbacks ? &l->callbacks->host : NULL,
                              (struct value *const *const *)&argument[d],
                              (struct value *const *const *)&result[d], &e))
            error = failure(l, &e);
        else
            account_launched(l->executable->account, &l->executable->x, &l->device[d], at_once,
                             progress_seconds() - began_s);
    }
    arena_fini(&a);
    for (int d = 0; d < l->devices; d++)
        device_give_bytes(device_number(l, d), temp_bytes);
    return error;
}

/* Arguments and results are let go first: who hears of the end finds their memory free. */
static void finish(struct launch *l, struct PJRT_Error *error)
{
    int results = l->devices * l->results;
    struct promise **ready = mem_alloc((size_t)(results + 1) * sizeof(*ready));
    struct promise *done = promise_hold(l->done);

    for (int i = 0; i < results; i++)
        ready[i] = promise_hold(l->result[i]->ready);
    free_launch(l);
    for (int i = 0; i < results; i++) {
        promise_keep(ready[i], pjrt_error_copy(error));
        promise_drop(ready[i]);
    }
    promise_keep(done, error);
    promise_drop(done);
    mem_free(ready);
}

/* on the client's thread */
static void work(void *arg)
{
    struct launch *l = arg;
    struct PJRT_Error *error = pending_end(&l->pending);
    struct guard g;

    if (error) {
        finish(l, error);
        return;
    }
    if (GUARD_ENTER(&g)) {
        error = guard_error(&g);
        executable_abandon_machine(&l->executable->x);
    } else {
        error = run(l);
        guard_leave(&g);
    }
    finish(l, error);
}

/* ----- the call */

static struct PJRT_Error *check_argument(const struct PJRT_Executable *p,
                                         const struct PJRT_Buffer *b, size_t number)
{
    const struct hlo_type *wanted = p->x.parameter[number];
    bool fits = b->type.element == wanted->element && b->type.rank == wanted->rank;
    struct hlo_type given = {.element = b->type.element, .rank = b->type.rank,
                             .dim = b->type.dim};
    char text[2][200];

    if (!b->storage)
        return buffer_is_deleted(b);
    if (wanted->element == ELEMENT_TOKEN)       /* JAX's are arrays without elements */
        return NULL;
    for (int d = 0; fits && d < wanted->rank; d++)
        fits = b->type.dim[d] == wanted->dim[d];
    if (fits)
        return NULL;
    return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "argument %zu of %s is %s, wanted is %s",
                      number, p->name, hlo_type_print(&given, text[0], sizeof(text[0])),
                      hlo_type_print(wanted, text[1], sizeof(text[1])));
}

static bool is_kept(const struct PJRT_ExecuteOptions *o, int number)
{
    if (!o || !ARGS_HAVE(o, num_non_donatable_input_indices))
        return false;
    for (size_t i = 0; i < o->num_non_donatable_input_indices; i++)
        if (o->non_donatable_input_indices[i] == number)
            return true;
    return false;
}

static bool is_given_up(const struct PJRT_LoadedExecutable_Execute_Args *args, int number)
{
    return args->executable->executable->is_donated[number] && !is_kept(args->options, number);
}

/* What is given up is the launch's alone: no other argument is the same. */
static struct PJRT_Error *check_given_up(const struct PJRT_LoadedExecutable_Execute_Args *args,
                                         struct PJRT_Buffer *const *list, int device)
{
    static atomic_uint_fast64_t launches;
    uint64_t number = 1 + atomic_fetch_add(&launches, 1);
    const char *name = args->executable->executable->name;

    for (int i = 0; i < (int)args->num_args; i++) {
        if (!is_given_up(args, i))
            continue;
        if (list[i]->given_up_at == number)
            return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "Attempt to donate the same buffer "
                              "twice in Execute(): argument %d of %s, device %d", i, name, device);
        list[i]->given_up_at = number;
    }
    for (int i = 0; i < (int)args->num_args; i++)
        if (list[i]->given_up_at == number && !is_given_up(args, i))
            return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "Attempt to donate a buffer which is "
                              "also used by the same call to Execute(): argument %d of %s, device %d",
                              i, name, device);
    return NULL;
}

static struct PJRT_Error *check(const struct PJRT_LoadedExecutable_Execute_Args *args)
{
    const struct PJRT_LoadedExecutable *l = args->executable;
    const struct PJRT_Executable *p = l->executable;
    size_t devices = (size_t)(p->options.replicas * p->options.partitions);

    if (atomic_load(&l->is_deleted))
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s has been deleted", p->name);
    if (args->num_devices != devices &&
        (!p->x.is_alone || args->num_devices != 1 || !ARGS_GET(args, execute_device, NULL)))
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s is for %zu devices, %zu were given "
                          "arguments", p->name, devices, args->num_devices);
    if (args->num_args != (size_t)p->parameters)
        return pjrt_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s takes %d arguments, %zu were given",
                          p->name, p->parameters, args->num_args);
    for (size_t d = 0; d < args->num_devices; d++)
        for (size_t i = 0; i < args->num_args; i++) {
            struct PJRT_Error *error = check_argument(p, args->argument_lists[d][i], i);

            if (error)
                return error;
        }
    for (size_t d = 0; d < args->num_devices; d++) {
        struct PJRT_Error *error = check_given_up(args, args->argument_lists[d], (int)d);

        if (error)
            return error;
    }
    return NULL;
}

static struct PJRT_Device *device_of(const struct PJRT_LoadedExecutable_Execute_Args *args, int d)
{
    struct PJRT_Device *one = ARGS_GET(args, execute_device, NULL);

    if (one)
        return one;
    return args->executable->device_count ? args->executable->device[d]
                                          : args->executable->client->device_list[d];
}

static struct PJRT_Error *make_results(const struct PJRT_LoadedExecutable_Execute_Args *args,
                                       struct launch *l)
{
    const struct PJRT_Executable *p = l->executable;
    struct PJRT_Error *error = NULL;
    int made = 0;

    for (; made < l->devices * l->results && !error; made += !error) {
        int d = made / l->results, i = made % l->results;
        const struct hlo_type *t = p->x.result[i];
        struct PJRT_Buffer *b = buffer_make(&device_of(args, d)->memory[p->placement[i]],
                                            t->element, t->rank, t->dim, &error);

        if (b) {
            memcpy(b->minor_to_major, p->output_layout[i]->minor_to_major,
                   (size_t)t->rank * sizeof(*b->minor_to_major));
            args->output_lists[d][i] = b;
            l->result[made] = storage_hold(b->storage);
        }
    }
    for (int k = 0; error && k < made; k++)
        buffer_free(args->output_lists[k / l->results][k % l->results]);
    return error;
}

static void give_up_arguments(const struct PJRT_LoadedExecutable_Execute_Args *args,
                              const struct launch *l)
{
    for (int i = 0; i < l->arguments; i++)
        if (is_given_up(args, i))
            for (int d = 0; d < l->devices; d++)
                buffer_delete(args->argument_lists[d][i]);
}

static struct launch *make_launch(const struct PJRT_LoadedExecutable_Execute_Args *args)
{
    struct launch *l = mem_alloc(sizeof(*l));

    l->executable = program_hold(args->executable->executable);
    l->client = args->executable->client;
    l->devices = (int)args->num_devices;
    l->arguments = (int)args->num_args;
    l->results = l->executable->outputs;
    l->argument = mem_alloc((size_t)(l->devices * l->arguments + 1) * sizeof(*l->argument));
    l->result = mem_alloc((size_t)(l->devices * l->results + 1) * sizeof(*l->result));
    l->callbacks = callbacks_copy(&l->executable->x, args->options, l->devices);
    l->done = promise_make();
    l->device = mem_alloc((size_t)l->devices * sizeof(*l->device) + 1);
    for (int d = 0; d < l->devices; d++)
        l->device[d] = device_of(args, d)->description->id;
    for (int d = 0; d < l->devices; d++)
        for (int i = 0; i < l->arguments; i++)
            l->argument[d * l->arguments + i] = storage_hold(args->argument_lists[d][i]->storage);
    return l;
}

struct PJRT_Error *pjrt_LoadedExecutable_Execute(struct PJRT_LoadedExecutable_Execute_Args *args)
{
    struct PJRT_Error *error = check(args);
    struct launch *l;

    if (error)
        return error;
    l = make_launch(args);
    error = make_results(args, l);
    if (error) {
        free_launch(l);
        return error;
    }
    give_up_arguments(args, l);
    for (int d = 0; args->device_complete_events && d < l->devices; d++)
        args->device_complete_events[d] = event_of(l->done);
    l->pending = (struct pending){.client = l->client, .device = l->device, .devices = l->devices,
                                  .number = args->options ? ARGS_GET(args->options, launch_id, 0)
                                                          : 0};
    pending_begin(&l->pending);
    worker_do(args->executable->client->launches, work, l);
    return NULL;
}
