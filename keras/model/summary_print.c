/* Prints a model's summary as the table that people read. */
#include "keras/model/summary_impl.h"

#include <inttypes.h>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"

const char *summary_bound_name(enum summary_bound b)
{
    static const char *const names[] = {"", "compute", "copies", "start and end"};

    return names[b];
}

/* "(None, 26, 26, 256)" */
static const char *shape_text(const struct shape *s, struct arena *a)
{
    const char *text = "(None";

    for (int i = 0; i < s->rank; i++)
        text = arena_printf(a, "%s, %" PRId64, text, s->dim[i]);
    return arena_printf(a, "%s)", text);
}

static struct table_cell number(int64_t value)
{
    return value ? cell_int(value) : cell_text("-");
}

/* columns about cycles are not shown where no chip was named */
static void print_layers(const struct summary *s, FILE *to)
{
    bool has_chip = s->options.chip != NULL;
    const struct table_field fields[] = {
        {TABLE_SHOWN(TEXT, NULL, "Layer (type)"), .width = 44, .is_whole_text = true},
        {TABLE_SHOWN(TEXT, NULL, "Output Shape"), .width = 23},
        {TABLE_SHOWN(INT, NULL, "Param #"), .width = 11},
        {TABLE_SHOWN(INT, NULL, "FLOP/sample"), .width = 14},
        {.heading = "fwd cycles", .kind = CELL_INT, .is_shown = has_chip, .width = 13},
        {.heading = "bwd cycles", .kind = CELL_INT,
         .is_shown = has_chip && s->options.has_backward, .width = 13},
        {.heading = "bound by", .kind = CELL_TEXT, .is_shown = has_chip, .width = 13},
        {.heading = "Connected to", .kind = CELL_TEXT, .is_whole_text = true,
         .is_shown = !summary_is_chain(s->model)}};
    struct summary_shown *row;
    struct table t;
    int count;

    table_begin_count(&t, fields, COUNT_OF(fields), NULL);
    t.indent = "";
    count = summary_show(s, t.arena, &row);
    for (int i = 0; i < count; i++) {
        const struct summary_row *r = &row[i].sum;
        const char *name = row[i].name ? arena_printf(t.arena, "%s (%s)", row[i].name,
                                                      row[i].class) : "(no layer of its own)";

        TABLE_ROW(&t, cell_text(name), cell_text(row[i].name ? shape_text(&r->output, t.arena)
                                                             : NULL),
                  row[i].name ? cell_int(r->parameters) : cell_none(), number(r->flops),
                  number(r->forward_cycles), number(r->backward_cycles),
                  cell_text(summary_bound_name(summary_bound_of(r))), cell_text(row[i].from));
    }
    table_print_text(&t, to);
    table_end(&t);
}

/* "2.83 KB", as Keras has it */
static void print_bytes(const char *what, int64_t parameters, FILE *to)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double size = 4.0 * (double)parameters;
    size_t unit = 0;

    for (; size >= 1024.0 && unit + 1 < COUNT_OF(units); unit++)
        size /= 1024.0;
    text_print_file(to, "%s: %s (%.2f %s)\n", what,
                    text_thousands(parameters).text, size, units[unit]);
}

static void print_time(const struct summary *s, const char *what, int64_t cycles, double flops,
                       FILE *to)
{
    const struct chip *c = s->options.chip;
    double us = (double)cycles / (double)c->chip_clock_mhz;
    double peak = chip_peak_bf16_tflops(c) * 1e6 / (double)c->chip_cores;

    text_print_file(to, "%-22s %14s cycles, %.1f us: %.1f %% of a core's peak of %.1f TFLOP/s in "
                    "bf16\n", what, text_thousands(cycles).text, us,
                    cycles ? 100.0 * flops / (us * peak) : 0.0, peak / 1e6);
}

void summary_print(const struct summary *s, FILE *to)
{
    double flops = (double)s->total.flops * (double)s->options.batch;

    fprintf(to, "Model: \"%s\"\n\n", s->model->name);
    print_layers(s, to);
    fputc('\n', to);
    print_bytes("Total params", s->total.parameters, to);
    print_bytes("Trainable params", s->total.trainable, to);
    print_bytes("Non-trainable params", s->total.parameters - s->total.trainable, to);
    fprintf(to, "%-22s %14s FLOP forward\n", "Per sample:", text_thousands(s->total.flops).text);
    if (!s->options.chip)
        return;
    fprintf(to, "\nPredicted for one core of %s, %s, %" PRId64 " sample%s at a time:\n",
            s->options.chip->chip_name, keras_policy_name(s->model->policy), s->options.batch,
            s->options.batch == 1 ? "" : "s");
    print_time(s, "Forward:", s->total.forward_cycles, flops, to);
    if (s->options.has_backward)
        print_time(s, "Backward:", s->total.backward_cycles, 2.0 * flops, to);
}
