/*
 * Floats that only the vector unit has.
 *
 * A kernel may keep a running sum in one word of SMEM: it takes an element out of a vector, adds the
 * word, and puts it back. The way from the vector unit to the scalar unit is long, and all that is
 * done there is arithmetic on floats, which the vector unit does as well. So such a word stands in a
 * tile of VMEM, in all of its elements, and a float out of a vector stays a tile, until somebody wants
 * it for what only the scalar unit does.
 */
#include "stack/kernels/mosaic/tile.h"

/* ----- which words */

struct uses { const struct mosaic_value *ref; bool is_other; };

static void find_uses(const struct mosaic_block *b, struct uses *u)
{
    for (int i = 0; i < b->op_count && !u->is_other; i++) {
        const struct mosaic_op *op = b->op[i];

        for (int k = 0; k < op->operand_count; k++)
            if (op->operand[k] == u->ref &&
                !((op->code == MOSAIC_LOAD && k == 0) || (op->code == MOSAIC_STORE && k == 1)))
                u->is_other = true;
        for (int r = 0; r < op->region_count; r++)
            find_uses(op->region[r], u);
    }
}

/* what comes from the call stands in SMEM, where its copy puts it */
static bool is_input(const struct mosaic_kernel *k, const struct mosaic_value *v)
{
    int inputs = k->grid_rank + k->prefetch_count + k->operand_count - k->output_count;

    for (int i = 0; i < inputs && i < k->main->body->argument_count; i++)
        if (k->main->body->argument[i] == v)
            return true;
    return false;
}

bool cell_can_be(const struct lower *l, const struct mosaic_value *v)
{
    const struct mosaic_type *t = &v->type;
    struct uses u = {.ref = v};

    if (t->kind != MOSAIC_REF || t->space != MOSAIC_SMEM || t->element != MOSAIC_F32 ||
        mosaic_elements(t) != 1 || is_input(l->k, v))
        return false;
    find_uses(l->k->main->body, &u);
    return !u.is_other;
}

/* ----- tiles of one float */

static struct place new_cell(struct lower *l, const struct mosaic_op *op)
{
    struct mosaic_type t = {.kind = MOSAIC_VECTOR, .element = MOSAIC_F32, .rank = 2,
                            .dim = {TILE_ROWS, TILE_LANES}, .space = MOSAIC_VMEM};

    return place_new(l, &t, op, "a float of the vector unit");
}

int cell_open(struct lower *l, const struct mosaic_op *op, const struct mosaic_value *v)
{
    l->place[v->id] = new_cell(l, op);
    l->place[v->id].buffer = v->id;
    return l->is_failed ? -1 : 0;
}

static struct isa_rows rows_of(const struct place *p) { return isa_rows_at(NONE, p->base); }

/* a tile whose elements are all the float, into a place of its own */
static int keep(struct lower *l, const struct mosaic_op *op, int tile)
{
    int id = op->result[0]->id;

    pallas_take_for(l, NULL);
    l->place[id] = new_cell(l, op);
    emit_vst(&l->code, rows_of(&l->place[id]), tile, l->place[id].region);
    l->is_late[id] = true;
    return l->is_failed ? -1 : 0;
}

int cell_load(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[0]->id];

    return keep(l, op, emit_vld(&l->code, rows_of(p), p->region));
}

/* the float in all elements of a register, whichever unit has it */
static int tile_of(struct lower *l, const struct mosaic_value *v)
{
    const struct place *p = &l->place[v->id];
    struct isa_operand word;
    opnd a, b;

    if (l->is_late[v->id] && p->is_there)
        return emit_vld(&l->code, rows_of(p), p->region);
    if (l->is_late[v->id]) {
        a = R(tile_of(l, v->op->operand[0]));
        b = R(tile_of(l, v->op->operand[v->op->operand_count - 1]));
        return vcode_in_register(&l->code, tile_arithmetic(&l->code, v->op, a, b));
    }
    word = scalar_use(l, scalar_of(l, v));
    return word.kind == OPERAND_IMM ? emit_vmov(&l->code, word) : emit_vstv(&l->code, word.value);
}

int cell_store(struct lower *l, const struct mosaic_op *op)
{
    const struct place *p = &l->place[op->operand[1]->id];

    emit_vst(&l->code, rows_of(p), tile_of(l, op->operand[0]), p->region);
    return l->is_failed ? -1 : 0;
}

/* The first element of a tile, in all of them: `is_spread` where it stands in all lanes already. */
int cell_extract(struct lower *l, const struct mosaic_op *op, const struct place *from)
{
    int v = emit_vld(&l->code, isa_rows_of(NONE, from->base, 0, ISA_ALL_SUBLANES), from->region);

    if (!from->is_spread)
        v = emit_vbcast_lane(&l->code, 0, v, 0);
    return keep(l, op, v);
}

bool cell_pull(struct tiler *t, const struct mosaic_value *v, opnd *out)
{
    const struct place *p = &t->l->place[v->id];

    if (!p->is_there)
        return false;
    *out = R(emit_vld(t->c, rows_of(p), p->region));
    return true;
}

void cell_to_scalar(struct lower *l, const struct mosaic_value *v)
{
    const struct place *p = &l->place[v->id];
    int to;

    emit_vpush(&l->code, emit_vld(&l->code, rows_of(p), p->region));
    to = scalar_register(l);
    vcode_put(&l->code, isa_spop(to));
    l->scalar[v->id] = scalar_keep(l, R(to));
    l->is_late[v->id] = false;
}
