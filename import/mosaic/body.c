/* The operations of a body: types, attributes, regions of the tree as those of a kernel. */
#include "import/bytecode/bytecode.h"
#include "import/mosaic/mosaic_impl.h"

#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define STABLE_PREFIX "stable_mosaic."

int mosaic_fail(struct mosaic_reader *r, const char *fmt, ...)
{
    char message[400];
    va_list args;

    if (r->is_failed)
        return -1;
    r->is_failed = true;
    va_start(args, fmt);
    text_print_args(message, sizeof(message), fmt, args);
    va_end(args);
    return err_at(r->err, r->file, 0, 0, "kernel %s: %s", r->k->name, message);
}

/* ----- types and attributes */

const char *mosaic_inner(struct mosaic_reader *r, const struct mlir_attr *a)
{
    const char *open, *close;

    if (a->kind == MLIR_ENUM || a->kind == MLIR_DIALECT || a->kind == MLIR_STRING)
        return a->text.data;
    if (a->kind != MLIR_RAW)
        return "";
    open = strchr(a->text.data, '<');
    close = strrchr(a->text.data, '>');
    if (!open || !close || close < open)
        return a->text.data;
    return mlir_text_copy(r->arena, open + 1, (size_t)(close - open - 1)).data;
}

static enum mosaic_space space_of(struct mosaic_reader *r, const struct mlir_attr *a)
{
    const char *text;

    if (!a)
        return MOSAIC_ANY;
    text = mosaic_inner(r, a);
    for (int s = MOSAIC_VMEM; s <= MOSAIC_ANY; s++) {
        const char *name = mosaic_space_name((enum mosaic_space)s);
        size_t length = strlen(name);

        if (!strncmp(text, name, length) && (!text[length] || strchr(" ,", text[length])))
            return (enum mosaic_space)s;
    }
    if (a->kind == MLIR_INTEGER && a->integer >= 0 && a->integer < MOSAIC_ANY)
        return (enum mosaic_space)a->integer;
    mosaic_fail(r, "memory space \"%s\" is not known", text);
    return MOSAIC_ANY;
}

struct mosaic_type mosaic_read_type(struct mosaic_reader *r, const struct mlir_type *t)
{
    struct mosaic_type made = {.kind = MOSAIC_SCALAR};
    const struct mlir_type *item = t->item ? t->item : t;

    made.element = mosaic_element_find(item->text.data ? item->text.data : "", item->text.bytes);
    if (made.element == MOSAIC_ELEMENT_COUNT) {
        mosaic_fail(r, "elements of type %.40s are not known",
                    item->text.data ? item->text.data : "?");
        made.element = MOSAIC_I32;
    }
    if (t->kind != MLIR_VECTOR && t->kind != MLIR_MEMREF)
        return made;
    made.kind = t->kind == MLIR_VECTOR ? MOSAIC_VECTOR : MOSAIC_REF;
    if (t->rank > MOSAIC_RANK_MAX) {
        mosaic_fail(r, "an array of %d dimensions; %d are the most", t->rank, MOSAIC_RANK_MAX);
        return made;
    }
    made.rank = t->rank;
    for (int i = 0; i < t->rank; i++)
        made.dim[i] = t->dim[i] < 0 ? MOSAIC_DYNAMIC : t->dim[i];
    if (made.kind == MOSAIC_REF)
        made.space = space_of(r, t->encoding);
    if (made.kind == MOSAIC_REF &&
        mosaic_element_kind(made.element) == MOSAIC_KIND_SEMAPHORE)
        made.space = MOSAIC_SEMAPHORES;
    return made;
}

static uint32_t word_of(enum hlo_element e, const void *at)
{
    float f;
    uint32_t word;

    if (e != ELEMENT_COUNT && hlo_element_is_float(e)) {
        f = (float)hlo_element_load(e, at);
        memcpy(&word, &f, sizeof(word));
        return word;
    }
    if (e == ELEMENT_COUNT) {           /* index */
        int64_t index;

        memcpy(&index, at, sizeof(index));
        return (uint32_t)index;
    }
    return (uint32_t)(e == ELEMENT_PRED ? *(const unsigned char *)at : hlo_element_load_int(e, at));
}

static bool read_elements(struct mosaic_reader *r, const struct mlir_attr *from,
                          struct mosaic_attr *to)
{
    const struct mlir_type *item = from->type->item ? from->type->item : from->type;
    size_t each = mlir_type_element_bytes(from->type);
    int64_t count = from->is_splat ? 1 : mlir_type_elements(from->type);
    uint32_t *word;

    if (!from->data || each == 0 || count < 0 || count > INT32_MAX)
        return false;
    word = arena_array(r->arena, (size_t)count, sizeof(*word));
    for (int64_t i = 0; i < count; i++)
        word[i] = word_of(item->element, (const char *)from->data + (size_t)i * each);
    to->kind = MOSAIC_ATTR_ELEMENTS;
    to->type = mosaic_read_type(r, from->type);
    to->type.kind = MOSAIC_VECTOR;
    to->element = word;
    to->count = (int)count;
    to->is_splat = from->is_splat;
    return true;
}

static bool read_array(struct mosaic_reader *r, const struct mlir_attr *from,
                       struct mosaic_attr *to)
{
    int64_t *ints = arena_array(r->arena, (size_t)from->count, sizeof(*ints));

    for (int i = 0; i < from->count; i++) {
        if (from->item[i]->kind != MLIR_INTEGER)
            return false;
        ints[i] = from->item[i]->integer;
    }
    to->kind = MOSAIC_ATTR_INTS;
    to->count = from->count;
    to->ints = ints;
    return true;
}

bool mosaic_read_attr(struct mosaic_reader *r, const struct mlir_named *from,
                      struct mosaic_attr *to)
{
    const struct mlir_attr *a = from->attr;

    *to = (struct mosaic_attr){.name = from->name};
    switch (a->kind) {
    case MLIR_UNIT: to->integer = 1; return true;
    case MLIR_BOOL: to->integer = a->integer; return true;
    case MLIR_INTEGER: to->integer = a->integer; return true;
    case MLIR_FLOAT:
        to->kind = MOSAIC_ATTR_FLOAT;
        to->number = a->number;
        return true;
    case MLIR_TYPE:
        if (a->type->kind == MLIR_FUNCTION)
            return false;
        to->kind = MOSAIC_ATTR_TYPE;
        to->type = mosaic_read_type(r, a->type);
        return true;
    case MLIR_INTS:
        to->kind = MOSAIC_ATTR_INTS;
        to->count = a->count;
        to->ints = a->ints;
        return true;
    case MLIR_ARRAY: return read_array(r, a, to);
    case MLIR_DENSE: return read_elements(r, a, to);
    case MLIR_STRING: case MLIR_SYMBOL: case MLIR_ENUM: case MLIR_DIALECT: case MLIR_RAW:
        to->kind = MOSAIC_ATTR_TEXT;
        to->text = a->kind == MLIR_SYMBOL ? a->text.data : mosaic_inner(r, a);
        return true;
    default: return false;
    }
}

/* ----- operations */

/*
 * Locations apart are one list: of each operation its own, then those of the arguments of each block
 * in it, then those of the block's operations.
 */
static const struct mlir_attr *location_of(struct mosaic_reader *r, const struct mlir_attr *own)
{
    if (!r->locations)
        return own;
    if (r->next_location == r->locations->count)
        return NULL;
    own = r->locations->item[r->next_location++];
    return own && own->kind == MLIR_LOCATION ? own : NULL;
}

static struct mosaic_value *make_value(struct mosaic_reader *r, const struct mlir_value *from,
                                       const struct mosaic_op *op, int index)
{
    const struct mlir_attr *location = op ? NULL : location_of(r, from->location);
    struct mosaic_value *v = arena_alloc(r->arena, sizeof(*v));

    *v = (struct mosaic_value){.id = r->k->value_count++, .op = op, .index = index,
                               .type = mosaic_read_type(r, from->type)};
    if (location && location->location == MLIR_LOCATION_NAME)
        v->name = location->text.data;
    r->value[from->id] = v;
    return v;
}

static void read_attributes(struct mosaic_reader *r, const struct mlir_op *from,
                            struct mosaic_op *op)
{
    struct mosaic_attr *attr = arena_array(r->arena, (size_t)from->attr_count, sizeof(*attr));

    for (int i = 0; i < from->attr_count; i++) {
        if (!mosaic_read_attr(r, &from->attr[i], &attr[op->attr_count]))
            continue;
        if (!strcmp(from->attr[i].name, "operandSegmentSizes") &&
            attr[op->attr_count].kind == MOSAIC_ATTR_INTS) {
            int *segment = arena_array(r->arena, (size_t)attr[op->attr_count].count, sizeof(int));

            for (int k = 0; k < attr[op->attr_count].count; k++)
                segment[k] = (int)attr[op->attr_count].ints[k];
            op->segment = segment;
            op->segment_count = attr[op->attr_count].count;
            continue;
        }
        op->attr_count++;
    }
    op->attr = attr;
}

static void read_place(struct mosaic_reader *r, const struct mlir_op *from, struct mosaic_op *op)
{
    const struct mlir_attr *location = location_of(r, from->location);
    struct hlo_place place;

    if (!location)
        return;
    mlir_place_of(r->arena, location, &place);
    op->place = (struct mosaic_place){place.file && strcmp(place.file, "-") ? place.file : NULL,
                                      place.op_name, place.line, place.col};
}

static struct mosaic_op *read_op(struct mosaic_reader *r, const struct mlir_op *from)
{
    struct mosaic_op *op = arena_alloc(r->arena, sizeof(*op));

    op->number = ++r->k->operation_count;
    op->name = from->name;
    op->code = mosaic_code_find(from->name);
    read_place(r, from, op);
    read_attributes(r, from, op);
    op->operand = arena_array(r->arena, (size_t)from->operand_count, sizeof(*op->operand));
    op->operand_count = from->operand_count;
    for (int i = 0; i < from->operand_count; i++) {
        op->operand[i] = r->value[from->operand[i]->id];
        if (!op->operand[i])
            mosaic_fail(r, "%s takes a value that is made elsewhere", op->name);
    }
    op->region = arena_array(r->arena, (size_t)from->region_count, sizeof(*op->region));
    op->region_count = from->region_count;
    for (int i = 0; i < from->region_count && !r->is_failed; i++)
        op->region[i] = mosaic_read_block(r, &from->region[i]);
    op->result = arena_array(r->arena, (size_t)from->result_count, sizeof(*op->result));
    op->result_count = from->result_count;
    for (int i = 0; i < from->result_count; i++)
        op->result[i] = make_value(r, &from->result[i], op, i);
    if (!r->is_failed)
        mosaic_upgrade(r, op);
    return op;
}

struct mosaic_block *mosaic_read_block(struct mosaic_reader *r, const struct mlir_region *region)
{
    struct mosaic_block *b = arena_alloc(r->arena, sizeof(*b));
    const struct mlir_block *from = region->block_count ? &region->block[0] : NULL;

    if (!from)
        return b;
    b->argument = arena_array(r->arena, (size_t)from->argument_count, sizeof(*b->argument));
    b->argument_count = from->argument_count;
    for (int i = 0; i < from->argument_count; i++)
        b->argument[i] = make_value(r, &from->argument[i], NULL, i);
    b->op = arena_array(r->arena, (size_t)from->op_count, sizeof(*b->op));
    for (int i = 0; i < from->op_count && !r->is_failed; i++)
        b->op[b->op_count++] = read_op(r, from->op[i]);
    return b;
}

/* ----- the module */

static int read_version(struct mosaic_reader *r, const struct mlir_op *module)
{
    const struct mlir_attr *version = mlir_op_attr(module, STABLE_PREFIX "version");

    if (!version || version->kind != MLIR_INTEGER)
        return mosaic_fail(r, "the module does not say its stable_mosaic.version");
    if (version->integer < 1 || version->integer > MOSAIC_VERSION_MAX)
        return mosaic_fail(r, "Mosaic serialization version %lld; versions 1 to %d are read",
                           (long long)version->integer, MOSAIC_VERSION_MAX);
    r->k->version = (int)version->integer;
    return 0;
}

static void read_function(struct mosaic_reader *r, const struct mlir_op *op)
{
    const struct mlir_attr *name = mlir_op_attr(op, "sym_name");
    struct mosaic_function *f = arena_alloc(r->arena, sizeof(*f));

    location_of(r, NULL);
    if (!name || name->kind != MLIR_STRING || op->region_count != 1) {
        mosaic_fail(r, "a function without a name or a body");
        return;
    }
    f->name = name->text.data;
    f->body = mosaic_read_block(r, &op->region[0]);
    r->k->function[r->k->function_count++] = f;
}

/* The function of a TensorCore, or the one called main, or named as the module. */
static const struct mlir_op *find_main(struct mosaic_reader *r, const struct mlir_block *b)
{
    const struct mlir_op *found = NULL;

    for (int i = 0; i < b->op_count; i++) {
        const struct mlir_attr *core = mlir_op_attr(b->op[i], "tpu.core_type");
        const struct mlir_attr *name = mlir_op_attr(b->op[i], "sym_name");

        if (strcmp(b->op[i]->name, "func.func"))
            continue;
        if (core && !strcmp(mosaic_inner(r, core), "tc"))
            return b->op[i];
        if (core) {
            mosaic_fail(r, "a function for a SparseCore (%s); those for the TensorCore are made",
                        mosaic_inner(r, core));
            return NULL;
        }
        if (name && (!found || mlir_text_is(name->text, "main")))
            found = b->op[i];
    }
    if (!found)
        mosaic_fail(r, "no function for the TensorCore and none named main");
    return found;
}

static int read_module(struct mosaic_reader *r, const struct mlir_op *module)
{
    const struct mlir_block *b = &module->region[0].block[0];
    const struct mlir_attr *name = mlir_op_attr(module, "sym_name");
    const struct mlir_op *main;

    if (name && name->kind == MLIR_STRING)
        r->k->name = name->text.data;
    if (read_version(r, module))
        return -1;
    location_of(r, NULL);               /* the module's own */
    r->k->function = arena_array(r->arena, (size_t)b->op_count, sizeof(*r->k->function));
    for (int i = 0; i < b->op_count && !r->is_failed; i++) {
        if (strcmp(b->op[i]->name, "func.func"))
            return mosaic_fail(r, "%s stands among the module's functions", b->op[i]->name);
        read_function(r, b->op[i]);
    }
    main = r->is_failed ? NULL : find_main(r, b);
    return main ? mosaic_read_grid(r, main) : -1;
}

/* a module without operations whose attribute tpu.locs lists them */
static int read_locations(struct mosaic_reader *r, const void *bytes, size_t count)
{
    struct mlir_tree tree;
    const struct mlir_attr *list;

    mlir_tree_init(&tree, r->arena, r->file);
    if (mlir_read_kernel(&tree, bytes, count, STABLE_PREFIX, r->err))
        return -1;
    list = mlir_op_attr(tree.module[0], "tpu.locs");
    if (!list || list->kind != MLIR_ARRAY)
        return mosaic_fail(r, "its locations are no list (tpu.locs)");
    r->locations = list;
    return 0;
}

struct mosaic_kernel *mosaic_read_body(const void *bytes, size_t count, const char *file,
                                       struct arena *a, struct err *e)
{
    return mosaic_read_located(bytes, count, NULL, 0, file, a, e);
}

struct mosaic_kernel *mosaic_read_located(const void *bytes, size_t count, const void *locations,
                                          size_t location_bytes, const char *file, struct arena *a,
                                          struct err *e)
{
    struct mosaic_reader r = {.arena = a, .file = file, .err = e};
    struct mlir_tree tree;
    bool was_packed = arena_pack(a, true);
    int status;

    r.k = arena_alloc(a, sizeof(*r.k));
    *r.k = (struct mosaic_kernel){.arena = a, .name = "main", .collective_id = -1};
    mlir_tree_init(&tree, a, file);
    status = (locations && read_locations(&r, locations, location_bytes)) ||
             mlir_read_kernel(&tree, bytes, count, STABLE_PREFIX, e) ? -1 : 0;
    if (!status) {
        r.value = arena_array(a, (size_t)tree.value_count, sizeof(*r.value));
        status = read_module(&r, tree.module[0]) || r.is_failed ? -1 : 0;
    }
    arena_pack(a, was_packed);
    return status ? NULL : r.k;
}
