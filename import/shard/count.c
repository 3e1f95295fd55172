/* Counting collectives. */
#include "import/shard/count.h"

#include <string.h>

static bool is_collective(enum hlo_opcode op)
{
    static const enum hlo_opcode all[] = {
        OPCODE_ALL_REDUCE, OPCODE_ALL_GATHER, OPCODE_REDUCE_SCATTER, OPCODE_ALL_TO_ALL,
        OPCODE_RAGGED_ALL_TO_ALL, OPCODE_COLLECTIVE_PERMUTE, OPCODE_COLLECTIVE_BROADCAST,
        OPCODE_ALL_REDUCE_START, OPCODE_ALL_GATHER_START, OPCODE_COLLECTIVE_PERMUTE_START,
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i] == op)
            return true;
    return false;
}

static int64_t bytes_of(const struct hlo_computation *c, const struct hlo_instruction *n)
{
    size_t in = 0, out = hlo_type_bytes(n->type);

    for (int k = 0; k < n->operand_count; k++)
        in += hlo_type_bytes(c->instruction[n->operand[k]].type);
    return (int64_t)(in > out ? in : out);
}

static struct shard_count_row describe(const struct hlo_module *m, int computation,
                                       const struct hlo_instruction *n)
{
    const struct hlo_groups *g = hlo_detail(n)->groups;
    struct shard_count_row row = {
        .op = n->op, .computation = computation, .groups = 1, .count = 1,
        .members = m->partition_count * m->replica_count,
        .bytes = bytes_of(&m->computation[computation], n),
    };

    if (g && g->pair.count) {
        row.members = g->pair.count / 2;
    } else if (g && g->size.count) {
        row.groups = g->size.count;
        row.members = g->size.item[0];
    }
    return row;
}

static bool is_alike(const struct shard_count_row *a, const struct shard_count_row *b)
{
    return a->op == b->op && a->computation == b->computation && a->groups == b->groups &&
           a->members == b->members && a->bytes == b->bytes;
}

struct shard_count shard_count_collectives(const struct hlo_module *m, struct arena *a)
{
    struct shard_count c = {0};
    size_t room = 0;

    for (int k = 0; k < m->computation_count; k++)
        for (int i = 0; i < m->computation[k].count; i++) {
            const struct hlo_instruction *n = &m->computation[k].instruction[i];
            struct shard_count_row row;
            int at = 0;

            if (!is_collective(n->op))
                continue;
            row = describe(m, k, n);
            while (at < c.count && !is_alike(&c.row[at], &row))
                at++;
            if (at < c.count)
                c.row[at].count++;
            else
                MEM_ADD(c.row, c.count, room) = row;
        }
    c.row = arena_take(a, c.row, (size_t)c.count, sizeof(*c.row));
    return c;
}

int shard_count_of(const struct shard_count *c, enum hlo_opcode op, int computation)
{
    int count = 0;

    for (int i = 0; i < c->count; i++)
        if (c->row[i].op == op && (computation < 0 || c->row[i].computation == computation))
            count += c->row[i].count;
    return count;
}

void shard_count_print(const struct shard_count *c, const struct hlo_module *m, FILE *to)
{
    fprintf(to, "%-24s %6s %8s %8s %14s  %s\n", "collective", "count", "groups", "of", "bytes",
            "computation");
    for (int i = 0; i < c->count; i++)
        fprintf(to, "%-24s %6d %8lld %8lld %14lld  %s\n", hlo_opcode_name(c->row[i].op),
                c->row[i].count, (long long)c->row[i].groups, (long long)c->row[i].members,
                (long long)c->row[i].bytes, m->computation[c->row[i].computation].name);
}
