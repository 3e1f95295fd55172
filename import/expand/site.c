/* What expansions share: types of old operands, refusals, arithmetic of narrow floats in f32. */
#include "import/expand/site.h"

#include <stdarg.h>
#include <stdio.h>

const struct hlo_type *expand_operand_type(const struct expand_site *s, int operand)
{
    const struct hlo_computation *c = &s->old->computation[s->b->computation];

    return c->instruction[s->from->operand[operand]].type;
}

int expand_refuse(struct expand_site *s, const char *fmt, ...)
{
    char text[300];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    err_at(s->err, s->old->file ? s->old->file : "", s->from->line, s->from->col, "%s %s: %s",
           hlo_opcode_name(s->from->op), hlo_name(s->from), text);
    return EXPAND_FAILED;
}

int expand_to_f32(struct expand_site *s, int operand)
{
    return hlo_convert(s->b, s->operand[operand], ELEMENT_F32);
}

int expand_from_f32(struct expand_site *s, int x)
{
    return hlo_convert(s->b, x, s->from->type->element);
}
