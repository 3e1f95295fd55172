/* Prints a model's summary as the table that people read. */
#include "keras/model/summary.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum { NAME_WIDTH = 44, SHAPE_WIDTH = 22 };

static const char *const bounds[] = {"", "compute", "copies", "start and end"};

/* "(None, 26, 26, 256)" */
static void print_shape(const struct shape *s, FILE *to)
{
    char text[120];
    size_t used = (size_t)snprintf(text, sizeof(text), "(None");

    for (int i = 0; i < s->rank && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ", %" PRId64, s->dim[i]);
    fprintf(to, "%s)%*s", text, (int)(used < SHAPE_WIDTH ? SHAPE_WIDTH - used : 0), "");
}

static void print_number(int64_t value, int width, FILE *to)
{
    char text[28];

    fprintf(to, " %*s", width, value ? text_thousands(value, text, sizeof(text)) : "-");
}

static void print_row(const struct summary *s, const struct summary_row *r, FILE *to)
{
    char name[160] = "(no layer of its own)";

    if (r->layer)
        snprintf(name, sizeof(name), "%s (%s)", r->layer->name, layer_class(r->layer->kind));
    fprintf(to, "%-*s ", NAME_WIDTH, name);
    if (r->layer)
        print_shape(&r->output, to);
    else
        fprintf(to, "%*s", SHAPE_WIDTH + 1, "");
    print_number(r->parameters, 12, to);
    print_number(r->flops, 15, to);
    if (s->options.chip) {
        print_number(r->forward_cycles, 14, to);
        if (s->options.has_backward)
            print_number(r->backward_cycles, 14, to);
        fprintf(to, "  %-13s", bounds[summary_bound_of(r)]);
    }
    fprintf(to, "  %s\n", r->from);
}

static void print_heading(const struct summary *s, FILE *to)
{
    fprintf(to, "Model: \"%s\"\n\n%-*s %-*s %12s %15s", s->model->name, NAME_WIDTH, "Layer (type)",
            SHAPE_WIDTH + 1, "Output shape", "Param #", "FLOP/sample");
    if (s->options.chip)
        fprintf(to, " %14s", "fwd cycles");
    if (s->options.chip && s->options.has_backward)
        fprintf(to, " %14s", "bwd cycles");
    fprintf(to, "%s  Connected to\n", s->options.chip ? "  bound by     " : "");
}

static void print_bytes(const char *what, int64_t parameters, FILE *to)
{
    char count[28], bytes[32];

    fprintf(to, "%-22s %14s (%s)\n", what, text_thousands(parameters, count, sizeof(count)),
            text_bytes(4 * parameters, bytes, sizeof(bytes)));
}

static void print_time(const struct summary *s, const char *what, int64_t cycles, double flops,
                       FILE *to)
{
    const struct chip *c = s->options.chip;
    double us = (double)cycles / (double)c->chip_clock_mhz;
    double peak = chip_peak_bf16_tflops(c) * 1e6 / (double)c->chip_cores;
    char text[28];

    fprintf(to, "%-22s %14s cycles, %.1f us: %.1f %% of a core's peak of %.1f TFLOP/s in bf16\n",
            what, text_thousands(cycles, text, sizeof(text)), us,
            cycles ? 100.0 * flops / (us * peak) : 0.0, peak / 1e6);
}

void summary_print(const struct summary *s, FILE *to)
{
    double flops = (double)s->total.flops * (double)s->options.batch;
    char text[28];

    print_heading(s, to);
    for (int i = 0; i < s->row_count; i++)
        if (s->row[i].layer || s->row[i].forward_cycles || s->row[i].backward_cycles)
            print_row(s, &s->row[i], to);
    fputc('\n', to);
    print_bytes("Total params:", s->total.parameters, to);
    print_bytes("Trainable params:", s->total.trainable, to);
    print_bytes("Non-trainable params:", s->total.parameters - s->total.trainable, to);
    fprintf(to, "%-22s %14s FLOP forward\n", "Per sample:",
            text_thousands(s->total.flops, text, sizeof(text)));
    if (!s->options.chip)
        return;
    fprintf(to, "\nPredicted for one core of %s, %s, %" PRId64 " sample%s at a time:\n",
            s->options.chip->chip_name, keras_policy_name(s->model->policy), s->options.batch,
            s->options.batch == 1 ? "" : "s");
    print_time(s, "Forward:", s->total.forward_cycles, flops, to);
    if (s->options.has_backward)
        print_time(s, "Backward:", s->total.backward_cycles, 2.0 * flops, to);
}
