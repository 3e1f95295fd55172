/* Which elements of its neighbours a part needs, and whether that can be said of all alike. */
#include "import/shard/window.h"

static int64_t round_up(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static int64_t round_down(int64_t a, int64_t b) { return a / b - (a % b < 0); }

struct shard_range shard_range_of(const struct shard_window *w, int64_t size, int64_t extent,
                                  int64_t parts)
{
    int64_t each = round_up(extent, parts);             /* indices of the factor that a device has */
    int64_t step = w->step < 0 ? -w->step : w->step;
    int64_t begin = w->step < 0 ? w->offset - (each - 1) * step : w->offset;
    int64_t span = (each - 1) * step + w->reach;        /* with holes */
    int64_t first = round_up(begin, w->base), last = round_down(begin + span - 1, w->base);

    return (struct shard_range){.parts = parts, .size = size, .part = round_up(size, parts),
                                .first = first, .step = each * w->step / w->base,
                                .count = each * step % w->base ? 0 : last - first + 1,
                                .low = first * w->base - begin,
                                .high = begin + span - 1 - last * w->base};
}

int64_t shard_factor_extent(const struct shard_rule *r, int factor)
{
    for (int t = r->tensor_count - 1; t >= 0; t--)
        for (int d = 0; d < r->tensor[t].type->rank; d++)
            if (r->tensor[t].dim[d].count == 1 && r->tensor[t].dim[d].factor[0] == factor &&
                !r->tensor[t].dim[d].window)
                return r->tensor[t].type->dim[d];
    return r->factor[factor].size;
}

static bool fits(const struct shard_window *w, const struct shard_range *r)
{
    return r->count > 0 && (w->reach == 1 || r->count <= 3 * r->part);
}

bool shard_windows_fit(const struct shard_rule *r, int factor, int64_t parts)
{
    int64_t extent = shard_factor_extent(r, factor);

    if (!r->factor[factor].is_window || parts == 1)
        return true;
    for (int t = 0; t < r->operand_count; t++)
        for (int d = 0; d < r->tensor[t].type->rank; d++) {
            const struct shard_dim *dim = &r->tensor[t].dim[d];
            struct shard_range range;

            if (!dim->window || dim->factor[0] != factor)
                continue;
            range = shard_range_of(dim->window, r->tensor[t].type->dim[d], extent, parts);
            if (!fits(dim->window, &range))
                return false;
        }
    return true;
}
