/*
 * Parses --save-at CYCLE=FILE, sorts the points by cycle, and advances the machine from one to the
 * next.
 */
#include "cli/common/save_at.h"

#include "base/outfile.h"
#include "base/text.h"
#include "sim/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define CYCLE_MOST (INT64_MAX / 4)

static int parse(struct save_point *p, const char *item, struct err *e)
{
    const char *equals = strchr(item, '=');
    char word[32];

    snprintf(word, sizeof(word), "%.*s", equals ? (int)(equals - item) : 0, item);
    if (!equals || !equals[1] || text_parse_int(word, 0, CYCLE_MOST, &p->cycle) != 0)
        return err_set(e, "--save-at \"%s\"; CYCLE=FILE is needed, CYCLE in 0..%lld", item,
                       (long long)CYCLE_MOST);
    p->path = equals + 1;
    return outfile_check(p->path, e);
}

static int by_cycle(const void *a, const void *b)
{
    cycle_t x = ((const struct save_point *)a)->cycle, y = ((const struct save_point *)b)->cycle;

    return (x > y) - (x < y);
}

int save_points_parse(struct save_points *s, const struct cli_list *list, struct err *e)
{
    *s = (struct save_points){.count = list->count};
    for (int i = 0; i < list->count; i++)
        if (parse(&s->point[i], list->item[i], e))
            return -1;
    qsort(s->point, (size_t)s->count, sizeof(*s->point), by_cycle);
    return 0;
}

int save_points_check(const struct save_points *s, const struct machine *m, struct err *e)
{
    cycle_t next = machine_next_cycle(m);

    if (s->count == 0 || s->point[0].cycle >= next)
        return 0;
    return err_set(e, "--save-at %lld=%s: the machine goes on at cycle %lld",
                   (long long)s->point[0].cycle, s->point[0].path, (long long)next);
}

void save_points_run(struct save_points *s, struct machine *m, const char *title)
{
    for (s->done = 0; s->done < s->count; s->done++) {
        const struct save_point *p = &s->point[s->done];

        if (machine_advance(m, p->cycle) != MACHINE_PAUSED)
            return;
        if (snapshot_write(m, title, p->path, s->is_failed ? &(struct err){0} : &s->err))
            s->is_failed = true;
    }
    machine_advance_to_end(m);
}

void save_points_print(const struct save_points *s, FILE *to)
{
    for (int i = 0; i < s->done && !s->is_failed; i++)
        fprintf(to, "snapshot of cycle %lld written to %s\n", (long long)s->point[i].cycle,
                s->point[i].path);
}

int save_points_end(const struct save_points *s, const struct machine *m, struct err *e)
{
    if (s->is_failed) {
        *e = s->err;
        return -1;
    }
    if (s->done == s->count)
        return 0;
    return err_set(e, "--save-at %lld=%s: the run was over after %lld cycles",
                   (long long)s->point[s->done].cycle, s->point[s->done].path,
                   (long long)machine_cycles(m));
}
