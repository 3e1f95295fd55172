/* Counts what a client does and moves the clocks of its devices. */
#include "pjrt/account/account_impl.h"

#include "base/progress.h"
#include "sim/machine/machine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* the client that sy_device_time_ns is about */
static pthread_mutex_t latest_lock = PTHREAD_MUTEX_INITIALIZER;
static struct account *latest;

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(mem_alloc_unset(bytes), text, bytes);
}

static void set_latest(struct account *a, struct account *instead_of)
{
    pthread_mutex_lock(&latest_lock);
    if (!instead_of || latest == instead_of)
        latest = a;
    pthread_mutex_unlock(&latest_lock);
}

struct account *account_make(const struct account_client *client)
{
    const char *out = getenv("SYSTOLE_OUT"), *quiet = getenv("SYSTOLE_QUIET");
    struct account *a = mem_alloc(sizeof(*a));

    a->client = *client;
    a->last = &a->first;
    a->time_ps = mem_alloc((size_t)client->devices * sizeof(*a->time_ps));
    a->is_quiet = quiet && strcmp(quiet, "0") != 0 && *quiet;
    a->began_s = progress_seconds();
    a->process = getpid();
    pthread_mutex_init(&a->lock, NULL);
    if (out && *out)
        a->out = a->out_copy = copy_text(out);
    account_open_files(a);
    set_latest(a, NULL);
    return a;
}

static void free_program(struct account_program *p)
{
    account_free_ops(p);
    mem_free(p->name);
    mem_free(p->file);
    mem_free(p);
}

/* says and writes what there is, once; not in the child of a fork, whose parent does */
static void finish(struct account *a)
{
    pthread_mutex_lock(&a->lock);
    if (a->process == getpid() && !a->is_finished) {
        a->is_finished = true;
        if (a->launches > 0 && !a->is_quiet)
            account_print_summary(a, stderr);
        account_close_files(a);
    }
    pthread_mutex_unlock(&a->lock);
}

/* A process may end without its clients having been destroyed. Then launches may be under way, and
   so nothing is freed. */
__attribute__((destructor)) static void finish_latest(void)
{
    if (latest && latest->process == getpid())
        finish(latest);
}

void account_end(struct account *a)
{
    set_latest(NULL, a);
    finish(a);
    for (struct account_program *p = a->first, *next; p; p = next) {
        next = p->next;
        free_program(p);
    }
    pthread_mutex_destroy(&a->lock);
    mem_free(a->out_copy);
    mem_free(a->time_ps);
    mem_free(a);
}

/* ----- programs */

struct account_program *account_compiled(struct account *a, const struct executable *x,
                                         const void *program, size_t program_bytes,
                                         bool was_found, double seconds)
{
    struct account_program *p = mem_alloc(sizeof(*p));
    const struct module *m = &x->loaded.module;

    p->account = a;
    p->name = copy_text(x->graph.module->name);
    p->bytes = program;
    p->byte_count = program_bytes;
    p->compile_s = seconds;
    p->was_found = was_found;
    p->cores = x->settings.is_host ? 0 : x->loaded.devices * m->core_count;
    p->flops = m->flops * x->loaded.devices;
    pthread_mutex_lock(&a->lock);
    p->number = ++a->program_count;
    *a->last = p;
    a->last = &p->next;
    pthread_mutex_unlock(&a->lock);
    return p;
}

/*
 * The lock is not held here: launches are of one thread, and a failed assertion on the way, which
 * leaves by the guard of the call, must not leave it behind.
 */
void account_begin_launch(struct account_program *p, struct executable *x)
{
    if (p->launches == 0)
        account_begin_folder(p, x);
}

void account_end_launch(struct account_program *p, struct executable *x, bool is_done)
{
    if (is_done && account_is_profiled())
        account_keep_order(p, x);
    if (p->launches > 0)
        return;
    if (is_done)
        account_keep_ops(p, x);
    account_end_folder(p, x, is_done);
}

/* ----- clocks */

static int64_t ps_of_cycles(const struct account *a, int64_t cycles)
{
    return cycles * 1000000 / a->client.chip->chip_clock_mhz;
}

/* of a launch: what starts it, then its cycles; functional and host mode have none */
static int64_t launch_ps(const struct account *a, const struct executable *x, int64_t cycles)
{
    if (x->settings.is_host || x->settings.engine.mode == MODE_FUNCTIONAL)
        return 0;
    return a->client.chip->launch_program_ns * 1000 + ps_of_cycles(a, cycles);
}

/*
 * The launch, and its operations one behind the other as the program has them, each with all of its
 * rounds, up to where the launch ends; before them is what starts it.
 */
static void profile_launch(const struct account *a, const struct account_program *p, int device,
                           int64_t start, int64_t end)
{
    int64_t at = start + a->client.chip->launch_program_ns * 1000;

    account_profile(device, PROFILE_LAUNCHES, p->name, start, end);
    for (int i = 0; i < p->in_order_count && at < end; i++) {
        int64_t next = at + ps_of_cycles(a, p->in_order[i].cycles);

        account_profile(device, PROFILE_OPS, p->in_order[i].name, at, next < end ? next : end);
        at = next;
    }
}

void account_launched(struct account_program *p, const struct executable *x, const int *device,
                      int devices, double seconds)
{
    struct account *a = p->account;
    bool has_cycles = !x->settings.is_host && x->settings.engine.mode != MODE_FUNCTIONAL;
    int64_t cycles = has_cycles ? x->cycles : 0, start = 0, end;

    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < devices; i++)
        if (a->time_ps[device[i]] > start)
            start = a->time_ps[device[i]];
    end = start + launch_ps(a, x, cycles);
    for (int i = 0; i < devices; i++)
        a->time_ps[device[i]] = end;
    for (int i = 0; i < devices; i++)
        profile_launch(a, p, device[i], start, end);
    p->launches++;
    p->cycles += cycles;
    p->launch_s += seconds;
    a->launches++;
    a->launch_ps += end - start;
    account_write_launch(a, p, device, devices, start, end, cycles, seconds);
    pthread_mutex_unlock(&a->lock);
}

void account_copied(struct account *a, int device, int64_t bytes, bool is_to_device)
{
    int64_t start, end;

    pthread_mutex_lock(&a->lock);
    start = a->time_ps[device];
    end = start + (int64_t)((double)bytes * 1000 / a->client.chip->host_pcie_gbps);
    a->time_ps[device] = end;
    a->copies++;
    a->copy_bytes += bytes;
    a->copy_ps += end - start;
    account_profile(device, PROFILE_COPIES, account_copy_name(is_to_device), start, end);
    account_write_copy(a, device, bytes, is_to_device, start, end);
    pthread_mutex_unlock(&a->lock);
}

int64_t sy_device_time_ns(int device)
{
    int64_t time = -1;

    pthread_mutex_lock(&latest_lock);
    if (latest && device >= 0 && device < latest->client.devices) {
        pthread_mutex_lock(&latest->lock);
        time = latest->time_ps[device] / 1000;
        pthread_mutex_unlock(&latest->lock);
    }
    pthread_mutex_unlock(&latest_lock);
    return time;
}
