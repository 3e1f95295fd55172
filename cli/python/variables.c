/* Finds the library beside this program and tells the variables by which JAX comes to load it. */
#define _DEFAULT_SOURCE                 /* realpath, readlink */
#include "cli/python/python.h"

#include "sim/chip/chip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* the folder of this program, "" where the system does not say */
static const char *own_folder(struct arena *a)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *slash;

    path[length < 0 ? 0 : length] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return arena_strdup(a, path);
}

const char *python_library(struct arena *a, struct err *e)
{
    static const char *const below[] = {"build/", "", "../lib/"};
    const char *folder = own_folder(a), *asked = "";
    char real[PATH_MAX];

    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        const char *path = arena_printf(a, "%s/%s%s", folder, below[i], PYTHON_LIBRARY);

        if (realpath(path, real))
            return arena_strdup(a, real);
        asked = arena_printf(a, "%s%s%s", asked, *asked ? ", " : "", path);
    }
    err_set(e, "the library that JAX loads is not there: looked for %s; make builds it", asked);
    return NULL;
}

/* The program may lie in a folder of the tree that it was built into, build/san. */
const char *python_example(const char *name, struct arena *a, struct err *e)
{
    static const char *const above[] = {"", "/..", "/../.."};
    const char *folder = own_folder(a);

    for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
        const char *path = arena_printf(a, "%s%s/examples/jax/%s", folder, above[i], name);

        if (access(path, R_OK) == 0)
            return path;
    }
    err_set(e, "%s/examples/jax/%s is not there; it is a part of the source tree", folder, name);
    return NULL;
}

/* a folder by its whole path, which is made where it is not there; NULL: it cannot */
static const char *out_folder(const char *path, struct arena *a, struct err *e)
{
    char real[PATH_MAX];
    struct stat st;

    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        err_set(e, "cannot make the folder %s: %s", path, strerror(errno));
        return NULL;
    }
    if (!realpath(path, real) || stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) {
        err_set(e, "--out %s is no folder", path);
        return NULL;
    }
    return arena_strdup(a, real);
}

static const char *slice_name(const struct python_options *o)
{
    const char *set = getenv("SYSTOLE_TPU");

    return o->tpu ? o->tpu : set && *set ? set : PYTHON_TPU;
}

int python_variables(const struct python_options *o, struct arena *a,
                     struct python_variable v[PYTHON_VARIABLES_MAX], int *count, struct err *e)
{
    static const char *const mode[] = {"both", "timing", "functional", "host"};
    const char *library, *out = NULL;
    struct slice slice;
    int n = 0;

    if (slice_parse(&slice, slice_name(o), e) || !(library = python_library(a, e)) ||
        (o->out && !(out = out_folder(o->out, a, e))))
        return -1;
    v[n++] = (struct python_variable){"JAX_PLATFORMS", "tpu,cpu"};
    v[n++] = (struct python_variable){"TPU_LIBRARY_PATH", library};
    v[n++] = (struct python_variable){"PJRT_DEVICE", "TPU"};            /* PyTorch/XLA */
    v[n++] = (struct python_variable){"SYSTOLE_TPU", slice_name(o)};
    if (out)
        v[n++] = (struct python_variable){"SYSTOLE_OUT", out};
    if (o->mode >= 0)
        v[n++] = (struct python_variable){"SYSTOLE_MODE", mode[o->mode]};
    if (o->threads > 0)
        v[n++] = (struct python_variable){"SYSTOLE_THREADS", arena_printf(a, "%d", o->threads)};
    if (o->assume_trips > 0)
        v[n++] = (struct python_variable){"SYSTOLE_ASSUME_TRIPS",
                                          arena_printf(a, "%lld", (long long)o->assume_trips)};
    if (o->is_highest)
        v[n++] = (struct python_variable){"SYSTOLE_PRECISION", "highest"};
    if (o->is_quiet)
        v[n++] = (struct python_variable){"SYSTOLE_QUIET", "1"};
    *count = n;
    return 0;
}
