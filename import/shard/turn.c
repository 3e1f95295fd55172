/* Finds boundaries in other orders of devices, and permutes devices there. */
#include "import/shard/turn.h"

#include "import/program/build.h"

#include <string.h>

static bool can_read(const struct shard_mesh *mesh, const struct hlo_sharding *s, int rank,
                     struct shard_lay *lay)
{
    uint32_t manual;

    return shard_lay_read(mesh, s, rank, lay, &manual) && !manual;
}

static bool has_all_devices(const struct shard_mesh *mesh, const struct hlo_sharding *s)
{
    return s->kind == HLO_TILED && s->id.count == mesh->devices;
}

/* `all`: the shardings of an instruction, of which number `at` is this array's */
static void look(struct shard_state *s, struct hlo_module *flat, struct hlo_instruction *n, int at,
                 const struct hlo_type *t, struct shard_turn turn, struct shard_turns *turns)
{
    const struct hlo_detail *detail = hlo_detail(n);
    const struct hlo_sharding *asked = at < detail->sharding_count ? &detail->sharding[at] : NULL;
    struct hlo_sharding *own;
    struct shard_lay lay;

    if (!asked || hlo_type_is_tuple(t) || !has_all_devices(&s->mesh, asked) ||
        can_read(&s->mesh, asked, t->rank, &lay))
        return;
    turn.asked = asked;
    turn.inside = *asked;
    turn.inside.text = NULL;
    turn.inside.id = hlo_ints_copy(s->arena, s->mesh.device, (int)s->mesh.devices);
    own = arena_copy(flat->arena, detail->sharding, (size_t)detail->sharding_count, sizeof(*own));
    own[at] = turn.inside;
    hlo_own_detail(flat->arena, n)->sharding = own;
    turns->item[turns->count++] = turn;
}

void shard_turns_find(struct shard_state *s, struct hlo_module *flat, struct shard_turns *turns)
{
    struct hlo_computation *c = &flat->computation[flat->entry];
    struct hlo_instruction *root = &c->instruction[c->root];
    int results = root->op == OPCODE_TUPLE ? root->operand_count : 1;

    *turns = (struct shard_turns){
        .item = arena_array(s->arena, (size_t)(c->parameter_count + results), sizeof(*turns->item))};
    for (int k = 0; k < c->parameter_count; k++)
        if (c->parameter[k] >= 0)
            look(s, flat, &c->instruction[c->parameter[k]], 0, c->instruction[c->parameter[k]].type,
                 (struct shard_turn){.parameter = k}, turns);
    for (int k = 0; k < results; k++)
        look(s, flat, root, k,
             root->op == OPCODE_TUPLE ? c->instruction[root->operand[k]].type : root->type,
             (struct shard_turn){.parameter = -1, .element = k}, turns);
    if (turns->count)
        shard_mesh_find(&s->mesh, flat, s->mesh.devices);
}

/* ----- in the program that was made */

struct turning {
    const struct shard_turns *turns;
    int64_t channel;
};

static int permute(struct hlo_builder *b, struct turning *t, const struct shard_turn *turn, int x)
{
    const struct hlo_ints *from = turn->parameter >= 0 ? &turn->asked->id : &turn->inside.id;
    const struct hlo_ints *to = turn->parameter >= 0 ? &turn->inside.id : &turn->asked->id;
    int64_t *pair = arena_array(b->module->arena, (size_t)from->count * 2, sizeof(*pair));
    struct hlo_groups *g = arena_alloc(b->module->arena, sizeof(*g));
    struct hlo_instruction n = {.op = OPCODE_COLLECTIVE_PERMUTE, .operand_count = 1, .operand = &x,
                                .type = hlo_type_of(b, x), .place = b->place,
                                .detail = &(struct hlo_detail){.groups = g}};

    for (int k = 0; k < from->count; k++) {
        pair[2 * k] = from->item[k];
        pair[2 * k + 1] = to->item[k];
    }
    *g = (struct hlo_groups){.pair = {2 * from->count, pair}, .channel_id = t->channel++};
    return hlo_add(b->module, b->computation, &n);
}

static const struct shard_turn *find(const struct shard_turns *turns, int parameter, int element)
{
    for (int k = 0; k < turns->count; k++)
        if (turns->item[k].parameter == parameter &&
            (parameter >= 0 || turns->item[k].element == element))
            return &turns->item[k];
    return NULL;
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const struct hlo_computation *c = &r->old->computation[b->computation];
    struct turning *t = r->user;
    const struct shard_turn *turn;
    int *turned;

    if (b->computation != r->old->entry)
        return -1;
    if (from->op == OPCODE_PARAMETER) {
        turn = find(t->turns, (int)from->index, 0);
        return turn ? permute(b, t, turn, hlo_copy_instruction(b, from, operand)) : -1;
    }
    if (from != &c->instruction[c->root])
        return -1;
    if (from->op != OPCODE_TUPLE) {
        turn = find(t->turns, -1, 0);
        return turn ? permute(b, t, turn, hlo_copy_instruction(b, from, operand)) : -1;
    }
    turned = arena_copy(b->module->arena, operand, (size_t)from->operand_count + 1,
                        sizeof(*turned));
    for (int k = 0; k < from->operand_count; k++)
        if ((turn = find(t->turns, -1, k)))
            turned[k] = permute(b, t, turn, turned[k]);
    return hlo_copy_instruction(b, from, turned);
}

static int64_t next_channel(const struct hlo_module *m)
{
    int64_t most = 0;

    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_groups *g = hlo_detail(&m->computation[c].instruction[i])->groups;

            if (g && g->channel_id > most)
                most = g->channel_id;
        }
    return most + 1;
}

/* where the boundary ended as it was put inside, it is told as asked; other turns are dropped */
static void tell(const struct shard_state *s, struct shard_turns *turns, struct shard_boundary *b)
{
    int kept = 0;

    for (int k = 0; k < turns->count; k++) {
        const struct shard_turn *t = &turns->item[k];
        struct shard_leaf *leaf = NULL;
        struct shard_lay wanted, found;

        if (t->parameter < 0)
            leaf = t->element < b->result_count ? &b->result[t->element] : NULL;
        for (int i = 0; t->parameter >= 0 && i < b->parameter_count; i++)
            if (b->parameter[i].parameter == t->parameter)
                leaf = &b->parameter[i];
        if (!leaf || !can_read(&s->mesh, &t->inside, leaf->whole.rank, &wanted) ||
            !can_read(&s->mesh, &leaf->sharding, leaf->whole.rank, &found) ||
            !shard_lay_equal(&wanted, &found))
            continue;
        leaf->sharding = *t->asked;
        turns->item[kept++] = *t;
    }
    turns->count = kept;
}

int shard_turns_make(const struct shard_state *s, struct shard_turns *turns, struct hlo_module *made,
                     struct shard_boundary *boundary)
{
    struct turning t = {.turns = turns, .channel = next_channel(made)};
    struct hlo_rewrite r = {.user = &t, .visit = visit};
    struct hlo_module turned;
    int status;

    tell(s, turns, boundary);
    if (!turns->count)
        return 0;
    status = hlo_rewrite_module(made, &turned, s->arena, &r, s->err);
    hlo_module_fini(made);
    if (!status)
        *made = turned;
    return status;
}
