/* Pretty forms, read by the table forms.def. */
#include "import/mlir/text.h"

#include "base/text.h"

#include <string.h>

struct hook {
    const char *name;
    int (*read)(struct mlir_reader *r, struct mlir_draft *d);
};
static const struct hook hooks[] = {
#define HOOK(name, attributes) {#name, mlir_form_##name},
#include "import/mlir/forms_hooks.def"
};

static const struct mlir_attr *read_precisions(struct mlir_reader *r)
{
    size_t mark = r->items.count;
    struct mlir_span word;

    if (mlir_expect(r, "[")) return NULL;
    while (!mlir_peek(r, "]")) {
        if ((r->items.count > mark && mlir_expect(r, ",")) || mlir_read_word(r, &word)) return NULL;
        const char *name = mlir_text_copy(r->arena, word.data, word.bytes).data;
        MLIR_PUSH(r->items, mlir_enum(r->arena, "stablehlo.precision", name));
    }
    const struct mlir_attr *made =
        mlir_array(r->arena, (int)(r->items.count - mark), r->items.item + mark);
    r->items.count = mark;
    return mlir_expect(r, "]") ? NULL : made;
}

static const struct mlir_attr *read_integer(struct mlir_reader *r, const char *type)
{
    int64_t value;
    if (mlir_read_int(r, &value)) return NULL;
    return mlir_integer(r->arena, value, mlir_scalar_type(r->arena, type, strlen(type)));
}

static const struct mlir_attr *read_text(struct mlir_reader *r, struct mlir_word kind)
{
    struct mlir_text text;
    struct mlir_span word;

    if (mlir_word_is(kind, "string")) {
        if (mlir_read_string(r, &text)) return NULL;
        return mlir_string(r->arena, text.data, text.bytes);
    }
    if (mlir_word_is(kind, "word")) {
        if (mlir_read_word(r, &word)) return NULL;
        return mlir_string(r->arena, word.data, word.bytes);
    }
    if (mlir_read_symbol(r, &text)) return NULL;
    return mlir_word_is(kind, "name") ? mlir_string(r->arena, text.data, text.bytes)
                                 : mlir_symbol(r->arena, text.data, text.bytes);
}

static const struct mlir_attr *read_enum(struct mlir_reader *r, struct mlir_word kind)
{
    struct mlir_span word;
    size_t skip = strlen("enum/");

    if (mlir_read_word(r, &word)) return NULL;
    const char *name = arena_printf(r->arena, "stablehlo.%.*s", (int)(kind.length - skip),
                                    kind.text + skip);
    return mlir_enum(r->arena, name, mlir_text_copy(r->arena, word.data, word.bytes).data);
}

static const struct mlir_attr *read_algorithm(struct mlir_reader *r)
{
    if (mlir_next_char(r) == '#') return mlir_read_attr(r);
    return mlir_expect(r, "<") ? NULL : mlir_read_params(r, "stablehlo.dot_algorithm", ">");
}

/* `name:kind` */
static int read_value(struct mlir_reader *r, struct mlir_word w)
{
    struct mlir_word kind = mlir_word_kind(w), key = mlir_word_name(w);
    const char *name = mlir_text_copy(r->arena, key.text, key.length).data;
    const struct mlir_attr *a;

    if (mlir_word_is(kind, "ints")) {
        a = mlir_read_ints(r);
    } else if (mlir_word_is(kind, "int")) {
        a = read_integer(r, "i64");
    } else if (mlir_word_is(kind, "i32")) {
        a = read_integer(r, "i32");
    } else if (mlir_word_is(kind, "bool")) {
        bool is_true = mlir_accept(r, "true");
        a = is_true || !mlir_expect(r, "false") ? mlir_bool(r->arena, is_true) : NULL;
    } else if (mlir_word_is(kind, "precisions")) {
        a = read_precisions(r);
    } else if (mlir_word_is(kind, "params")) {
        a = read_algorithm(r);
    } else if (kind.length > 5 && !memcmp(kind.text, "enum/", 5)) {
        a = read_enum(r, kind);
    } else {
        a = read_text(r, kind);
    }
    return mlir_add_attr(r, name, a);
}

/* a comma that no operand follows is not of this list */
static int read_some_operands(struct mlir_reader *r)
{
    if (mlir_next_char(r) != '%') return 0;
    for (;;) {
        const struct mlir_value *v = mlir_read_operand(r);
        if (!v) return -1;
        MLIR_PUSH(r->operands, v);
        const char *back = r->at;
        if (mlir_accept(r, ",") && mlir_next_char(r) == '%') continue;
        r->at = back;
        return 0;
    }
}

static int run_hook(struct mlir_reader *r, struct mlir_draft *d, struct mlir_word w)
{
    size_t i = 0;
    while (!mlir_word_is((struct mlir_word){w.text + 1, w.length - 1}, hooks[i].name)) i++;
    return hooks[i].read(r, d);
}

static int read_one_operand(struct mlir_reader *r)
{
    const struct mlir_value *v = mlir_read_operand(r);
    if (!v) return -1;
    MLIR_PUSH(r->operands, v);
    return 0;
}

static int read_word(struct mlir_reader *r, struct mlir_draft *d, const struct mlir_form *f,
                     struct mlir_word w)
{
    char literal[32];

    if (mlir_word_is(w, "%")) return read_one_operand(r);
    if (mlir_word_is(w, "%*")) return read_some_operands(r);
    if (mlir_word_is(w, "{}")) return mlir_peek(r, "{") ? mlir_read_attr_dict(r) : 0;
    if (mlir_word_is(w, ":?")) return mlir_accept(r, ":") ? mlir_read_signature(r, d, f->results) : 0;
    if (mlir_word_is(w, ":")) return mlir_expect(r, ":") ? -1 : mlir_read_signature(r, d, f->results);
    if (w.text[0] == '!') return run_hook(r, d, w);
    if (mlir_word_is_value(w)) return read_value(r, w);
    memcpy(literal, w.text, w.length);
    literal[w.length] = '\0';
    return mlir_expect(r, literal);
}

static bool accept_word(struct mlir_reader *r, struct mlir_word w)
{
    char literal[32];
    memcpy(literal, w.text, w.length);
    literal[w.length] = '\0';
    return mlir_accept(r, literal);
}

/* Is what may be left out there? Its words up to the first value must be; `text` goes on. */
static bool accept_option(struct mlir_reader *r, const char **text)
{
    const char *back = r->at;
    struct mlir_word w;

    for (const char *p = *text;; p = w.text + w.length) {
        w = mlir_first_word(p);
        if (mlir_word_is_value(w)) {
            *text = w.text;
            return true;
        }
        if (accept_word(r, w)) continue;
        r->at = back;
        *text = strstr(*text, ")?");
        return false;
    }
}

int mlir_read_pretty(struct mlir_reader *r, struct mlir_draft *d)
{
    const struct mlir_form *f = mlir_form_of(d->name);
    struct mlir_word w;

    if (!f)
        return mlir_fail_at(r, d->at, "of operation \"%s\" only the general form, in quotes, can "
                            "be read%s", d->name,
                            mlir_form_nearest(d->name).text);
    for (const char *p = f->text; *p; p = w.text + w.length) {
        w = mlir_first_word(p);
        if (mlir_word_is(w, "(?")) {
            const char *inside = w.text + w.length;
            accept_option(r, &inside);
            w = (struct mlir_word){inside, 0};
        } else if (!mlir_word_is(w, ")?") && read_word(r, d, f, w)) {
            return -1;
        }
    }
    return 0;
}
