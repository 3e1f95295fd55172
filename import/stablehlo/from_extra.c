/* What no field of an instruction holds: frontend attributes, shardings, everything else. */
#include "import/stablehlo/from.h"

#include "import/program/sharding.h"
#include "import/stablehlo/known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void from_add_pair(struct from *f, struct hlo_pairs *to, const char *key, const char *value)
{
    struct hlo_pair *item = arena_array(f->arena, (size_t)to->count + 1, sizeof(*item));

    for (int i = 0; i < to->count; i++)
        item[i] = to->item[i];
    item[to->count] = (struct hlo_pair){ arena_strdup(f->arena, key), value };
    *to = (struct hlo_pairs){ to->count + 1, item };
}

const char *from_quoted(struct from *f, struct mlir_text t)
{
    const struct mlir_attr *a = mlir_string(f->arena, t.data, t.bytes);
    return mlir_attr_text(f->arena, a);
}

/* {a = "x"} as pairs; values that are no strings as MLIR writes them */
static void add_frontend(struct from *f, const struct mlir_attr *dict, struct hlo_pairs *to)
{
    for (int k = 0; k < dict->count; k++)
        from_add_pair(f, to, dict->named[k].name, mlir_attr_text(f->arena, dict->named[k].attr));
}

int from_sharding(struct from *f, const struct mlir_op *op, const struct mlir_attr *a,
                  struct hlo_instruction *i)
{
    const char *text = a->text.data;
    size_t bytes = a->text.bytes;
    struct err why = { 0 };

    if (a->kind != MLIR_STRING && a->kind != MLIR_DIALECT)
        return from_fail(f, op, "a sharding is neither text nor Shardy's");
    if (a->kind == MLIR_DIALECT) {
        bool is_list = !strcmp(a->name, "sdy.sharding_per_value");
        text = is_list ? arena_printf(f->arena, "#sdy.sharding_per_value<%s>", text)
                       : arena_printf(f->arena, "<%s>", text);
        bytes = strlen(text);
    }
    if (hlo_sharding_parse(f->m, text, bytes, &i->detail->sharding_count, &i->detail->sharding,
                           &why))
        return from_fail(f, op, "%s", why.msg);
    return 0;
}

/* the text of an OpSharding message is bytes, which begin with no bracket */
static bool is_sharding(const struct mlir_named *n)
{
    if (!strcmp(n->name, "mhlo.sharding"))
        return n->attr->kind == MLIR_STRING && n->attr->text.bytes && n->attr->text.data[0] == '{';
    return !strcmp(n->name, "sdy.sharding") && n->attr->kind == MLIR_DIALECT;
}

static int add_named(struct from *f, const struct mlir_op *op, const struct mlir_named *n,
                     struct hlo_instruction *i)
{
    if (is_sharding(n) && !hlo_detail(i)->sharding_count)
        return from_sharding(f, op, n->attr, i);
    if (!strcmp(n->name, "mhlo.frontend_attributes") && n->attr->kind == MLIR_DICTIONARY)
        add_frontend(f, n->attr, &i->detail->frontend);
    else
        from_add_pair(f, &i->detail->other, n->name, mlir_attr_text(f->arena, n->attr));
    return 0;
}

int from_extra(struct from *f, const struct mlir_op *op, struct hlo_instruction *i)
{
    for (int k = 0; k < op->attr_count; k++) {
        if (!known_attribute(op->attr[k].name) && add_named(f, op, &op->attr[k], i))
            return -1;
    }
    return 0;
}

int from_extra_of(struct from *f, const struct mlir_op *op, const struct mlir_attr *dict,
                  struct hlo_instruction *i)
{
    if (dict && dict->kind != MLIR_DICTIONARY)
        return from_fail(f, op, "what is said of an argument or a result is no dictionary");
    for (int k = 0; dict && k < dict->count; k++) {
        /* the module's aliases say that */
        bool is_alias = !strcmp(dict->named[k].name, "tf.aliasing_output");
        if (!is_alias && add_named(f, op, &dict->named[k], i))
            return -1;
    }
    return 0;
}
