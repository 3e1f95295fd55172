/* What a location of MLIR says of the place in the author's program. */
#include "import/mlir/mlir.h"

#include <string.h>

#define STEPS_MAX 4096                  /* a chain of calls; what is behind is not looked at */

/*
 * JAX writes the primitive with a colon, "dot_general:", then the path to it, "jit(f)/dot_general",
 * then the function that it stands in. The path is the name; without one it is the outermost name.
 */
static void take_name(struct arena *a, const struct mlir_attr *l, struct hlo_place *p)
{
    size_t n = l->text.bytes;

    if (n > 1 && l->text.data[n - 1] == ':' && !memchr(l->text.data, '/', n)) {
        if (!p->op_type) p->op_type = mlir_text_copy(a, l->text.data, n - 1).data;
    } else if (n && (!p->op_name || (!strchr(p->op_name, '/') && strchr(l->text.data, '/')))) {
        p->op_name = l->text.data;
    }
}

static const struct mlir_attr *first_known(const struct mlir_attr *fused)
{
    for (int i = 0; i < fused->count; i++)
        if (fused->item[i]->location != MLIR_LOCATION_UNKNOWN) return fused->item[i];
    return NULL;
}

/* The way inwards: a name's child, a call's callee, the first of several. */
static const struct mlir_attr *inner(const struct mlir_attr *l)
{
    switch (l->location) {
    case MLIR_LOCATION_NAME:
    case MLIR_LOCATION_CALL: return l->count ? l->item[0] : NULL;
    case MLIR_LOCATION_FUSED: return first_known(l);
    default: return NULL;
    }
}

void mlir_place_of(struct arena *a, const struct mlir_attr *location, struct hlo_place *p)
{
    const struct mlir_attr *l = location;

    *p = (struct hlo_place){0};
    for (int steps = 0; l && steps < STEPS_MAX; steps++, l = inner(l)) {
        if (l->location == MLIR_LOCATION_NAME) take_name(a, l, p);
        if (l->location != MLIR_LOCATION_FILE) continue;
        p->file = l->text.bytes ? l->text.data : NULL;
        p->line = l->line;
        p->col = l->col;
        p->end_line = l->end_line;
        p->end_col = l->end_col;
    }
}
