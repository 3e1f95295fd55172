/*
 * Reading MLIR text: what the files text*.c share. One cursor goes over the text; each function
 * reads one thing at it and leaves it behind. What returns a pointer returns NULL after a mistake,
 * what returns int -1; the mistake then stands in the reader's err.
 */
#ifndef IMPORT_MLIR_TEXT_H
#define IMPORT_MLIR_TEXT_H
#include "import/mlir/forms.h"
#include "import/mlir/mlir.h"

struct mlir_span {
    const char *data;
    size_t bytes;
};

/* `#loc3 = ..` or `!t = ..`; read when it is first used, for definitions may stand at the end */
struct mlir_alias {
    struct mlir_span name;              /* with # or ! */
    const char *body;
    const struct mlir_attr *attr;
    const struct mlir_type *type;
    bool is_open;                       /* being read: who asks now asks in a circle */
};

struct mlir_resource {
    struct mlir_span key;
    const char *body;                   /* the opening quote of its digits */
};

/* a value by its name, among those with the same hash */
struct mlir_name {
    struct mlir_span name;
    struct mlir_value *first;           /* the first of `count` results */
    int count;
    int older;                          /* with the same hash; -1: none */
    uint32_t slot;
};

#define MLIR_LIST(type) struct { type *item; size_t count, room; }
#define MLIR_PUSH(list, ...) \
    (((list).item = mem_grow((list).item, &(list).room, (list).count + 1, \
                             sizeof(*(list).item))), \
     (void)((list).item[(list).count++] = (__VA_ARGS__)))

#define MLIR_NAME_SLOTS (1 << 16)

struct mlir_reader {
    struct mlir_tree *tree;
    struct arena *arena;
    struct err *err;
    const char *begin, *end;            /* the text, and where the part that is read ends */
    const char *at;
    const char *line_at;                /* a place whose line is known */
    int line;
    int depth, location_depth;
    bool bare_calls;                    /* ` at #loc2` on a line of its own: of bare locations */

    MLIR_LIST(struct mlir_alias) aliases;
    int *alias_slot;                    /* hash -> index + 1 */
    size_t alias_slots;
    MLIR_LIST(struct mlir_resource) resources;

    MLIR_LIST(struct mlir_name) names;
    int *name_slot;                     /* hash -> newest of names, -1 */
    size_t visible;                     /* names below are of an outer function */

    /* types that were written alike are one */
    MLIR_LIST(struct mlir_typed_span { struct mlir_span text; const struct mlir_type *type; }) types;
    int *type_slot;
    size_t type_slots;

    /* what is being read, innermost last; each reader takes off what it has put on */
    MLIR_LIST(const struct mlir_value *) operands;
    MLIR_LIST(const struct mlir_value *) inits;
    MLIR_LIST(const struct mlir_type *) signature;
    MLIR_LIST(struct mlir_named) attrs;
    MLIR_LIST(const struct mlir_attr *) items;
    MLIR_LIST(int64_t) ints;
    MLIR_LIST(struct mlir_region) regions;
    MLIR_LIST(struct mlir_op *) ops;
    MLIR_LIST(struct mlir_result { struct mlir_span name; int width; }) results;
    MLIR_LIST(struct mlir_value) values;
    MLIR_LIST(struct mlir_span) value_names;
    MLIR_LIST(struct mlir_op *) modules;
};

/* mistakes; both return -1. Places are pointers into the text. */
int mlir_fail(struct mlir_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int mlir_fail_at(struct mlir_reader *r, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void mlir_line_col(struct mlir_reader *r, const char *at, int *line, int *col);
int mlir_enter(struct mlir_reader *r);          /* one level deeper; r->depth-- when left */

/* text_lex.c. All skip blanks and comments first, but mlir_next_char. */
void mlir_skip(struct mlir_reader *r);
char mlir_next_char(struct mlir_reader *r);     /* after blanks; 0 at the end */
bool mlir_peek(struct mlir_reader *r, const char *token);
bool mlir_accept(struct mlir_reader *r, const char *token);     /* words end where they end */
int mlir_expect(struct mlir_reader *r, const char *token);
bool mlir_follows_on_line(struct mlir_reader *r);        /* has its line anything before it? */
int mlir_read_word(struct mlir_reader *r, struct mlir_span *word);      /* a.b$c_1 */
int mlir_read_suffix(struct mlir_reader *r, struct mlir_span *name);    /* behind % # ! ^ @ */
int mlir_read_string(struct mlir_reader *r, struct mlir_text *to);
int mlir_read_symbol(struct mlir_reader *r, struct mlir_text *to);      /* @a::@b -> a::b */
int mlir_read_int(struct mlir_reader *r, int64_t *value);
bool mlir_is_number(struct mlir_reader *r);
/* the end of what is open at `at`, behind its closing bracket; NULL if it never ends */
const char *mlir_balanced_end(struct mlir_reader *r, const char *at);
int mlir_int_of_span(struct mlir_span s, int64_t *value);
uint32_t mlir_hash(const char *data, size_t bytes);
bool mlir_span_is(struct mlir_span s, const char *word);

/* text_type.c */
const struct mlir_type *mlir_read_type(struct mlir_reader *r);
bool mlir_is_type(struct mlir_reader *r);
/* `(t, t)` or `t`, pushed onto r->signature */
int mlir_read_type_list(struct mlir_reader *r);

/* text_attr.c */
const struct mlir_attr *mlir_read_attr(struct mlir_reader *r);
/* `{..}` pushed onto r->attrs, with its braces */
int mlir_read_attr_dict(struct mlir_reader *r);
const struct mlir_attr *mlir_attr_dict(struct mlir_reader *r);
/* `[1, 2]` of integers as a dense array of i64 */
const struct mlir_attr *mlir_read_ints(struct mlir_reader *r);
/* `a = .., b = ..` up to the closing token */
const struct mlir_attr *mlir_read_params(struct mlir_reader *r, const char *name,
                                         const char *close);
/* `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` as #stablehlo.conv<..> */
const struct mlir_attr *mlir_read_conv_dims(struct mlir_reader *r);

/* text_dialect.c: `#stablehlo.dot<..>`, `#stablehlo<precision HIGH>` or an alias */
const struct mlir_attr *mlir_read_dialect_attr(struct mlir_reader *r);

/* text_dense.c: behind `dense`, with or without its type behind it */
const struct mlir_attr *mlir_read_dense(struct mlir_reader *r);
const struct mlir_attr *mlir_read_dense_resource(struct mlir_reader *r);
/* `dense<..> {..} : type`, the braces' pairs pushed onto r->attrs: elements before their type */
const struct mlir_attr *mlir_read_dense_attrs(struct mlir_reader *r);

/* text_location.c: `loc(..)` or a bare form, if there is one; *location NULL: none */
int mlir_read_location(struct mlir_reader *r, const struct mlir_attr **location);
const struct mlir_attr *mlir_read_location_body(struct mlir_reader *r);

/* text_alias.c */
void mlir_find_aliases(struct mlir_reader *r, const char *from, const char *to);
struct mlir_alias *mlir_alias_of(struct mlir_reader *r, struct mlir_span name);
const struct mlir_attr *mlir_alias_attr(struct mlir_reader *r, struct mlir_span name);
const struct mlir_type *mlir_alias_type(struct mlir_reader *r, struct mlir_span name);

/* text_value.c */
size_t mlir_open_scope(struct mlir_reader *r);                  /* for mlir_close_scope */
void mlir_close_scope(struct mlir_reader *r, size_t mark);
int mlir_define(struct mlir_reader *r, struct mlir_span name, struct mlir_value *first, int count);
const struct mlir_value *mlir_read_operand(struct mlir_reader *r);      /* %a, %a#1 */
/* `%a, %b` pushed onto r->operands; none if there is no % */
int mlir_read_operands(struct mlir_reader *r);
int mlir_new_value(struct mlir_reader *r);                      /* an id */

/*
 * An operation as it is read. Marks are where its own entries of the reader's lists begin. Result
 * types are pushed onto r->signature behind signature_mark once the form has read them.
 */
struct mlir_draft {
    const char *name;
    const char *at;                     /* where its name stands */
    int line, col;
    size_t operand_mark, signature_mark, attr_mark, region_mark, result_mark;
    int wanted;                         /* all values that the names of results stand for */
    const struct mlir_attr *location;   /* read by the form already; NULL: not */
};

/* text_op.c */
int mlir_read_op(struct mlir_reader *r);                        /* pushed onto r->ops */
/* operations up to `}` as the one block of a region with these arguments already read */
int mlir_read_block_ops(struct mlir_reader *r, struct mlir_block *b);
int mlir_read_region(struct mlir_reader *r, struct mlir_region *g);     /* `{ [^bb0(..):] ops }` */
/* the same with arguments that stood elsewhere, of which type and location are given */
int mlir_read_region_with(struct mlir_reader *r, struct mlir_region *g, int count,
                          const struct mlir_span *name, const struct mlir_value *argument);
int mlir_add_attr(struct mlir_reader *r, const char *name, const struct mlir_attr *a);
/* `: types [-> types]`; where there is no arrow the results are as `results` says */
int mlir_read_signature(struct mlir_reader *r, struct mlir_draft *d, enum mlir_results results);
int mlir_read_functional(struct mlir_reader *r, struct mlir_draft *d);  /* `(t) -> t` */

/* text_forms.c: the pretty form of the operation, behind its name */
int mlir_read_pretty(struct mlir_reader *r, struct mlir_draft *d);
/* text_hooks.c, text_func.c, text_sdy.c: forms that forms.def has no words for */
#define HOOK(name, attributes) int mlir_form_##name(struct mlir_reader *r, struct mlir_draft *d);
#include "import/mlir/forms_hooks.def"
#endif
