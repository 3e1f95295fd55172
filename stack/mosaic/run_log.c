/*
 * What pl.debug_print prints of a kernel that the host carries out: numbers in a text that has $0, $1
 * where they belong, or behind it; and of a vector all elements, a line for each of its rows.
 */
#include "stack/mosaic/run_impl.h"

#include <string.h>

#include "base/text.h"

static void print_word(FILE *f, const struct mosaic_type *t, uint32_t word)
{
    float value;

    memcpy(&value, &word, sizeof(value));
    if (mosaic_is_float(t))
        text_print_file(f, "%g", (double)value);
    else
        text_print_file(f, "%d", (int)word);
}

static void print_value(struct mosaic_run *r, const struct mosaic_value *v)
{
    const uint32_t *word = mosaic_words(r, v);

    for (int64_t i = 0; i < mosaic_elements(&v->type); i++) {
        if (i)
            fputc(' ', r->s->log);
        print_word(r->s->log, &v->type, word[i]);
    }
}

/* the text with the operands where $0, $1 and so on stand in it */
static void print_formatted(struct mosaic_run *r, const struct mosaic_op *op, const char *text)
{
    for (; *text; text++) {
        int which = 0;

        if (text[0] != '$' || text[1] < '0' || text[1] > '9') {
            fputc(*text, r->s->log);
            continue;
        }
        for (; text[1] >= '0' && text[1] <= '9' && which < op->operand_count; text++)
            which = 10 * which + text[1] - '0';
        if (which < op->operand_count)
            print_value(r, op->operand[which]);
    }
}

int mosaic_eval_log(struct mosaic_run *r, const struct mosaic_op *op)
{
    const char *text = mosaic_text(op, "tag", "");

    if (!r->s->log)
        return 0;
    if (mosaic_int(op, "formatted", 0)) {
        print_formatted(r, op, text);
    } else {
        text_print_file(r->s->log, "%s", text);
        for (int i = 0; i < op->operand_count; i++) {
            fputc(' ', r->s->log);
            print_value(r, op->operand[i]);
        }
    }
    fputc('\n', r->s->log);
    return 0;
}

/* the words of a buffer in memory, row by row */
int mosaic_eval_log_buffer(struct mosaic_run *r, const struct mosaic_op *op)
{
    const struct mosaic_view *v = &mosaic_in(r, op, 0)->view;
    const struct mosaic_type *t = &op->operand[0]->type;
    int64_t count = mosaic_elements(t), lanes = v->rank ? v->dim[v->rank - 1] : 1;

    if (!r->s->log)
        return 0;
    text_print_file(r->s->log, "%s", mosaic_text(op, "tag", ""));
    for (int64_t i = 0; i < count; i++) {
        int64_t word = v->offset, rest = i;

        for (int d = v->rank - 1; d >= 0; d--) {
            word += rest % v->dim[d] * v->stride[d];
            rest /= v->dim[d];
        }
        if (i)
            fputc(i % lanes ? ' ' : '\n', r->s->log);
        print_word(r->s->log, t, mosaic_view_load(r, op, v, word, true));
    }
    fputc('\n', r->s->log);
    return 0;
}
