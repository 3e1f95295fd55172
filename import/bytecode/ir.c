/*
 * Operations of MLIR bytecode as a tree.
 *
 * Values have no names: each gets the next number of its scope. A scope begins at the top and at
 * regions that are marked as isolated; other regions go on counting behind what is around them, and
 * give their numbers back at their end.
 */
#include "import/bytecode/bytecode.h"

#include "base/text.h"
#include "import/bytecode/ir.h"

#include <limits.h>
#include <string.h>

#define IDS_MAX ((size_t)INT_MAX / 4)   /* of the values of one scope */

/* the next number is `v`, which has the type of this index */
static void define(struct ir_reader *ir, struct bytecode_stream *s, const struct mlir_value *v,
                   size_t type)
{
    if (ir->next >= ir->limit) {
        bytecode_fail(s, "a region has more values than the %zu it promised", ir->limit);
        return;
    }
    if (!ir->scope->is_later)
        ir->scope->value[ir->next++] = v;
    else if (ir->is_kept)
        ir->scope->slot[ir->next++] = (ir_slot)type << 1 | 1;
    else
        ir->scope->slot[ir->next++] = (uintptr_t)v;
}

/* a constant as the operation that made it, as far as its users look */
static const struct mlir_op *constant_again(struct arena *a, const struct mlir_attr *value)
{
    struct mlir_named named = {"value", value};
    struct mlir_op op = {.name = "stablehlo.constant", .attr_count = 1};

    op.attr = arena_copy(a, &named, 1, sizeof(named));
    return arena_copy(a, &op, 1, sizeof(op));
}

/* What a body has read before it keeps in few bytes; who uses it has it made again. */
const struct mlir_value *ir_value_again(struct ir_reader *ir, size_t i)
{
    const struct ir_scope *scope = ir->scope;
    size_t is = (size_t)(scope->slot[i] >> IR_IS_SHIFT);
    struct mlir_value v = {.id = scope->first_id + (int)i};

    if (scope->slot[i] % 2 == 0)
        return (const struct mlir_value *)(uintptr_t)scope->slot[i];
    if (is && is % 2 == 0)
        return ir_value_again(ir, is / 2 - 1);
    v.type = ir->r->type[(uint32_t)scope->slot[i] >> 1];
    if (is)
        v.op = constant_again(ir->r->arena, scope->constant[is / 2]);
    return arena_copy(ir->r->arena, &v, 1, sizeof(v));
}

static const struct mlir_value *read_operand(struct ir_reader *ir, struct bytecode_stream *s)
{
    size_t i = bytecode_index(s, ir->scope->count, "value");

    if (bytecode_is_failed(s))
        return NULL;
    if (ir->scope->is_later ? !ir->scope->slot[i] : !ir->scope->value[i]) {
        bytecode_fail(s, "value %zu is used before it is made", i);
        return NULL;
    }
    return ir->scope->is_later ? ir_value_again(ir, i) : ir->scope->value[i];
}

static void read_operands(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_op *op)
{
    size_t count = bytecode_count(s, "operands");
    const struct mlir_value **operand = arena_array(ir->r->arena, count,
                                                    sizeof(const struct mlir_value *));

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++)
        operand[i] = read_operand(ir, s);
    op->operand = operand;
    op->operand_count = (int)count;
}

static int next_id(const struct ir_reader *ir, size_t k)
{
    return ir->scope->is_later ? ir->scope->first_id + (int)(ir->next + k)
                               : ir->r->tree->value_count++;
}

/* `type`: the indices of their types */
static size_t *read_results(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_op *op)
{
    size_t count = bytecode_count(s, "results"), *type;

    op->result = arena_array(ir->r->arena, count, sizeof(*op->result));
    type = arena_array(ir->r->arena, count, sizeof(*type));
    op->result_count = (int)count;
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        type[i] = bytecode_index(s, ir->r->file.type.count, "type");
        if (bytecode_is_failed(s))
            break;
        op->result[i] = (struct mlir_value){.id = next_id(ir, i), .type = ir->r->type[type[i]],
                                            .op = op, .index = (int)i};
    }
    return type;
}

static const struct mlir_attr *read_location(struct ir_reader *ir, struct bytecode_stream *s)
{
    const struct mlir_attr *location = bytecode_attr(ir->r, s);

    if (location->kind != MLIR_LOCATION)
        bytecode_fail(s, "a location that is another attribute");
    return location;
}

/* of an argument */
static const struct mlir_attr *read_place(struct ir_reader *ir, struct bytecode_stream *s)
{
    const struct hlo_place *place = bytecode_place(ir->r, s);
    struct mlir_attr *made = bytecode_shared_text(ir->r, MLIR_LOCATION, (struct mlir_text){"", 0});

    made->location = MLIR_LOCATION_PLACE;
    made->data = place == &hlo_nowhere ? NULL : place;
    return made;
}

/* Attributes of both kinds: what the operation must have, from its properties, and all others. */
struct bytecode_stream ir_read_attributes(struct ir_reader *ir, const struct ir_head *head,
                                          const char *only, struct mlir_op *op)
{
    const struct bytecode_op *known = head->known;
    struct bytecode_stream at = head->at, *s = &at;
    uint8_t mask = head->mask;
    struct mlir_named own[BYTECODE_OP_ATTRS_MAX], *all;
    const struct mlir_attr *extra = mask & IR_HAS_ATTRS ? bytecode_attr(ir->r, s) : NULL;
    int own_count = 0, extra_count = 0;

    if (mask & IR_HAS_PROPERTIES) {
        size_t i = bytecode_index(s, ir->r->file.property_count, "properties");
        struct bytecode_blob none = {ir->r->file.start, 0};
        struct bytecode_blob blob = bytecode_is_failed(s) ? none : ir->r->file.property[i];
        struct bytecode_stream p = bytecode_stream_over(&ir->r->file, blob.data, blob.bytes);

        if (!head->is_native)
            bytecode_fail(s, "%s has properties of an operation that its writer did not know",
                          known->name);
        if (!bytecode_is_failed(s))
            own_count = bytecode_read_properties(ir->r, &p, known, only, own);
    }
    if (extra && extra->kind != MLIR_DICTIONARY)
        bytecode_fail(s, "the attributes of %s are no dictionary", known->name);
    else if (extra)
        extra_count = extra->count;
    if (bytecode_is_failed(s) || own_count + extra_count == 0 ||
        !bytecode_spend(ir->r, s, (size_t)(own_count + extra_count) * sizeof(*all)))
        return at;
    all = arena_array(ir->r->arena, (size_t)(own_count + extra_count), sizeof(*all));
    memcpy(all, own, (size_t)own_count * sizeof(*all));
    if (extra_count)
        memcpy(all + own_count, extra->named, (size_t)extra_count * sizeof(*all));
    if (ir->is_open) {
        op->attr = all;
        op->attr_count = extra_count;
        return at;
    }
    op->attr = bytecode_convert(ir->r, s, known, all, own_count + extra_count, &op->attr_count);
    return at;
}

static void read_region(struct ir_reader *ir, struct bytecode_stream *s,
                        struct mlir_region *region);

/* Regions of these are asked for one operation after the other, if there are many. */
static bool may_wait(const struct ir_reader *ir, const struct mlir_op *op)
{
    return ir->is_kept &&
           (strcmp(op->name, "stablehlo.while") == 0 || strcmp(op->name, "stablehlo.case") == 0 ||
            strcmp(op->name, "stablehlo.if") == 0);
}

static void read_each_region(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_op *op,
                             uint64_t count, bool is_isolated)
{
    bool may_be_left = may_wait(ir, op);
    struct mlir_region *all = NULL;
    size_t capacity = 0;

    for (uint64_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        struct mlir_region region = {.block_count = 0};

        if (!may_be_left || !ir_leave_region(ir, s, is_isolated, &region))
            read_region(ir, s, &region);
        MEM_ADD(all, op->region_count, capacity) = region;
    }
    op->region = arena_take(ir->r->arena, all, (size_t)op->region_count, sizeof(*all));
}

/* of a function that has one; a declaration has none */
static bool is_body(struct bytecode_stream section)
{
    return bytecode_count(&section, "blocks") == 1;
}

void ir_scope_fini(struct ir_scope *scope)
{
    mem_free(scope->value);
    mem_free(scope->slot);
    mem_free(scope->constant);
    *scope = (struct ir_scope){.value = NULL};
}

/* Isolated regions begin a scope, and from version 2 on stand in a section of their own. */
static void read_isolated_regions(struct ir_reader *ir, struct bytecode_stream *s,
                                  struct mlir_op *op, uint64_t count)
{
    struct ir_scope *outer = ir->scope, scope = {.is_later = outer->is_later,
                                                 .first_id = ir->r->tree->value_count};
    bool has_section = ir->r->file.version >= 2;
    struct bytecode_stream section = has_section ? ir_section_of_regions(s, op->name) : *s;

    if (has_section && ir->is_later && count == 1 && strcmp(op->name, "func.func") == 0 &&
        is_body(section)) {
        ir_leave_body(ir, &section, op);
        return;
    }
    ir->scope = &scope;
    read_each_region(ir, &section, op, count, true);
    ir_scope_fini(&scope);
    ir->scope = outer;
    if (has_section)
        bytecode_end(&section, "a section of regions");
    else
        s->at = section.at;
}

static void read_regions(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_op *op)
{
    struct ir_reader around = *ir;
    bool is_isolated;
    uint64_t count = bytecode_flagged(s, &is_isolated);

    if (ir->depth >= HLO_NESTING_MAX) {
        bytecode_fail(s, "regions within regions, more than %d deep", HLO_NESTING_MAX);
        return;
    }
    ir->depth++;
    ir->parent = op->name;
    if (is_isolated)
        read_isolated_regions(ir, s, op, count);
    else
        read_each_region(ir, s, op, count, false);
    *ir = around;
}

static const char *name_of(const struct ir_reader *ir, const struct bytecode_op *known)
{
    if (strcmp(known->name, "vhlo.return_v1") == 0 && strcmp(ir->parent, "func.func") == 0)
        return "func.return";
    return known->means;
}

/* What only bridges types of two dialects stands for its operand. */
static bool is_bridge(const struct mlir_op *op)
{
    return strcmp(op->name, "builtin.unrealized_conversion_cast") == 0 &&
           op->operand_count == 1 && op->result_count == 1;
}

static bool is_constant(const struct bytecode_op *known)
{
    const char *dot = strrchr(known->means, '.');

    return dot && strcmp(dot, ".constant") == 0;
}

/* These are kept; other attributes of an operation may go away with it. */
static bool is_elements(const struct mlir_attr *a)
{
    return a && a->kind == MLIR_DENSE;
}

/* The operation's results are the next numbers. */
static void define_results(struct ir_reader *ir, struct bytecode_stream *s,
                           const struct bytecode_op *known, const struct mlir_op *op,
                           const size_t *type, size_t bridged)
{
    struct ir_scope *scope = ir->scope;

    for (int k = 0; k < op->result_count && !bytecode_is_failed(s); k++)
        define(ir, s, is_bridge(op) ? op->operand[0] : &op->result[k], type[k]);
    if (!scope->is_later || bytecode_is_failed(s) || op->result_count != 1 ||
        !ir->is_kept)
        return;
    if (is_bridge(op)) {
        scope->slot[ir->next - 1] |= ((ir_slot)bridged * 2 + 2) << IR_IS_SHIFT;
    } else if (is_constant(known) && is_elements(mlir_op_attr(op, "value"))) {
        scope->slot[ir->next - 1] |= ((ir_slot)scope->constant_count * 2 + 1) << IR_IS_SHIFT;
        MEM_ADD(scope->constant, scope->constant_count, scope->constant_capacity) =
            mlir_op_attr(op, "value");
    }
}

/* the number of the first operand, which stands next */
static size_t first_operand(struct bytecode_stream s)
{
    bytecode_varint(&s);
    return (size_t)bytecode_varint(&s);
}

static bool is_later_function(const struct ir_reader *ir, const struct mlir_op *op)
{
    return ir->is_later && strcmp(op->name, "func.func") == 0;
}

/* Of a function whose body is read later its names stay; for all else it is asked (later.c). */
static void read_function_names(struct ir_reader *ir, struct bytecode_stream *s,
                                struct mlir_op *op)
{
    static const char *const names[] = {"sym_name", "sym_visibility"};
    struct arena *was = ir->r->arena, passing;
    struct mlir_op all = {.name = op->name};
    struct mlir_named *stay = arena_array(was, 2, sizeof(*stay));

    arena_init(&passing);
    arena_pack(&passing, true);
    ir->r->arena = &passing;
    *s = ir_read_attributes(ir, &ir->head, NULL, &all);
    for (int k = 0; k < 2; k++) {
        const struct mlir_attr *a = mlir_op_attr(&all, names[k]);

        if (a)
            stay[op->attr_count++] =
                (struct mlir_named){names[k], arena_copy(was, a, 1, sizeof(*a))};
    }
    op->attr = stay;
    ir->r->arena = was;
    arena_fini(&passing);
}

/* all but its regions; false: a mistake */
static bool read_head(struct ir_reader *ir, struct bytecode_stream *s, size_t name, uint8_t mask,
                      struct mlir_op *op)
{
    size_t *type = NULL, first = 0;

    op->name = name_of(ir, ir->op[name]);
    if (ir->r->is_later)
        op->place = bytecode_place(ir->r, s);
    else
        op->location = read_location(ir, s);
    ir->head = (struct ir_head){.at = *s, .known = ir->op[name], .mask = mask,
                                .is_native = ir->r->file.op[name].is_registered};
    if (is_later_function(ir, op))
        read_function_names(ir, s, op);
    else
        *s = ir_read_attributes(ir, &ir->head, NULL, op);
    if (mask & IR_HAS_RESULTS)
        type = read_results(ir, s, op);
    if (mask & IR_HAS_OPERANDS) {
        first = first_operand(*s);
        read_operands(ir, s, op);
    }
    if (mask & IR_HAS_SUCCESSORS)
        bytecode_fail(s, "%s goes on in another block, which programs do not have", op->name);
    if (mask & IR_HAS_USE_LISTS)
        ir_skip_use_lists(s, (size_t)op->result_count);
    define_results(ir, s, ir->op[name], op, type, first);
    return !bytecode_is_failed(s);
}

struct mlir_op *ir_read_op(struct ir_reader *ir, struct bytecode_stream *s)
{
    size_t i = bytecode_index(s, ir->r->file.op_count, "name of an operation");
    uint8_t mask = bytecode_byte(s);
    const struct bytecode_op *known = bytecode_is_failed(s) ? NULL : ir->op[i];
    struct mlir_op *op;

    if (!bytecode_is_failed(s) && !known)
        bytecode_fail(s, "operation \"%s\" is not known%s", ir->r->file.op[i].name,
                      bytecode_op_nearest(ir->r->file.op[i].name).text);
    if (!known)
        return NULL;
    op = arena_alloc(ir->r->arena, sizeof(*op));
    if (read_head(ir, s, i, mask, op) && (mask & IR_HAS_REGIONS))
        read_regions(ir, s, op);
    return is_bridge(op) ? NULL : op;
}

static void read_argument(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_value *v,
                          int index)
{
    bool has_location = true;
    struct bytecode_stream whole = *s;
    uint64_t i = ir->r->file.version >= 4 ? bytecode_flagged(s, &has_location)
                                          : bytecode_varint(s);
    size_t type = bytecode_check_index(&whole, i, ir->r->file.type.count, "type");

    if (bytecode_is_failed(s))
        return;
    *v = (struct mlir_value){.id = next_id(ir, 0), .type = ir->r->type[type], .index = index,
                             .location = !has_location      ? NULL
                                         : ir->r->is_later ? read_place(ir, s)
                                                           : read_location(ir, s)};
    define(ir, s, v, type);
}

static void read_arguments(struct ir_reader *ir, struct bytecode_stream *s,
                           struct mlir_block *block)
{
    size_t count = bytecode_count(s, "arguments");

    block->argument = arena_array(ir->r->arena, count, sizeof(*block->argument));
    block->argument_count = (int)count;
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++)
        read_argument(ir, s, &block->argument[i], (int)i);
    if (ir->r->file.version >= 3 && bytecode_byte(s))
        ir_skip_use_lists(s, count);
}

static uint64_t begin_block(struct ir_reader *ir, struct bytecode_stream *s,
                            struct mlir_block *block)
{
    bool has_arguments;
    uint64_t count = bytecode_flagged(s, &has_arguments);

    if (has_arguments)
        read_arguments(ir, s, block);
    return count;
}

static void read_block_ops(struct ir_reader *ir, struct bytecode_stream *s,
                           struct mlir_block *block, uint64_t count)
{
    struct mlir_op **op = NULL;
    size_t capacity = 0;

    for (uint64_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        struct mlir_op *next = ir_read_op(ir, s);

        if (next)
            MEM_ADD(op, block->op_count, capacity) = next;
    }
    block->op = arena_take(ir->r->arena, op, (size_t)block->op_count, sizeof(struct mlir_op *));
}

static void make_room(struct ir_reader *ir, size_t count)
{
    struct ir_scope *scope = ir->scope;
    int *ids = &ir->r->tree->value_count;

    if (!scope->is_later) {
        scope->value = mem_grow(scope->value, &scope->capacity, count + 1,
                                sizeof(const struct mlir_value *));
        memset(scope->value + scope->count, 0,
               (count - scope->count) * sizeof(const struct mlir_value *));
    } else {
        scope->slot = mem_grow(scope->slot, &scope->capacity, count + 1, sizeof(*scope->slot));
        memset(scope->slot + scope->count, 0, (count - scope->count) * sizeof(*scope->slot));
        if ((size_t)*ids < (size_t)scope->first_id + count)
            *ids = scope->first_id + (int)count;
    }
}

/* All values that live at once have a byte of their own in the file. */
static void promise_values(struct ir_reader *ir, struct bytecode_stream *s)
{
    struct ir_scope *scope = ir->scope;
    size_t count = bytecode_count(s, "values"), most = ir->r->file.bytes;

    if (scope->count + count > (most < IDS_MAX ? most : IDS_MAX))
        bytecode_fail(s, "more values than the file has bytes");
    if (bytecode_is_failed(s))
        return;
    make_room(ir, scope->count + count);
    ir->next = scope->count;
    scope->count += count;
    ir->limit = scope->count;
}

bool ir_begin_region(struct ir_reader *ir, struct bytecode_stream *s, struct mlir_block *b,
                     uint64_t *op_count)
{
    size_t blocks = bytecode_count(s, "blocks");

    if (blocks > 1)
        bytecode_fail(s, "a region of %zu blocks in %s: programs have one", blocks, ir->parent);
    if (blocks == 0 || bytecode_is_failed(s))
        return false;
    promise_values(ir, s);
    *op_count = begin_block(ir, s, b);
    return true;
}

void ir_check_region(const struct ir_reader *ir, const struct bytecode_stream *s)
{
    if (!bytecode_is_failed(s) && ir->next != ir->limit)
        bytecode_fail(s, "a region has %zu values fewer than it promised", ir->limit - ir->next);
}

static void read_region(struct ir_reader *ir, struct bytecode_stream *s,
                        struct mlir_region *region)
{
    size_t outer = ir->scope->count, next = ir->next, limit = ir->limit;
    struct mlir_block block = {.op_count = 0};
    bool was_kept = ir->is_kept;
    uint64_t count;

    ir->is_kept = false;
    if (ir_begin_region(ir, s, &block, &count)) {
        read_block_ops(ir, s, &block, count);
        region->block = arena_copy(ir->r->arena, &block, 1, sizeof(block));
        region->block_count = 1;
        ir_check_region(ir, s);
    }
    ir->is_kept = was_kept;
    ir->scope->count = outer;
    ir->next = next;
    ir->limit = limit;
}

/* The operations of the file are one block without arguments that holds its modules. */
static void read_modules(struct ir_reader *ir)
{
    struct mlir_tree *t = ir->r->tree;
    struct bytecode_stream s = ir->r->file.ir;
    struct mlir_block top = {.op_count = 0};

    read_block_ops(ir, &s, &top, begin_block(ir, &s, &top));
    bytecode_end(&s, "the section of operations");
    for (int i = 0; i < top.op_count && !bytecode_is_failed(&s); i++) {
        if (strcmp(top.op[i]->name, "builtin.module") != 0)
            bytecode_fail(&s, "%s stands outside of any module", top.op[i]->name);
        else if (top.op[i]->region_count != 1 || top.op[i]->region[0].block_count != 1)
            bytecode_fail(&s, "a module of another number of blocks than one");
    }
    if (top.op_count == 0)
        bytecode_fail(&s, "the file has no module");
    t->module = top.op;
    t->module_count = top.op_count;
}

/* Names without their prefix; the module alone has none. */
static int open_names(struct ir_reader *ir, const char *prefix)
{
    struct bytecode_file *f = &ir->r->file;
    struct bytecode_stream s = bytecode_stream_over(f, f->start, 0);
    size_t length = strlen(prefix);

    for (size_t i = 0; i < f->op_count; i++) {
        struct bytecode_op *op = arena_alloc(f->arena, sizeof(*op));
        const char *name = f->op[i].name;

        if (strcmp(name, "builtin.module") != 0 && strncmp(name, prefix, length) != 0) {
            bytecode_fail(&s, "operation \"%s\" has no \"%s\" before its name: this is no "
                          "kernel in its stable form", name, prefix);
            return -1;
        }
        op->name = op->means = strcmp(name, "builtin.module") == 0 ? name : name + length;
        ir->op[i] = op;
    }
    return 0;
}

/* Bytecode of other dialects is no portable artifact: its codes change with every LLVM. */
static int check_dialects(struct bytecode_file *f)
{
    struct bytecode_stream s = bytecode_stream_over(f, f->start, 0);
    bool is_raw = false;

    for (size_t i = 0; i < f->op_count; i++) {
        if (strncmp(f->op[i].name, "vhlo.", strlen("vhlo.")) == 0)
            return 0;
        is_raw |= strncmp(f->op[i].name, "stablehlo.", strlen("stablehlo.")) == 0;
    }
    bytecode_fail(&s, is_raw ? "operations of \"stablehlo\" written by %s: this is no portable "
                      "artifact; write one with serialize_portable_artifact, or the program's text"
                      : "no operations of StableHLO, written by %s", f->producer);
    return -1;
}

static int read_file(struct mlir_tree *t, const void *bytes, size_t count, const char *prefix,
                     bool is_later, struct err *e)
{
    struct bytecode_reader *r = arena_alloc(t->arena, sizeof(*r));
    struct ir_scope top = {.value = NULL};
    struct ir_reader ir = {.r = r, .scope = &top, .parent = "", .is_open = prefix != NULL,
                           .is_later = is_later};

    *r = (struct bytecode_reader){.arena = t->arena, .tree = t};
    if (bytecode_file_read(&r->file, bytes, count, t->file, t->arena, e) ||
        (!prefix && check_dialects(&r->file)))
        return -1;
    ir.op = arena_array(t->arena, r->file.op_count, sizeof(const struct bytecode_op *));
    if (prefix ? open_names(&ir, prefix) : 0)
        return -1;
    if (bytecode_read_tables(r, is_later))
        return -1;
    for (size_t i = 0; i < r->file.op_count && !prefix; i++)
        ir.op[i] = bytecode_op_find(t->arena, r->file.op[i].name);
    read_modules(&ir);
    ir_scope_fini(&top);
    return r->file.fault.is_failed ? -1 : 0;
}

int mlir_read_bytecode(struct mlir_tree *t, const void *bytes, size_t count, struct err *e)
{
    return read_file(t, bytes, count, NULL, false, e);
}

int mlir_open_bytecode(struct mlir_tree *t, const void *bytes, size_t count, struct err *e)
{
    return read_file(t, bytes, count, NULL, true, e);
}

int mlir_read_kernel(struct mlir_tree *t, const void *bytes, size_t count, const char *prefix,
                     struct err *e)
{
    return read_file(t, bytes, count, prefix, false, e);
}
