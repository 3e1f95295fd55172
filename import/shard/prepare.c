/*
 * A program before it is cut: calls are inlined, since each has arrays that lie in their own way;
 * Shardy's custom calls become those of GSPMD; loops and branches that share computations get
 * copies; what a computation gives back is an instruction that nobody else uses.
 */
#include "import/shard/shard_impl.h"

#include <string.h>

#include "import/program/sharding.h"

static const char *value_of(const struct hlo_pairs *pairs, const char *key)
{
    for (int i = 0; i < pairs->count; i++)
        if (!strcmp(pairs->item[i].key, key))
            return pairs->item[i].value;
    return NULL;
}

/* Shardy's text out of a value that may stand in quotes */
static int parse_value(const struct hlo_module *m, const char *value, int *count,
                       const struct hlo_sharding **s, struct err *e)
{
    size_t length = strlen(value);
    bool is_quoted = length >= 2 && value[0] == '"' && value[length - 1] == '"';

    return hlo_sharding_parse(m, value + is_quoted, length - 2 * is_quoted, count, s, e);
}

/* ----- xla.sdy.GlobalToLocalShape(x..) and LocalToGlobalShape(x..): a step for each operand */

static int read_manual(const struct hlo_module *m, const char *cuts, const char *axes, int rank,
                       struct hlo_sharding *manual, struct err *e)
{
    const struct hlo_mesh *mesh = hlo_sharding_mesh(m, cuts, strlen(cuts));
    size_t length = strlen(axes);
    bool is_quoted = length >= 2 && axes[0] == '"' && axes[length - 1] == '"';

    if (!mesh)
        return err_set(e, "manual_computation: no mesh in %.80s", cuts);
    return hlo_sharding_parse_manual(m, mesh, axes + is_quoted, length - 2 * is_quoted, rank, manual,
                                     e);
}

static int step(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                const int *operand, bool is_entered)
{
    const char *cuts = value_of(&hlo_detail(from)->frontend,
                                is_entered ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
    const char *axes = value_of(&hlo_detail(from)->frontend, "xla.sdy.manual_axes");
    const struct hlo_sharding *cut;
    int *made = arena_array(b->module->arena, (size_t)from->operand_count, sizeof(*made)), count;
    bool is_tuple = hlo_type_is_tuple(from->type);

    if (!cuts || !axes)
        return err_set(r->err, "custom call %s lacks shardings or manual axes", hlo_name(from));
    if (parse_value(b->module, cuts, &count, &cut, r->err))
        return -1;
    if (count != from->operand_count || hlo_type_leaves(from->type) != count)
        return err_set(r->err, "custom call %s has %d operands and %d shardings", hlo_name(from),
                       from->operand_count, count);
    for (int k = 0; k < count; k++) {
        const struct hlo_type *to = hlo_type_leaf(from->type, k);
        struct hlo_sharding *manual = arena_alloc(b->module->arena, sizeof(*manual));

        if (read_manual(b->module, cuts, axes, to->rank, manual, r->err))
            return -1;
        made[k] = (is_entered ? hlo_enter_manual : hlo_leave_manual)(b, operand[k], &cut[k], manual,
                                                                     to);
    }
    return is_tuple ? hlo_tuple(b, count, made) : made[0];
}

/* ----- one instruction */

/* the sharding of an instruction that has Shardy's only */
static int note_shardy(struct hlo_rewrite *r, struct hlo_builder *b,
                       const struct hlo_instruction *from, const int *operand)
{
    const char *text = value_of(&hlo_detail(from)->frontend, "xla.sdy.sharding");
    struct hlo_instruction noted = *from;

    if (hlo_detail(from)->sharding_count || !text || !b->module->mesh_count)
        return -1;
    hlo_own_detail(b->module->arena, &noted);
    if (parse_value(b->module, text, &noted.detail->sharding_count, &noted.detail->sharding,
                    r->err)) {
        r->status = -1;
        return -1;
    }
    return hlo_copy_instruction(b, &noted, operand);
}

static int visit(struct hlo_rewrite *r, struct hlo_builder *b, const struct hlo_instruction *from,
                 const int *operand)
{
    const char *target =
        from->op == OPCODE_CUSTOM_CALL && hlo_detail(from)->target ? hlo_detail(from)->target : "";
    int made;

    if (from->op == OPCODE_CALL || from->op == OPCODE_FUSION)
        return hlo_inline(b, hlo_detail(from)->computation[0], operand);
    if (!strncmp(target, "local_", 6))
        target += 6;
    if (strcmp(target, "xla.sdy.GlobalToLocalShape") &&
        strcmp(target, "xla.sdy.LocalToGlobalShape"))
        return note_shardy(r, b, from, operand);
    made = step(r, b, from, operand, !strcmp(target, "xla.sdy.GlobalToLocalShape"));
    r->status = made < 0 ? -1 : 0;
    return made;
}

/* ----- computations of their own */

static int copy_computation(struct hlo_module *m, int computation)
{
    int made = hlo_add_computation(m, m->computation[computation].name);
    int root = m->computation[computation].root;

    for (int i = 0; i < m->computation[computation].count; i++) {
        struct hlo_instruction copy = m->computation[computation].instruction[i];

        hlo_add(m, made, &copy);
    }
    m->computation[made].root = root;
    return made;
}

struct owning { bool *is_met; size_t room; int count; };

static bool meet(struct owning *o, int computation)
{
    bool was_met;

    while (o->count <= computation)
        MEM_ADD(o->is_met, o->count, o->room) = false;
    was_met = o->is_met[computation];
    o->is_met[computation] = true;
    return was_met;
}

static bool is_control(enum hlo_opcode op)
{
    return op == OPCODE_WHILE || op == OPCODE_CONDITIONAL;
}

static void own_computations(struct hlo_module *m, int computation, struct owning *o)
{
    for (int i = 0; i < m->computation[computation].count; i++) {
        const struct hlo_instruction *n = &m->computation[computation].instruction[i];
        int count = hlo_detail(n)->computation_count;
        int *own;

        if (!is_control(n->op))
            continue;
        own = arena_copy(m->arena, hlo_detail(n)->computation, (size_t)count, sizeof(*own));
        for (int k = 0; k < count; k++) {
            if (meet(o, own[k])) {
                own[k] = copy_computation(m, own[k]);
                meet(o, own[k]);
            }
            own_computations(m, own[k], o);
        }
        hlo_own_detail(m->arena, &m->computation[computation].instruction[i])->computation = own;
    }
}

static bool is_used(const struct hlo_computation *c, int instruction)
{
    for (int i = instruction + 1; i < c->count; i++)
        for (int k = 0; k < c->instruction[i].operand_count; k++)
            if (c->instruction[i].operand[k] == instruction)
                return true;
    return false;
}

static void own_root(struct hlo_module *m, int computation)
{
    const struct hlo_computation *c = &m->computation[computation];
    struct hlo_instruction root = c->instruction[c->root];
    struct hlo_builder b = {.module = m, .computation = computation, .place = root.place};
    int from = c->root, made, *part;
    struct hlo_detail *d;

    if (root.op == OPCODE_TUPLE && !is_used(c, c->root))
        return;
    if (hlo_type_is_tuple(root.type)) {
        part = arena_array(m->arena, (size_t)root.type->part_count, sizeof(*part));
        for (int k = 0; k < root.type->part_count; k++)
            part[k] = hlo_tuple_element(&b, from, k);
        made = hlo_tuple(&b, root.type->part_count, part);
    } else {
        made = hlo_unary(&b, OPCODE_COPY, from);
    }
    m->computation[computation].root = made;
    d = hlo_own_detail(m->arena, &m->computation[computation].instruction[made]);
    d->sharding = hlo_detail(&root)->sharding;
    d->sharding_count = hlo_detail(&root)->sharding_count;
}

static void own_roots(struct hlo_module *m, const struct owning *o)
{
    for (int c = 0; c < m->computation_count; c++)
        if (c == m->entry || (c < o->count && o->is_met[c]))
            own_root(m, c);
}

static int read_meshes(struct hlo_module *m, struct err *e)
{
    const char *text = value_of(&m->frontend, "xla.sdy.meshes");

    if (!text || m->mesh_count)
        return 0;
    return hlo_meshes_parse(m, text, strlen(text), e);
}

int64_t shard_partitions(const struct hlo_module *m)
{
    int64_t most = m->partition_count > 1 ? m->partition_count : 1;

    if (m->partition_count > 1)
        return most;
    for (int c = 0; c < m->computation_count; c++)
        for (int i = 0; i < m->computation[c].count; i++) {
            const struct hlo_instruction *n = &m->computation[c].instruction[i];

            for (int k = 0; k < hlo_detail(n)->sharding_count; k++)
                if (hlo_detail(n)->sharding[k].kind == HLO_TILED &&
                    hlo_detail(n)->sharding[k].id.count > most)
                    most = hlo_detail(n)->sharding[k].id.count;
        }
    return most;
}

int shard_prepare(const struct hlo_module *from, struct hlo_module *flat, struct arena *a,
                  struct err *e)
{
    struct hlo_rewrite r = {.visit = visit};
    struct hlo_module meshed = *from;   /* its meshes are copied before anything is visited */
    struct owning o = {0};
    int status;

    meshed.mesh = NULL;
    meshed.mesh_count = 0;
    meshed.mesh_capacity = 0;
    meshed.arena = a;
    for (int i = 0; i < from->mesh_count; i++)
        MEM_ADD(meshed.mesh, meshed.mesh_count, meshed.mesh_capacity) = from->mesh[i];
    status = read_meshes(&meshed, e) || hlo_rewrite_module(&meshed, flat, a, &r, e) ? -1 : 0;
    mem_free(meshed.mesh);
    if (status)
        return -1;
    hlo_eliminate_dead(flat);
    meet(&o, flat->entry);
    own_computations(flat, flat->entry, &o);
    own_roots(flat, &o);
    mem_free(o.is_met);
    return 0;
}
