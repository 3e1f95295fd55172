/* Types and attributes as MLIR writes them. */
#include "import/mlir/print.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mlir_print_string(FILE *to, struct mlir_text t)
{
    fputc('"', to);
    for (size_t i = 0; i < t.bytes; i++) {
        unsigned char c = (unsigned char)t.data[i];
        if (c == '"' || c == '\\') fprintf(to, "\\%c", c);
        else if (c >= ' ' && c < 127) fputc(c, to);
        else fprintf(to, "\\%02X", c);
    }
    fputc('"', to);
}

static void print_types(FILE *to, int count, const struct mlir_type *const *t)
{
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", to);
        mlir_print_type(to, t[i]);
    }
}

static void print_shaped(FILE *to, const struct mlir_type *t, const char *kind)
{
    fprintf(to, "%s<%s", kind, t->is_ranked ? "" : "*x");
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] == HLO_UNBOUNDED) fputs("?x", to);
        else fprintf(to, "%lldx", (long long)t->dim[i]);
    }
    mlir_print_type(to, t->item);
    if (t->encoding) {
        fputs(", ", to);
        mlir_print_attr(to, t->encoding);
    }
    fputc('>', to);
}

void mlir_print_type(FILE *to, const struct mlir_type *t)
{
    switch (t->kind) {
    case MLIR_TENSOR: print_shaped(to, t, "tensor"); return;
    case MLIR_VECTOR: print_shaped(to, t, "vector"); return;
    case MLIR_MEMREF: print_shaped(to, t, "memref"); return;
    case MLIR_TOKEN: fputs("!stablehlo.token", to); return;
    case MLIR_NONE: fputs("none", to); return;
    case MLIR_TUPLE:
        fputs("tuple<", to);
        print_types(to, t->part_count, t->part);
        fputc('>', to);
        return;
    case MLIR_FUNCTION:
        fputc('(', to);
        print_types(to, t->part_count, t->part);
        fputs(") -> (", to);
        print_types(to, t->result_count, t->result);
        fputc(')', to);
        return;
    default: fwrite(t->text.data, 1, t->text.bytes, to);
    }
}

/* digits that are read back as the same number, with a point or an exponent in them */
static void print_double(FILE *to, double v)
{
    char buf[64];

    for (int digits = 6; digits <= 17; digits++) {
        text_print(buf, sizeof(buf), "%.*e", digits, v);
        if (text_to_double(buf, NULL) == v) break;
    }
    fputs(buf, to);
}

static void print_bits(FILE *to, enum hlo_element e, const void *at)
{
    const unsigned char *p = at;
    fputs("0x", to);
    for (size_t i = hlo_element_bytes(e); i > 0; i--) fprintf(to, "%02X", p[i - 1]);
}

static void print_real(FILE *to, enum hlo_element e, const void *at)
{
    double v = hlo_element_load(e, at);
    if (isfinite(v)) print_double(to, v);
    else print_bits(to, e, at);
}

static void print_element(FILE *to, enum hlo_element e, const void *at)
{
    if (e == ELEMENT_PRED) {
        fputs(*(const unsigned char *)at ? "true" : "false", to);
    } else if (hlo_element_is_complex(e)) {
        enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;
        fputc('(', to);
        print_real(to, part, at);
        fputs(", ", to);
        print_real(to, part, (const char *)at + hlo_element_bytes(part));
        fputc(')', to);
    } else if (hlo_element_is_float(e)) {
        print_real(to, e, at);
    } else if (hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED) {
        fprintf(to, "%llu", (unsigned long long)hlo_element_load_int(e, at));
    } else {
        fprintf(to, "%lld", (long long)hlo_element_load_int(e, at));
    }
}

static const char *print_list(FILE *to, const struct mlir_type *t, enum hlo_element e, int dim,
                              const char *at)
{
    if (dim == t->rank) {
        print_element(to, e, at);
        return at + hlo_element_bytes(e);
    }
    fputc('[', to);
    for (int64_t i = 0; i < t->dim[dim]; i++) {
        if (i) fputs(", ", to);
        at = print_list(to, t, e, dim + 1, at);
    }
    fputc(']', to);
    return at;
}

#define LISTED_MAX 100                  /* more elements are hexadecimal digits, as MLIR has them */

void mlir_print_elements(FILE *to, const struct mlir_type *t, const void *data, bool is_splat)
{
    enum hlo_element e = t->item->element == ELEMENT_COUNT ? ELEMENT_S64 : t->item->element;
    int64_t n = mlir_type_elements(t);
    const unsigned char *bytes = data;

    if (n > 0 && !data) {
        fputs("dense_resource<__elided__>", to);        /* a resource that no file has */
        return;
    }
    fputs("dense<", to);
    if (n == 0) {
    } else if (is_splat) {
        print_element(to, e, data);
    } else if (n <= LISTED_MAX) {
        print_list(to, t, e, 0, data);
    } else {
        fputs("\"0x", to);
        for (size_t i = 0; i < (size_t)n * hlo_element_bytes(e); i++) fprintf(to, "%02X", bytes[i]);
        fputc('"', to);
    }
    fputc('>', to);
}

static void print_symbol(FILE *to, struct mlir_text t)
{
    bool is_plain = t.bytes > 0;
    for (size_t i = 0; i < t.bytes; i++)
        is_plain = is_plain && (isalnum((unsigned char)t.data[i]) || strchr("_$.-", t.data[i]));
    fputc('@', to);
    if (is_plain) fwrite(t.data, 1, t.bytes, to);
    else mlir_print_string(to, t);
}

void mlir_print_key(FILE *to, const char *name)
{
    bool is_plain = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *p = name; *p; p++)
        is_plain = is_plain && (isalnum((unsigned char)*p) || strchr("_$.", *p));
    if (is_plain) fputs(name, to);
    else mlir_print_string(to, (struct mlir_text){name, strlen(name)});
}

static void print_named(FILE *to, const struct mlir_attr *a)
{
    for (int i = 0; i < a->count; i++) {
        if (i) fputs(", ", to);
        mlir_print_key(to, a->named[i].name);
        if (a->named[i].attr->kind == MLIR_UNIT) continue;
        fputs(" = ", to);
        mlir_print_attr(to, a->named[i].attr);
    }
}

static void print_ints(FILE *to, const struct mlir_attr *a)
{
    bool is_bool = a->type && mlir_text_is(a->type->text, "i1");
    fputs("array<", to);
    if (a->type) mlir_print_type(to, a->type);
    else fputs("i64", to);
    for (int i = 0; i < a->count; i++) {
        fputs(i ? ", " : ": ", to);
        if (is_bool) fputs(a->ints[i] ? "true" : "false", to);
        else fprintf(to, "%lld", (long long)a->ints[i]);
    }
    fputc('>', to);
}

static void print_float(FILE *to, const struct mlir_attr *a)
{
    bool is_known = a->type && a->type->element != ELEMENT_COUNT;
    if (isfinite(a->number) || !is_known) {
        print_double(to, a->number);
    } else {
        unsigned char bits[16];
        hlo_element_store(a->type->element, a->number, bits);
        print_bits(to, a->type->element, bits);
    }
    fputs(" : ", to);
    if (a->type) mlir_print_type(to, a->type);
    else fputs("f64", to);
}

/* a parameter's value: lists and numbers without their types */
static void print_param(FILE *to, const struct mlir_attr *a)
{
    if (a->kind == MLIR_INTEGER) {
        fprintf(to, "%lld", (long long)a->integer);
    } else if (a->kind == MLIR_FLOAT && isfinite(a->number)) {
        print_double(to, a->number);
    } else if (a->kind == MLIR_INTS) {
        mlir_print_int_list(to, a);
    } else {
        mlir_print_attr(to, a);
    }
}

void mlir_print_int_list(FILE *to, const struct mlir_attr *a)
{
    fputc('[', to);
    for (int i = 0; i < a->count; i++) fprintf(to, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
    fputc(']', to);
}

void mlir_print_params(FILE *to, const struct mlir_attr *a)
{
    for (int i = 0; i < a->count; i++) {
        fprintf(to, "%s%s = ", i ? ", " : "", a->named[i].name);
        print_param(to, a->named[i].attr);
    }
}

static int64_t number_of(const struct mlir_attr *a, const char *name)
{
    const struct mlir_attr *n = mlir_attr_find(a, name);
    return n && n->kind == MLIR_INTEGER ? n->integer : -1;
}

/* `[b, 0, 1, f]`: at each place the letter or the number of the spatial dimension */
static void print_conv_list(FILE *to, const struct mlir_attr *a, const char *first,
                            const char *second, const char *spatial, const char *letters)
{
    const struct mlir_attr *s = mlir_attr_find(a, spatial);
    int count = 2 + (s ? s->count : 0);

    fputc('[', to);
    for (int place = 0; place < count; place++) {
        if (place) fputs(", ", to);
        if (place == number_of(a, first)) fputc(letters[0], to);
        else if (place == number_of(a, second)) fputc(letters[1], to);
        for (int i = 0; s && i < s->count; i++)
            if (s->ints[i] == place) fprintf(to, "%d", i);
    }
    fputc(']', to);
}

void mlir_print_conv_dims(FILE *to, const struct mlir_attr *a)
{
    print_conv_list(to, a, "input_batch_dimension", "input_feature_dimension",
                    "input_spatial_dimensions", "bf");
    fputc('x', to);
    print_conv_list(to, a, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                    "kernel_spatial_dimensions", "io");
    fputs("->", to);
    print_conv_list(to, a, "output_batch_dimension", "output_feature_dimension",
                    "output_spatial_dimensions", "bf");
}

/* `?, 12` */
static void print_bounds(FILE *to, const struct mlir_attr *a)
{
    for (int i = 0; i < a->count; i++) {
        if (i) fputs(", ", to);
        if (a->ints[i] == HLO_UNBOUNDED) fputc('?', to);
        else fprintf(to, "%lld", (long long)a->ints[i]);
    }
}

static void print_dialect(FILE *to, const struct mlir_attr *a)
{
    const struct mlir_attr *bounds = mlir_attr_find(a, "bounds");

    fprintf(to, "#%s", a->name);
    if (a->count == 0 && a->text.bytes == 0) return;
    fputc('<', to);
    if (!strcmp(a->name, "stablehlo.conv") && a->count) {
        mlir_print_conv_dims(to, a);
    } else if (!strcmp(a->name, "stablehlo.bounds") && bounds) {
        print_bounds(to, bounds);
    } else if (bounds) {
        fputs("bounds = [", to);
        print_bounds(to, bounds);
        fputc(']', to);
    } else if (a->count) {
        mlir_print_params(to, a);
    } else {
        fwrite(a->text.data, 1, a->text.bytes, to);
    }
    fputc('>', to);
}

static void print_location(FILE *to, const struct mlir_attr *a)
{
    switch (a->location) {
    case MLIR_LOCATION_FILE:
        mlir_print_string(to, a->text);
        fprintf(to, ":%d:%d", a->line, a->col);
        if (a->end_line) fprintf(to, " to %d:%d", a->end_line, a->end_col);
        return;
    case MLIR_LOCATION_NAME:
        mlir_print_string(to, a->text);
        if (a->count == 0) return;
        fputc('(', to);
        print_location(to, a->item[0]);
        fputc(')', to);
        return;
    case MLIR_LOCATION_CALL:
        fputs("callsite(", to);
        print_location(to, a->item[0]);
        fputs(" at ", to);
        print_location(to, a->item[1]);
        fputc(')', to);
        return;
    case MLIR_LOCATION_FUSED:
        fputs("fused[", to);
        for (int i = 0; i < a->count; i++) {
            if (i) fputs(", ", to);
            print_location(to, a->item[i]);
        }
        fputc(']', to);
        return;
    default: fputs("unknown", to);
    }
}

void mlir_print_location(FILE *to, const struct mlir_attr *a)
{
    fputs("loc(", to);
    print_location(to, a);
    fputc(')', to);
}

void mlir_print_attr(FILE *to, const struct mlir_attr *a)
{
    switch (a->kind) {
    case MLIR_UNIT: fputs("unit", to); return;
    case MLIR_BOOL: fputs(a->integer ? "true" : "false", to); return;
    case MLIR_INTEGER:
        fprintf(to, "%lld : ", (long long)a->integer);
        if (a->type) mlir_print_type(to, a->type);
        else fputs("i64", to);
        return;
    case MLIR_FLOAT: print_float(to, a); return;
    case MLIR_STRING: mlir_print_string(to, a->text); return;
    case MLIR_SYMBOL: print_symbol(to, a->text); return;
    case MLIR_ARRAY:
        fputc('[', to);
        for (int i = 0; i < a->count; i++) {
            if (i) fputs(", ", to);
            mlir_print_attr(to, a->item[i]);
        }
        fputc(']', to);
        return;
    case MLIR_DICTIONARY:
        fputc('{', to);
        print_named(to, a);
        fputc('}', to);
        return;
    case MLIR_TYPE: mlir_print_type(to, a->type); return;
    case MLIR_DENSE:
        mlir_print_elements(to, a->type, a->data, a->is_splat);
        fputs(" : ", to);
        mlir_print_type(to, a->type);
        return;
    case MLIR_INTS: print_ints(to, a); return;
    case MLIR_ENUM: {
        const char *dot = strchr(a->name, '.');
        fprintf(to, "#%.*s<%s %s>", (int)(dot - a->name), a->name, dot + 1, a->text.data);
        return;
    }
    case MLIR_DIALECT: print_dialect(to, a); return;
    case MLIR_LOCATION: mlir_print_location(to, a); return;
    case MLIR_RAW: fwrite(a->text.data, 1, a->text.bytes, to); return;
    }
}

const char *mlir_attr_text(struct arena *a, const struct mlir_attr *attr)
{
    char *text;
    size_t bytes;
    FILE *to = text_memory(&text, &bytes);

    mlir_print_attr(to, attr);
    text_memory_end(to, &text);
    const char *copy = arena_strdup(a, text);
    free(text);
    return copy;
}
