/* Finds programs in folders, and says what their index says of them. */
#include "cli/validate/programs.h"

#include "base/csv.h"
#include "import/read/read.h"
#include "isa/file.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* allowed at least; what README and index of such folders go by */
#define BOUND_F32 2e-5
#define BOUND_F32_SENSITIVE 1e-3
#define BOUND_OTHER_BACKEND 1e-4
#define BOUND_BF16 2e-2
#define BOUND_NARROW 5e-2
enum { FACTOR_ERROR = 20, FACTOR_OTHER_BACKEND = 10 };

static bool exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0;
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static double number(const struct csv *c, int row, const char *column)
{
    double value = atof(csv_text(c, row, csv_find(c, column)));

    return isfinite(value) ? value : 0;
}

static double bound_of(const struct csv *c, int row)
{
    const char *precision = csv_text(c, row, csv_find(c, "precision"));
    double other = FACTOR_OTHER_BACKEND * number(c, row, "err_jax");

    if (strstr(precision, "int") || strstr(precision, "fp8") || strstr(precision, "f8"))
        return BOUND_NARROW;
    if (strstr(precision, "bf16") || strstr(precision, "bfloat16"))
        return fmax(BOUND_BF16, other);
    if (csv_find(c, "err_jax") >= 0)
        return fmax(BOUND_OTHER_BACKEND, other);
    if (*csv_text(c, row, csv_find(c, "sensitive_outputs")))
        return BOUND_F32_SENSITIVE;
    return fmax(BOUND_F32, FACTOR_ERROR * fmax(number(c, row, "f32_error"),
                                               number(c, row, "sensitivity")));
}

/* numbers between anything else: "3 4 17" */
static void read_left_out(struct program_case *p, const char *text, struct arena *a)
{
    int *list = arena_array(a, strlen(text) + 1, sizeof(*list));

    while (*text) {
        char *end;
        long n = strtol(text, &end, 10);

        if (end == text) {
            text++;
            continue;
        }
        list[p->left_out_count++] = (int)n;
        text = end;
    }
    p->left_out = list;
}

bool program_is_left_out(const struct program_case *c, int result)
{
    for (int i = 0; i < c->left_out_count; i++) {
        if (c->left_out[i] == result)
            return true;
    }
    return false;
}

static int is_program_name(const struct dirent *d)
{
    return strncmp(d->d_name, "program.", 8) == 0 && !strstr(d->d_name, ".elided.");
}

static void find_forms(struct program_case *p, const char *folder, struct arena *a)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, is_program_name, alphasort);

    for (int i = 0; i < count; i++) {
        if (p->form_count < PROGRAM_FORMS_MAX)
            p->form[p->form_count++] = arena_printf(a, "%s/%s", folder, entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
}

static int add_row(struct program_list *l, const char *folder, const struct csv *c, int row,
                   struct arena *a, struct err *e)
{
    struct program_case p = {.name = csv_text(c, row, csv_find(c, "name")), .devices = 1,
                             .is_listed = true};
    const char *own = arena_printf(a, "%s/%s", folder, p.name);

    find_forms(&p, own, a);
    if (p.form_count == 0)
        return err_at(e, c->path, c->row[row].line, 0, "%s holds no program.*", own);
    p.bound = bound_of(c, row);
    p.devices = (int)fmax(1, number(c, row, "devices"));
    read_left_out(&p, csv_text(c, row, csv_find(c, "sensitive_outputs")), a);
    p.inputs = arena_printf(a, "%s/inputs.safetensors", own);
    p.outputs = arena_printf(a, "%s/outputs.safetensors", own);
    if (!exists(p.inputs) || !exists(p.outputs))
        p.inputs = p.outputs = NULL;
    MEM_ADD(l->item, l->count, l->capacity) = p;
    return 0;
}

static void add_file(struct program_list *l, const char *path, struct arena *a)
{
    const char *stroke = strrchr(path, '/');
    struct program_case p = {.name = arena_strdup(a, stroke ? stroke + 1 : path), .devices = 1,
                             .form = {arena_strdup(a, path)}, .form_count = 1};

    MEM_ADD(l->item, l->count, l->capacity) = p;
}

static int is_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

static int add_files(struct program_list *l, const char *folder, struct arena *a, struct err *e)
{
    struct dirent **entry;
    int count = scandir(folder, &entry, is_visible, alphasort), before = l->count;

    if (count < 0)
        return err_set(e, "%s: cannot be read", folder);
    for (int i = 0; i < count; i++) {
        const char *path = arena_printf(a, "%s/%s", folder, entry[i]->d_name);

        if (!is_folder(path) && program_is_file(path))
            add_file(l, path, a);
        free(entry[i]);
    }
    free(entry);
    return l->count > before ? 0 : err_set(e, "%s: holds no index.csv and no programs", folder);
}

static int add_index(struct program_list *l, const char *folder, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/index.csv", folder);
    struct csv c;
    uint8_t *text;
    size_t size;

    if (isa_file_read(path, a, &text, &size, e) ||
        csv_parse(&c, path, (char *)text, NULL, a, e))
        return -1;
    if (csv_find(&c, "name") < 0)       /* an index of files, which are there by themselves */
        return add_files(l, folder, a, e);
    for (int row = 0; row < c.row_count; row++) {
        if (add_row(l, folder, &c, row, a, e))
            return -1;
    }
    return 0;
}

int programs_list(struct program_list *l, const char *path, struct arena *a, struct err *e)
{
    if (!exists(path))
        return err_set(e, "%s: there is no such file or folder", path);
    if (!is_folder(path)) {
        add_file(l, path, a);
        return 0;
    }
    return exists(arena_printf(a, "%s/index.csv", path)) ? add_index(l, path, a, e)
                                                         : add_files(l, path, a, e);
}
