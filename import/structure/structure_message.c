/*
 * Messages between devices. A send and a recv of one channel in one computation are what a
 * collective-permute says at once: the pairs of devices are those that either of them names, as
 * source_target_pairs or as the attribute that XLA's own passes leave. The recv becomes that permute
 * of what is sent, so it comes after it.
 */
#include "import/structure/structure_message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_ATTRIBUTE "_xla_send_recv_source_target_pairs"

static bool is_message(const struct hlo_instruction *i, enum hlo_opcode op)
{
    const struct hlo_groups *g = hlo_detail(i)->groups;

    return i->op == op && g && !g->is_host_transfer && g->channel_id > 0;
}

/* the numbers of "{{0,1},{1,2}}"; an odd count, or none: nothing that says pairs */
static struct hlo_ints parse_pairs(struct arena *a, const char *text)
{
    int64_t *item = arena_array(a, strlen(text) + 1, sizeof(*item));
    int count = 0;

    while (*text) {
        char *end = NULL;

        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        item[count++] = strtoll(text, &end, 10);
        text = end;
    }
    return (struct hlo_ints){count % 2 ? 0 : count, item};
}

static struct hlo_ints pairs_of(struct arena *a, const struct hlo_instruction *i)
{
    const struct hlo_pairs *said = &hlo_detail(i)->frontend;

    if (hlo_detail(i)->groups->pair.count > 0)
        return hlo_detail(i)->groups->pair;
    for (int k = 0; k < said->count; k++)
        if (strcmp(said->item[k].key, PAIRS_ATTRIBUTE) == 0)
            return parse_pairs(a, said->item[k].value);
    return (struct hlo_ints){0};
}

/* the computation's only other message of a channel; -1: there is none, or there are several */
static int partner(const struct hlo_computation *c, int recv)
{
    int64_t channel = hlo_detail(&c->instruction[recv])->groups->channel_id;
    int found = -1, count = 0;

    for (int i = 0; i < c->count; i++) {
        if (!is_message(&c->instruction[i], OPCODE_SEND) ||
            hlo_detail(&c->instruction[i])->groups->channel_id != channel)
            continue;
        found = i;
        count++;
    }
    for (int i = 0; i < c->count; i++)
        count += i != recv && is_message(&c->instruction[i], OPCODE_RECV) &&
                 hlo_detail(&c->instruction[i])->groups->channel_id == channel;
    return count == 1 ? found : -1;
}

static void say(struct hlo_module *m, struct hlo_instruction *i, enum hlo_opcode op, int operands,
                const int *operand, const struct hlo_type *type)
{
    i->op = op;
    i->operand_count = operands;
    i->operand = arena_copy(m->arena, operand, (size_t)operands, sizeof(*operand));
    i->type = type;
}

/* what the two have started is done: the data with a token, a token */
static void finish(struct hlo_module *m, struct hlo_computation *c, int recv, int token, int send)
{
    for (int k = 0; k < c->count; k++) {
        struct hlo_instruction *i = &c->instruction[k];

        if (i->op == OPCODE_RECV_DONE && i->operand[0] == recv)
            say(m, i, OPCODE_TUPLE, 2, (int[]){recv, token}, i->type);
        if (i->op == OPCODE_SEND_DONE && i->operand[0] == send)
            say(m, i, OPCODE_AFTER_ALL, 1, (int[]){send}, i->type);
    }
}

static bool join(struct hlo_module *m, struct hlo_computation *c, int recv)
{
    int send = partner(c, recv), token, data;
    struct hlo_instruction *i = &c->instruction[recv], *other = &c->instruction[send < 0 ? 0 : send];
    struct hlo_ints pair;
    struct hlo_groups *groups;

    if (send < 0 || hlo_type_is_tuple(&i->type->part[0]) ||
        !hlo_type_equal(&i->type->part[0], c->instruction[other->operand[0]].type))
        return false;
    pair = pairs_of(m->arena, i);
    if (pair.count == 0)
        pair = pairs_of(m->arena, other);
    if (pair.count == 0)
        return false;
    token = i->operand[0];
    data = other->operand[0];
    groups = arena_copy(m->arena, hlo_detail(i)->groups, 1, sizeof(*groups));
    groups->pair = pair;
    if (m->partition_count == 1 && m->replica_count > 1)        /* its devices are replicas */
        groups->channel_id = 0;
    hlo_own_detail(m->arena, i)->groups = groups;
    say(m, i, OPCODE_COLLECTIVE_PERMUTE, 1, &data, c->instruction[data].type);
    say(m, other, OPCODE_AFTER_ALL, 1, (int[]){other->operand[1]}, c->instruction[token].type);
    finish(m, c, recv, token, send);
    return true;
}

struct sorting {
    const struct hlo_computation *c;
    int *place, *order;                 /* by instruction: 0 not seen, -1 open, else place + 1 */
    int count;
};

/* those that an instruction needs, then itself; nesting is no deeper than a computation is long */
static int sort_from(struct sorting *s, int first)
{
    int *stack = mem_alloc(((size_t)s->c->count * 2 + 1) * sizeof(*stack)), depth = 0, status = 0;
    int *next = mem_alloc(((size_t)s->c->count + 1) * sizeof(*next));

    memset(next, 0, ((size_t)s->c->count + 1) * sizeof(*next));
    stack[depth++] = first;
    s->place[first] = s->place[first] ? s->place[first] : -1;
    while (depth > 0 && s->place[first] <= 0 && status == 0) {
        int now = stack[depth - 1];
        const struct hlo_instruction *i = &s->c->instruction[now];
        struct hlo_ints control = hlo_detail(i)->control;

        if (next[now] < i->operand_count + control.count) {
            int n = next[now]++;
            int needed = n < i->operand_count ? i->operand[n]
                                              : (int)control.item[n - i->operand_count];

            if (s->place[needed] < 0)
                status = -1;
            if (s->place[needed] == 0) {
                s->place[needed] = -1;
                stack[depth++] = needed;
            }
            continue;
        }
        s->order[s->count] = now;
        s->place[now] = ++s->count;
        depth--;
    }
    mem_free(next);
    mem_free(stack);
    return status;
}

static void renumber(struct hlo_module *m, struct hlo_instruction *i, const int *place)
{
    int *operand = arena_array(m->arena, (size_t)i->operand_count + 1, sizeof(*operand));
    struct hlo_ints control = hlo_detail(i)->control;
    int64_t *item = arena_array(m->arena, (size_t)control.count + 1, sizeof(*item));

    for (int k = 0; k < i->operand_count; k++)
        operand[k] = place[i->operand[k]] - 1;
    i->operand = operand;
    for (int k = 0; k < control.count; k++)
        item[k] = place[control.item[k]] - 1;
    if (control.count > 0)
        hlo_own_detail(m->arena, i)->control = (struct hlo_ints){control.count, item};
}

/* instructions behind those that they need, else in the order that they had */
static int sort(struct hlo_module *m, struct hlo_computation *c)
{
    struct hlo_instruction *was = arena_copy(m->arena, c->instruction, (size_t)c->count,
                                             sizeof(*was));
    struct sorting s = {.c = c, .place = arena_array(m->arena, (size_t)c->count, sizeof(int)),
                        .order = arena_array(m->arena, (size_t)c->count, sizeof(int))};

    memset(s.place, 0, (size_t)c->count * sizeof(*s.place));
    for (int i = 0; i < c->count; i++)
        if (sort_from(&s, i))
            return -1;
    for (int i = 0; i < c->count; i++) {
        c->instruction[i] = was[s.order[i]];
        renumber(m, &c->instruction[i], s.place);
    }
    for (int p = 0; p < c->parameter_count; p++)
        if (c->parameter[p] >= 0)
            c->parameter[p] = s.place[c->parameter[p]] - 1;
    c->root = s.place[c->root] - 1;
    return 0;
}

bool structure_has_messages(const struct hlo_module *m)
{
    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++)
            if (is_message(&m->computation[c].instruction[i], OPCODE_RECV))
                return true;
    return false;
}

int structure_messages(struct hlo_module *m, struct err *e)
{
    for (int k = 0; k < m->computation_count; k++) {
        struct hlo_computation *c = &m->computation[k];
        int last = -1;

        for (int i = 0; i < c->count; i++)
            if (is_message(&c->instruction[i], OPCODE_RECV) && join(m, c, i))
                last = i;
        if (last >= 0 && sort(m, c))
            return err_at(e, m->file ? m->file : "", c->line, c->col,
                          "%s: what a channel's send sends is computed from what its recv brings",
                          c->name);
    }
    return 0;
}
