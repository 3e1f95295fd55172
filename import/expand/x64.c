/* X64SplitLow, X64SplitHigh and X64Combine, by which XLA's own passes take 64 bits apart. */
#include "import/expand/site.h"

int expand_x64_low(struct expand_site *s)
{
    return hlo_convert(s->b, s->operand[0], s->from->type->element);
}

int expand_x64_high(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    int x = s->operand[0], word = ar_shr(b, x, ar_int(b, x, 32));

    return hlo_convert(b, word, s->from->type->element);
}

int expand_x64_combine(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    int low = hlo_convert(b, s->operand[0], ELEMENT_U32), high = hlo_convert(b, s->operand[1], e);

    return ar_or(b, hlo_convert(b, low, e), ar_shl(b, high, ar_int(b, high, 32)));
}
