/* Dimension numbers of a product, from the text of #tpu.dot_dimension_numbers or older attributes. */
#include "stack/mosaic/mosaic.h"

#include <stdlib.h>
#include <string.h>

/* "[1, 2]" at *at; the number of entries, -1: no list is there */
static int read_list(const char **at, int *list)
{
    const char *open = strchr(*at, '[');
    char *end;
    int count = 0;

    if (!open)
        return -1;
    end = (char *)(uintptr_t)open + 1;
    for (end += strspn(end, " "); *end && *end != ']'; end += strspn(end, ", ")) {
        const char *before = end;
        long n = strtol(end, &end, 10);

        if (end == before || count == 2 * MOSAIC_RANK_MAX)
            return -1;
        list[count++] = (int)n;
    }
    *at = end;
    return count;
}

static bool is_within(const int *list, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (list[i] < 0 || list[i] >= rank)
            return false;
    return count <= MOSAIC_RANK_MAX;
}

/* the output has batches, then what is left of lhs, then of rhs */
static bool is_plain_output(const int *order, int count, const struct mosaic_dot *d)
{
    int at = 0;

    if (count != 2 * (d->batch_count + d->lhs_free_count + d->rhs_free_count))
        return false;
    for (int i = 0; i < d->batch_count; i++, at += 2)
        if (order[at] != 0 || order[at + 1] != d->lhs_batch[i])
            return false;
    for (int i = 0; i < d->lhs_free_count; i++, at += 2)
        if (order[at] != 0 || order[at + 1] != d->lhs_free[i])
            return false;
    for (int i = 0; i < d->rhs_free_count; i++, at += 2)
        if (order[at] != 1 || order[at + 1] != d->rhs_free[i])
            return false;
    return true;
}

static int read_numbers(const struct mosaic_op *op, const char *text, struct mosaic_dot *d,
                        struct err *e)
{
    int list[7][2 * MOSAIC_RANK_MAX], count[7];
    int lhs_rank = op->operand[0]->type.rank, rhs_rank = op->operand[1]->type.rank;

    for (int i = 0; i < 7; i++) {
        count[i] = read_list(&text, list[i]);
        if (count[i] < 0)
            return err_set(e, "%s: dimension numbers that are not seven lists", op->name);
    }
    if (count[0] != 1 || count[1] != 1)
        return err_set(e, "%s: %d dimensions are contracted; one is made", op->name, count[0]);
    if (!is_within(list[0], 1, lhs_rank) || !is_within(list[1], 1, rhs_rank) ||
        !is_within(list[2], count[2], lhs_rank) || !is_within(list[3], count[3], rhs_rank) ||
        !is_within(list[5], count[5], lhs_rank) || !is_within(list[6], count[6], rhs_rank) ||
        count[5] != count[6])
        return err_set(e, "%s: dimension numbers beyond the operands", op->name);
    d->lhs_contract = list[0][0];
    d->rhs_contract = list[1][0];
    d->lhs_free_count = count[2];
    d->rhs_free_count = count[3];
    d->batch_count = count[5];
    memcpy(d->lhs_free, list[2], (size_t)count[2] * sizeof(int));
    memcpy(d->rhs_free, list[3], (size_t)count[3] * sizeof(int));
    memcpy(d->lhs_batch, list[5], (size_t)count[5] * sizeof(int));
    memcpy(d->rhs_batch, list[6], (size_t)count[6] * sizeof(int));
    if (!is_plain_output(list[4], count[4], d))
        return err_set(e, "%s: its result is not in the order of batches, lhs, rhs", op->name);
    return 0;
}

int mosaic_dot_of(const struct mosaic_op *op, struct mosaic_dot *d, struct err *e)
{
    const char *text = mosaic_text(op, "dimension_numbers", NULL);
    const char *precision = mosaic_text(op, "precision", "");
    int turn_lhs = mosaic_int(op, "transpose_lhs", 0) != 0;
    int turn_rhs = mosaic_int(op, "transpose_rhs", 0) != 0;

    *d = (struct mosaic_dot){.is_exact = strcmp(precision, "fp32") == 0};
    if (text)
        return read_numbers(op, text, d, e);
    if (op->operand[0]->type.rank != 2 || op->operand[1]->type.rank != 2)
        return err_set(e, "%s: no dimension numbers for operands of %d and %d dimensions",
                       op->name, op->operand[0]->type.rank, op->operand[1]->type.rank);
    d->lhs_contract = !turn_lhs;
    d->lhs_free[0] = turn_lhs;
    d->rhs_contract = turn_rhs;
    d->rhs_free[0] = !turn_rhs;
    d->lhs_free_count = d->rhs_free_count = 1;
    return 0;
}
