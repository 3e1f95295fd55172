/* Pretty forms of Shardy: meshes, shardings, computations that each device does for itself. */
#include "import/mlir/text.h"

#include <string.h>

/* what is in brackets here, as text with or without them */
static const struct mlir_attr *read_kept(struct mlir_reader *r, const char *name, char open,
                                         bool has_brackets)
{
    if (mlir_next_char(r) != open) return mlir_fail(r, "expected \"%c\"", open), NULL;
    const char *begin = r->at, *end = mlir_balanced_end(r, begin);
    if (!end) return mlir_fail(r, "a bracket without its end"), NULL;
    r->at = end;
    size_t skip = has_brackets ? 0 : 1;
    return mlir_dialect(r->arena, name, begin + skip, (size_t)(end - begin) - 2 * skip, 0, NULL);
}

int mlir_form_mesh(struct mlir_reader *r, struct mlir_draft *d)
{
    struct mlir_text name;

    (void)d;
    if (mlir_read_symbol(r, &name) ||
        mlir_add_attr(r, "sym_name", mlir_string(r->arena, name.data, name.bytes))) return -1;
    if (mlir_expect(r, "=")) return -1;
    return mlir_add_attr(r, "mesh", read_kept(r, "sdy.mesh", '<', false));
}

int mlir_form_sharding(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    return mlir_add_attr(r, "sharding", read_kept(r, "sdy.sharding", '<', false));
}

static int read_shardings(struct mlir_reader *r, const char *word)
{
    if (mlir_expect(r, word) || mlir_expect(r, "=")) return -1;
    return mlir_add_attr(r, word, read_kept(r, "sdy.sharding_per_value", '[', true));
}

/* `(%a: t, %b: t) {..}` */
static int read_body(struct mlir_reader *r)
{
    size_t values = r->values.count, names = r->value_names.count;
    struct mlir_region g;

    if (mlir_expect(r, "(")) return -1;
    while (!mlir_accept(r, ")")) {
        struct mlir_span name;
        struct mlir_value v = {0};
        if (r->values.count > values && mlir_expect(r, ",")) return -1;
        if (mlir_expect(r, "%") || mlir_read_suffix(r, &name) || mlir_expect(r, ":") ||
            !(v.type = mlir_read_type(r)) || mlir_read_location(r, &v.location)) return -1;
        MLIR_PUSH(r->values, v);
        MLIR_PUSH(r->value_names, name);
    }
    size_t count = r->values.count - values;
    struct mlir_value *argument =
        arena_copy(r->arena, r->values.item + values, count, sizeof(*argument));
    struct mlir_span *name =
        arena_copy(r->arena, r->value_names.item + names, count, sizeof(*name));
    r->values.count = values;
    r->value_names.count = names;
    if (mlir_read_region_with(r, &g, (int)count, name, argument)) return -1;
    MLIR_PUSH(r->regions, g);
    return 0;
}

int mlir_form_manual(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    if (read_shardings(r, "in_shardings") || read_shardings(r, "out_shardings")) return -1;
    if (mlir_expect(r, "manual_axes") || mlir_expect(r, "=") ||
        mlir_add_attr(r, "manual_axes", read_kept(r, "sdy.manual_axes", '{', true))) return -1;
    return read_body(r);
}

int mlir_form_named(struct mlir_reader *r, struct mlir_draft *d)
{
    (void)d;
    if (mlir_peek(r, "in_shardings") && read_shardings(r, "in_shardings")) return -1;
    if (mlir_peek(r, "out_shardings") && read_shardings(r, "out_shardings")) return -1;
    return read_body(r);
}
