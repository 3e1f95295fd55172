/*
 * Emits one step of a move: eight rows at a time by strided loads, rotations or permutes of lanes
 * and masked stores, or through the transposing unit.
 */
#include "stack/kernels/move/move_step.h"

#include "base/units.h"
#include "stack/kernels/move/move_lanes.h"

#define AXES_MAX MOVE_INDEX_DIMS_MAX
#define RUNS_MAX 4000                   /* of straight code */

/* ----- one source's axes, sorted by what they do */

struct plan {
    const struct move_box *box;
    int source;
    struct move_axis axis[AXES_MAX + 4];
    int count;
    int64_t from_row, from_lane, to_row, to_lane;
    int from_run, to_run;               /* the axis along the lanes of either side, or -1 */
    int eight;                          /* the axis of sublanes, or -1 */
    int from_step, to_step;             /* lanes per element of a run that has both sides */
    bool is_shared;                     /* tiles of lanes hold more than one run */
};

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static void split_axis(struct plan *p, int k, int64_t inner)
{
    struct move_axis *x = &p->axis[k], *outer = &p->axis[p->count];

    if (inner >= x->count || p->count >= AXES_MAX + 4)
        return;
    *outer = *x;
    outer->count = x->count / inner;
    outer->from_row *= inner;
    outer->to_row *= inner;
    outer->from_lane *= inner;
    outer->to_lane *= inner;
    x->count = inner;
    p->count++;
}

/* whole tiles of lanes are rows of the image */
static void lanes_to_rows(struct plan *p)
{
    int64_t from = p->box->from[p->source].lane_step, to = p->box->to.lane_step;

    for (int k = 0; k < p->count; k++) {
        struct move_axis *x = &p->axis[k];

        if (x->from_lane % ARRAY_LANES == 0) {
            x->from_row += x->from_lane / ARRAY_LANES * from;
            x->from_lane = 0;
        }
        if (x->to_lane % ARRAY_LANES == 0) {
            x->to_row += x->to_lane / ARRAY_LANES * to;
            x->to_lane = 0;
        }
    }
}

/*
 * An axis of some lanes per count passes whole tiles every so many counts: from
 * there on it is an axis of rows.
 */
static void split_periods(struct plan *p)
{
    int count = p->count;

    for (int k = 0; k < count; k++) {
        struct move_axis *x = &p->axis[k];
        int64_t from = ARRAY_LANES / gcd(ARRAY_LANES, x->from_lane < 0 ? -x->from_lane
                                                                       : x->from_lane);
        int64_t to = ARRAY_LANES / gcd(ARRAY_LANES, x->to_lane);
        int64_t period = x->from_lane && x->to_lane ? (from > to ? from : to)
                         : x->from_lane ? from : x->to_lane ? to : 0;

        if (k == p->from_run || k == p->to_run || !period || x->count % period)
            continue;
        split_axis(p, k, period);
    }
    lanes_to_rows(p);
}

static bool is_plain(const struct plan *p, int k)       /* moves rows alone */
{
    return !p->axis[k].from_lane && !p->axis[k].to_lane;
}

/* sublanes go along the axis that fills them best at small strides */
static int choose_eight(const struct plan *p)
{
    int best = -1;
    int64_t best_score = 0;

    for (int k = 0; k < p->count; k++) {
        const struct move_axis *x = &p->axis[k];
        int64_t score = x->count < MOVE_SUBLANES ? x->count : MOVE_SUBLANES;

        if (!is_plain(p, k) || k == p->from_run || k == p->to_run)
            continue;
        score = score * 8 + (x->from_row == 1) + (x->to_row == 1)
                + 2 * (move_fits_stride(x->from_row) && move_fits_stride(x->to_row));
        if (score > best_score) {
            best_score = score;
            best = k;
        }
    }
    return best;
}

/* the longest axis along the lanes of both sides, or -1 */
static int longest_along(const struct plan *p)
{
    int best = -1;

    for (int k = 0; k < p->count; k++)
        if (p->axis[k].from_lane && p->axis[k].to_lane &&
            (best < 0 || p->axis[k].count > p->axis[best].count))
            best = k;
    return best;
}

/* the lanes of both sides are of one axis, reversed or at a distance, or mixed by several */
static bool is_stepped(const struct plan *p)
{
    if (p->from_run == p->to_run)
        return p->from_run < 0;
    return (p->from_run >= 0 && p->axis[p->from_run].to_lane) ||
           (p->to_run >= 0 && p->axis[p->to_run].from_lane);
}

static void choose_runs(struct plan *p)
{
    p->from_run = p->to_run = -1;
    p->from_step = p->to_step = 1;
    for (int k = 0; k < p->count; k++) {
        if (p->axis[k].from_lane == 1)
            p->from_run = k;
        if (p->axis[k].to_lane == 1)
            p->to_run = k;
    }
    lanes_to_rows(p);
    if (is_stepped(p) && longest_along(p) >= 0) {
        p->from_run = p->to_run = longest_along(p);
        p->from_step = (int)p->axis[p->from_run].from_lane;
        p->to_step = (int)p->axis[p->from_run].to_lane;
    }
}

static void sort_axes(struct plan *p)
{
    choose_runs(p);
    split_periods(p);
    p->is_shared = p->box->map.source_count > 1 || p->box->map.has_fill || p->to_step != 1;
    for (int k = 0; k < p->count; k++)
        p->is_shared |= k != p->to_run && p->axis[k].to_lane != 0;
    p->eight = -1;
}

/* ----- runs along the lanes of both sides */

/* part of a run that stays in one tile on either side */
struct unit { int64_t from_row, to_row; struct move_lanes lanes; bool is_masked; };

struct units {
    struct unit *unit;
    int64_t count;
    int rows;
    int64_t from_stride, to_stride;
};

static int move_lanes_of(struct move_step *s, const struct move_lanes *l, int v)
{
    if (l->from_step == 1 && l->to_step == 1)
        return move_rotate(s, v, l->to - l->from);
    return move_permute(s, v, l);
}

static void move_units(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct units *u = l->user;
    struct move_step *s = l->step;

    for (int64_t i = 0; i < u->count; i++) {
        const struct unit *x = &u->unit[i];
        int v = move_load_rows(s, move_behind(from, x->from_row), u->from_stride, 0, u->rows);
        int mask;

        v = move_lanes_of(s, &x->lanes, v);
        mask = x->is_masked ? move_lanes_mask(s, &x->lanes) : -1;
        move_store_masked(s, move_behind(to, x->to_row), u->to_stride, 0, u->rows, mask, v);
    }
}

static int64_t lane_tile(int64_t lane) { return lane / ARRAY_LANES; }

/* elements from this lane on, `step` lanes apart, that stay in its tile */
static int64_t room_in_tile(int64_t lane, int64_t step)
{
    int64_t at = lane % ARRAY_LANES;

    return step < 0 ? at / -step + 1 : (ARRAY_LANES - 1 - at) / step + 1;
}

static void cut_run(const struct plan *p, struct units *u, int64_t length, int64_t from_row,
                    int64_t from_lane, int64_t to_row, int64_t to_lane)
{
    bool is_shared = p->is_shared || (to_lane % ARRAY_LANES && length > 1);

    for (int64_t done = 0; done < length;) {
        int64_t from = from_lane + done * p->from_step, to = to_lane + done * p->to_step;
        int64_t room = room_in_tile(from, p->from_step), take = length - done;
        struct unit *x = &u->unit[u->count++];

        if (room > room_in_tile(to, p->to_step))
            room = room_in_tile(to, p->to_step);
        take = take < room ? take : room;
        *x = (struct unit){
            .from_row = from_row + lane_tile(from) * p->box->from[p->source].lane_step,
            .to_row = to_row + lane_tile(to) * p->box->to.lane_step,
            .lanes = {.from = (int)(from % ARRAY_LANES), .to = (int)(to % ARRAY_LANES),
                      .count = (int)take, .from_step = p->from_step, .to_step = p->to_step},
            .is_masked = is_shared || take < length || to % ARRAY_LANES};
        done += take;
    }
}

/* every combination of the axes of lanes other than the runs */
struct combos { int axis[AXES_MAX + 4]; int64_t at[AXES_MAX + 4]; int count; int64_t total; };

static void list_combos(const struct plan *p, struct combos *c)
{
    *c = (struct combos){.total = 1};
    for (int k = 0; k < p->count; k++)
        if (!is_plain(p, k) && k != p->from_run && k != p->to_run) {
            c->axis[c->count++] = k;
            c->total *= p->axis[k].count;
        }
}

static bool next_combo(const struct plan *p, struct combos *c)
{
    for (int i = 0; i < c->count; i++) {
        if (++c->at[i] < p->axis[c->axis[i]].count)
            return true;
        c->at[i] = 0;
    }
    return false;
}

/* rows and lanes that the present combination adds */
static struct move_axis combo_offset(const struct plan *p, const struct combos *c)
{
    struct move_axis sum = {0};

    for (int i = 0; i < c->count; i++) {
        const struct move_axis *x = &p->axis[c->axis[i]];

        sum.from_row += c->at[i] * x->from_row;
        sum.to_row += c->at[i] * x->to_row;
        sum.from_lane += c->at[i] * x->from_lane;
        sum.to_lane += c->at[i] * x->to_lane;
    }
    return sum;
}

static void plain_loops(const struct plan *p, struct move_loops *l)
{
    for (int k = 0; k < p->count; k++)
        if (is_plain(p, k) && k != p->eight && k != p->from_run && k != p->to_run)
            move_add_loop(l, p->axis[k].count, p->axis[k].from_row, p->axis[k].to_row);
}

/* units that a run of this length is cut into, at most */
static int64_t units_of(const struct plan *p, int64_t length)
{
    int64_t from = p->from_step < 0 ? -p->from_step : p->from_step;

    return length * (from + p->to_step) / ARRAY_LANES + 3;
}

/* the runs `length` long, at `skip` of their axis, with `periods` of them behind each other */
static void emit_runs(struct move_step *s, const struct plan *p, int64_t skip, int64_t length,
                      int64_t periods)
{
    const struct move_side *from = &p->box->from[p->source];
    const struct move_axis *eight = p->eight < 0 ? NULL : &p->axis[p->eight];
    int64_t count = eight ? eight->count : 1, done = 0;
    struct units u = {.from_stride = eight ? eight->from_row : 0,
                      .to_stride = eight ? eight->to_row : 0};
    struct combos c;

    list_combos(p, &c);
    if (c.total * units_of(p, length) > RUNS_MAX) {
        s->is_refused = true;
        return;
    }
    u.unit = mem_alloc((size_t)(c.total * units_of(p, length)) * sizeof(*u.unit));
    do {
        struct move_axis at = combo_offset(p, &c);

        cut_run(p, &u, length, p->from_row + at.from_row,
                p->from_lane + at.from_lane + skip * p->from_step, p->to_row + at.to_row,
                p->to_lane + at.to_lane + skip * p->to_step);
    } while (next_combo(p, &c));
    while (done < count) {
        struct move_loops l = {.step = s, .body = move_units, .user = &u, .units = u.count};
        int64_t rows = count - done < MOVE_SUBLANES ? count - done : MOVE_SUBLANES;
        int64_t groups = rows == MOVE_SUBLANES ? (count - done) / MOVE_SUBLANES : 1;

        u.rows = (int)rows;
        plain_loops(p, &l);
        move_add_loop(&l, periods, length * p->from_step / ARRAY_LANES * from->lane_step,
                      length * p->to_step / ARRAY_LANES * p->box->to.lane_step);
        move_add_loop(&l, groups, MOVE_SUBLANES * u.from_stride, MOVE_SUBLANES * u.to_stride);
        move_run_loops(&l, move_side_place(s, from, done * u.from_stride),
                  move_side_place(s, &p->box->to, done * u.to_stride));
        done += groups * rows;
    }
    mem_free(u.unit);
}

/* all lanes that axes other than the runs lead to are starts of tiles, on this side */
static bool starts_tiles(const struct plan *p, bool is_result)
{
    if ((is_result ? p->to_lane : p->from_lane) % ARRAY_LANES)
        return false;
    for (int k = 0; k < p->count; k++)
        if (k != p->from_run && k != p->to_run &&
            (is_result ? p->axis[k].to_lane : p->axis[k].from_lane))
            return false;
    return true;
}

/* elements after which a run is at the same lane of a tile again, on both sides */
static int64_t period_of(const struct plan *p)
{
    int64_t from = ARRAY_LANES / gcd(ARRAY_LANES, p->from_step < 0 ? -p->from_step : p->from_step);
    int64_t to = ARRAY_LANES / gcd(ARRAY_LANES, p->to_step);

    return from > to ? from : to;       /* powers of two */
}

static void emit_along(struct move_step *s, struct plan *p)
{
    int64_t length = p->from_run < 0 ? 1 : p->axis[p->from_run].count;
    int64_t period = period_of(p), periods = length / period;
    bool is_shifted = p->from_step == 1 && p->to_step == 1 &&
                      !(starts_tiles(p, false) && starts_tiles(p, true));

    p->eight = choose_eight(p);
    if (periods < 2 || is_shifted) {
        emit_runs(s, p, 0, length, 1);
        return;
    }
    emit_runs(s, p, 0, period, periods);
    if (length % period)
        emit_runs(s, p, periods * period, length % period, 1);
}

/* ----- lanes of one side are rows of the other */

/* rows b.. of the operand become lanes, lanes a.. become rows of the result */
struct block {
    int64_t from_row, to_row;           /* of row b and lane tile; of the row that lane a becomes */
    int from_lane, a_count;             /* in their tile of lanes */
    int to_lane, b_count;
    bool is_masked;
};

struct blocks {
    struct block block[64];
    int count;
    int64_t from_stride, to_stride;     /* rows per b, rows per a */
};

static void push(struct move_step *s, int unit, int v, int number, int total, int width)
{
    enum isa_opcode code = total == 1 ? OP_VXPOSE_ONE : number == 0 ? OP_VXPOSE_START :
                           number == total - 1 ? OP_VXPOSE_END : OP_VXPOSE_CONT;

    struct isa_op op = isa_vxpose_cont(unit, v, width, VXPOSE_CONT_B32);

    op.code = (uint16_t)code;
    vcode_put(s->m.code, op);
}

static int first_of_group(int group, int lane)
{
    return group * MOVE_SUBLANES < lane ? lane : group * MOVE_SUBLANES;
}

static int end_of_group(int group, int end)
{
    return (group + 1) * MOVE_SUBLANES < end ? (group + 1) * MOVE_SUBLANES : end;
}

static void transpose_block(struct move_step *s, const struct blocks *all, const struct block *x,
                            struct move_place from, struct move_place to)
{
    const struct chip *chip = s->box->job->chip;
    int b_end = x->to_lane + x->b_count, a_end = x->from_lane + x->a_count;
    int pushes = (int)div_up(b_end, MOVE_SUBLANES), pops = (int)div_up(a_end, MOVE_SUBLANES);
    int unit = move_take_xlu(s), v = -1, first_push = x->to_lane / MOVE_SUBLANES;

    s->xlu += (double)((pushes > pops ? pushes : pops) * chip->xlu_xpose_issue_cycles);
    s->ops += pushes + pops;
    for (int g = first_push; g < pushes; g++) {
        int first = first_of_group(g, x->to_lane), end = end_of_group(g, b_end);
        int64_t row = x->from_row + (g * MOVE_SUBLANES - x->to_lane) * all->from_stride;

        v = move_load_rows(s, move_behind(from, row), all->from_stride, first - g * MOVE_SUBLANES,
                      end - g * MOVE_SUBLANES);
        if (s->is_counted)
            continue;
        for (int k = g == first_push ? 0 : g; k <= g; k++)      /* lanes below are not stored */
            push(s, unit, v, k, pushes, pops * MOVE_SUBLANES);
    }
    for (int g = 0; g < pops; g++) {
        int first = first_of_group(g, x->from_lane), end = end_of_group(g, a_end);
        int64_t row = x->to_row + (g * MOVE_SUBLANES - x->from_lane) * all->to_stride;

        if (!s->is_counted)
            v = emit_vpop_trf(s->m.code, unit);
        if (first < end)
            move_store_rows(s, move_behind(to, row), all->to_stride, first - g * MOVE_SUBLANES,
                       end - g * MOVE_SUBLANES, x->is_masked ? x->to_lane : 0,
                       x->is_masked ? b_end : ARRAY_LANES, v);
    }
}

static void transpose_blocks(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct blocks *b = l->user;

    for (int i = 0; i < b->count; i++)
        transpose_block(l->step, b, &b->block[i], from, to);
}

/* [skip, skip + length) of either run, cut where tiles of lanes end; -1: too many blocks */
static int cut_blocks(const struct plan *p, struct blocks *all, const struct move_axis *at,
                      int64_t a_skip, int64_t a_length, int64_t b_skip, int64_t b_length)
{
    int64_t from_lane = p->from_lane + at->from_lane + a_skip;
    int64_t to_lane = p->to_lane + at->to_lane + b_skip;

    for (int64_t a = 0; a < a_length;) {
        int64_t a_room = ARRAY_LANES - (from_lane + a) % ARRAY_LANES;
        int64_t a_take = a_length - a < a_room ? a_length - a : a_room;

        for (int64_t b = 0; b < b_length;) {
            int64_t b_room = ARRAY_LANES - (to_lane + b) % ARRAY_LANES;
            int64_t b_take = b_length - b < b_room ? b_length - b : b_room;
            struct block *x = &all->block[all->count++];

            if (all->count > 60)
                return -1;
            x->from_lane = (int)((from_lane + a) % ARRAY_LANES);
            x->a_count = (int)a_take;
            x->to_lane = (int)((to_lane + b) % ARRAY_LANES);
            x->b_count = (int)b_take;
            x->from_row = p->from_row + at->from_row
                          + lane_tile(from_lane + a) * p->box->from[p->source].lane_step
                          + (b_skip + b) * all->from_stride;
            x->to_row = p->to_row + at->to_row + lane_tile(to_lane + b) * p->box->to.lane_step
                        + (a_skip + a) * all->to_stride;
            x->is_masked = p->is_shared || x->to_lane || b_take < b_length;
            b += b_take;
        }
        a += a_take;
    }
    return 0;
}

static void emit_blocks(struct move_step *s, const struct plan *p, int64_t a_skip,
                        int64_t a_length, int64_t a_tiles, int64_t b_skip, int64_t b_length,
                        int64_t b_tiles)
{
    const struct move_side *from = &p->box->from[p->source];
    struct blocks *all = mem_alloc(sizeof(*all));
    struct move_loops l = {.step = s, .body = transpose_blocks, .user = all};
    struct combos c;

    *all = (struct blocks){.from_stride = p->to_run < 0 ? 0 : p->axis[p->to_run].from_row,
                           .to_stride = p->from_run < 0 ? 0 : p->axis[p->from_run].to_row};
    list_combos(p, &c);
    do {
        struct move_axis at = combo_offset(p, &c);

        if (cut_blocks(p, all, &at, a_skip, a_length, b_skip, b_length)) {
            s->is_refused = true;
            break;
        }
    } while (next_combo(p, &c));
    if (!s->is_refused) {
        l.units = all->count * 4;
        plain_loops(p, &l);
        move_add_loop(&l, a_tiles, from->lane_step, ARRAY_LANES * all->to_stride);
        move_add_loop(&l, b_tiles, ARRAY_LANES * all->from_stride, p->box->to.lane_step);
        move_run_loops(&l, move_side_place(s, from, 0), move_side_place(s, &p->box->to, 0));
    }
    mem_free(all);
}

/* a long run is a loop over whole tiles, and what is left */
struct part { int64_t skip, length, tiles; };

static int cut_long(int64_t length, bool starts_tile, struct part *part)
{
    int64_t tiles = length / ARRAY_LANES, rest = length % ARRAY_LANES;
    int count = 0;

    if (tiles < 2 || !starts_tile) {
        part[0] = (struct part){0, length, 1};
        return 1;
    }
    part[count++] = (struct part){0, ARRAY_LANES, tiles};
    if (rest)
        part[count++] = (struct part){tiles * ARRAY_LANES, rest, 1};
    return count;
}

static void emit_across(struct move_step *s, struct plan *p)
{
    const struct move_axis *a = p->from_run < 0 ? NULL : &p->axis[p->from_run];
    const struct move_axis *b = p->to_run < 0 ? NULL : &p->axis[p->to_run];
    struct part a_part[2], b_part[2];
    int a_parts, b_parts;

    if ((a && a->to_lane) || (b && b->from_lane)) {
        s->is_refused = true;
        return;
    }
    a_parts = cut_long(a ? a->count : 1, starts_tiles(p, false), a_part);
    b_parts = cut_long(b ? b->count : 1, starts_tiles(p, true), b_part);
    for (int i = 0; i < a_parts; i++)
        for (int k = 0; k < b_parts; k++)
            emit_blocks(s, p, a_part[i].skip, a_part[i].length, a_part[i].tiles, b_part[k].skip,
                        b_part[k].length, b_part[k].tiles);
}

static void emit_source(struct move_step *s, int source)
{
    struct plan p = {.box = s->box, .source = source};

    p.count = move_box_axes(s->box, source, p.axis, &p.from_row, &p.from_lane, &p.to_row,
                            &p.to_lane);
    sort_axes(&p);
    if (p.from_run == p.to_run)
        emit_along(s, &p);
    else
        emit_across(s, &p);
}

void move_step_emit(struct move_step *s)
{
    for (int i = 0; i < s->box->map.source_count; i++)
        move_convert_image(s, &s->box->from[i], false);
    if (s->box->map.has_fill)
        move_fill_image(s);
    for (int i = 0; i < s->box->map.source_count && !s->is_refused; i++)
        emit_source(s, i);
    move_convert_image(s, &s->box->to, true);
}

int64_t move_step_cycles(struct move_box *b)
{
    struct move_step s = {.box = b, .is_counted = true};

    move_box_resolve(b);
    move_step_emit(&s);
    return s.is_refused ? -1 : (int64_t)s.cycles;
}
