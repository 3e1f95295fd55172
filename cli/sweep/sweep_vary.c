/* Parses --vary KEY=VALUES, lists and ranges, and spans the grid of all of them. */
#include "cli/sweep/sweep.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct range {
    double first, last, by;
    char how;                           /* '+' or 'x' */
};

static int add_value(struct sweep *s, struct sweep_axis *axis, const char *value, struct err *e)
{
    const char **grown;

    for (size_t i = 0; i < axis->count; i++)
        if (strcmp(axis->value[i], value) == 0)
            return err_set(e, "--vary %s: %s stands there twice", axis->key, value);
    if (axis->count == SWEEP_POINT_MAX)
        return err_set(e, "--vary %s: more than %d values", axis->key, SWEEP_POINT_MAX);
    if ((axis->count & (axis->count - 1)) == 0) {       /* full at every power of two */
        grown = arena_array(&s->arena, axis->count ? 2 * axis->count : 1, sizeof(*grown));
        if (axis->count)
            memcpy(grown, axis->value, axis->count * sizeof(*grown));
        axis->value = grown;
    }
    axis->value[axis->count++] = arena_strdup(&s->arena, value);
    return 0;
}

/* 1 = a range, 0 = some other text, -1 = looks like one and is not */
static int read_range(const char *text, struct range *r)
{
    const char *dots = strstr(text, "..");
    char first[32], *end;

    if (!dots || dots == text || (size_t)(dots - text) >= sizeof(first))
        return 0;
    memcpy(first, text, (size_t)(dots - text));
    first[dots - text] = '\0';
    if (text_parse_double(first, -1e15, 1e15, &r->first))
        return 0;
    r->last = strtod(dots + 2, &end);
    r->how = *end ? *end : '+';
    r->by = 1;
    if (end == dots + 2 || !(r->last >= -1e15 && r->last <= 1e15))
        return -1;
    if (*end && ((r->how != '+' && r->how != 'x') ||
                 text_parse_double(end + 1, -1e15, 1e15, &r->by)))
        return -1;
    return 1;
}

static int check_range(const char *text, const char *key, const struct range *r, struct err *e)
{
    if (r->last < r->first)
        return err_set(e, "--vary %s: %s goes down; the smaller end comes first", key, text);
    if (r->how == '+' && r->by <= 0)
        return err_set(e, "--vary %s: %s needs a step above 0", key, text);
    if (r->how == 'x' && (r->by <= 1 || r->first <= 0))
        return err_set(e, "--vary %s: %s needs a factor above 1 and a start above 0", key, text);
    return 0;
}

static int add_range(struct sweep *s, struct sweep_axis *axis, const struct range *r,
                     struct err *e)
{
    double slack = 1e-9 * (r->last > 0 ? r->last : -r->last);   /* 0.1 is no binary number */
    double value = r->first;

    for (int i = 1; value <= r->last + slack; i++) {
        char text[32];

        snprintf(text, sizeof(text), "%.12g", value);
        if (add_value(s, axis, text, e))
            return -1;
        value = r->how == 'x' ? value * r->by : r->first + i * r->by;
    }
    return 0;
}

static int add_item(struct sweep *s, struct sweep_axis *axis, const char *item, struct err *e)
{
    struct range r;
    int kind = read_range(item, &r);

    if (!*item)
        return err_set(e, "--vary %s: an empty value", axis->key);
    if (kind == 0)
        return add_value(s, axis, item, e);
    if (kind < 0)
        return err_set(e, "--vary %s: %s is no range; write 1..8, 0..100+25 or 64..1024x2",
                       axis->key, item);
    return check_range(item, axis->key, &r, e) ? -1 : add_range(s, axis, &r, e);
}

int sweep_parse_vary(struct sweep *s, const char *text, struct err *e)
{
    const char *equals = strchr(text, '=');
    struct sweep_axis *axis = &s->axis[s->axis_count];
    char *item, *rest;

    if (!equals || equals == text)
        return err_set(e, "--vary is \"%s\"; write KEY=VALUES, e.g. mxu.count=1,2,4", text);
    if (s->axis_count == SWEEP_AXIS_MAX)
        return err_set(e, "--vary may be given at most %d times", SWEEP_AXIS_MAX);
    *axis = (struct sweep_axis){
        .key = arena_printf(&s->arena, "%.*s", (int)(equals - text), text)};
    axis->is_chip = strchr(axis->key, '.') != NULL;
    for (int i = 0; i < s->axis_count; i++)
        if (strcmp(s->axis[i].key, axis->key) == 0)
            return err_set(e, "--vary %s is given twice; put all values into one list",
                           axis->key);
    for (item = arena_strdup(&s->arena, equals + 1); item; item = rest) {
        rest = strchr(item, ',');
        if (rest)
            *rest++ = '\0';
        if (add_item(s, axis, item, e))
            return -1;
    }
    s->axis_count++;
    return 0;
}

int sweep_make_points(struct sweep *s, struct err *e)
{
    s->point_count = 1;
    for (int i = 0; i < s->axis_count; i++) {
        s->point_count *= s->axis[i].count;
        if (s->point_count > SWEEP_POINT_MAX)
            return err_set(e, "the grid has more than %d points; a sweep runs each of them",
                           SWEEP_POINT_MAX);
    }
    s->point = arena_array(&s->arena, s->point_count, sizeof(*s->point));
    for (size_t p = 0; p < s->point_count; p++) {
        size_t rest = p;

        s->point[p].value = arena_array(&s->arena, SWEEP_AXIS_MAX, sizeof(char *));
        for (int i = s->axis_count - 1; i >= 0; i--) {
            s->point[p].value[i] = s->axis[i].value[rest % s->axis[i].count];
            rest /= s->axis[i].count;
        }
    }
    return 0;
}

char *sweep_print_point(const struct sweep *s, const struct sweep_point *p, char *buf,
                        size_t buf_bytes)
{
    size_t length = 0;

    buf[0] = '\0';
    for (int i = 0; i < s->axis_count && length + 1 < buf_bytes; i++)
        length += (size_t)snprintf(buf + length, buf_bytes - length, "%s%s=%s", i ? " " : "",
                                   s->axis[i].key, p->value[i]);
    return buf;
}
