/* Computes one cycle of a matrix unit from what was fed, looked at from time `t`. */
#include "base/text.h"
#include "viz/models/model_wavefront.h"

#include <stdio.h>
#include <string.h>

/* no operation that started so long before `t` still has rows in the array or sums to come */
static bool is_past(const struct wavefront *w, const struct wave_op *o, cycle_t t)
{
    return o->start + w->latency_cycles + 2 * w->size + WAVE_OP_CYCLES_MAX < t;
}

/* ---- the array ---- */

/* rows of `o` that enter in cycle `t`: the first, and how many */
static int rows_entering(const struct wave_op *o, cycle_t t, int *first)
{
    const cycle_t cycles = o->tile_cycles, since = t - o->enters;

    if (since < 0 || since >= cycles)
        return 0;
    *first = (int)((since * o->rows + cycles - 1) / cycles);
    return (int)(((since + 1) * o->rows + cycles - 1) / cycles) - *first;
}

static void fill_diagonal(const struct wavefront *w, const struct wave_op *o, cycle_t t,
                          int diagonal, struct wave_diagonal *to)
{
    const cycle_t entry = t - wavefront_delay(w, diagonal);

    if (entry < o->enters)
        return;
    if (!to->op && (to->rows = rows_entering(o, entry, &to->row)) > 0)
        to->op = o;
}

static void fill_array(const struct wavefront *w, cycle_t t, struct wave_frame *f)
{
    const int diagonals = 2 * w->size - 1;
    size_t index = wavefront_after(w, t);

    while (index-- > 0 && !is_past(w, &w->op[index], t))
        for (int i = 0; i < diagonals && w->op[index].kind == WAVE_MULTIPLY; i++)
            fill_diagonal(w, &w->op[index], t, i, &f->diagonal[i]);
    for (int i = 0; i < diagonals; i++) {
        f->active += f->diagonal[i].op ? wavefront_diagonal_length(w, i) : 0;
        f->products += (int64_t)f->diagonal[i].rows * wavefront_diagonal_length(w, i);
    }
}

/* ---- weights ---- */

/* rows that a push has shifted in by the end of cycle `t` */
static int rows_shifted(const struct wave_op *o, cycle_t t)
{
    if (t >= o->end - 1)
        return o->rows;
    return (int)((t + 1 - o->start) * o->rows / (o->end - o->start));
}

static void fill_rows(const struct wavefront *w, const struct wave_op *o, int first, int count,
                      struct wave_register *r)
{
    const int half = w->size / 2;

    for (int i = first; i < first + count && i < w->size; i++) {
        if (o->mode < 2) {
            r->push[i] = o;
        } else if (i < half) {          /* both halves shift by themselves */
            r->push[i] = r->push[half + i] = o;
        }
    }
}

static int register_rows(const struct wavefront *w, const struct wave_op *o)
{
    return o->mode < 2 ? w->size : w->size / 2;
}

void wavefront_register(const struct wavefront *w, int staging, cycle_t t,
                        struct wave_register *r)
{
    const struct wave_op *newest = NULL;
    size_t index = wavefront_after(w, t);
    bool is_latched = false;

    memset(r, 0, sizeof(*r));
    while (index-- > 0) {
        const struct wave_op *o = &w->op[index];
        int rows;

        is_latched |= !newest && o->kind == WAVE_MULTIPLY && o->latches == staging;
        if (o->kind != WAVE_PUSH || o->reg != staging)
            continue;
        if (newest && (o->is_xpose != newest->is_xpose || (o->mode < 2) != (newest->mode < 2)))
            break;
        if (!newest) {
            newest = o;
            r->is_columns = o->is_xpose;
            r->filling = t < o->end ? o : NULL;
        }
        rows = rows_shifted(o, t);
        fill_rows(w, o, r->filled, rows, r);
        r->filled += rows;
        r->fresh += !is_latched && o->weights == newest->weights ? rows : 0;
        if (r->filled >= register_rows(w, o))
            break;
    }
    if (newest && r->filled > register_rows(w, newest))
        r->filled = register_rows(w, newest);
    r->fresh = r->fresh < r->filled ? r->fresh : r->filled;
}

/* ---- results ---- */

static void count_tiles(const struct wavefront *w, const struct wave_op *o, cycle_t t,
                        struct wave_frame *f)
{
    for (int tile = 0; tile < wavefront_result_tiles(w, o); tile++) {
        cycle_t ready_at = wavefront_result_ready(w, o, tile);

        f->under_way += ready_at > t;
        f->leaving += ready_at == t;
    }
}

static void count_results(const struct wavefront *w, cycle_t t, struct wave_frame *f)
{
    const size_t end = wavefront_after(w, t);
    int64_t results = w->older_results, pops = 0;
    bool has_results = false, has_pops = false;
    size_t index = end;

    while (index-- > 0) {
        const struct wave_op *o = &w->op[index];

        if (o->kind == WAVE_POP) {
            if (!has_pops)
                pops = o->results_before + 1;
            has_pops = true;
            f->popped += o->start == t;
        } else if (o->kind == WAVE_MULTIPLY) {
            if (!has_results)
                results += o->results_before + wavefront_result_tiles(w, o);
            has_results = true;
            count_tiles(w, o, t, f);
        }
        if (is_past(w, o, t) && has_pops && has_results)
            break;
    }
    f->ready = results - f->under_way - pops;
}

/* accumulators with a sum that is not popped whole yet */
static void count_sums(const struct wavefront *w, cycle_t t, struct wave_frame *f)
{
    const size_t end = wavefront_after(w, t);
    uint8_t half[ISA_ACCUMULATOR_MAX] = {0};

    for (size_t index = 0; index < end; index++) {
        const struct wave_op *o = &w->op[index];

        if (o->accumulator < 0)
            continue;
        for (int i = 0; o->kind == WAVE_MULTIPLY && i < o->rows / 8; i++)
            half[(o->accumulator + i) % ISA_ACCUMULATOR_MAX] = (uint8_t)w->tiles_per_group;
        if (o->kind == WAVE_POP && half[o->accumulator % ISA_ACCUMULATOR_MAX] > 0)
            half[o->accumulator % ISA_ACCUMULATOR_MAX]--;
    }
    for (int i = 0; i < w->accumulators; i++)
        f->sums += half[i] > 0;
}

/* what enters the array, and whose weights its gain registers hold */
static void fill_entry(const struct wavefront *w, cycle_t t, struct wave_frame *f)
{
    size_t index = wavefront_after(w, t);

    f->entering_row = -1;
    while (index-- > 0 && !(f->gain[0] && f->gain[1])) {
        const struct wave_op *o = &w->op[index];

        if (o->kind != WAVE_MULTIPLY)
            continue;
        if (t < o->enters || rows_entering(o, t, &f->entering_row) > 0)
            f->entering = t < o->enters + o->tile_cycles ? o : f->entering;
        if (o->latches >= 0 && o->enters <= t && !f->gain[o->reg])
            f->gain[o->reg] = o;
    }
}

void wavefront_frame(const struct wavefront *w, cycle_t t, struct wave_frame *f)
{
    memset(f, 0, sizeof(*f));
    f->at = t;
    fill_array(w, t, f);
    wavefront_register(w, 0, t, &f->staging[0]);
    wavefront_register(w, 1, t, &f->staging[1]);
    count_results(w, t, f);
    if (w->accumulators > 0)
        count_sums(w, t, f);
    fill_entry(w, t, f);
}

/* ---- in words ---- */

char *wavefront_describe(const struct wavefront *w, const struct wave_op *o, char *buf,
                         size_t bytes)
{
    const struct isa_program *p = w->program;
    const uint32_t line = p->bundle[o->bundle].line;
    char name[ISA_NAME_MAX], where[200] = "";

    isa_print_op_mnemonic(&p->op[o->op], name, sizeof(name));
    if (line > 0) {
        const char *file = p->name ? strrchr(p->name, '/') : NULL;

        snprintf(where, sizeof(where), " (%.160s:%u)", file ? file + 1 : p->name ? p->name : "line",
                 line);
    }
    snprintf(buf, bytes, "%s at bundle %u%s", name, o->bundle, where);
    return buf;
}

struct sentence {
    char *text;
    size_t bytes, used;
    bool has_part;
};

static void say(struct sentence *s, const char *part)
{
    const int n = snprintf(s->text + s->used, s->bytes - s->used, "%s%s", s->has_part ? "; " : "",
                           part);

    s->used = n < 0 || s->used + (size_t)n >= s->bytes ? s->bytes - 1 : s->used + (size_t)n;
    s->has_part = true;
}

static void say_entering(const struct wavefront *w, const struct wave_frame *f,
                         struct sentence *s)
{
    char name[300], part[500];
    const struct wave_op *o = f->entering;

    if (!o)
        return;
    wavefront_describe(w, o, name, sizeof(name));
    if (f->entering_row < 0)
        snprintf(part, sizeof(part), "all PEs take the weights of staging register %c for %s",
                 "AB"[o->latches >= 0 ? o->latches : 0], name);
    else
        snprintf(part, sizeof(part), "row %lld of these weights enters, of %s",
                 (long long)(o->rows_before + f->entering_row), name);
    say(s, part);
}

static void say_array(const struct wavefront *w, const struct wave_frame *f, struct sentence *s)
{
    const struct short_text all = text_thousands((int64_t)w->size * w->size);
    char part[200];

    if (f->active > 0)
        snprintf(part, sizeof(part), "%s of %s PEs multiply", text_thousands(f->active).text,
                 all.text);
    else
        snprintf(part, sizeof(part), "all %s PEs are idle", all.text);
    say(s, part);
}

static void say_weights(const struct wavefront *w, const struct wave_frame *f, struct sentence *s)
{
    char part[200];

    for (int i = 0; i < 2; i++) {
        const struct wave_register *r = &f->staging[i];

        if (!r->filling)
            continue;
        snprintf(part, sizeof(part), "weights come into staging register %c: %d of its %d %s are "
                 "new", "AB"[i], r->fresh, register_rows(w, r->filling),
                 r->is_columns ? "columns" : "rows");
        say(s, part);
    }
}

static void say_results(const struct wave_frame *f, struct sentence *s)
{
    char part[200];

    if (f->leaving > 0) {
        snprintf(part, sizeof(part), "the sums of 8 rows leave as %s", f->leaving == 1 ?
                 "a result tile" : "two result tiles");
        say(s, part);
    }
    if (f->popped > 0)
        say(s, "the program pops a result");
}

char *wavefront_explain(const struct wavefront *w, const struct wave_frame *f, char *buf,
                        size_t bytes)
{
    struct sentence s = {.text = buf, .bytes = bytes};

    s.used = (size_t)snprintf(buf, bytes, "Cycle %s: ", text_thousands(f->at).text);
    say_entering(w, f, &s);
    say_array(w, f, &s);
    say_weights(w, f, &s);
    say_results(f, &s);
    snprintf(buf + s.used, bytes - s.used, ".");
    return buf;
}
