/*
 * Which of library, Python, JAX and the interface between them is wrong, a line each: every part is
 * tried as JAX would use it.
 */
#include "cli/python/python.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define ANSWER_BYTES 65536
#define SECONDS_MAX 120                 /* that Python and JAX may take to begin */
#define PYTHON_MINOR_MIN 11             /* the first Python 3 that a JAX tried here runs on */

/* versions of JAX that the tests run: tests/jax/requirements.txt */
static const char *const tried_jax[] = {"0.10.2"};

struct check {
    const struct python_options *options;
    struct arena arena;
    const char *interpreter;
    struct python_variable variable[PYTHON_VARIABLES_MAX];
    int variables, wrong;
    char answer[ANSWER_BYTES];
};

static void print_line(const char *part, const char *verdict, const char *text)
{
    printf("%-10s %-6s %s\n", part, verdict, text);
    fflush(stdout);
}

static void right(const char *part, const char *text) { print_line(part, "ok", text); }

static bool wrong(struct check *c, const char *part, const char *text)
{
    print_line(part, "wrong", text);
    c->wrong++;
    return false;
}

/* ----- the library */

/*
 * The first words of the table that GetPjrtApi returns: two sizes and two chains, then the version.
 * Every version of the interface has them there, or it could not be told.
 */
struct api_head {
    size_t struct_size;
    void *extension;
    size_t version_size;
    void *version_extension;
    int major, minor;
};

static bool check_library(struct check *c)
{
    const struct api_head *(*get)(void) = NULL;
    const struct api_head *api;
    const char *path;
    struct err e;
    void *library, *symbol;

    path = python_library(&c->arena, &e);
    if (!path)
        return wrong(c, "library", e.msg);
    library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return wrong(c, "library", arena_printf(&c->arena, "cannot be loaded: %s", dlerror()));
    symbol = dlsym(library, "GetPjrtApi");
    memcpy(&get, &symbol, sizeof(get));
    api = get ? get() : NULL;
    if (!api)
        return wrong(c, "library", arena_printf(&c->arena, "%s has no GetPjrtApi", path));
    right("library", arena_printf(&c->arena, "%s, interface %d.%d", path, api->major, api->minor));
    return true;
}

/* ----- Python and JAX */

/* the last line that says something: of a failed Python, its error */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    char *line;

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

/* runs a program that prints one line; NULL, and `part` is wrong, where it fails */
static const char *ask(struct check *c, const char *part, const char *program)
{
    struct err e;
    int status;

    if (python_ask(c->interpreter, program, c->variable, c->variables, SECONDS_MAX, c->answer,
                   sizeof(c->answer), &status, &e)) {
        wrong(c, part, e.msg);
        return NULL;
    }
    if (WIFSIGNALED(status)) {
        wrong(c, part, arena_printf(&c->arena, "Python is killed by signal %d: %s",
                                    WTERMSIG(status), last_line(c->answer)));
        return NULL;
    }
    if (status != 0) {
        wrong(c, part, *c->answer ? last_line(c->answer) : "Python cannot be run");
        return NULL;
    }
    return last_line(c->answer);
}

static bool check_python(struct check *c)
{
    const char *said;
    int major, minor;
    struct err e;

    c->interpreter = python_interpreter(c->options->python, &c->arena, &e);
    if (!c->interpreter)
        return wrong(c, "python", e.msg);
    said = ask(c, "python", "import sys; print('%d.%d.%d' % sys.version_info[:3])");
    if (!said)
        return false;
    if (sscanf(said, "%d.%d", &major, &minor) != 2)
        return wrong(c, "python", arena_printf(&c->arena, "%s is no Python", c->interpreter));
    said = arena_printf(&c->arena, "%s, %s", c->interpreter, said);
    if (major < 3 || (major == 3 && minor < PYTHON_MINOR_MIN))
        return wrong(c, "python", arena_printf(&c->arena, "%s: JAX needs 3.%d or newer", said,
                                               PYTHON_MINOR_MIN));
    right("python", said);
    return true;
}

static bool check_jax(struct check *c)
{
    const char *said = ask(c, "jax", "import jax, jaxlib; print(jax.__version__, jaxlib.__version__)");
    char jax[32], jaxlib[32];
    bool is_tried = false;

    if (!said)
        return false;
    if (sscanf(said, "%31s %31s", jax, jaxlib) != 2)
        return wrong(c, "jax", arena_printf(&c->arena, "does not tell its version: %s", said));
    for (size_t i = 0; i < sizeof(tried_jax) / sizeof(tried_jax[0]); i++)
        is_tried |= strcmp(jax, tried_jax[i]) == 0;
    right("jax", arena_printf(&c->arena, "%s with jaxlib %s%s%s", jax, jaxlib,
                              is_tried ? "" : "; not tried here, as these are: ",
                              is_tried ? "" : tried_jax[0]));
    return true;
}

/* what JAX itself says when it loads the library and asks for devices */
static bool check_devices(struct check *c)
{
    const char *said = ask(c, "devices",
        "import warnings; warnings.simplefilter('ignore')\n"
        "import jax\n"
        "d = jax.devices()\n"
        "print(len(d), d[0].platform, d[0].device_kind)\n");
    const char *kind;
    char platform[32];
    int count, at;

    if (!said)
        return false;
    if (sscanf(said, "%d %31s %n", &count, platform, &at) != 2 || strcmp(platform, "tpu") != 0)
        return wrong(c, "devices", arena_printf(&c->arena, "JAX did not load the library: %s", said));
    kind = said + at;
    for (int i = 0; i < c->variables; i++)
        if (strcmp(c->variable[i].name, "SYSTOLE_TPU") == 0)
            right("devices", arena_printf(&c->arena, "%d x %s (%s)", count, kind,
                                          c->variable[i].value));
    return true;
}

int python_check(const struct python_options *o, struct err *e)
{
    struct check *c = mem_alloc(sizeof(*c));
    bool has_library, has_jax;
    int wrong_count;

    c->options = o;
    arena_init(&c->arena);
    has_library = check_library(c);
    has_jax = check_python(c) && check_jax(c);
    if (has_library && python_variables(o, &c->arena, c->variable, &c->variables, e)) {
        wrong(c, "slice", e->msg);
        has_library = false;
    }
    if (has_library && has_jax)
        check_devices(c);
    wrong_count = c->wrong;
    arena_fini(&c->arena);
    mem_free(c);
    return wrong_count;
}
