/* Values by their names. A region sees those around it; a function sees none but its own. */
#include "import/mlir/text.h"

#include <string.h>

int mlir_new_value(struct mlir_reader *r)
{
    return r->tree->value_count++;
}

size_t mlir_open_scope(struct mlir_reader *r)
{
    return r->names.count;
}

void mlir_close_scope(struct mlir_reader *r, size_t mark)
{
    while (r->names.count > mark) {
        struct mlir_name *n = &r->names.item[--r->names.count];
        r->name_slot[n->slot] = n->older;
    }
}

static struct mlir_name *find(struct mlir_reader *r, struct mlir_span name)
{
    int i = r->name_slot[mlir_hash(name.data, name.bytes) % MLIR_NAME_SLOTS];
    for (; i >= (int)r->visible; i = r->names.item[i].older) {
        struct mlir_name *n = &r->names.item[i];
        if (n->name.bytes == name.bytes && !memcmp(n->name.data, name.data, name.bytes)) return n;
    }
    return NULL;
}

int mlir_define(struct mlir_reader *r, struct mlir_span name, struct mlir_value *first, int count)
{
    if (find(r, name))
        return mlir_fail_at(r, name.data, "%%%.*s is defined twice", (int)name.bytes, name.data);
    uint32_t slot = mlir_hash(name.data, name.bytes) % MLIR_NAME_SLOTS;
    MLIR_PUSH(r->names, ((struct mlir_name){name, first, count, r->name_slot[slot], slot}));
    r->name_slot[slot] = (int)r->names.count - 1;
    return 0;
}

const struct mlir_value *mlir_read_operand(struct mlir_reader *r)
{
    struct mlir_span name;
    int64_t number = 0;

    if (mlir_expect(r, "%") || mlir_read_suffix(r, &name)) return NULL;
    if (r->at < r->end && *r->at == '#') {
        r->at++;
        if (mlir_read_int(r, &number)) return NULL;
    }
    struct mlir_name *n = find(r, name);
    if (!n)
        return mlir_fail_at(r, name.data - 1, "%%%.*s is not defined", (int)name.bytes, name.data),
               NULL;
    if (number < 0 || number >= n->count)
        return mlir_fail_at(r, name.data - 1, "%%%.*s has %d values and none numbered %lld",
                            (int)name.bytes, name.data, n->count, (long long)number), NULL;
    return n->first + number;
}

int mlir_read_operands(struct mlir_reader *r)
{
    if (mlir_next_char(r) != '%') return 0;
    do {
        const struct mlir_value *v = mlir_read_operand(r);
        if (!v) return -1;
        MLIR_PUSH(r->operands, v);
    } while (mlir_accept(r, ","));
    return 0;
}
