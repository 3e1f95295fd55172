/* How far two arrays are from each other, relative to the second one's largest magnitude. */
#include "cli/exec/tensor.h"

#include <math.h>

/* one number of an element; complex ones have two */
static void compare_numbers(struct exec_difference *d, enum hlo_element e, const void *x,
                            const void *y, int64_t element)
{
    double a = hlo_element_load(e, x), b = hlo_element_load(e, y), apart = fabs(a - b);

    if (isfinite(b))
        d->magnitude = fmax(d->magnitude, fabs(b));
    if (a == b || (isnan(a) && isnan(b)))
        return;
    d->unequal++;
    if (!isfinite(apart))
        apart = INFINITY;
    if (apart > d->largest || d->worst < 0) {
        d->largest = apart;
        d->worst = element;
    }
}

struct exec_difference exec_compare(const struct exec_tensor *a, const struct exec_tensor *b)
{
    enum hlo_element e = a->type.element;
    size_t bytes = hlo_element_bytes(e);
    int parts = hlo_element_is_complex(e) ? 2 : 1;
    enum hlo_element part = e == ELEMENT_C64 ? ELEMENT_F32 : e == ELEMENT_C128 ? ELEMENT_F64 : e;
    struct exec_difference d = {.worst = -1, .elements = hlo_type_elements(&a->type),
                                .is_exact_type = !hlo_element_is_float(part)};

    for (int64_t i = 0; i < d.elements; i++) {
        for (int p = 0; p < parts; p++) {
            size_t at = (size_t)i * bytes + (size_t)p * bytes / (size_t)parts;

            compare_numbers(&d, part, (const char *)a->data + at, (const char *)b->data + at, i);
        }
    }
    d.relative = d.magnitude > 0 ? d.largest / d.magnitude : d.largest;
    return d;
}
