/* Whether a model brings the bytes of its images into a small range itself, as many do first of all. */
#include <math.h>

#include "keras/model/model_impl.h"

#define SCALE_MAX (1.0 / 16.0)          /* 1 / 255 and 1 / 127.5 are, factors of what is 0..1 are not */

static bool scales(const struct layer *l)
{
    const struct layer_reals *scale = &l->c.scale;

    if (l->kind == LAYER_NORMALIZATION)
        return !l->c.is_inverse;
    return l->kind == LAYER_RESCALING && scale->count > 0 && fabs(scale->value[0]) <= SCALE_MAX;
}

/* pixels come out of it as they went in, of the same range */
static bool keeps_range(enum layer_kind kind)
{
    switch (kind) {
    case LAYER_IDENTITY:
    case LAYER_RESHAPE:
    case LAYER_PERMUTE:
    case LAYER_FLATTEN:
    case LAYER_ZERO_PADDING2D:
    case LAYER_CROPPING2D:
    case LAYER_CENTER_CROP:
    case LAYER_RESIZING:
    case LAYER_RANDOM_FLIP:
    case LAYER_RANDOM_TRANSLATION:
    case LAYER_RANDOM_ROTATION:
    case LAYER_RANDOM_ZOOM:
    case LAYER_RANDOM_SHEAR:
    case LAYER_RANDOM_CROP:
    case LAYER_RANDOM_BRIGHTNESS:
    case LAYER_RANDOM_CONTRAST: return true;
    default: return false;
    }
}

bool model_scales_bytes(const struct model *m, int input)
{
    int at = m->input[input];

    for (int i = at + 1; i < m->node_count; i++) {
        const struct model_node *n = &m->node[i];
        const struct layer *l = m->layer[n->layer];

        if (n->part != 0 || n->input_count != 1 || n->input[0] != at)
            continue;
        if (scales(l))
            return true;
        if (!keeps_range(l->kind))
            return false;
        at = i;
    }
    return false;
}
