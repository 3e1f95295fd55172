/*
 * Bodies of functions and large regions, read an operation at a time: who makes a program of them
 * has one operation at once with those of its regions that are small, the values so far and the
 * constants among them.
 */
#include "import/bytecode/ir.h"

#include <limits.h>

#define PASSING_BYTES (8u * 1024u)      /* operations go away when so much of them has gathered */

#define OPS_AT_ONCE 32u                 /* of a region: those with more are read later */

#define OP_BYTES_MIN 3u                 /* a name, what it has, a location */

struct opened {                         /* what a part has only as long as it is open */
    struct ir_reader ir;
    struct ir_scope scope;              /* of a function, or of an isolated region */
    struct bytecode_stream at;          /* how far it is read */
    size_t scope_before, constants_before;      /* values of the scope: a region gives them back */
    int values_before;                  /* of the tree: numbers go to others when it is closed */
};

struct part {                           /* a block that is read later */
    struct mlir_later later;            /* first: it is found by it */
    struct ir_reader ir;                /* as where the block stands; its head: the function's */
    const unsigned char *at, *end;      /* of the block */
    bool has_scope;                     /* its values are a scope of their own */
    struct opened *opened;
};

static struct part *part_of(struct mlir_later *l)
{
    return (struct part *)l;
}

static void begin_arena(struct arena *a)
{
    arena_init(a);
    arena_pack(a, true);
}

static struct opened *open(struct part *p)
{
    struct opened *o = p->opened = mem_alloc(sizeof(*o));
    struct bytecode_file *f = &p->ir.r->file;

    o->ir = p->ir;
    o->ir.is_kept = true;
    o->at = bytecode_stream_over(f, p->at, (size_t)(p->end - p->at));
    o->values_before = p->ir.r->tree->value_count;
    o->scope = (struct ir_scope){.is_later = true, .first_id = o->values_before};
    if (p->has_scope)
        o->ir.scope = &o->scope;
    o->scope_before = o->ir.scope->count;
    o->constants_before = o->ir.scope->constant_count;
    return o;
}

static int part_open(struct mlir_later *l, struct mlir_block *block)
{
    struct opened *o = open(part_of(l));
    struct bytecode_reader *r = o->ir.r;
    struct arena *was = r->arena;
    uint64_t count = 0;

    begin_arena(&l->arena);
    r->arena = &l->arena;
    ir_begin_region(&o->ir, &o->at, block, &count);
    r->arena = was;
    if (count > bytecode_left(&o->at) / OP_BYTES_MIN)
        bytecode_fail(&o->at, "more operations than there are bytes");
    l->op_count = bytecode_is_failed(&o->at) || count > INT_MAX ? 0 : (int)count;
    return bytecode_is_failed(&o->at) ? -1 : 0;
}

static const struct mlir_op *part_next(struct mlir_later *l)
{
    struct opened *o = part_of(l)->opened;
    struct bytecode_reader *r = o->ir.r;
    struct arena *was = r->arena;
    struct mlir_op *op = NULL;

    if (l->arena.used_bytes > PASSING_BYTES) {
        arena_fini(&l->arena);
        begin_arena(&l->arena);
    }
    r->tree->value_count = o->ir.scope->first_id + (int)o->ir.scope->count;
    r->arena = &l->arena;
    while (!op && l->op_count > 0 && !bytecode_is_failed(&o->at)) {
        op = ir_read_op(&o->ir, &o->at);
        l->op_count--;
    }
    r->arena = was;
    l->is_failed = bytecode_is_failed(&o->at);
    return l->is_failed ? NULL : op;
}

static int part_close(struct mlir_later *l)
{
    struct opened *o = part_of(l)->opened;
    int status;

    if (l->op_count == 0 && !bytecode_is_failed(&o->at)) {
        ir_check_region(&o->ir, &o->at);
        bytecode_end(&o->at, "a section of regions");
    }
    status = bytecode_is_failed(&o->at) ? -1 : 0;
    o->ir.scope->count = o->scope_before;
    o->ir.scope->constant_count = o->constants_before;
    o->ir.r->tree->value_count = o->values_before;
    ir_scope_fini(&o->scope);
    arena_fini(&l->arena);
    mem_free(o);
    part_of(l)->opened = NULL;
    return status;
}

static const struct mlir_attr *function_attr(struct mlir_later *l, const char *name,
                                             struct arena *a)
{
    struct part *p = part_of(l);
    struct bytecode_reader *r = p->ir.r;
    struct arena *was = r->arena;
    struct mlir_op op = {.name = "func.func"};
    struct bytecode_stream s;

    r->arena = a;
    s = ir_read_attributes(&p->ir, &p->ir.head, name, &op);
    r->arena = was;
    return bytecode_is_failed(&s) ? NULL : mlir_op_attr(&op, name);
}

static void make_region(struct arena *a, const struct part *part, struct mlir_region *region)
{
    struct mlir_block *block = arena_alloc(a, sizeof(*block));
    struct part *p = arena_copy(a, part, 1, sizeof(*part));

    block->later = &p->later;
    *region = (struct mlir_region){.block_count = 1, .block = block};
}

void ir_leave_body(const struct ir_reader *ir, const struct bytecode_stream *section,
                   struct mlir_op *op)
{
    struct part part = {.later = {.open = part_open, .next = part_next, .close = part_close,
                                  .attr = function_attr},
                        .ir = *ir, .at = section->at, .end = section->end, .has_scope = true};

    op->region = arena_alloc(ir->r->arena, sizeof(*op->region));
    make_region(ir->r->arena, &part, op->region);
    op->region_count = 1;
}

bool ir_leave_region(struct ir_reader *ir, struct bytecode_stream *s, bool is_isolated,
                     struct mlir_region *region)
{
    struct part part = {.later = {.open = part_open, .next = part_next, .close = part_close},
                        .ir = *ir, .at = s->at, .has_scope = is_isolated};
    struct bytecode_stream end = *s;
    size_t ops = ir_pass_region(ir, &end, &part.later.used, &part.later.used_count);

    if (ops <= OPS_AT_ONCE || bytecode_is_failed(s))
        return false;
    part.end = s->at = end.at;
    make_region(ir->r->arena, &part, region);
    return true;
}
