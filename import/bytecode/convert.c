/* VHLO's attributes made StableHLO's, by the table of forms. */
#include "import/bytecode/op.h"

#include <string.h>

enum form { FORM_SAME, FORM_INTS, FORM_SYMBOL, FORM_SYMBOLS, FORM_FLAG, FORM_IF_ANY, FORM_CHANNEL,
            FORM_ACCURACY, FORM_COMPARISON, FORM_PART };

static const struct { const char *name; enum form form; } forms[] = {
#define BYTECODE_GROUP(group, attribute, name)
#define BYTECODE_MEMBER(group, name)
#define BYTECODE_FORM(name, form) {name, FORM_##form},
#include "import/bytecode/forms.def"
};

static const struct { enum bytecode_group group; const char *name; } members[] = {
#define BYTECODE_GROUP(group, attribute, name)
#define BYTECODE_MEMBER(group, name) {BYTECODE_GROUP_##group, name},
#define BYTECODE_FORM(name, form)
#include "import/bytecode/forms.def"
};

static const struct { const char *attribute, *name; } groups[] = {
#define BYTECODE_GROUP(group, attribute, name) [BYTECODE_GROUP_##group] = {attribute, name},
#define BYTECODE_MEMBER(group, name)
#define BYTECODE_FORM(name, form)
#include "import/bytecode/forms.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MEMBERS_MAX 16
#define SPLAT_MAX 65536                 /* numbers that one may stand for in a list */

/* one operation's attributes on their way */
struct conversion {
    struct bytecode_reader *r;
    struct bytecode_stream *s;
    const struct bytecode_op *op;
    const struct mlir_named *from;
    int from_count;
    struct mlir_named *to;
    int to_count;
};

static void add(struct conversion *c, const char *name, const struct mlir_attr *attr)
{
    c->to[c->to_count++] = (struct mlir_named){name, attr};
}

static const struct mlir_attr *find(const struct conversion *c, const char *name)
{
    for (int i = 0; i < c->from_count; i++) {
        if (strcmp(c->from[i].name, name) == 0)
            return c->from[i].attr;
    }
    return NULL;
}

static bool is_of(enum bytecode_group op, enum bytecode_group member)
{
    return op == member || (op == BYTECODE_GROUP_DOT && member == BYTECODE_GROUP_ALGORITHM);
}

static bool is_member(const struct conversion *c, const char *name)
{
    for (size_t i = 0; i < COUNT(members); i++) {
        if (is_of(c->op->group, members[i].group) && strcmp(members[i].name, name) == 0)
            return true;
    }
    return false;
}

/* VHLO writes lists as tensors. */
static const struct mlir_attr *ints_of(struct conversion *c, const char *name,
                                       const struct mlir_attr *a)
{
    int64_t count = a->kind == MLIR_DENSE ? mlir_type_elements(a->type) : -1;
    enum hlo_element e = count >= 0 ? a->type->item->element : ELEMENT_COUNT;
    int64_t *ints;

    if (count < 0 || a->type->rank != 1 || (count > 0 && !a->data) || e == ELEMENT_COUNT ||
        !(e == ELEMENT_PRED || hlo_element_is_integer(e)) || (a->is_splat && count > SPLAT_MAX)) {
        bytecode_fail(c->s, "attribute \"%s\" of %s is no list of integers", name, c->op->name);
        return a;
    }
    if (!bytecode_spend(c->r, c->s, (size_t)count * sizeof(*ints)))
        return a;
    ints = arena_array(c->r->arena, (size_t)count, sizeof(*ints));
    for (int64_t i = 0; i < count; i++)
        ints[i] = hlo_element_load_int(e, (const unsigned char *)a->data +
                                          (a->is_splat ? 0 : (size_t)i * hlo_element_bytes(e)));
    return mlir_ints(c->r->arena, (int)count, ints, a->type->item);
}

static const struct mlir_attr *symbol_of(struct conversion *c, const char *name,
                                         const struct mlir_attr *a)
{
    if (a->kind == MLIR_SYMBOL)
        return a;
    if (a->kind != MLIR_STRING)
        bytecode_fail(c->s, "attribute \"%s\" of %s is no name", name, c->op->name);
    return bytecode_shared_text(c->r, MLIR_SYMBOL, a->text);
}

static void add_symbols(struct conversion *c, const char *name, const struct mlir_attr *a)
{
    const struct mlir_attr **item;

    if (a->kind != MLIR_ARRAY) {
        bytecode_fail(c->s, "attribute \"%s\" of %s is no list", name, c->op->name);
        return;
    }
    if (a->count == 0 || !bytecode_spend(c->r, c->s, (size_t)a->count * sizeof(*a)))
        return;
    item = arena_array(c->r->arena, (size_t)a->count, sizeof(const struct mlir_attr *));
    for (int i = 0; i < a->count; i++)
        item[i] = symbol_of(c, name, a->item[i]);
    add(c, name, mlir_array(c->r->arena, a->count, item));
}

static bool is_empty(const struct mlir_attr *a)
{
    return (a->kind == MLIR_ARRAY && a->count == 0) ||
           (a->kind == MLIR_STRING && a->text.bytes == 0) ||
           (a->kind == MLIR_INTS && a->count == 0) ||
           (a->kind == MLIR_DENSE && a->type->rank == 1 && mlir_type_elements(a->type) == 0);
}

/* Channel 0 is none. Of what kind it is only send and receive say. */
static void add_channel(struct conversion *c, const struct mlir_attr *a)
{
    const struct mlir_attr *type = find(c, "channel_type");
    struct mlir_named pair[2] = {
        {"handle", a},
        {"type", type ? type : mlir_integer(c->r->arena, 0, NULL)}
    };

    if (a->kind != MLIR_INTEGER)
        bytecode_fail(c->s, "the channel of %s is no number", c->op->name);
    else if (a->integer != 0 || type)
        add(c, "channel_handle",
            mlir_dialect(c->r->arena, "stablehlo.channel_handle", "", 0, 2, pair));
}

static bool is_enum(const struct mlir_attr *a, const char *value)
{
    return a && a->kind == MLIR_ENUM && mlir_text_is(a->text, value);
}

static void add_one(struct conversion *c, const char *name, const struct mlir_attr *a,
                    enum form form)
{
    switch (form) {
    case FORM_SAME:
        add(c, name, a);
        break;
    case FORM_INTS:
        add(c, name, ints_of(c, name, a));
        break;
    case FORM_SYMBOL:
        add(c, name, symbol_of(c, name, a));
        break;
    case FORM_SYMBOLS:
        add_symbols(c, name, a);
        break;
    case FORM_FLAG:
        if (a->kind != MLIR_BOOL || a->integer)
            add(c, name, mlir_unit(c->r->arena));
        break;
    case FORM_IF_ANY:
        if (!is_empty(a))
            add(c, name, a);
        break;
    case FORM_CHANNEL:
        add_channel(c, a);
        break;
    case FORM_ACCURACY:
        if (!is_enum(mlir_attr_find(a, "mode"), "DEFAULT"))
            add(c, name, a);
        break;
    case FORM_COMPARISON:
        if (!is_enum(a, "NOTYPE"))
            add(c, name, a);
        break;
    case FORM_PART:
        break;
    }
}

static bool is_zero(const struct mlir_attr *a)
{
    return a->kind == MLIR_INTEGER && a->integer == 0;
}

/* A dot without an algorithm has attributes that are the type none. */
static bool is_none(const struct mlir_attr *a)
{
    return a->kind == MLIR_TYPE && a->type->kind == MLIR_NONE;
}

static void add_group(struct conversion *c, enum bytecode_group group)
{
    struct mlir_named pair[MEMBERS_MAX];
    bool is_there = false;
    int count = 0;

    for (size_t i = 0; i < COUNT(members); i++) {
        const struct mlir_attr *a = members[i].group == group ? find(c, members[i].name) : NULL;

        if (!a || is_none(a))
            continue;
        is_there = true;
        if (a->kind == MLIR_DENSE)
            a = ints_of(c, members[i].name, a);
        if (group == BYTECODE_GROUP_CONV || !(is_empty(a) || is_zero(a)))
            pair[count++] = (struct mlir_named){members[i].name, a};
    }
    if (is_there && !bytecode_is_failed(c->s))
        add(c, groups[group].attribute,
            mlir_dialect(c->r->arena, groups[group].name, "", 0, count, pair));
}

static enum form form_of(const char *name)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        if (strcmp(forms[i].name, name) == 0)
            return forms[i].form;
    }
    return FORM_SAME;
}

static bool is_inherent(const struct bytecode_op *op, const char *name)
{
    for (int i = 0; i < op->attr_count; i++) {
        if (strcmp(op->attr[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_vhlo(const struct bytecode_op *op)
{
    return strncmp(op->name, "vhlo.", strlen("vhlo.")) == 0;
}

const struct mlir_named *bytecode_convert(struct bytecode_reader *r, struct bytecode_stream *s,
                                          const struct bytecode_op *op,
                                          const struct mlir_named *named, int count, int *made)
{
    struct conversion c = {.r = r, .s = s, .op = op, .from = named, .from_count = count};
    size_t room = (size_t)count + 2;

    *made = 0;
    if (bytecode_is_failed(s) || !bytecode_spend(r, s, room * sizeof(*named)))
        return NULL;
    c.to = arena_array(r->arena, room, sizeof(*named));
    if (op->group != BYTECODE_GROUP_NONE)
        add_group(&c, op->group);
    if (op->group == BYTECODE_GROUP_DOT)
        add_group(&c, BYTECODE_GROUP_ALGORITHM);
    for (int i = 0; i < count; i++) {
        bool is_plain = !is_vhlo(op) || !is_inherent(op, named[i].name);

        if (is_plain || !is_member(&c, named[i].name))
            add_one(&c, named[i].name, named[i].attr,
                    is_plain ? FORM_SAME : form_of(named[i].name));
    }
    *made = c.to_count;
    return c.to;
}
