/*
 * Orders that sorts compare by: which operands are keys, which comes first, how each is compared.
 * Found by trying the comparison at points that tell one order from another.
 */
#ifndef IMPORT_STRUCTURE_ORDER_H
#define IMPORT_STRUCTURE_ORDER_H
#include "import/program/program.h"

#define ORDER_KEYS_MAX 64

enum order_view {
    ORDER_NUMBER,                       /* by value; NaN above all, zeros of both signs equal */
    ORDER_TOTAL,                        /* IEEE's total order of floats */
    ORDER_OTHER_SIGN,                   /* s32 as if it were u32, or the other way round */
    ORDER_VIEWS
};

struct order_key {
    int operand;
    enum order_view view;
    bool is_falling;
};

struct order {
    int count;                          /* keys, the most significant first */
    struct order_key key[ORDER_KEYS_MAX];
};

/* of a sort's comparison, parameters 2 k and 2 k + 1 being elements of operand k; false: another */
bool order_find(const struct hlo_module *m, int computation, struct order *out);
#endif
