/* Finds the dearest program of a folder by its table. */
#include "report/view/run_programs.h"

#include "base/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLE_BYTES_MAX (64 << 20)

static char *read_table(const char *path, struct arena *a)
{
    FILE *f = fopen(path, "r");
    struct stat st;
    char *text = NULL;
    size_t got;

    if (!f)
        return NULL;
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_size < TABLE_BYTES_MAX) {
        text = arena_alloc(a, (size_t)st.st_size + 1);
        got = fread(text, 1, (size_t)st.st_size, f);
        text[got] = '\0';
    }
    fclose(f);
    return text;
}

/* the row of most cycles that has a folder; -1: none has */
static int find_dearest(const struct csv *c, int folder, int cycles)
{
    int dearest = -1;
    double most = -1;

    for (int i = 0; i < c->row_count; i++) {
        struct err ignored;
        double n;

        if (*csv_text(c, i, folder) && csv_number(c, i, cycles, 0, 1e18, &n, &ignored) == 0 &&
            !isnan(n) && n > most) {
            most = n;
            dearest = i;
        }
    }
    return dearest;
}

const char *run_programs_dearest(const char *path, struct arena *a, const char **note)
{
    char *text;
    struct csv c;
    struct err ignored;
    int row, folder;

    *note = NULL;
    if (access(arena_printf(a, "%s/stats.json", path), F_OK) == 0)
        return path;
    text = read_table(arena_printf(a, "%s/programs.csv", path), a);
    if (!text || csv_parse(&c, path, text, "number", a, &ignored))
        return path;
    folder = csv_find(&c, "folder");
    row = find_dearest(&c, folder, csv_find(&c, "cycles"));
    if (folder < 0 || row < 0 || strchr(csv_text(&c, row, folder), '/'))
        return path;
    *note = arena_printf(a, "%s holds %d programs (programs.csv); this is the dearest, %s", path,
                         c.row_count, csv_text(&c, row, folder));
    return arena_printf(a, "%s/%s", path, csv_text(&c, row, folder));
}
