/* Locations in MLIR text, among them bare ones, which a debugging mode of PyTorch/XLA writes. */
#include "import/mlir/text.h"

#include <ctype.h>
#include <string.h>

#define LOCATION_DEPTH_MAX 1000         /* calls within calls; what is deeper is unknown */

static const struct mlir_attr *unknown(struct mlir_reader *r)
{
    return mlir_location(r->arena, MLIR_LOCATION_UNKNOWN, "", 0, 0, NULL);
}

/* `"f.py":3:4 to 5:6` or `to :6`; the cursor is at the first colon */
static const struct mlir_attr *read_file(struct mlir_reader *r, struct mlir_text file)
{
    int64_t line = 0, col = 0, end_line = 0, end_col = 0;

    r->at++;
    if (mlir_read_int(r, &line) || mlir_expect(r, ":") || mlir_read_int(r, &col)) return NULL;
    if (mlir_accept(r, "to")) {
        end_line = line;
        if (mlir_is_number(r) && mlir_read_int(r, &end_line)) return NULL;
        if (mlir_expect(r, ":") || mlir_read_int(r, &end_col)) return NULL;
    }
    return mlir_file_location(r->arena, file.data, file.bytes, (int)line, (int)col, (int)end_line,
                              (int)end_col);
}

static const struct mlir_attr *read_named(struct mlir_reader *r)
{
    struct mlir_text name;

    if (mlir_read_string(r, &name)) return NULL;
    if (r->at < r->end && *r->at == ':') return read_file(r, name);
    if (r->at >= r->end || *r->at != '(')
        return mlir_location(r->arena, MLIR_LOCATION_NAME, name.data, name.bytes, 0, NULL);
    r->at++;
    const struct mlir_attr *child = mlir_read_location_body(r);
    if (!child || mlir_expect(r, ")")) return NULL;
    return mlir_location(r->arena, MLIR_LOCATION_NAME, name.data, name.bytes, 1, &child);
}

static const struct mlir_attr *read_call(struct mlir_reader *r)
{
    const struct mlir_attr *pair[2];

    if (mlir_expect(r, "(") || !(pair[0] = mlir_read_location_body(r))) return NULL;
    if (mlir_expect(r, "at") || !(pair[1] = mlir_read_location_body(r))) return NULL;
    if (mlir_expect(r, ")")) return NULL;
    return mlir_location(r->arena, MLIR_LOCATION_CALL, "", 0, 2, pair);
}

static const struct mlir_attr *read_fused(struct mlir_reader *r)
{
    size_t mark = r->items.count;
    const struct mlir_attr *made = NULL;

    if (mlir_accept(r, "<") && (!mlir_read_attr(r) || mlir_expect(r, ">"))) return NULL;
    if (mlir_expect(r, "[")) return NULL;
    while (!mlir_peek(r, "]")) {
        if (r->items.count > mark && mlir_expect(r, ",")) break;
        const struct mlir_attr *item = mlir_read_location_body(r);
        if (!item) break;
        MLIR_PUSH(r->items, item);
    }
    if (mlir_accept(r, "]"))
        made = mlir_location(r->arena, MLIR_LOCATION_FUSED, "", 0, (int)(r->items.count - mark),
                             r->items.item + mark);
    r->items.count = mark;
    return made;
}

/* `pt_lib.py:112:0`, without quotes */
static const struct mlir_attr *read_bare_file(struct mlir_reader *r)
{
    const char *p = r->at, *colon[2] = {NULL, NULL};
    int64_t line, col;

    for (; p < r->end && !isspace((unsigned char)*p) && !strchr("()[],{}\"", *p); p++) {
        if (*p != ':') continue;
        colon[0] = colon[1];
        colon[1] = p;
    }
    if (!colon[0]) return mlir_fail(r, "expected a location"), NULL;
    struct mlir_span first = {colon[0] + 1, (size_t)(colon[1] - colon[0] - 1)};
    struct mlir_span second = {colon[1] + 1, (size_t)(p - colon[1] - 1)};
    if (mlir_int_of_span(first, &line) || mlir_int_of_span(second, &col))
        return mlir_fail(r, "expected a location"), NULL;
    const struct mlir_attr *made =
        mlir_file_location(r->arena, r->at, (size_t)(colon[0] - r->at), (int)line, (int)col, 0, 0);
    r->at = p;
    return made;
}

static const struct mlir_attr *read_alias(struct mlir_reader *r)
{
    const char *begin = r->at++;
    struct mlir_span name;

    if (mlir_read_suffix(r, &name)) return NULL;
    const struct mlir_attr *a =
        mlir_alias_attr(r, (struct mlir_span){begin, (size_t)(r->at - begin)});
    if (a && a->kind != MLIR_LOCATION)
        return mlir_fail_at(r, begin, "%.*s is no location", (int)name.bytes + 1, begin), NULL;
    return a;
}

static const struct mlir_attr *read_one(struct mlir_reader *r)
{
    char c = mlir_next_char(r);

    if (c == '"') return read_named(r);
    if (c == '#') return read_alias(r);
    if (mlir_accept(r, "[unknown]") || mlir_accept(r, "unknown") || mlir_accept(r, "?"))
        return unknown(r);
    if (mlir_accept(r, "callsite")) return read_call(r);
    if (mlir_accept(r, "fused")) return read_fused(r);
    if (mlir_accept(r, "loc")) {
        if (mlir_expect(r, "(")) return NULL;
        const struct mlir_attr *l = mlir_read_location_body(r);
        return l && !mlir_expect(r, ")") ? l : NULL;
    }
    return read_bare_file(r);
}

const struct mlir_attr *mlir_read_location_body(struct mlir_reader *r)
{
    if (r->location_depth >= LOCATION_DEPTH_MAX)
        return mlir_fail(r, "more than %d locations are nested", LOCATION_DEPTH_MAX), NULL;
    r->location_depth++;
    const struct mlir_attr *l = read_one(r);
    /* a bare call: `#loc53` and on the next line ` at #loc54` */
    const char *behind = r->at;
    if (l && r->bare_calls && mlir_accept(r, "at")) {
        const struct mlir_attr *pair[2] = {l, mlir_read_location_body(r)};
        l = pair[1] ? mlir_location(r->arena, MLIR_LOCATION_CALL, "", 0, 2, pair) : NULL;
    } else {
        r->at = behind;
    }
    r->location_depth--;
    return l;
}

/* Is what stands here on the line a bare location? A string with brackets behind it may be an
 * operation in its general form, if an operand or a closing bracket stands in them. */
static bool is_bare(struct mlir_reader *r)
{
    if (!mlir_follows_on_line(r)) return false;
    const char *p = r->at, *end = r->end;
    if (*p == '#' || (end - p > 8 && !memcmp(p, "[unknown]", 9))) return true;
    if (*p == '"') {
        for (p++; p < end && *p != '"' && *p != '\n'; p++) p += *p == '\\';
        if (p >= end || *p != '"') return false;
        for (p++; p < end && (*p == ' ' || *p == '\t'); p++) {}
        return p >= end || *p != '(' || (p + 1 < end && (p[1] == '#' || p[1] == '"'));
    }
    if (!isalpha((unsigned char)*p) && *p != '/' && *p != '_') return false;
    while (p < end && (isalnum((unsigned char)*p) || strchr("_./-", *p))) p++;
    return p + 1 < end && *p == ':' && isdigit((unsigned char)p[1]);
}

int mlir_read_location(struct mlir_reader *r, const struct mlir_attr **location)
{
    *location = NULL;
    if (mlir_accept(r, "loc")) {
        if (mlir_expect(r, "(") || !(*location = mlir_read_location_body(r))) return -1;
        return mlir_expect(r, ")");
    }
    if (!is_bare(r)) return 0;
    *location = mlir_read_location_body(r);
    return *location ? 0 : -1;
}
