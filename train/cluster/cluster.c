/*
 * Resolves which TPU is meant, from an argument or the environment, and makes its machine when
 * asked to.
 */
#include "train/cluster/cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 8
#define STANDARD_SLICE "v3-8"

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* the slice's name, or NULL for the host; who has asked for it */
static const char *find_name(const char *tpu, const char **asked_by)
{
    const char *name = tpu && *tpu ? tpu : environment(CLUSTER_NAME_VARIABLE);

    *asked_by = tpu && *tpu ? "the program" : CLUSTER_NAME_VARIABLE;
    if (!name) {
        *asked_by = "nobody";
        return NULL;
    }
    if (strcmp(name, "cpu") == 0 || strcmp(name, "host") == 0)
        return NULL;
    if (strcmp(name, "local") != 0)
        return name;
    name = environment(CLUSTER_LOCAL_VARIABLE);
    *asked_by = name ? CLUSTER_LOCAL_VARIABLE : "the standard of \"local\"";
    return name ? name : STANDARD_SLICE;
}

static int host_threads(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    return cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (int)cpus;
}

int cluster_resolve(struct cluster *c, const struct cluster_options *o, struct arena *a,
                    struct err *e)
{
    const char *name;

    memset(c, 0, sizeof(*c));
    name = find_name(o->tpu, &c->asked_by);
    c->is_host = !name;
    if (c->is_host)
        return 0;
    if (slice_parse(&c->slice, name, e)) {
        struct err cause = *e;

        return strcmp(c->asked_by, "the program") == 0
                   ? -1 : err_set(e, "%s: %s", c->asked_by, cause.msg);
    }
    c->chip_origins = arena_array(a, chip_param_count, sizeof(*c->chip_origins));
    if (chip_load_builtin(&c->chip, c->slice.chip_name, c->chip_origins, a, e) ||
        chip_set_all(&c->chip, o->set, o->set_count, c->chip_origins, a, e) ||
        slice_fit(&c->slice, &c->chip, e))
        return -1;
    topology_init(&c->topology, &c->slice, &c->chip, a);
    c->machine_options = o->machine;
    if (c->machine_options.thread_count == 0)
        c->machine_options.thread_count = host_threads();
    return 0;
}

int cluster_shutdown(struct cluster *c, struct err *e)
{
    if (c->user_count)
        return err_set(e, "%d strateg%s still use%s %s: destroy %s first", c->user_count,
                       c->user_count > 1 ? "ies" : "y", c->user_count > 1 ? "" : "s",
                       c->slice.name, c->user_count > 1 ? "them" : "it");
    machine_destroy(c->machine);
    c->machine = NULL;
    return 0;
}

int cluster_initialize(struct cluster *c, struct err *e)
{
    if (c->is_host)
        return 0;
    if (cluster_shutdown(c, e))
        return -1;
    c->machine = machine_create(&c->slice, &c->chip, &c->machine_options, e);
    return c->machine ? 0 : -1;
}

void cluster_fini(struct cluster *c)
{
    assert(c->user_count == 0);
    machine_destroy(c->machine);
    c->machine = NULL;
}

char *cluster_print(const struct cluster *c, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%s", c->is_host ? "the host's reference interpreter"
                                              : slice_print(&c->slice).text);
    return buf;
}
