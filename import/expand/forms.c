/* Elements as parts: which arrays stand for an array of one type, and their values on the host. */
#include "import/expand/expand.h"

#include <math.h>
#include <string.h>

struct form_row { enum expand_form form; enum hlo_element part; int parts; };

static const struct form_row form_table[ELEMENT_COUNT] = {
    [ELEMENT_S1] = {EXPAND_WIDE, ELEMENT_S8, 1},    [ELEMENT_U1] = {EXPAND_WIDE, ELEMENT_U8, 1},
    [ELEMENT_S2] = {EXPAND_WIDE, ELEMENT_S8, 1},    [ELEMENT_U2] = {EXPAND_WIDE, ELEMENT_U8, 1},
    [ELEMENT_S4] = {EXPAND_WIDE, ELEMENT_S8, 1},    [ELEMENT_U4] = {EXPAND_WIDE, ELEMENT_U8, 1},
    [ELEMENT_S16] = {EXPAND_WIDE, ELEMENT_S32, 1},  [ELEMENT_U16] = {EXPAND_WIDE, ELEMENT_U32, 1},
    [ELEMENT_F16] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F4E2M1FN] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F6E2M3FN] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F6E3M2FN] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E3M4] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E4M3] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E4M3FN] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E4M3B11FNUZ] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E4M3FNUZ] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E5M2] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E5M2FNUZ] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_F8E8M0FNU] = {EXPAND_WIDE, ELEMENT_F32, 1},
    [ELEMENT_S64] = {EXPAND_WORDS, ELEMENT_U32, 2}, [ELEMENT_U64] = {EXPAND_WORDS, ELEMENT_U32, 2},
    [ELEMENT_C64] = {EXPAND_COMPLEX, ELEMENT_F32, 2},
    [ELEMENT_F64] = {EXPAND_SUM, ELEMENT_F32, 2},
    [ELEMENT_C128] = {EXPAND_COMPLEX_SUM, ELEMENT_F32, 4},
};

enum expand_form expand_form_of(enum hlo_element e, enum hlo_element *part, int *parts)
{
    struct form_row row = form_table[e];

    *part = row.form == EXPAND_SAME ? e : row.part;
    *parts = row.form == EXPAND_SAME ? 1 : row.parts;
    return row.form;
}

/* the rest of a number that is infinite, or none, is 0 */
static void split_sum(double x, float *head, float *tail)
{
    *head = (float)x;
    *tail = isfinite(*head) ? (float)(x - *head) : 0;
}

static void widen(enum hlo_element from, const char *x, enum hlo_element to, char *y)
{
    if (hlo_element_is_float(from))
        hlo_element_store(to, hlo_element_load(from, x), y);
    else
        hlo_element_store_int(to, hlo_element_load_int(from, x), y);
}

void expand_split(enum hlo_element e, int64_t count, const void *from, void *const *part)
{
    enum hlo_element element;
    size_t bytes = hlo_element_bytes(e), part_bytes;
    int parts;
    enum expand_form form = expand_form_of(e, &element, &parts);

    part_bytes = hlo_element_bytes(element);
    for (int64_t i = 0; i < count; i++) {
        const char *x = (const char *)from + (size_t)i * bytes;
        double number[2];
        float *sum[4] = {NULL};

        for (int k = 0; k < parts; k++)
            sum[k] = (float *)(void *)((char *)part[k] + (size_t)i * part_bytes);
        if (form == EXPAND_SUM || form == EXPAND_COMPLEX_SUM) {
            memcpy(number, x, bytes);
            for (int k = 0; k < parts; k += 2)
                split_sum(number[k / 2], sum[k], sum[k + 1]);
        } else if (form == EXPAND_WIDE) {
            widen(e, x, element, (char *)sum[0]);
        } else {
            for (int k = 0; k < parts; k++)     /* the host has low words and real parts first */
                memcpy(sum[k], x + (size_t)k * part_bytes, part_bytes);
        }
    }
}

void expand_join(enum hlo_element e, int64_t count, const void *const *part, void *to)
{
    enum hlo_element element;
    size_t bytes = hlo_element_bytes(e), part_bytes;
    int parts;
    enum expand_form form = expand_form_of(e, &element, &parts);

    part_bytes = hlo_element_bytes(element);
    for (int64_t i = 0; i < count; i++) {
        char *y = (char *)to + (size_t)i * bytes;
        size_t at = (size_t)i * part_bytes;

        if (form == EXPAND_SUM || form == EXPAND_COMPLEX_SUM) {
            for (int k = 0; k < parts; k += 2) {
                double sum = (double)((const float *)part[k])[i] + (double)((const float *)part[k + 1])[i];

                memcpy(y + (size_t)(k / 2) * sizeof(sum), &sum, sizeof(sum));
            }
        } else if (form == EXPAND_WIDE) {
            widen(element, (const char *)part[0] + at, e, y);
        } else {
            for (int k = 0; k < parts; k++)
                memcpy(y + (size_t)k * part_bytes, (const char *)part[k] + at, part_bytes);
        }
    }
}
