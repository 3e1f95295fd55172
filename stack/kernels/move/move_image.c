/*
 * Unpacks boxes to images of 32-bit words, with the work that is done on them, and packs them again,
 * and fills an image with padding.
 */
#include "stack/kernels/move/move_gather.h"
#include "stack/kernels/move/move_loops.h"
#include "stack/kernels/move/move_work.h"

static const struct isa_operand no_base = {.kind = OPERAND_IMM};

/* the source whose side it is */
static const struct move_source *source_of(const struct move_step *s, const struct move_side *side)
{
    return &s->box->map.source[side - s->box->from];
}

static void work_on(struct move_step *s, const struct move_side *side, struct fused_value *value,
                    int parts)
{
    const struct graph *body = s->box->job->body;
    int work = source_of(s, side)->work;

    if (work == NODE_NONE)
        return;
    s->ops += parts * move_work_ops(body, work);
    s->valu += parts * move_work_ops(body, work);
    if (!s->is_counted)
        move_work_emit(s->m.code, s->box->job->chip, body, work, value, parts);
}

static void unpack_tile(struct move_loops *l, struct move_place from, struct move_place to)
{
    struct move_step *s = l->step;
    const struct move_side *side = l->user;
    int parts = side->view.tile_rows / MOVE_SUBLANES, v;
    struct fused_value value = {.is_mask = false};

    s->store += parts - 1;
    s->ops += 2 * parts;
    v = move_load_rows(s, from, 1, 0, MOVE_SUBLANES);
    for (int i = 0; i < parts && !s->is_counted; i++) {
        int part = v;

        if (parts == 2 && s->box->has_floats) {
            part = emit_d_v(s->m.code, i ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, R(v));
        } else if (parts == 2) {
            part = emit_vunpack_c_b16(s->m.code, R(v), (enum isa_vunpack_c_b16_x0)i);
        } else if (parts == 4) {
            part = emit_vunpack_c_8(s->m.code, R(v), (enum isa_vunpack_c_8_x0)i, VUNPACK_C_8_U8);
        }
        value.part[i] = R(part);
    }
    work_on(s, side, &value, parts);
    for (int i = 0; i < parts && !s->is_counted; i++)
        move_store_op(s, move_behind(to, i * MOVE_SUBLANES), 1, 0xff, -1, value.part[i].value);
    s->store++;
}

static void pack_tile(struct move_loops *l, struct move_place from, struct move_place to)
{
    struct move_step *s = l->step;
    const struct move_side *side = l->user;
    int parts = side->view.tile_rows / MOVE_SUBLANES, part[4] = {0};

    s->ops += 2 * parts;
    for (int i = 0; i < parts; i++)
        part[i] = move_load_rows(s, move_behind(from, i * MOVE_SUBLANES), 1, 0, MOVE_SUBLANES);
    if (s->is_counted) {
        s->store++;
        return;
    }
    if (s->box->has_floats && parts == 2)
        part[0] = emit_vpack_c_bf16(s->m.code, R(part[1]), R(part[0]));
    for (int i = 0; i < parts / 2 && !s->box->has_floats; i++)
        part[i] = emit_vpack_b16(s->m.code, R(part[2 * i + 1]), R(part[2 * i]), VPACK_B16_C);
    if (parts == 4)
        part[0] = emit_vpack_c_b8(s->m.code, R(part[1]), R(part[0]), VPACK_C_B8_B8);
    move_store_op(s, to, 1, 0xff, -1, part[0]);
    s->store++;
}

void move_convert_image(struct move_step *s, const struct move_side *side, bool is_result)
{
    struct move_loops l = {.step = s, .body = is_result ? pack_tile : unpack_tile, .user = side,
                      .units = side->view.tile_rows / MOVE_SUBLANES * 2};
    struct move_place box = {no_base, 0, 0}, rows = move_side_place(s, side, 0);

    if (!side->has_image)
        return;
    if (!s->is_counted) {
        int base = pipeline_base(&s->box->pipeline, side->window);

        box = (struct move_place){base < 0 ? no_base : R(base),
                                  pipeline_row(&s->box->pipeline, side->window), 2 * side->window};
    }
    for (int i = 0; i < side->box_dims; i++) {
        int64_t stride = s->is_counted ? 8 : pipeline_stride(&s->box->pipeline, side->window, i);

        move_add_loop(&l, side->box_count[i], is_result ? side->box_step[i] : stride,
                 is_result ? stride : side->box_step[i]);
    }
    move_run_loops(&l, is_result ? rows : box, is_result ? box : rows);
}

static void fill_tile(struct move_loops *l, struct move_place from, struct move_place to)
{
    struct move_step *s = l->step;
    const uint32_t *bits = l->user;

    (void)from;
    s->store++;
    s->ops += 2;
    if (!s->is_counted)
        move_store_op(s, to, 1, 0xff, -1, emit_vmov(s->m.code, I(*bits)));
}

/* every row of the result's image */
void move_fill_image(struct move_step *s)
{
    const struct move_side *to = &s->box->to;
    enum graph_dtype dtype = s->box->has_floats ? DTYPE_F32 : to->view.shape.dtype;
    uint32_t bits = move_gather_constant_bits(dtype, s->box->map.fill);
    struct move_loops l = {.step = s, .body = fill_tile, .user = &bits, .units = 1};

    move_add_loop(&l, to->view.tile_rows / MOVE_SUBLANES, 0, MOVE_SUBLANES);
    for (int i = 0; i < to->box_dims; i++)
        move_add_loop(&l, to->box_count[i], 0, to->box_step[i]);
    move_run_loops(&l, move_side_place(s, to, 0), move_side_place(s, to, 0));
}
