/*
 * Groups the places of a window by the taps that are no padding, and adds boxes and grid
 * dimensions to its windows.
 */
#include "stack/kernels/window/window_runs.h"

#include "stack/hlo/window.h"

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* the taps of place `o` that are no padding */
static struct window_run taps_of(const struct graph_window *w, int64_t size, int64_t o)
{
    int64_t apart = w->base_dilation / gcd(w->window_dilation, w->base_dilation);
    struct window_run r = {.first = o, .count = 1, .step = 1,
                    .tap_in = apart * w->window_dilation / w->base_dilation};

    for (int64_t k = 0; k < w->size; k++) {
        int64_t at = o * w->stride + k * w->window_dilation - w->pad_low;

        if (at < 0 || at % w->base_dilation || at / w->base_dilation >= size)
            continue;
        if (!r.taps++) {
            r.tap_first = k;
            r.in_first = at / w->base_dilation;
        }
    }
    return r;
}

int window_list_runs(const struct graph_window *w, int64_t size, int64_t places,
                     struct window_runs *out)
{
    int64_t period = w->base_dilation / gcd(w->stride, w->base_dilation);
    int64_t shift = w->stride * period / w->base_dilation;

    out->count = 0;
    for (int64_t o = 0; o < places; o++) {
        struct window_run r = taps_of(w, size, o);
        int k = 0;

        r.step = period;
        r.in_step = shift;
        for (; k < out->count; k++) {
            struct window_run *x = &out->run[k];

            if (x->first + x->count * period == o && x->taps == r.taps &&
                x->tap_first == r.tap_first && x->in_first + x->count * shift == r.in_first)
                break;
        }
        if (k == WINDOW_RUNS_MAX)
            return -1;
        if (k == out->count)
            out->run[out->count++] = r;
        else
            out->run[k].count++;
    }
    return 0;
}

bool window_is_trivial(const struct graph_window *w)
{
    return w->size == 1 && w->stride == 1 && !w->pad_low && !w->pad_high && w->base_dilation == 1;
}

int window_add_dim(struct pipeline_window *w, int64_t count, int64_t stride)
{
    if (w->box_dims == PIPELINE_BOX_MAX)
        return -1;
    w->box_count[w->box_dims] = count;
    w->box_stride[w->box_dims++] = stride;
    return 0;
}

int window_add_grid(struct pipeline *f, int64_t count, const int64_t *step)
{
    if (count == 1)
        return 0;
    if (f->dims == PIPELINE_DIM_MAX)
        return -1;
    for (int w = 0; w < f->window_count; w++)
        f->window[w].step[f->dims] = step[w];
    f->count[f->dims++] = count;
    return 0;
}

int64_t window_inner_tiles(const struct array *a) { return a->tiles_down * a->tiles_across; }

int window_tile_parts(const struct array *a) { return a->tile_rows / MOVE_SUBLANES; }

void window_unpack(struct builder *m, enum graph_dtype dtype, int parts, int v, int *part)
{
    for (int i = 0; i < parts; i++) {
        part[i] = v;
        if (parts == 2)
            part[i] = emit_d_v(m->code, i ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(v));
        if (parts == 4)
            part[i] = emit_vunpack_c_8(m->code, R(v), (enum isa_vunpack_c_8_x0)i,
                                       dtype == DTYPE_S8);
    }
}

int window_pack(struct builder *m, int parts, int *part)
{
    if (parts == 2)
        return emit_vpack_c_bf16(m->code, R(part[1]), R(part[0]));
    for (int i = 0; i < parts / 2; i++)
        part[i] = emit_vpack_b16(m->code, R(part[2 * i + 1]), R(part[2 * i]), VPACK_B16_C);
    return parts == 4 ? emit_vpack_c_b8(m->code, R(part[1]), R(part[0]), VPACK_C_B8_B8) : part[0];
}

struct move_place window_place(const struct move_step *s, int window, int64_t row)
{
    const struct pipeline *f = &s->box->pipeline;
    int base = s->is_counted ? -1 : pipeline_base(f, window);

    return (struct move_place){base < 0 ? I(0) : R(base),
                               s->is_counted ? 0 : pipeline_row(f, window) + row, window};
}

bool window_order(const struct shape *shape, const struct graph_window *window, int *order)
{
    int lanes = -1, rows = -1, count = 0;

    for (int d = 0; d < shape->rank; d++) {
        if (!window_is_trivial(&window[d]))
            continue;
        if (lanes < 0 || shape->dim[d] > shape->dim[lanes]) {
            rows = lanes;
            lanes = d;
        } else if (rows < 0 || shape->dim[d] > shape->dim[rows]) {
            rows = d;
        }
    }
    if (rows >= 0) {
        order[count++] = lanes;
        order[count++] = rows;
    }
    for (int d = shape->rank - 1; d >= 0; d--)
        if (rows < 0 || (d != lanes && d != rows))
            order[count++] = d;
    return rows >= 0;
}
