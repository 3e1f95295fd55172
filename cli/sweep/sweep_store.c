/* The folder of a sweep: what it was made for, and which of its points are done. */
#include "cli/sweep/sweep.h"

#include "base/outfile.h"
#include "include/systole/status.h"
#include "report/view/command.h"
#include "report/folder/report.h"
#include "sim/chip/chip.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "systole-sweep"

/* ---- identity: FNV-1a over everything that decides a result ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* with its end, so that "a" "bc" is not "ab" "c" */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* an argument that names a file stands for what is in it */
static int hash_file(uint64_t *hash, const char *path, struct err *e)
{
    struct stat st;
    char block[4096];
    size_t count;
    FILE *f;
    int code;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    errno = 0;
    f = fopen(path, "r");
    while (f && (count = fread(block, 1, sizeof(block), f)) > 0)
        *hash = hash_bytes(*hash, block, count);
    code = !f || ferror(f) ? errno : 0;
    if (f)
        fclose(f);
    return code ? err_at(e, path, 0, 0, "cannot be read: %s", strerror(code)) : 0;
}

static uint64_t hash_chips(uint64_t hash)
{
    size_t count;
    const char *const *names = chip_names(&count);
    struct chip chip;
    struct err e;
    char value[CHIP_TEXT_BYTES];

    for (size_t i = 0; i < count; i++) {
        if (chip_load_builtin(&chip, names[i], NULL, NULL, &e))
            continue;
        for (size_t p = 0; p < chip_param_count; p++)
            hash = hash_text(hash, chip_print_param(&chip, p, value, sizeof(value)));
    }
    return hash;
}

static int hash_command(const struct sweep *s, uint64_t *hash, struct err *e)
{
    *hash = hash_chips(hash_text(14695981039346656037u, SY_VERSION));
    for (int i = 0; i < s->command_count; i++) {
        *hash = hash_text(*hash, s->command[i]);
        if (hash_file(hash, s->command[i], e))
            return -1;
    }
    return 0;
}

static uint64_t hash_point(const struct sweep *s, const struct sweep_point *p, uint64_t hash)
{
    for (int i = 0; i < s->axis_count; i++)
        hash = hash_text(hash_text(hash, s->axis[i].key), p->value[i]);
    return hash;
}

/* ---- the folder ---- */

static const char *text_of_command(struct sweep *s)
{
    const struct command c = {.name = s->command[0], .argument_count = s->command_count - 1,
                              .argument = (const char *const *)s->command + 1};

    return command_text(&c, &s->arena);
}

static int write_json(const char *path, json_t *root, struct err *e)
{
    struct outfile f;
    int status = outfile_begin(&f, path, e);

    if (status == 0) {
        json_dumpf(root, f.to, JSON_INDENT(1));     /* the commit says what failed */
        fputc('\n', f.to);
        status = outfile_commit(&f, e);
    }
    json_decref(root);
    return status;
}

/* 1 = there is none yet */
static int check_owner(struct sweep *s, const char *path, const char *hash, struct err *e)
{
    json_t *root = json_load_file(path, 0, NULL);
    const char *command, *old;
    int status = 0;

    if (!root && access(path, F_OK) != 0 && errno == ENOENT)
        return 1;
    command = json_string_value(json_object_get(root, "command"));
    old = json_string_value(json_object_get(root, "hash"));
    if (!command || !old)
        status = err_set(e, "%s is damaged; remove it, or name another --out", path);
    else if (strcmp(command, text_of_command(s)) != 0)
        status = err_set(e, "%s holds the sweep of another command, \"%.150s\"; name another "
                         "--out, or remove it", s->out, command);
    else if (strcmp(old, hash) != 0)
        status = err_set(e, "since %s was made, a file that the command names or a built-in chip "
                         "has changed; name another --out, or remove it", s->out);
    json_decref(root);
    return status;
}

static int own_folder(struct sweep *s, uint64_t id, struct err *e)
{
    const char *path = arena_printf(&s->arena, "%s/sweep.json", s->out);
    const char *hash = arena_printf(&s->arena, "%016" PRIx64, id);
    int status = check_owner(s, path, hash, e);

    if (status <= 0)
        return status;
    return write_json(path, json_pack("{ss, si, ss, ss}", "format", FORMAT, "version", 1,
                                      "command", text_of_command(s), "hash", hash), e);
}

static const char *marker_of(struct sweep *s, const struct sweep_point *p)
{
    return arena_printf(&s->arena, "%s/point.json", p->folder);
}

int sweep_open(struct sweep *s, struct err *e)
{
    uint64_t id;

    s->lock = (struct outfile_lock){.path = NULL};
    if (hash_command(s, &id, e) || report_make_folder(s->out, e) ||
        outfile_lock(&s->lock, arena_printf(&s->arena, "%s/sweep.csv", s->out), e) ||
        own_folder(s, id, e) ||
        report_make_folder(arena_printf(&s->arena, "%s/points", s->out), e))
        return -1;
    outfile_clean(s->out);
    for (size_t i = 0; i < s->point_count; i++) {
        struct sweep_point *p = &s->point[i];

        p->folder = arena_printf(&s->arena, "%s/points/%016" PRIx64, s->out,
                                 hash_point(s, p, id));
        p->state = access(marker_of(s, p), F_OK) == 0 ? SWEEP_DONE : SWEEP_WAITING;
    }
    return 0;
}

int sweep_keep(struct sweep *s, const struct sweep_point *p, struct err *e)
{
    json_t *root = json_object();

    for (int i = 0; i < s->axis_count; i++)
        json_object_set_new(root, s->axis[i].key, json_string(p->value[i]));
    return write_json(marker_of(s, p), root, e);
}

void sweep_close(struct sweep *s)
{
    outfile_unlock(&s->lock);
}
