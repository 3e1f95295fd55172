/*
 * Reservations: of a data bus and of activates, each in order of time. A
 * request takes the first gap that is long enough, so that one that waits for
 * its bank blocks nobody; streams find theirs behind the last reservation.
 */
#include "hbm/hbm_impl.h"

#include <string.h>

#include "base/arena.h"

ps_t hbm_bus_find(const struct hbm_config *c, const struct hbm_channel *ch, ps_t earliest,
                  ps_t busy_ps, bool is_write, int64_t group, size_t *place)
{
    const struct hbm_taken this = {.group = group, .is_write = is_write};
    size_t i = ch->taken_count;

    earliest = later(earliest, ch->floor_at);
    while (i > 0 && ch->taken[i - 1].start > earliest)
        i--;
    for (;; i++) {
        ps_t start = earliest;

        if (i > 0) {
            const struct hbm_taken *before = &ch->taken[i - 1];

            start = later(start, before->end + hbm_turn_ps(c, before, is_write, group));
        }
        *place = i;
        if (i == ch->taken_count ||
            start + busy_ps + hbm_turn_ps(c, &this, ch->taken[i].is_write,
                                          ch->taken[i].group) <= ch->taken[i].start)
            return start;
    }
}

/* the oldest make room, and nothing is reserved where they were */
static void forget_first(struct hbm_channel *ch, size_t count)
{
    ch->floor_at = later(ch->floor_at, ch->taken[count - 1].end);
    memmove(ch->taken, ch->taken + count, (ch->taken_count - count) * sizeof(*ch->taken));
    ch->taken_count -= count;
}

void hbm_bus_take(struct hbm_channel *ch, size_t place, ps_t start, ps_t end, bool is_write,
                  int64_t group, bool may_join)
{
    struct hbm_taken *t;

    if (place > 0 && may_join) {
        t = &ch->taken[place - 1];
        if (t->end == start && t->is_write == is_write) {
            t->end = end;
            t->group = t->group == group ? group : -1;
            if (place < ch->taken_count && t[1].start == end && t[1].is_write == is_write) {
                t->end = t[1].end;
                t->group = t->group == t[1].group ? t->group : -1;
                memmove(t + 1, t + 2, (ch->taken_count - place - 1) * sizeof(*t));
                ch->taken_count--;
            }
            return;
        }
    }
    if (ch->taken_count == RESERVATIONS_MAX && place > 0) {
        forget_first(ch, 1);
        place--;
    }
    ch->taken = mem_grow(ch->taken, &ch->taken_capacity, ch->taken_count + 1, sizeof(*ch->taken));
    t = &ch->taken[place];
    memmove(t + 1, t, (ch->taken_count - place) * sizeof(*t));
    ch->taken_count++;
    *t = (struct hbm_taken){.start = start, .end = end, .group = group, .is_write = is_write};
}

static ps_t apart_ps(const struct hbm_config *c, int64_t a, int64_t b)
{
    return a == b ? c->trrd_l_ps : c->trrd_ps;
}

/*
 * Whether an activate at `at`, behind `place` others, keeps tRRD and tFAW; if not, *next is the
 * first instant after which it might.
 */
static bool fits(const struct hbm_config *c, const struct hbm_channel *ch, size_t place, ps_t at,
                 int64_t group, ps_t *next)
{
    const struct hbm_activate *a = ch->activate;
    size_t count = ch->activate_count;

    for (size_t back = 1; back <= 2 && back <= place; back++)
        if (at < a[place - back].at + apart_ps(c, group, a[place - back].group)) {
            *next = a[place - back].at + apart_ps(c, group, a[place - back].group);
            return false;
        }
    if (place >= 4 && at < a[place - 4].at + c->tfaw_ps) {
        *next = a[place - 4].at + c->tfaw_ps;
        return false;
    }
    for (size_t ahead = 0; ahead < 2 && place + ahead < count; ahead++)
        if (a[place + ahead].at < at + apart_ps(c, group, a[place + ahead].group)) {
            *next = a[place + ahead].at + 1;
            return false;
        }
    for (size_t back = 0; back <= 3 && back <= place; back++) {     /* windows that it is within */
        ps_t first = back > 0 ? a[place - back].at : at;

        if (place + 3 - back < count && a[place + 3 - back].at < first + c->tfaw_ps) {
            *next = a[place].at + 1;
            return false;
        }
    }
    return true;
}

ps_t hbm_activate_find(const struct hbm_config *c, struct hbm_channel *ch, ps_t earliest,
                       int64_t group, size_t *place)
{
    size_t i = ch->activate_count;
    ps_t at = later(earliest, ch->floor_at), next = at;

    while (i > 0 && ch->activate[i - 1].at > at)
        i--;
    while (!fits(c, ch, i, at, group, &next)) {
        at = next;
        while (i < ch->activate_count && ch->activate[i].at <= at)
            i++;
    }
    ch->crowd = at > earliest ? ch->crowd + 1 : ch->crowd - 1;
    ch->crowd = ch->crowd < 0 ? 0 : ch->crowd > CROWD_MAX ? CROWD_MAX : ch->crowd;
    if (i > 0 && ch->crowd > CROWD_MAX / 2 && c->tfaw_ps > 0) {
        ps_t step = (c->tfaw_ps + 3) / 4, before = ch->activate[i - 1].at;
        ps_t snapped = before + (at - before + step - 1) / step * step;

        if (fits(c, ch, i, snapped, group, &next))
            at = snapped;
    }
    *place = i;
    return at;
}

void hbm_activate_take(struct hbm_channel *ch, size_t place, ps_t at, int64_t group)
{
    struct hbm_activate *a;

    if (ch->activate_count == RESERVATIONS_MAX && place > 0) {
        memmove(ch->activate, ch->activate + 1, --ch->activate_count * sizeof(*a));
        place--;
    }
    if (ch->activate_count == ch->activate_capacity)
        ch->activate = mem_grow(ch->activate, &ch->activate_capacity, ch->activate_count + 1,
                                sizeof(*a));
    a = &ch->activate[place];
    if (place < ch->activate_count)
        memmove(a + 1, a, (ch->activate_count - place) * sizeof(*a));
    ch->activate_count++;
    *a = (struct hbm_activate){.at = at, .group = group};
}

void hbm_bus_forget(const struct hbm_config *c, struct hbm_channel *ch, ps_t now)
{
    ps_t bus_ps = later(c->twtr_l_ps + c->tcl_ps, c->trtw_ps) + c->tccd_l_ps;
    ps_t activate_ps = later(c->tfaw_ps, c->trrd_l_ps);
    size_t gone = 0;

    while (gone + 1 < ch->taken_count && ch->taken[gone].end + bus_ps <= now)
        gone++;
    if (gone > 0)
        forget_first(ch, gone);
    for (gone = 0; gone < ch->activate_count && ch->activate[gone].at + activate_ps <= now;)
        gone++;
    if (gone > 0) {
        ch->activate_count -= gone;
        memmove(ch->activate, ch->activate + gone, ch->activate_count * sizeof(*ch->activate));
    }
}
