/* The table of operations, and their properties. */
#include "import/bytecode/op.h"

#include "base/text.h"

#include <string.h>

static const struct row {
    const char *name, *means;
    enum bytecode_group group;
    const char *attributes;             /* with blanks between, `?` before what may be absent */
} ops[] = {
#define BYTECODE_OP(name, means, group, attributes) \
    {name, means, BYTECODE_GROUP_##group, attributes},
#include "import/bytecode/ops.def"
};

#define OP_COUNT (sizeof(ops) / sizeof(ops[0]))

static const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (strcmp(ops[i].name, name) == 0)
            return &ops[i];
    }
    return NULL;
}

const struct bytecode_op *bytecode_op_find(struct arena *a, const char *name)
{
    const struct row *row = find_row(name);
    struct bytecode_op_attr attr[BYTECODE_OP_ATTRS_MAX];
    struct bytecode_op *op;
    int count = 0;

    if (!row)
        return NULL;
    for (const char *at = row->attributes; *at; at += *at == ' ') {
        bool is_optional = *at == '?';

        at += is_optional;
        attr[count].is_optional = is_optional;
        attr[count++].name = mlir_text_copy(a, at, strcspn(at, " ")).data;
        at += strcspn(at, " ");
    }
    op = arena_alloc(a, sizeof(*op));
    *op = (struct bytecode_op){row->name, row->means, row->group, count,
                               arena_copy(a, attr, (size_t)count, sizeof(*attr))};
    return op;
}

struct near_text bytecode_op_nearest(const char *name)
{
    const char *names[OP_COUNT];

    for (size_t i = 0; i < OP_COUNT; i++)
        names[i] = ops[i].name;
    return text_did_you_mean(name, names, OP_COUNT);
}

int bytecode_read_properties(struct bytecode_reader *r, struct bytecode_stream *s,
                             const struct bytecode_op *op, const char *only,
                             struct mlir_named *named)
{
    int count = 0;

    for (int i = 0; i < op->attr_count; i++) {
        bool is_wanted = !only || strcmp(only, op->attr[i].name) == 0;
        const struct mlir_attr *attr = NULL;

        if (!is_wanted)
            bytecode_varint(s);
        else if (op->attr[i].is_optional)
            attr = bytecode_attr_or_null(r, s);
        else
            attr = bytecode_attr(r, s);

        if (attr)
            named[count++] = (struct mlir_named){op->attr[i].name, attr};
    }
    bytecode_end(s, op->name);
    return count;
}
