/* What ApproxTopK and PartialReduce say of themselves in their configuration, in JAX's dialects or JSON. */
#include "import/program/program.h"

#include <stdlib.h>
#include <string.h>

static const char *config_of(const struct hlo_instruction *i)
{
    const struct hlo_pairs *other = &hlo_detail(i)->other;

    for (int k = 0; k < other->count && !hlo_detail(i)->config; k++)
        if (strcmp(other->item[k].key, "mhlo.backend_config") == 0)
            return other->item[k].value;
    return hlo_detail(i)->config;
}

/* the dimension of which the result has less; else the last */
static int shortened(const struct hlo_instruction *i, const struct hlo_type *operand)
{
    const struct hlo_type *result = hlo_type_is_tuple(i->type) ? &i->type->part[0] : i->type;

    for (int d = 0; d < operand->rank && operand->rank == result->rank; d++)
        if (operand->dim[d] != result->dim[d])
            return d;
    return operand->rank - 1;
}

int hlo_partial_dimension(const struct hlo_instruction *i, const struct hlo_type *operand)
{
    const char *config = config_of(i), *at = config ? strstr(config, "reduction_dim") : NULL;
    long dim;

    if (!at)
        return shortened(i, operand);
    at += strcspn(at, "-0123456789");
    dim = *at ? strtol(at, NULL, 10) : -1;
    dim += dim < 0 ? operand->rank : 0;
    return dim < 0 || dim >= operand->rank ? -1 : (int)dim;
}
