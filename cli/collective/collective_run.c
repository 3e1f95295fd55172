/* Carries one collective out: makes the plan for a request, and runs the engine that suits. */
#include "cli/collective/collective.h"

#include "base/text.h"
#include "base/units.h"
#include "base/progress.h"
#include "sim/time/clock.h"
#include "cli/common/run_progress.h"
#include "sim/machine/machine.h"
#include "stack/collective/collective_program.h"
#include "stack/collective/collective_verify.h"

#include <inttypes.h>
#include <string.h>

#define DATA_SEED 1

const char *collective_engine_name(enum collective_engine n)
{
    return n == ENGINE_CORES ? "cores" : n == ENGINE_STEPS ? "steps" : "auto";
}

const char *collective_type_name(enum collective_type t)
{
    return t == COLLECTIVE_BF16 ? "bf16" : "f32";
}

double collective_algorithm_bandwidth(const struct collective_answer *a)
{
    return a->result.time_ps ? (double)a->options.bytes / (1e-12 * (double)a->result.time_ps) : 0;
}

double collective_bus_bandwidth(const struct collective_answer *a)
{
    return a->bound.bus_factor * collective_algorithm_bandwidth(a);
}

double collective_efficiency(const struct collective_answer *a)
{
    return a->result.time_ps ? a->bound.seconds / (1e-12 * (double)a->result.time_ps) : 0;
}

/* ----- the request */

static int check_axes(const struct collective_options *o, const struct slice *s, struct err *e)
{
    if (o->axis[2] && s->dims < 3)
        return err_set(e, "--axes names z; the chips of %s stand in a grid of x and y", s->name);
    return 0;
}

/* ranks, of groups side by side or in series, that the array of a device is cut for */
static int parts_of(const struct collective_answer *w)
{
    return w->arrays * (w->options.costs ? w->options.costs->series : 1);
}

/* A size that does not divide, told with the nearest that do; in bytes of a device. */
static int check_bytes(const struct collective_answer *w, struct err *e)
{
    int64_t unit = collective_unit(&w->request) * parts_of(w), bytes = w->options.bytes;
    int64_t below = bytes / unit * unit;
    struct short_text asked = text_thousands(bytes), each = text_thousands(unit);

    if (bytes % unit == 0)
        return 0;
    if (below == 0)
        return err_set(e, "--bytes is %s: %s by %s on %s takes multiples of %s bytes, so at "
                       "least that", asked.text, collective_kind_name(w->request.kind),
                       collective_algo_name(w->request.algo), w->slice.name, each.text);
    return err_set(e, "--bytes is %s: %s by %s on %s takes multiples of %s bytes; the nearest "
                   "are %" PRId64 " and %" PRId64, asked.text,
                   collective_kind_name(w->request.kind), collective_algo_name(w->request.algo),
                   w->slice.name, each.text, below,
                   below + unit);
}

/* chips whose cores form one device of frameworks: an array of the chip, a part on each core */
static bool is_one_device(const struct chip *c)
{
    return strcmp(c->chip_name, "TPU v4") == 0 || strcmp(c->chip_name, "TPU v5p") == 0;
}

/* A formula has whole steps: what a rank of a ring passes on at once. */
static int64_t block_bytes(const struct collective_answer *w)
{
    int64_t ranks = w->request.over_chips ? 1 : w->slice.core_count / w->slice.chip_count;

    for (int i = 0; i < 3; i++)
        ranks *= w->request.axis[i] ? w->slice.dim[i] : 1;
    return div_up(w->request.bytes, ranks);
}

static int make_request(struct collective_answer *w, struct arena *a, struct err *e)
{
    const struct collective_options *o = &w->options;
    bool over_chips;

    if (cli_load_slice(&o->target, &w->slice, &w->chip, NULL, a, e) ||
        check_axes(o, &w->slice, e))
        return -1;
    over_chips = o->over == OVER_DEFAULT ? is_one_device(&w->chip) : o->over == OVER_CHIPS;
    w->arrays = over_chips ? w->slice.core_count / w->slice.chip_count : 1;
    w->request = (struct collective_request){
        .kind = o->kind, .algo = o->algo, .type = o->type, .chunk_bytes = o->chunk_bytes,
        .over_chips = over_chips, .device_ranks = parts_of(w), .root = (int)o->root,
        .shift = (int)o->shift, .slice = &w->slice, .chip = &w->chip};
    memcpy(w->request.axis, o->axis, sizeof(o->axis));
    if (!o->axis[0] && !o->axis[1] && !o->axis[2])
        for (int i = 0; i < w->slice.dims; i++)
            w->request.axis[i] = true;
    w->request.bytes = o->bytes / parts_of(w);
    if (o->costs && !o->chunk_bytes)
        w->request.chunk_bytes = block_bytes(w);
    return o->kind == COLLECTIVE_BARRIER ? 0 : check_bytes(w, e);
}

/* ----- the engines */

static void show_progress(void *context, double fraction)
{
    struct progress *p = context;

    progress_fraction(p, "collective", fraction);
}

static int run_steps(const struct collective_plan *p, struct collective_answer *w, struct err *e)
{
    struct progress progress;
    struct collective_steps_options o = {.costs = w->options.costs,
                                         .no_symmetry = w->options.no_symmetry,
                                         .progress = show_progress, .context = &progress};
    int status;

    progress_begin(&progress, 1);
    status = collective_steps_run(p, &o, &w->result, e);
    progress_wipe(&progress);
    return status;
}

static void read_machine(const struct machine *m, struct collective_answer *w)
{
    const struct net *net = machine_net(m);
    struct collective_result *r = &w->result;
    int links = net ? net_link_count(net) : 0;
    double sum = 0;

    r->time_ps = clock_edge_ps(w->chip.chip_clock_mhz, machine_cycles(m));
    for (int i = 0; i < machine_core_count(m); i++)
        r->sent_bytes += machine_counters(m, i)->ici_sent_bytes;
    for (int i = 0; i < links; i++) {
        double use = r->time_ps ? (double)net_link(net, i)->busy_ps / (double)r->time_ps : 0;

        r->link_use_min = i == 0 || use < r->link_use_min ? use : r->link_use_min;
        r->link_use_max = use > r->link_use_max ? use : r->link_use_max;
        sum += use;
    }
    r->link_use_mean = links ? sum / links : 0;
}

static int run_program(const struct collective_plan *p, struct machine *m,
                       struct collective_answer *w, struct arena *a, struct err *e)
{
    struct collective_program *program = collective_program_create(p, m, a, e);
    struct run_progress shown;
    int status;

    if (!program || (w->options.checks ? collective_fill(p, m, DATA_SEED, e)
                                       : collective_leave_unknown(p, m, e)))
        return -1;
    run_progress_begin(&shown, m, "collective", 0);
    status = collective_program_run(program, e);
    run_progress_end(&shown);
    if (status)
        return -1;
    if (w->options.checks && collective_verify(p, m, DATA_SEED, &w->verdict, e))
        return -1;
    read_machine(m, w);
    for (int i = 0; i < w->slice.core_count; i++)
        w->result.op_count += collective_op_count(p, i);
    return 0;
}

static int run_cores(const struct collective_plan *p, struct collective_answer *w,
                     struct arena *a, struct err *e)
{
    const struct machine_options mo = {.mode = w->options.checks ? MODE_BOTH : MODE_TIMING,
                                       .thread_count = (int)w->options.thread_count};
    struct machine *m = machine_create(&w->slice, &w->chip, &mo, e);
    int status;

    if (!m)
        return -1;
    status = run_program(p, m, w, a, e);
    machine_destroy(m);
    return status;
}

static void read_predictions(const struct collective_plan *p, struct collective_answer *w)
{
    int64_t series = w->options.costs ? w->options.costs->series : 1;

    for (int i = 0; i < COLLECTIVE_ALGO_COUNT; i++)
        w->predicted_s[i] = (double)series *
                            collective_predicted_seconds(p, (enum collective_algo)i);
}

/* Pieces in series take their time one after the other. */
static void repeat(struct collective_result *r, int64_t times)
{
    r->time_ps *= times;
    r->op_count *= times;
    r->message_count *= times;
    r->sent_bytes *= times;
}

/* The bound is of the formula's links. */
static void take_links_of(const struct collective_costs *k, struct chip *c)
{
    c->ici_link_gbps = k->link_gbps;
    c->ici_packet_bytes = k->packet_bytes;
    c->ici_packet_overhead_bytes = k->packet_overhead_bytes;
    c->ici_hop_ns = k->hop_ps / PS_PER_NS;
}

static void find_bound(struct collective_answer *w)
{
    struct collective_request whole = w->request;

    if (w->options.costs) {
        take_links_of(w->options.costs, &w->chip);
        whole.bytes *= w->options.costs->series;
    }
    collective_find_bound(&whole, &w->bound);
}

int collective_answer(const struct collective_options *o, struct arena *a,
                      struct collective_answer *w, struct err *e)
{
    struct collective_plan *p;
    double began_s;

    *w = (struct collective_answer){.options = *o};
    if (make_request(w, a, e))
        return -1;
    p = collective_plan_create(&w->request, a, e);
    if (!p)
        return -1;
    w->request = *collective_plan_request(p);
    w->request.slice = &w->slice;
    w->request.chip = &w->chip;
    w->rank_count = collective_rank_count(p);
    read_predictions(p, w);
    collective_choose_engine(p, w);
    find_bound(w);
    began_s = progress_seconds();
    if (w->engine == ENGINE_CORES ? run_cores(p, w, a, e) : run_steps(p, w, e))
        return -1;
    w->host_seconds = progress_seconds() - began_s;
    if (o->costs)
        repeat(&w->result, o->costs->series);
    return 0;
}
