/*
 * Bodies of functions, read an operation at a time: who makes a program of them has one operation
 * with its regions at once, the values so far and the constants among them.
 */
#include "import/bytecode/ir.h"

#include <limits.h>

#define PASSING_BYTES (8u * 1024u)      /* operations go away when so much of them has gathered */

#define OP_BYTES_MIN 3u                 /* a name, what it has, a location */

struct body {
    struct mlir_later later;            /* first: it is found by it */
    struct ir_reader ir;                /* as where the function stands */
    struct ir_scope scope;
    struct ir_head head;                /* of the function */
    struct bytecode_stream section, at;
    int values_before;                  /* of the tree: numbers go to others when it is closed */
};

static struct body *body_of(struct mlir_later *l)
{
    return (struct body *)l;
}

static void begin_arena(struct arena *a)
{
    arena_init(a);
    arena_pack(a, true);
}

static int body_open(struct mlir_later *l, struct mlir_block *block)
{
    struct body *b = body_of(l);
    struct arena *was = b->ir.r->arena;
    uint64_t count = 0;

    begin_arena(&l->arena);
    b->at = b->section;
    b->values_before = b->ir.r->tree->value_count;
    b->scope = (struct ir_scope){.is_later = true, .first_id = b->values_before,
                                 .own = SIZE_MAX};
    b->ir.scope = &b->scope;
    b->ir.r->arena = &l->arena;
    ir_begin_region(&b->ir, &b->at, block, &count);
    b->scope.own = b->scope.count;
    b->ir.r->arena = was;
    if (count > bytecode_left(&b->at) / OP_BYTES_MIN)
        bytecode_fail(&b->at, "more operations than there are bytes");
    l->op_count = bytecode_is_failed(&b->at) || count > INT_MAX ? 0 : (int)count;
    return bytecode_is_failed(&b->at) ? -1 : 0;
}

static const struct mlir_op *body_next(struct mlir_later *l)
{
    struct body *b = body_of(l);
    struct arena *was = b->ir.r->arena;
    struct mlir_op *op = NULL;

    if (l->arena.used_bytes > PASSING_BYTES) {
        arena_fini(&l->arena);
        begin_arena(&l->arena);
    }
    b->ir.r->tree->value_count = b->scope.first_id + (int)b->scope.count;
    b->ir.r->arena = &l->arena;
    while (!op && l->op_count > 0 && !bytecode_is_failed(&b->at)) {
        op = ir_read_op(&b->ir, &b->at);
        l->op_count--;
    }
    b->ir.r->arena = was;
    l->is_failed = bytecode_is_failed(&b->at);
    return l->is_failed ? NULL : op;
}

static int body_close(struct mlir_later *l)
{
    struct body *b = body_of(l);

    if (l->op_count == 0 && !bytecode_is_failed(&b->at)) {
        ir_check_region(&b->ir, &b->at);
        bytecode_end(&b->at, "a section of regions");
    }
    ir_scope_fini(&b->scope);
    arena_fini(&l->arena);
    b->ir.r->tree->value_count = b->values_before;
    return bytecode_is_failed(&b->at) ? -1 : 0;
}

static const struct mlir_attr *body_attr(struct mlir_later *l, const char *name, struct arena *a)
{
    struct body *b = body_of(l);
    struct arena *was = b->ir.r->arena;
    struct mlir_op op = {.name = "func.func"};
    struct bytecode_stream s;

    b->ir.r->arena = a;
    s = ir_read_attributes(&b->ir, &b->head, name, &op);
    b->ir.r->arena = was;
    return bytecode_is_failed(&s) ? NULL : mlir_op_attr(&op, name);
}

void ir_leave_body(const struct ir_reader *ir, const struct bytecode_stream *section,
                   struct mlir_op *op)
{
    struct arena *a = ir->r->arena;
    struct body *b = arena_alloc(a, sizeof(*b));
    struct mlir_block *block = arena_alloc(a, sizeof(*block));

    *b = (struct body){.later = {.open = body_open, .next = body_next, .close = body_close,
                                 .attr = body_attr},
                       .ir = *ir, .head = ir->head, .section = *section};
    block->later = &b->later;
    op->region = arena_alloc(a, sizeof(*op->region));
    *op->region = (struct mlir_region){.block_count = 1, .block = block};
    op->region_count = 1;
}
