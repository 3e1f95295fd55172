/* Prints literals: as few digits as give the same elements when they are read again. */
#include "import/hlo_text/printer.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ELIDED_ABOVE 10

/* The bits of a NaN's fraction, where its type has several; the usual one is "nan" alone. */
static void print_nan(struct hlo_printer *p, enum hlo_element e, const void *element)
{
    size_t bytes = hlo_element_bytes(e);
    uint64_t code = 0, usual = 0, infinity = 0;
    bool is_negative;

    memcpy(&code, element, bytes);
    hlo_element_store(e, (double)NAN, &usual);
    is_negative = code != usual && signbit(hlo_element_load(e, element));
    if (is_negative)
        hlo_element_store(e, copysign((double)NAN, -1), &usual);
    fputs(is_negative ? "-nan" : "nan", p->to);
    if (code == usual)
        return;
    hlo_element_store(e, is_negative ? -(double)INFINITY : (double)INFINITY, &infinity);
    if (isinf(hlo_element_load(e, &infinity)))
        fprintf(p->to, "(0x%" PRIx64 ")", code & ~infinity);
}

static void print_float(struct hlo_printer *p, enum hlo_element e, const void *element)
{
    double value = hlo_element_load(e, element);
    size_t bytes = hlo_element_bytes(e);
    uint64_t code = 0, again;
    char digits[40];

    if (isnan(value)) {
        print_nan(p, e, element);
        return;
    }
    if (isinf(value)) {
        fputs(value < 0 ? "-inf" : "inf", p->to);
        return;
    }
    memcpy(&code, element, bytes);
    for (int precision = bytes == 8 ? 15 : 6; precision <= 17; precision++) {
        text_print(digits, sizeof(digits), "%.*g", precision, value);
        again = 0;
        hlo_element_store(e, text_to_double(digits, NULL), &again);
        if (again == code)
            break;
    }
    fputs(digits, p->to);
}

void hlo_print_element(struct hlo_printer *p, enum hlo_element e, const void *element)
{
    if (hlo_element_is_complex(e)) {
        enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : ELEMENT_F64;

        fputc('(', p->to);
        print_float(p, part, element);
        fputs(", ", p->to);
        print_float(p, part, (const char *)element + hlo_element_bytes(part));
        fputc(')', p->to);
    } else if (hlo_element_is_float(e)) {
        print_float(p, e, element);
    } else if (hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED) {
        fprintf(p->to, "%" PRIu64, (uint64_t)hlo_element_load_int(e, element));
    } else {
        fprintf(p->to, "%" PRId64, hlo_element_load_int(e, element));
    }
}

/* elements of one row of dimension `dim`, `*at` being the first of them */
static void print_row(struct hlo_printer *p, const struct hlo_literal *l, int dim, int64_t *at)
{
    if (dim == l->type.rank) {
        hlo_print_element(p, l->type.element, hlo_literal_at(l, (*at)++));
        return;
    }
    fputc('{', p->to);
    for (int64_t n = 0; n < l->type.dim[dim]; n++) {
        if (n)
            fputs(", ", p->to);
        print_row(p, l, dim + 1, at);
    }
    fputc('}', p->to);
}

static bool is_elided(const struct hlo_printer *p, const struct hlo_literal *l)
{
    return p->options->no_large_constants && hlo_type_elements(&l->type) > ELIDED_ABOVE;
}

void hlo_print_literal(struct hlo_printer *p, const struct hlo_literal *l)
{
    int64_t at = 0;

    if (l->type.element == ELEMENT_TUPLE) {
        fputc('(', p->to);
        for (int n = 0; n < l->type.part_count; n++) {
            if (n)
                fputs(", ", p->to);
            hlo_print_literal(p, &l->part[n]);
        }
        fputc(')', p->to);
    } else if ((!l->data && hlo_type_elements(&l->type) > 0) || is_elided(p, l)) {
        fputs("{...}", p->to);
    } else if (l->type.element == ELEMENT_PRED && l->type.rank == 0) {
        fputs(hlo_element_load_int(ELEMENT_PRED, l->data) ? "true" : "false", p->to);
    } else {
        print_row(p, l, 0, &at);
    }
}
