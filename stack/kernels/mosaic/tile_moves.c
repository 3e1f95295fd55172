/*
 * Vectors whose elements stand elsewhere in other vectors: shapes of other rows and lanes, parts that
 * begin within a tile, rotations by a known amount, memory read with a stride.
 *
 * A tile of the result is put together of tiles of the operands. All elements that come from one of
 * them and are as many sublanes and lanes away are a *group*: the tile is rotated by that and chosen
 * where the group is. What is computed is computed into memory first, so that tiles are pulled as
 * often as they are needed; a result whose tiles take long, or are made in another way from row tile
 * to row tile, stands in memory as well.
 */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

#include "base/units.h"
#include "stack/mosaic/moves.h"

#define GROUPS_MAX 1024                 /* one for each element of a tile, at most */
#define MOVES_MAX 40000                 /* of a result */
#define GROUPS_PULLED 2                 /* of a tile that is put together whenever it is read */

struct group {
    int operand;
    int64_t row, lane;                  /* the tile */
    int down, along;                    /* sublanes and lanes from where an element goes to it */
    bool one_row, one_lane;             /* of which it is taken in all rows, in all lanes */
    uint64_t mask[TILE_ROWS][2];
};

struct groups { struct group *item; int count; size_t capacity; };

/* it is memory that its elements come from */
static bool is_load(const struct lower *l, const struct mosaic_op *op)
{
    return l->range[op->result[0]->id].is_there;
}

static int64_t amount_of(const struct lower *l, const struct mosaic_op *op)
{
    return op->code == MOSAIC_DYNAMIC_ROTATE ? l->scalar[op->operand[1]->id].value : 0;
}

/* index of an element of a tile in the vector; false: there is none */
static bool index_of(const struct lower *l, const struct mosaic_value *v, int64_t row_tile,
                     int64_t lane, int sublane, int64_t *index)
{
    struct tile_layout layout = tile_layout_of(l, v);
    int64_t down = tile_down(l, v), outer = row_tile / down;
    int64_t row = row_tile % down * TILE_ROWS + sublane;

    for (int d = v->type.rank - 1; d >= 0; d--) {
        if (d == layout.lane_dim) {
            index[d] = lane;
        } else if (d == layout.row_dim) {
            index[d] = row;
        } else {
            index[d] = outer % v->type.dim[d];
            outer /= v->type.dim[d];
        }
        if (index[d] >= v->type.dim[d])
            return false;
    }
    return (layout.row_dim >= 0 || row == 0) && (layout.lane_dim >= 0 || lane == 0);
}

/* the shape that index counts in: of a load with a stride, the box that it reads of */
struct from_shape { struct tile_layout layout; const int64_t *dim; int rank; };

static struct from_shape shape_from(const struct lower *l, const struct mosaic_op *op, int operand)
{
    const struct mosaic_value *v = op->operand[operand];

    if (is_load(l, op)) {
        const struct tiles *t = &l->range[op->result[0]->id].t;

        return (struct from_shape){{t->row_dim, t->lane_dim, false}, t->dim, t->rank};
    }
    return (struct from_shape){tile_layout_of(l, v), v->type.dim, v->type.rank};
}

static bool has_strides(const struct mosaic_op *op)
{
    return op->code == MOSAIC_STRIDED_LOAD || op->code == MOSAIC_VECTOR_LOAD ||
           op->code == MOSAIC_TPU_VECTOR_LOAD;
}

static int source_of(const struct lower *l, const struct mosaic_op *op, int64_t amount,
                     const int64_t *to, int64_t *from)
{
    const struct mosaic_attr *strides = has_strides(op) ? mosaic_attr(op, "strides") : NULL;

    if (!is_load(l, op))
        return mosaic_move(op, amount, to, from);
    for (int d = 0; d < op->result[0]->type.rank; d++)
        from[d] = to[d] * (strides && d < strides->count ? strides->ints[d] : 1);
    return 0;
}

/* the group of an element that comes from this index, as yet without it */
static struct group group_of(const struct from_shape *s, int operand, const int64_t *from,
                             int sublane, int lane)
{
    struct group g = {.operand = operand, .one_row = true, .one_lane = true};
    int64_t rows = s->layout.row_dim < 0 ? 1 : s->dim[s->layout.row_dim], outer = 0;

    for (int d = 0; d < s->rank; d++)
        if (d != s->layout.row_dim && d != s->layout.lane_dim)
            outer = outer * s->dim[d] + from[d];
    g.row = outer * div_up(rows, TILE_ROWS);
    if (rows > 1) {
        int64_t row = from[s->layout.row_dim];

        g.one_row = false;
        g.row += row / TILE_ROWS;
        g.down = (int)((row - sublane) & (TILE_ROWS - 1));
    }
    if (s->layout.lane_dim >= 0 && s->dim[s->layout.lane_dim] > 1) {
        int64_t at = from[s->layout.lane_dim];

        g.one_lane = false;
        g.lane = at / TILE_LANES;
        g.along = (int)((at - lane) & (TILE_LANES - 1));
    }
    return g;
}

static bool same_group(const struct group *a, const struct group *b)
{
    return a->operand == b->operand && a->row == b->row && a->lane == b->lane &&
           a->down == b->down && a->along == b->along;
}

/* the one that the element before was in is the likeliest */
static struct group *find_group(struct groups *list, const struct group *g)
{
    for (int i = list->count - 1; i >= 0; i--)
        if (same_group(&list->item[i], g))
            return &list->item[i];
    list->item = mem_grow(list->item, &list->capacity, (size_t)list->count + 1,
                          sizeof(*list->item));
    list->item[list->count] = *g;
    return &list->item[list->count++];
}

/*
 * Rows behind a vector's last one may hold anything: they come from where the row above them does, so
 * that a last tile of few rows is made as the tiles before it.
 */
static void fill_rows_behind(struct groups *list)
{
    for (int i = 1; i < TILE_ROWS; i++) {
        bool is_behind = true;

        for (int g = 0; g < list->count; g++)
            is_behind = is_behind && !(list->item[g].mask[i][0] | list->item[g].mask[i][1]);
        for (int g = 0; is_behind && g < list->count; g++)
            memcpy(list->item[g].mask[i], list->item[g].mask[i - 1],
                   sizeof(list->item[g].mask[i]));
    }
}

/* false: an element comes from nowhere that is known */
static bool find_groups(const struct lower *l, const struct mosaic_op *op, int64_t row, int64_t lane,
                        struct groups *list)
{
    int64_t to[MOSAIC_RANK_MAX] = {0}, from[MOSAIC_RANK_MAX] = {0}, amount = amount_of(l, op);

    list->count = 0;
    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_LANES; j++) {
            struct from_shape s;
            struct group g;
            int operand;

            if (!index_of(l, op->result[0], row, lane * TILE_LANES + j, i, to))
                continue;
            operand = source_of(l, op, amount, to, from);
            if (operand < 0)
                return false;
            s = shape_from(l, op, operand);
            g = group_of(&s, operand, from, i, j);
            find_group(list, &g)->mask[i][j / 64] |= UINT64_C(1) << j % 64;
        }
    fill_rows_behind(list);
    return true;
}

/* ----- a tile of them */

static bool has_lane(const struct group *g, int row, int lane)
{
    return lane < TILE_LANES && g->mask[row][lane / 64] >> lane % 64 & 1;
}

/* rectangle by rectangle: lanes of a row, and of the rows below that have the same */
static int group_mask(struct tiler *t, const struct group *g)
{
    struct group left_over = *g;
    int mask = -1;

    for (int i = 0; i < TILE_ROWS; i++)
        for (int j = 0; j < TILE_LANES; j++) {
            int end = j, last = i, one;

            if (!has_lane(&left_over, i, j))
                continue;
            while (has_lane(&left_over, i, end))
                end++;
            while (last + 1 < TILE_ROWS && has_lane(&left_over, last + 1, j) &&
                   !has_lane(&left_over, last + 1, end) &&
                   (j == 0 || !has_lane(&left_over, last + 1, j - 1))) {
                bool is_all = true;

                for (int k = j; k < end; k++)
                    is_all = is_all && has_lane(&left_over, last + 1, k);
                if (!is_all)
                    break;
                last++;
            }
            for (int r = i; r <= last; r++)
                for (int k = j; k < end; k++)
                    left_over.mask[r][k / 64] &= ~(UINT64_C(1) << k % 64);
            one = emit_vcmask(t->c, (end - 1) << 13 | last << 10 | j << 3 | i);
            mask = mask < 0 ? one : emit_vmor(t->c, mask, one);
        }
    return mask;
}

/* the tile that a group is of, its elements where they go to */
static bool pull_group(struct tiler *t, const struct mosaic_op *op, const struct group *g, opnd *out)
{
    struct tile_at at = {.row = g->row, .lane = g->lane, .all_rows = g->one_row,
                         .all_lanes = g->one_lane};

    if (is_load(t->l, op))
        *out = tile_load(t, &t->l->range[op->result[0]->id], &at);
    else if (!tile_pull(t, op->operand[g->operand], &at, out))
        return false;
    if (op->result[0]->type.element == MOSAIC_I1)
        *out = choose(t->c, out->value, I(1), I(0));
    if (g->down)
        *out = R(emit_vrot_slane(t->c, vcode_in_register(t->c, *out), I(g->down)));
    if (g->along)
        *out = R(emit_vrot_lane(t->c, tile_unit(t), vcode_in_register(t->c, *out),
                                I(TILE_LANES - g->along)));
    return !t->is_failed;
}

static bool put_groups(struct tiler *t, const struct mosaic_op *op, const struct groups *list,
                       opnd *out)
{
    opnd one;

    *out = I(0);
    for (int i = 0; i < list->count; i++) {
        if (!pull_group(t, op, &list->item[i], &one))
            return false;
        *out = i ? choose(t->c, group_mask(t, &list->item[i]), one, *out) : one;
    }
    if (op->result[0]->type.element == MOSAIC_I1)
        *out = R(emit_vcmp_ne_s32(t->c, R(vcode_in_register(t->c, *out)), I(0)));
    return true;
}

bool tile_moved(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    struct groups list = {NULL, 0, 0};
    bool is_right = find_groups(t->l, op, at->row, at->lane, &list);

    if (!is_right)
        tile_fail(t, op, "elements from places that are not known before it runs");
    if (t->l->move_run[op->result[0]->id])
        tile_limit(t, t->l->move_run[op->result[0]->id]);
    is_right = is_right && put_groups(t, op, &list, out);
    mem_free(list.item);
    if (is_right && at->all_lanes && tile_lane_count(t->l, op->result[0]) == 1)
        *out = R(emit_vbcast_lane(t->c, tile_unit(t), vcode_in_register(t->c, *out), 0));
    if (is_right && at->all_rows)
        *out = R(emit_vperm_slane(t->c, vcode_in_register(t->c, *out), I(0)));
    return is_right;
}

/* ----- what is made in memory first */

struct survey {
    int64_t run;                        /* row tiles that are made alike, each of the next tiles */
    int most;                           /* groups of a tile */
    int64_t moves;                      /* of all tiles */
};

static bool same_groups(const struct groups *a, const struct groups *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        struct group next = b->item[i];

        next.row -= next.one_row ? 0 : 1;
        if (!same_group(&a->item[i], &next) ||
            memcmp(a->item[i].mask, next.mask, sizeof(next.mask)))
            return false;
    }
    return true;
}

static int64_t common(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;

        a = b;
        b = r;
    }
    return a;
}

static void count_groups(struct survey *s, const struct groups *list)
{
    s->moves += list->count;
    if (list->count > s->most)
        s->most = list->count;
}

static bool survey(struct lower *l, const struct mosaic_op *op, struct survey *s)
{
    const struct mosaic_value *v = op->result[0];
    int64_t rows = tile_rows_down(l, v), across = tile_lanes_across(l, v);
    struct groups now = {NULL, 0, 0}, before = {NULL, 0, 0};
    bool is_right = true;

    *s = (struct survey){.run = rows};
    for (int64_t lane = 0; lane < across && is_right; lane++)
        for (int64_t row = 0; row < rows && is_right; row++) {
            struct groups other = before;

            is_right = find_groups(l, op, row, lane, &now);
            count_groups(s, &now);
            if (row && !same_groups(&before, &now))
                s->run = common(s->run, row);
            before = now;
            now = other;
        }
    mem_free(now.item);
    mem_free(before.item);
    return is_right;
}

/* it costs nothing to pull it again */
static bool is_free(const struct mosaic_value *v)
{
    const struct mosaic_op *op = v->op;

    return op && (op->code == MOSAIC_CONSTANT || op->code == MOSAIC_IOTA ||
                  (op->code == MOSAIC_BROADCAST && op->operand[0]->type.kind == MOSAIC_SCALAR));
}

/* how the result is put together; it is no more than code may be */
static int look(struct lower *l, const struct mosaic_op *op, struct survey *s)
{
    if (!survey(l, op, s))
        return pallas_fail(l, op, "elements from places that are not known before it runs");
    if (s->moves > MOVES_MAX)
        return pallas_fail(l, op, "a vector that is put together of %lld parts; %d are the most",
                           (long long)s->moves, MOVES_MAX);
    l->move_run[op->result[0]->id] = (int)s->run;
    return 0;
}

/* a result that is not put together out of tiles as they are */
int pallas_moved(struct lower *l, const struct mosaic_op *op)
{
    struct survey s;
    struct place p;

    if (op->result[0]->type.kind != MOSAIC_VECTOR)
        return pallas_fail(l, op, "to a scalar");
    if (tile_is_plain(l, op) || l->last_use[op->result[0]->id] <= l->at)
        return 0;
    if (look(l, op, &s))
        return -1;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operand[i]->type.kind == MOSAIC_VECTOR && !is_free(op->operand[i]) &&
            !l->place[op->operand[i]->id].is_there && root_materialize(l, op->operand[i], &p))
            return -1;
    if (s.run == tile_rows_down(l, op->result[0]) && s.most <= GROUPS_PULLED)
        return 0;
    return root_own(l, op->result[0]);
}

int moved_from(struct lower *l, const struct mosaic_value *v, const struct place *from)
{
    struct survey s;

    l->range[v->id] = *from;
    l->place[v->id].is_there = false;
    return root_flush(l) || look(l, v->op, &s) || root_own(l, v);
}
