/*
 * Attributes of Shardy (sdy) in bytecode: shardings by axes of a mesh. The tree keeps them as the
 * text that MLIR writes between < and >, so each entry becomes a text made of those of its parts.
 */
#include "import/bytecode/attr.h"

#include "base/text.h"

#include <string.h>

/* A list of entries, each with something around it: {"x", "y"}, [{"x"}, {}] */
static void write_list(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to,
                       const char *before, const char *after)
{
    int count;
    const struct mlir_attr *const *item = bytecode_attrs(r, s, &count);

    for (int i = 0; i < count; i++) {
        if (!bytecode_spend(r, s, item[i]->text.bytes))
            return;
        text_print_file(to, "%s%s%s%s", i ? ", " : "", before,
                        item[i]->text.data ? item[i]->text.data : "", after);
    }
}

static void write_string(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    struct bytecode_string name = bytecode_read_string(&r->file, s);

    if (bytecode_spend(r, s, name.bytes))
        text_print_file(to, "\"%s\"", name.text);
}

static void write_mesh_axis(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    write_string(r, s, to);
    text_print_file(to, "=%lld", (long long)bytecode_svarint(s));
}

static void write_numbers(struct bytecode_stream *s, FILE *to)
{
    size_t count = bytecode_count(s, "numbers");

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++)
        text_print_file(to, "%s%lld", i ? ", " : "", (long long)bytecode_svarint(s));
}

static void write_mesh(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    struct bytecode_stream ids;

    fputc('[', to);
    write_list(r, s, to, "", "");
    fputc(']', to);
    ids = *s;
    if (bytecode_varint(&ids) == 0) {
        bytecode_varint(s);
        return;
    }
    fputs(", device_ids=[", to);
    write_numbers(s, to);
    fputc(']', to);
}

static void write_sub_axis(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    long long before = bytecode_svarint(s);

    (void)r;
    text_print_file(to, "(%lld)%lld", before, (long long)bytecode_svarint(s));
}

static void write_axis(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    const struct mlir_attr *part;

    write_string(r, s, to);
    part = bytecode_attr_or_null(r, s);
    if (part && part->kind == MLIR_DIALECT)
        text_print_file(to, ":%s", part->text.data);
}

static void write_axes(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    fputc('{', to);
    write_list(r, s, to, "", "");
    fputc('}', to);
}

static void write_quoted_axes(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    fputc('{', to);
    write_list(r, s, to, "\"", "\"");
    fputc('}', to);
}

/* Axes of one dimension; `?` where more may come, pN the order in which they do. */
static void write_dim(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    struct bytecode_stream peek = *s;
    bool has_axes = bytecode_varint(&peek) != 0, has_priority;
    uint64_t priority;

    fputc('{', to);
    write_list(r, s, to, "", "");
    if (!bytecode_byte(s))
        fputs(has_axes ? ", ?}" : "?}", to);
    else
        fputc('}', to);
    priority = bytecode_flagged(s, &has_priority);
    if (has_priority)
        text_print_file(to, "p%llu", (unsigned long long)priority);
}

/* axes under a name, which is not written where there are none */
static void write_more_axes(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to,
                            const char *name)
{
    struct bytecode_stream peek = *s;

    if (bytecode_varint(&peek) == 0) {
        bytecode_varint(s);
        return;
    }
    text_print_file(to, ", %s=", name);
    write_axes(r, s, to);
}

static void write_sharding(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    const struct mlir_attr *mesh = bytecode_attr(r, s);

    if (!bytecode_spend(r, s, mesh->text.bytes))
        return;
    if (mesh->kind == MLIR_SYMBOL)
        text_print_file(to, "@%s, [", mesh->text.data);
    else
        text_print_file(to, "mesh<%s>, [", mesh->text.data ? mesh->text.data : "");
    write_list(r, s, to, "", "");
    fputc(']', to);
    write_more_axes(r, s, to, "replicated");
}

static void write_unreduced(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    write_sharding(r, s, to);
    write_more_axes(r, s, to, "unreduced");
}

/* with the operation that would reduce it, which no text has: it is the sum */
static void write_reduced_by(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    write_unreduced(r, s, to);
    bytecode_svarint(s);
}

static void write_per_value(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    fputc('[', to);
    write_list(r, s, to, "<", ">");
    fputc(']', to);
}

/* factors of a rule: i, j, .. z, z_1, .. */
static void write_factor(FILE *to, int64_t factor)
{
    static const int64_t letters = 'z' - 'i' + 1;

    if (factor < letters)
        text_print_file(to, "%c", (int)('i' + factor));
    else
        text_print_file(to, "z_%lld", (long long)(factor - letters + 1));
}

static void write_factors(struct bytecode_stream *s, FILE *to, const char *between)
{
    size_t count = bytecode_count(s, "factors");

    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        int64_t factor = bytecode_svarint(s);

        fputs(i ? between : "", to);
        if (factor < 0)
            bytecode_fail(s, "factor %lld of a rule", (long long)factor);
        else
            write_factor(to, factor);
    }
}

static void write_dim_mapping(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    (void)r;
    write_factors(s, to, "");
}

static void write_mapping(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    fputc('[', to);
    write_list(r, s, to, "", "");
    fputc(']', to);
}

/* The sizes of the factors stand first in the file and behind the mappings in the text. */
static void write_rule(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    static const char *const kind[] = {"reduction", "need_replication", "permutation",
                                       "blocked_propagation"};
    size_t count = bytecode_count(s, "factors");
    struct bytecode_stream sizes = *s;

    for (size_t i = 0; i < count; i++)
        bytecode_svarint(s);
    fputc('(', to);
    write_list(r, s, to, "", "");
    fputs(")->(", to);
    write_list(r, s, to, "", "");
    fputs(") {", to);
    for (size_t i = 0; i < count && !bytecode_is_failed(s); i++) {
        fputs(i ? ", " : "", to);
        write_factor(to, (int64_t)i);
        text_print_file(to, "=%lld", (long long)bytecode_svarint(&sizes));
    }
    fputc('}', to);
    for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
        struct bytecode_stream peek = *s;
        bool has_any = bytecode_varint(&peek) != 0;

        if (has_any)
            text_print_file(to, " %s={", kind[k]);
        write_factors(s, to, ", ");
        fputs(has_any ? "}" : "", to);
    }
    fputs(bytecode_byte(s) ? ", custom" : "", to);
}

static void write_lists(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    fputc('[', to);
    write_list(r, s, to, "", "");
    fputc(']', to);
}

/* axes that move from one dimension to another */
static void write_all_to_all(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to)
{
    long long from;

    write_axes(r, s, to);
    from = bytecode_svarint(s);
    text_print_file(to, ": %lld->%lld", from, (long long)bytecode_svarint(s));
}

static const struct sdy_attr {
    const char *name;
    void (*write)(struct bytecode_reader *r, struct bytecode_stream *s, FILE *to);
} sdy_attrs[] = {                       /* by code */
    {"sdy.manual_axes", write_quoted_axes},
    {"sdy.mesh_axis", write_mesh_axis},
    {"sdy.mesh", write_mesh},
    {"sdy.sub_axis_info", write_sub_axis},
    {"sdy.axis_ref", write_axis},
    {"sdy.dimension_sharding", write_dim},
    {"sdy.sharding", write_sharding},
    {"sdy.sharding_per_value", write_per_value},
    {"sdy.dim_mapping", write_dim_mapping},
    {"sdy.tensor_mapping", write_mapping},
    {"sdy.op_sharding_rule", write_rule},
    {"sdy.axis_ref_list", write_axes},
    {"sdy.list_of_axis_ref_lists", write_lists},
    {"sdy.all_to_all_param", write_all_to_all},
    {"sdy.all_to_all_param_list", write_lists},
    {"sdy.sharding", write_unreduced},
    {"sdy.sharding_per_value", write_per_value},
    {"sdy.sharding", write_reduced_by},
};

const struct mlir_attr *bytecode_sdy_attr(struct bytecode_reader *r, struct bytecode_stream *s)
{
    uint64_t code = bytecode_varint(s);
    struct bytecode_writer w;

    if (code >= sizeof(sdy_attrs) / sizeof(sdy_attrs[0])) {
        bytecode_fail(s, "attribute code %llu of sdy is not known", (unsigned long long)code);
        return NULL;
    }
    bytecode_write(&w);
    sdy_attrs[code].write(r, s, w.to);
    return bytecode_written_attr(r, s, &w, sdy_attrs[code].name);
}
