/* Operations in MLIR text: results, the general form, regions and blocks. */
#include "import/mlir/text.h"

#include <string.h>

/* `%a:2, %b =` */
static int read_results(struct mlir_reader *r, struct mlir_draft *d)
{
    if (mlir_next_char(r) != '%') return 0;
    do {
        struct mlir_span name;
        int64_t width = 1;
        if (mlir_expect(r, "%") || mlir_read_suffix(r, &name)) return -1;
        if (mlir_accept(r, ":") && mlir_read_int(r, &width)) return -1;
        if (width < 1 || width > 1 << 20)
            return mlir_fail(r, "%%%.*s stands for %lld values", (int)name.bytes, name.data,
                             (long long)width);
        MLIR_PUSH(r->results, ((struct mlir_result){name, (int)width}));
        d->wanted += (int)width;
    } while (mlir_accept(r, ","));
    return mlir_expect(r, "=");
}

static int check_operand_types(struct mlir_reader *r, const struct mlir_draft *d, const char *at)
{
    size_t count = r->operands.count - d->operand_mark;
    size_t types = r->signature.count - d->signature_mark;

    if (count != types)
        return mlir_fail_at(r, at, "%s has %zu operands and types of %zu", d->name, count, types);
    for (size_t i = 0; i < count; i++) {
        const struct mlir_value *v = r->operands.item[d->operand_mark + i];
        if (!mlir_type_equal(v->type, r->signature.item[d->signature_mark + i]))
            return mlir_fail_at(r, at, "operand %zu of %s has another type where it is defined",
                                i + 1, d->name);
    }
    return 0;
}

/* what is behind `:` in the general form, the operands' types taken off again */
int mlir_read_functional(struct mlir_reader *r, struct mlir_draft *d)
{
    const char *at = (mlir_skip(r), r->at);

    if (mlir_read_type_list(r) || check_operand_types(r, d, at)) return -1;
    r->signature.count = d->signature_mark;
    return mlir_expect(r, "->") ? -1 : mlir_read_type_list(r);
}

int mlir_read_signature(struct mlir_reader *r, struct mlir_draft *d, enum mlir_results results)
{
    const char *at = (mlir_skip(r), r->at);

    do
        if (mlir_read_type_list(r)) return -1;
    while (mlir_accept(r, ","));
    if (mlir_accept(r, "->")) {
        size_t given = r->signature.count - d->signature_mark;
        if (given > 1 && check_operand_types(r, d, at)) return -1;
        r->signature.count = d->signature_mark;
        return mlir_read_type_list(r);
    }
    if (results == MLIR_RESULTS_NONE) {
        r->signature.count = d->signature_mark;
    } else if (results != MLIR_RESULTS_EACH) {
        if (r->signature.count == d->signature_mark)    /* `()` */
            return mlir_fail_at(r, at, "expected a type of the result");
        r->signature.item[d->signature_mark] = r->signature.item[r->signature.count - 1];
        r->signature.count = d->signature_mark + 1;
    }
    return 0;
}

/* `^bb0(%a: t loc(..), ..):` onto the block */
static int read_block_head(struct mlir_reader *r, struct mlir_block *b)
{
    struct mlir_span label, name;
    size_t mark = r->values.count;

    r->at++;
    if (mlir_read_suffix(r, &label)) return -1;
    if (mlir_accept(r, "(")) {
        while (!mlir_accept(r, ")")) {
            struct mlir_value v = {.id = mlir_new_value(r)};
            if (r->values.count > mark && mlir_expect(r, ",")) return -1;
            if (mlir_expect(r, "%") || mlir_read_suffix(r, &name) || mlir_expect(r, ":")) return -1;
            if (!(v.type = mlir_read_type(r)) || mlir_read_location(r, &v.location)) return -1;
            v.name = mlir_text_copy(r->arena, name.data, name.bytes).data;
            v.index = (int)(r->values.count - mark);
            MLIR_PUSH(r->values, v);
            MLIR_PUSH(r->value_names, name);
        }
    }
    size_t count = r->values.count - mark;
    b->argument_count = (int)count;
    b->argument = arena_copy(r->arena, r->values.item + mark, count, sizeof(*b->argument));
    r->values.count = mark;
    r->value_names.count -= count;
    for (size_t i = 0; i < count; i++)
        if (mlir_define(r, r->value_names.item[r->value_names.count + i], &b->argument[i], 1))
            return -1;
    return mlir_expect(r, ":");
}

int mlir_read_block_ops(struct mlir_reader *r, struct mlir_block *b)
{
    size_t mark = r->ops.count;

    for (char c; (c = mlir_next_char(r)) != '}' && c != '^';) {
        if (c == '\0') return mlir_expect(r, "}");
        if (mlir_read_op(r)) return -1;
    }
    b->op_count = (int)(r->ops.count - mark);
    b->op = arena_copy(r->arena, r->ops.item + mark, (size_t)b->op_count, sizeof(*b->op));
    r->ops.count = mark;
    return 0;
}

/* the blocks up to `}`; of the first the arguments may be known already */
static int read_blocks(struct mlir_reader *r, struct mlir_region *g, struct mlir_block *first)
{
    bool has_head = mlir_next_char(r) == '^';

    g->block_count = 1;
    g->block = first;
    if (has_head && read_block_head(r, first)) return -1;
    if (mlir_read_block_ops(r, first)) return -1;
    if (mlir_next_char(r) == '^') return mlir_fail(r, "a region of several blocks");
    return mlir_expect(r, "}");
}

int mlir_read_region(struct mlir_reader *r, struct mlir_region *g)
{
    size_t scope = mlir_open_scope(r);

    *g = (struct mlir_region){0};
    if (mlir_expect(r, "{")) return -1;
    if (mlir_accept(r, "}")) return 0;
    if (mlir_enter(r)) return -1;
    if (read_blocks(r, g, arena_alloc(r->arena, sizeof(*g->block)))) return -1;
    mlir_close_scope(r, scope);
    r->depth--;
    return 0;
}

int mlir_read_region_with(struct mlir_reader *r, struct mlir_region *g, int count,
                          const struct mlir_span *name, const struct mlir_value *argument)
{
    size_t scope = mlir_open_scope(r);
    struct mlir_block *b = arena_alloc(r->arena, sizeof(*b));

    *g = (struct mlir_region){0};
    b->argument_count = count;
    b->argument = arena_copy(r->arena, argument, (size_t)count, sizeof(*argument));
    for (int i = 0; i < count; i++) {
        b->argument[i].id = mlir_new_value(r);
        b->argument[i].index = i;
        b->argument[i].name = mlir_text_copy(r->arena, name[i].data, name[i].bytes).data;
        if (mlir_define(r, name[i], &b->argument[i], 1)) return -1;
    }
    if (mlir_expect(r, "{") || mlir_enter(r) || read_blocks(r, g, b)) return -1;
    mlir_close_scope(r, scope);
    r->depth--;
    return 0;
}

/* `(%a, %b) <{..}> ({..}, {..}) {..} : (t, t) -> t` */
static int read_general(struct mlir_reader *r, struct mlir_draft *d)
{
    if (mlir_expect(r, "(") || mlir_read_operands(r) || mlir_expect(r, ")")) return -1;
    if (mlir_next_char(r) == '[')
        return mlir_fail(r, "%s has successors: control flow between blocks is not known", d->name);
    if (mlir_accept(r, "<") && (mlir_read_attr_dict(r) || mlir_expect(r, ">"))) return -1;
    if (mlir_accept(r, "(")) {
        do {
            struct mlir_region g;
            if (mlir_read_region(r, &g)) return -1;
            MLIR_PUSH(r->regions, g);
        } while (mlir_accept(r, ","));
        if (mlir_expect(r, ")")) return -1;
    }
    if (mlir_peek(r, "{") && mlir_read_attr_dict(r)) return -1;
    return mlir_expect(r, ":") ? -1 : mlir_read_functional(r, d);
}

/* results with their types, and their names for those that come after */
static int define_results(struct mlir_reader *r, const struct mlir_draft *d, struct mlir_op *op)
{
    size_t count = r->signature.count - d->signature_mark;

    if (d->wanted && (size_t)d->wanted != count)
        return mlir_fail_at(r, d->at, "%s has %zu results and names for %d", op->name, count,
                            d->wanted);
    op->result_count = (int)count;
    op->result = arena_array(r->arena, count + 1, sizeof(*op->result));
    for (size_t i = 0; i < count; i++)
        op->result[i] = (struct mlir_value){.id = mlir_new_value(r), .op = op, .index = (int)i,
                                            .type = r->signature.item[d->signature_mark + i]};
    struct mlir_value *v = op->result;
    for (size_t i = d->result_mark; i < r->results.count; i++) {
        struct mlir_result *n = &r->results.item[i];
        v->name = mlir_text_copy(r->arena, n->name.data, n->name.bytes).data;
        if (mlir_define(r, n->name, v, n->width)) return -1;
        v += n->width;
    }
    return 0;
}

/* takes what the draft has put onto the lists */
static int finish(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_op *op = arena_alloc(r->arena, sizeof(*op));

    op->name = d->name;
    op->location = d->location;
    op->line = d->line;
    op->col = d->col;
    op->operand_count = (int)(r->operands.count - d->operand_mark);
    op->operand = arena_copy(r->arena, r->operands.item + d->operand_mark,
                             (size_t)op->operand_count, sizeof(*op->operand));
    op->attr_count = (int)(r->attrs.count - d->attr_mark);
    op->attr = arena_copy(r->arena, r->attrs.item + d->attr_mark, (size_t)op->attr_count,
                          sizeof(*op->attr));
    op->region_count = (int)(r->regions.count - d->region_mark);
    op->region = arena_copy(r->arena, r->regions.item + d->region_mark, (size_t)op->region_count,
                            sizeof(*op->region));
    if (define_results(r, d, op)) return -1;
    r->operands.count = d->operand_mark;
    r->signature.count = d->signature_mark;
    r->attrs.count = d->attr_mark;
    r->regions.count = d->region_mark;
    r->results.count = d->result_mark;
    MLIR_PUSH(r->ops, op);
    return 0;
}

/* names without a dialect are of the one whose operation is around them */
static int read_name(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_span word;
    struct mlir_text quoted;

    if (mlir_next_char(r) == '"') {
        if (mlir_read_string(r, &quoted)) return -1;
        d->name = quoted.data;
        return 0;
    }
    if (mlir_read_word(r, &word)) return -1;
    bool is_whole = memchr(word.data, '.', word.bytes) != NULL;
    bool is_module = mlir_span_is(word, "module");
    const char *dialect = is_module ? "builtin" : "func";
    d->name = is_whole ? mlir_text_copy(r->arena, word.data, word.bytes).data
                       : arena_printf(r->arena, "%s.%.*s", dialect, (int)word.bytes, word.data);
    return 0;
}

int mlir_read_op(struct mlir_reader *r)
{
    mlir_skip(r);
    struct mlir_draft d = {.at = r->at, .operand_mark = r->operands.count,
                           .signature_mark = r->signature.count, .attr_mark = r->attrs.count,
                           .region_mark = r->regions.count, .result_mark = r->results.count};

    if (mlir_enter(r) || read_results(r, &d)) return -1;
    bool is_general = mlir_next_char(r) == '"';
    d.at = r->at;
    mlir_line_col(r, d.at, &d.line, &d.col);
    if (read_name(r, &d)) return -1;
    if (is_general ? read_general(r, &d) : mlir_read_pretty(r, &d)) return -1;
    if (!d.location && mlir_read_location(r, &d.location)) return -1;
    r->depth--;
    return finish(r, &d);
}
