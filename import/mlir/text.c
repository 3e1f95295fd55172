/* Files of MLIR text: parts split by `// -----`, modules in them, resources behind. */
#include "import/mlir/text.h"

#include <string.h>

#define SPLIT "// -----"

/* the beginning of the next line that begins with `mark`; NULL: none */
static const char *line_with(const char *from, const char *to, const char *mark)
{
    size_t n = strlen(mark);
    for (const char *p = from; p && (size_t)(to - p) >= n;) {
        if (!memcmp(p, mark, n)) return p;
        p = memchr(p, '\n', (size_t)(to - p));
        if (p) p++;
    }
    return NULL;
}

/* `key: "0x.."` within resources; other values are skipped */
static int read_resource(struct mlir_reader *r)
{
    struct mlir_span key;
    struct mlir_text quoted;

    if (mlir_next_char(r) == '"') {
        if (mlir_read_string(r, &quoted)) return -1;
        key = (struct mlir_span){quoted.data, quoted.bytes};
    } else if (mlir_read_suffix(r, &key)) {
        return -1;
    }
    if (mlir_expect(r, ":")) return -1;
    if (mlir_next_char(r) == '{') {
        r->at++;
        while (!mlir_accept(r, "}")) {
            if (mlir_enter(r) || read_resource(r)) return -1;
            r->depth--;
            mlir_accept(r, ",");
        }
        return 0;
    }
    if (mlir_next_char(r) != '"') {
        struct mlir_span word;
        return mlir_read_suffix(r, &word);
    }
    const char *end = memchr(r->at + 1, '"', (size_t)(r->end - r->at - 1));
    if (!end) return mlir_fail(r, "a resource without its end");
    if (end - r->at > 3 && r->at[1] == '0' && r->at[2] == 'x')
        MLIR_PUSH(r->resources, ((struct mlir_resource){key, r->at}));
    r->at = end + 1;
    return 0;
}

/* `{-# dialect_resources: {..}, .. #-}` at p */
static int read_resources(struct mlir_reader *r, const char *p)
{
    r->at = p + 3;
    while (!mlir_accept(r, "#-}")) {
        if (read_resource(r)) return -1;
        mlir_accept(r, ",");
    }
    return 0;
}

static bool is_definition(struct mlir_reader *r)
{
    char c = mlir_next_char(r);
    return c == '#' || c == '!';
}

/* over one `#name = ..`, which has been found before: up to the next line that is not of it */
static void skip_definition(struct mlir_reader *r)
{
    do {
        const char *p = memchr(r->at, '\n', (size_t)(r->end - r->at));
        r->at = p ? p + 1 : r->end;
    } while (r->end - r->at > 4 && (!memcmp(r->at, " at ", 4) || *r->at == ' '));
}

/* operations of a part that are in no module are put into one of their own */
static void wrap(struct mlir_reader *r, size_t from)
{
    struct mlir_op *op = arena_alloc(r->arena, sizeof(*op));
    struct mlir_block *b = arena_alloc(r->arena, sizeof(*b));
    struct mlir_region *g = arena_alloc(r->arena, sizeof(*g));

    b->op_count = (int)(r->ops.count - from);
    b->op = arena_copy(r->arena, r->ops.item + from, (size_t)b->op_count, sizeof(*b->op));
    *g = (struct mlir_region){1, b};
    *op = (struct mlir_op){.name = "builtin.module", .region_count = 1, .region = g,
                           .line = b->op[0]->line, .col = b->op[0]->col};
    r->ops.count = from;
    MLIR_PUSH(r->modules, op);
}

/* modules directly within a module are each one by themselves */
static void add_module(struct mlir_reader *r, struct mlir_op *op)
{
    struct mlir_block *b = op->region[0].block;
    bool has_inner = b && b->op_count > 0;

    for (int i = 0; has_inner && i < b->op_count; i++)
        has_inner = !strcmp(b->op[i]->name, "builtin.module");
    for (int i = 0; has_inner && i < b->op_count; i++) add_module(r, b->op[i]);
    if (!has_inner) MLIR_PUSH(r->modules, op);
}

static int read_part_ops(struct mlir_reader *r)
{
    while (mlir_next_char(r)) {
        if (mlir_peek(r, "{-#")) return 0;
        if (is_definition(r)) skip_definition(r);
        else if (mlir_read_op(r)) return -1;
    }
    return 0;
}

/* one part, from and to which names and definitions hold */
static int read_part(struct mlir_reader *r, const char *from, const char *to)
{
    const char *resources = line_with(from, to, "{-#");

    r->end = to;
    mlir_find_aliases(r, from, to);
    r->types.count = 0;
    if (r->type_slots) memset(r->type_slot, 0, r->type_slots * sizeof(int));
    r->resources.count = 0;
    mlir_close_scope(r, 0);
    if (resources && read_resources(r, resources)) return -1;
    r->at = from;
    if (read_part_ops(r)) return -1;
    size_t kept = 0;
    for (size_t i = 0; i < r->ops.count; i++) {
        struct mlir_op *op = r->ops.item[i];
        if (!strcmp(op->name, "builtin.module") && op->region_count) add_module(r, op);
        else r->ops.item[kept++] = op;
    }
    r->ops.count = kept;
    if (kept) wrap(r, 0);
    return 0;
}

static int read_all(struct mlir_reader *r, const char *end)
{
    for (const char *p = r->begin, *split; p; p = split ? split + strlen(SPLIT) : NULL) {
        split = line_with(p, end, SPLIT);
        if (read_part(r, p, split ? split : end)) return -1;
    }
    return r->modules.count ? 0 : mlir_fail(r, "no module and no function");
}

static void free_lists(struct mlir_reader *r)
{
    void *const list[] = {r->aliases.item, r->alias_slot, r->resources.item, r->names.item,
                          r->name_slot, r->types.item, r->type_slot, r->operands.item,
                          r->inits.item, r->signature.item, r->attrs.item, r->items.item,
                          r->ints.item, r->regions.item, r->ops.item, r->results.item,
                          r->values.item, r->value_names.item, r->modules.item};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) mem_free(list[i]);
}

/* an address is taken of lists that are empty, too */
#define BEGIN(list) ((list).item = mem_grow(NULL, &(list).room, 1, sizeof(*(list).item)))

static void begin_lists(struct mlir_reader *r)
{
    BEGIN(r->operands);
    BEGIN(r->inits);
    BEGIN(r->signature);
    BEGIN(r->attrs);
    BEGIN(r->items);
    BEGIN(r->ints);
    BEGIN(r->regions);
    BEGIN(r->ops);
    BEGIN(r->results);
    BEGIN(r->values);
    BEGIN(r->value_names);
    BEGIN(r->modules);
}

int mlir_read_text(struct mlir_tree *t, const char *text, size_t bytes, struct err *e)
{
    struct mlir_reader r = {.tree = t, .arena = t->arena, .err = e, .begin = text, .at = text,
                            .end = text + bytes};

    begin_lists(&r);
    r.name_slot = mem_alloc(MLIR_NAME_SLOTS * sizeof(int));
    memset(r.name_slot, 0xff, MLIR_NAME_SLOTS * sizeof(int));
    const char *zero = memchr(text, '\0', bytes);
    int status = zero ? mlir_fail_at(&r, zero, "a byte of value 0, which no text has")
                      : read_all(&r, text + bytes);
    if (!status) {
        t->module_count = (int)r.modules.count;
        t->module = arena_copy(t->arena, r.modules.item, r.modules.count, sizeof(*t->module));
    }
    free_lists(&r);
    return status;
}

const struct mlir_attr *mlir_attr_of_text(struct arena *a, const char *text)
{
    struct mlir_tree t;
    struct err e;
    size_t bytes = strlen(text);
    struct mlir_reader r = {.tree = &t, .arena = a, .err = &e, .begin = text, .at = text,
                            .end = text + bytes};

    mlir_tree_init(&t, a, "");
    begin_lists(&r);
    mlir_find_aliases(&r, text, text);
    const struct mlir_attr *made = mlir_read_attr(&r);
    bool is_whole = made && mlir_next_char(&r) == '\0';
    free_lists(&r);
    return is_whole ? made : NULL;
}
