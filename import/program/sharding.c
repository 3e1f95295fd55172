/* Shardings by tiles as HLO writes them, and the lists that they stand in. */
#include "import/program/sharding_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int sharding_fail(struct sharding_reader *r, const char *what)
{
    int before = (int)(r->at - r->start), left = (int)(r->end - r->at);

    return err_set(r->err, "sharding: %s at '%.*s' behind '%.*s'", what, left < 40 ? left : 40, r->at,
                   before < 60 ? before : 60, r->at - (before < 60 ? before : 60));
}

/* spaces, the printer's counts of elements, and backslashes before quotes */
static void skip(struct sharding_reader *r)
{
    for (;;) {
        if (r->at < r->end && (isspace((unsigned char)*r->at) || *r->at == '\\'))
            r->at++;
        else if (r->end - r->at >= 2 && r->at[0] == '/' && r->at[1] == '*') {
            while (r->at < r->end && !(r->at[-1] == '*' && r->at[0] == '/'))
                r->at++;
            r->at += r->at < r->end;
        } else
            return;
    }
}

bool sharding_accept(struct sharding_reader *r, const char *word)
{
    size_t length = strlen(word);

    skip(r);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length))
        return false;
    r->at += length;
    return true;
}

int sharding_expect(struct sharding_reader *r, const char *word)
{
    char what[64];

    if (sharding_accept(r, word))
        return 0;
    snprintf(what, sizeof(what), "'%s' is wanted", word);
    return sharding_fail(r, what);
}

int sharding_read_int(struct sharding_reader *r, int64_t *value)
{
    skip(r);
    if (r->at == r->end || !isdigit((unsigned char)*r->at))
        return sharding_fail(r, "a number is wanted");
    for (*value = 0; r->at < r->end && isdigit((unsigned char)*r->at); r->at++) {
        *value = 10 * *value + (*r->at - '0');
        if (*value > INT32_MAX)
            return sharding_fail(r, "a number is too large");
    }
    return 0;
}

static bool is_digit_next(struct sharding_reader *r)
{
    skip(r);
    return r->at < r->end && isdigit((unsigned char)*r->at);
}

/* numbers with commas between; a comma behind which no number stands is left */
static int read_list(struct sharding_reader *r, struct hlo_ints *list)
{
    int64_t *item = NULL, value = 0;
    size_t room = 0;
    int count = 0;

    while (is_digit_next(r)) {
        const char *comma;

        if (count == HLO_DEVICES_MAX || sharding_read_int(r, &value)) {
            mem_free(item);
            return count == HLO_DEVICES_MAX ? sharding_fail(r, "too many devices") : -1;
        }
        MEM_ADD(item, count, room) = value;
        skip(r);
        comma = r->at;
        if (!sharding_accept(r, ","))
            break;
        if (!is_digit_next(r)) {
            r->at = comma;
            break;
        }
    }
    *list = hlo_ints_copy(r->module->arena, item, count);
    mem_free(item);
    return 0;
}

int sharding_read_ints(struct sharding_reader *r, const char *close, struct hlo_ints *list)
{
    return read_list(r, list) || sharding_expect(r, close) ? -1 : 0;
}

static int64_t product(struct hlo_ints list)
{
    int64_t n = 1;

    for (int i = 0; i < list.count && n <= HLO_DEVICES_MAX; i++)
        n *= list.item[i];
    return n;
}

/* number `at` of 0 .. n - 1 laid out as `dims` and transposed by `order` */
static int64_t transposed(struct hlo_ints dims, struct hlo_ints order, int64_t at)
{
    int64_t index[SHARDING_DIMS_MAX], value = 0;

    for (int i = order.count - 1; i >= 0; i--) {
        int64_t size = dims.item[order.item[i]];

        index[order.item[i]] = at % size;
        at /= size;
    }
    for (int i = 0; i < dims.count; i++)
        value = value * dims.item[i] + index[i];
    return value;
}

static int check_order(struct sharding_reader *r, struct hlo_ints dims, struct hlo_ints order)
{
    uint64_t seen = 0;

    if (order.count != dims.count)
        return sharding_fail(r, "T(..) has another number of dimensions than <=[..]");
    for (int i = 0; i < order.count; i++) {
        if (order.item[i] >= dims.count || seen >> order.item[i] & 1)
            return sharding_fail(r, "T(..) is no permutation");
        seen |= (uint64_t)1 << order.item[i];
    }
    return 0;
}

int sharding_read_iota(struct sharding_reader *r, struct hlo_ints *ids)
{
    struct hlo_ints dims, order = {0};
    int64_t n, *id;

    if (sharding_expect(r, "<=") || sharding_expect(r, "[") || sharding_read_ints(r, "]", &dims))
        return -1;
    n = product(dims);
    if (dims.count > SHARDING_DIMS_MAX || n > HLO_DEVICES_MAX || n < 1)
        return sharding_fail(r, "too many devices");
    if (sharding_accept(r, "T(")) {
        if (sharding_read_ints(r, ")", &order) || check_order(r, dims, order))
            return -1;
    }
    id = arena_array(r->module->arena, (size_t)n, sizeof(*id));
    for (int64_t i = 0; i < n; i++)
        id[i] = order.count ? transposed(dims, order, i) : i;
    *ids = (struct hlo_ints){(int)n, id};
    return 0;
}

static const struct { const char *word; enum hlo_sharding_kind kind; } subgroups[] = {
    {"replicated", HLO_REPLICATED}, {"manual", HLO_MANUAL}, {"unreduced", HLO_UNREDUCED},
    {"unknown", HLO_UNKNOWN},
};

static int read_subgroups(struct sharding_reader *r, struct hlo_ints *list)
{
    int64_t kind[SHARDING_DIMS_MAX];
    int count = 0;

    if (sharding_accept(r, "last_tile_dim_replicate")) {
        *list = hlo_ints_copy(r->module->arena, (int64_t[]){HLO_REPLICATED}, 1);
        return 0;
    }
    if (!sharding_accept(r, "last_tile_dims={"))
        return 0;
    while (!sharding_accept(r, "}")) {
        size_t i = 0;

        while (i < sizeof(subgroups) / sizeof(*subgroups) &&
               !sharding_accept(r, subgroups[i].word))
            i++;
        if (i == sizeof(subgroups) / sizeof(*subgroups) || count == SHARDING_DIMS_MAX)
            return sharding_fail(r, "manual, replicated or unreduced is wanted");
        kind[count++] = subgroups[i].kind;
        sharding_accept(r, ",");
    }
    *list = hlo_ints_copy(r->module->arena, kind, count);
    return 0;
}

static int check_devices(struct sharding_reader *r, const struct hlo_sharding *s)
{
    bool *seen = mem_alloc((size_t)s->id.count * sizeof(*seen) + 1);
    int status = 0;

    if (product(s->tile) != s->id.count)
        status = sharding_fail(r, "another number of devices than tiles");
    for (int i = 0; i < s->id.count && !status; i++) {
        if (s->id.item[i] >= s->id.count || seen[s->id.item[i]])
            status = sharding_fail(r, "devices are not each of 0 .. n - 1 once");
        else
            seen[s->id.item[i]] = true;
    }
    mem_free(seen);
    return status;
}

static int read_tiles(struct sharding_reader *r, struct hlo_sharding *s)
{
    s->kind = HLO_TILED;
    if (sharding_read_ints(r, "]", &s->tile))
        return -1;
    if (is_digit_next(r) ? read_list(r, &s->id) : sharding_read_iota(r, &s->id))
        return -1;
    if (read_subgroups(r, &s->subgroup) || check_devices(r, s))
        return -1;
    if (s->subgroup.count > s->tile.count || s->tile.count > SHARDING_DIMS_MAX)
        return sharding_fail(r, "more subgroups than tiles");
    return 0;
}

/* `metadata={..}` and other braces that nobody here reads */
static int skip_braces(struct sharding_reader *r)
{
    int depth = 1;
    bool is_quoted = false;

    for (; r->at < r->end && depth; r->at++) {
        if (*r->at == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted)
            depth += (*r->at == '{') - (*r->at == '}');
    }
    return depth ? sharding_fail(r, "'}' is missing") : 0;
}

static int read_rest(struct sharding_reader *r)
{
    int64_t group;

    for (;;) {
        sharding_accept(r, ",");
        if (sharding_accept(r, "metadata={")) {
            if (skip_braces(r))
                return -1;
        } else if (sharding_accept(r, "shard_as") || sharding_accept(r, "shard_like")) {
            if (sharding_read_int(r, &group))
                return -1;
        } else
            return read_subgroups(r, &(struct hlo_ints){0});
    }
}

static int read_body(struct sharding_reader *r, struct hlo_sharding *s)
{
    skip(r);
    if (r->end - r->at > 5 && !memcmp(r->at, "mesh[", 5))
        return sharding_read_named(r, s);
    if (sharding_accept(r, "devices=["))
        return read_tiles(r, s) || read_rest(r) ? -1 : 0;
    if (sharding_accept(r, "maximal device=")) {
        s->kind = HLO_MAXIMAL;
        return sharding_read_int(r, &s->device) || read_rest(r) ? -1 : 0;
    }
    for (size_t i = 0; i < sizeof(subgroups) / sizeof(*subgroups); i++)
        if (sharding_accept(r, subgroups[i].word)) {
            s->kind = subgroups[i].kind;
            return read_rest(r);
        }
    return sharding_fail(r, "replicated, manual, maximal, devices=[ or mesh[ is wanted");
}

/* one sharding, with its braces, or of names of Shardy's */
static int read_one(struct sharding_reader *r, struct hlo_sharding *s)
{
    const char *start;

    skip(r);
    start = r->at;
    if (sharding_accept(r, "{")) {
        if (read_body(r, s) || sharding_expect(r, "}"))
            return -1;
    } else if (r->at < r->end && (*r->at == '<' || *r->at == '#')) {
        if (sharding_read_named(r, s))
            return -1;
    } else if (read_body(r, s))
        return -1;
    s->text = arena_printf(r->module->arena, "%.*s", (int)(r->at - start), start);
    return 0;
}

/* whether braces hold braces: a list for the leaves of a tuple, maybe an empty one */
static const char *list_end(struct sharding_reader *r)
{
    const char *at;

    if (sharding_accept(r, "#sdy.sharding_per_value<[") ||
        sharding_accept(r, "#sdy<sharding_per_value<["))
        return "]>";
    if (sharding_accept(r, "["))
        return "]";
    skip(r);
    at = r->at;
    if (sharding_accept(r, "{")) {
        skip(r);
        if (r->at < r->end && (*r->at == '{' || *r->at == '}'))
            return "}";
    }
    r->at = at;
    return NULL;
}

int hlo_sharding_parse(const struct hlo_module *m, const char *text, size_t length, int *count,
                       const struct hlo_sharding **sharding, struct err *e)
{
    struct sharding_reader r = {m, text, text, text + length, e};
    struct hlo_sharding *made = NULL;
    const char *end = list_end(&r);
    size_t room = 0;
    int status = 0;

    *count = 0;
    while (!status && !(end && sharding_accept(&r, end))) {
        struct hlo_sharding s = {0};

        status = read_one(&r, &s);
        MEM_ADD(made, *count, room) = s;
        if (!end)
            break;
        sharding_accept(&r, ",");
    }
    if (!status && end)
        sharding_accept(&r, ">");       /* of the form #sdy<..> */
    skip(&r);
    if (!status && r.at != r.end)
        status = sharding_fail(&r, "something is left");
    *sharding = arena_copy(m->arena, made, (size_t)*count, sizeof(*made));
    mem_free(made);
    return status;
}
