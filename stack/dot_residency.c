#include "stack/dot_residency.h"

#include "stack/kernel_dot_body.h"

int64_t dot_residency_bytes(const struct chip *chip)
{
    int64_t left = chip->vmem_bytes - DOT_RESIDENCY_KEPT_BYTES;

    return left > 0 ? left : 0;
}

int dot_residency(const struct kernel_job *job, int64_t free_bytes)
{
    struct dot_problem p;
    struct err e;
    int operand[2], best = -1;

    if (dot_problem_read(&p, job, &e) || p.m == 1 || p.n == 1)
        return -1;
    operand[0] = p.rhs_parameter;       /* of two alike the right one: its tiles are weights */
    operand[1] = p.lhs_parameter;
    for (int i = 0; i < 2; i++) {
        const struct array *a = job->operand[operand[i]];

        if (a->space != SPACE_HBM || a->bytes > free_bytes)
            continue;
        if (best < 0 || a->bytes > job->operand[best]->bytes)
            best = operand[i];
    }
    return best;
}
