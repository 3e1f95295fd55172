/* info: tables of what is going on in the selected core, and in all of them. */
#include "cli/debug/debug.h"

#include "base/floats.h"
#include "base/text.h"
#include "base/units.h"

#include <string.h>

static int info_cores(struct debugger *d, const char *text, struct err *e)
{
    struct core_view v;
    int others = 0;

    if (debug_expect_end(text, e))
        return -1;
    fputs("  core       issued  where\n", d->out);
    for (int i = 0; i < d->core_count; i++) {
        if (!machine_program(d->m, i)) {
            others++;
            continue;
        }
        machine_core(d->m, i, &v);
        fprintf(d->out, "%s%4d %12s  ", i == d->core ? "=>" : "  ", i,
                text_thousands(v.issued).text);
        debug_print_place(d, i, v.bundle, d->out);
        fputs(", ", d->out);
        debug_print_doing(d, i, d->out);
        fputc('\n', d->out);
    }
    if (others > 0)
        fprintf(d->out, "  %d cores have no program\n", others);
    return 0;
}

/* ---- FIFOs ---- */

static void print_ready_in(const struct debugger *d, cycle_t ready_at)
{
    if (ready_at <= d->cycle)
        fputs("ready", d->out);
    else
        fprintf(d->out, "ready in %lld", (long long)(ready_at - d->cycle));
}

static void print_fifo(const struct debugger *d, int fifo, const struct fifo_view *v)
{
    fprintf(d->out, "  %s: %u of %u\n", v->name, (unsigned)v->count, (unsigned)v->depth);
    for (uint32_t i = 0; i < v->count; i++) {
        struct fifo_entry entry;

        machine_fifo_entry(d->m, d->core, fifo, i, &entry);
        fprintf(d->out, "    %2u  for %-12s ", (unsigned)i, isa_info(entry.pop)->mnemonic);
        print_ready_in(d, entry.ready_at);
        if (entry.data && (entry.pop == OP_SPOP || entry.pop == OP_SPOP_DRF))
            fprintf(d->out, "  %d", (int)(int32_t)entry.data[0]);
        else if (entry.data)
            fprintf(d->out, "  %.6g …", (double)f32_from_bits(entry.data[0]));
        fputc('\n', d->out);
    }
}

static void print_accumulators(const struct debugger *d, int count)
{
    for (int i = 0; i < count; i++) {
        struct accumulator_view v;

        machine_accumulator(d->m, d->core, i, &v);
        fprintf(d->out, "  mxu%d.mrb[%d] of %s  ", v.unit, v.number, v.is_integer ? "s32" : "f32");
        print_ready_in(d, v.ready_at);
        if (v.half[0])
            fprintf(d->out, v.is_integer ? "  %.0f …" : "  %.6g …",
                    v.is_integer ? (double)(int32_t)v.half[0][0]
                                 : (double)f32_from_bits(v.half[0][0]));
        fputc('\n', d->out);
    }
}

static int info_fifos(struct debugger *d, const char *text, struct err *e)
{
    int count = machine_accumulator_count(d->m, d->core), shown = count;
    struct fifo_view v;

    if (debug_expect_end(text, e))
        return -1;
    for (int i = 0; i < machine_fifo_count(d->m); i++) {
        machine_fifo(d->m, d->core, i, &v);
        if (v.count > 0) {
            print_fifo(d, i, &v);
            shown++;
        }
    }
    print_accumulators(d, count);
    if (shown == 0)
        fputs("  all fifos are empty\n", d->out);
    return 0;
}

/* ---- copies ---- */

static void print_copy(const struct debugger *d, const struct copy_view *v)
{
    fprintf(d->out, "  bundle %-5u %s 0x%llx -> ", (unsigned)v->bundle, memory_name(v->source),
            (unsigned long long)v->source_address);
    if (v->is_remote)
        fprintf(d->out, "core %d ", v->target);
    fprintf(d->out, "%s 0x%llx, %s", memory_name(v->destination),
            (unsigned long long)v->destination_address, text_bytes(v->bytes).text);
    if (v->is_strided)
        fprintf(d->out, " in runs of %s", text_bytes(v->run_bytes).text);
    fprintf(d->out, ", flag %d", (int)v->flag);
    if (v->is_remote)
        fprintf(d->out, " (own %d)", (int)v->source_flag);
    if (v->is_complete)
        fputs(": complete, seen when the core is next woken\n", d->out);
    else
        fprintf(d->out, ": %s done after %lld cycles\n",
                text_bytes(v->done_bytes).text, (long long)(d->cycle - v->issued_at));
}

static int info_dma(struct debugger *d, const char *text, struct err *e)
{
    int count = machine_copy_count(d->m, d->core);
    struct copy_view v;

    if (debug_expect_end(text, e))
        return -1;
    fprintf(d->out, "  %d %s; the queue has %lld slots; %lld started so far\n", count,
            count == 1 ? "copy" : "copies", (long long)machine_chip(d->m)->dma_queue_depth,
            (long long)machine_copies_issued(d->m, d->core));
    for (int i = 0; i < count; i++) {
        machine_copy(d->m, d->core, i, &v);
        print_copy(d, &v);
    }
    return 0;
}

static int info_flags(struct debugger *d, const char *text, struct err *e)
{
    int shown = 0;

    if (debug_expect_end(text, e))
        return -1;
    for (int i = 0; i < machine_chip(d->m)->sync_flags; i++)
        if (machine_flag(d->m, d->core, i) != 0) {
            fprintf(d->out, "  flag %d = %d\n", i, (int)machine_flag(d->m, d->core, i));
            shown++;
        }
    if (shown == 0)
        fprintf(d->out, "  all %lld flags are 0\n", (long long)machine_chip(d->m)->sync_flags);
    return 0;
}

static int info_units(struct debugger *d, const char *text, struct err *e)
{
    struct unit_view v;

    if (debug_expect_end(text, e))
        return -1;
    for (int i = 0; i < machine_unit_count(d->m); i++) {
        machine_unit(d->m, d->core, i, &v);
        if (v.free_at > d->cycle)
            fprintf(d->out, "  %-10s busy, free at %lld (in %lld)\n", v.name,
                    (long long)v.free_at, (long long)(v.free_at - d->cycle));
        else
            fprintf(d->out, "  %-10s free\n", v.name);
    }
    return 0;
}

/* ---- where cycles went ---- */

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_stalls(const struct debugger *d, int core)
{
    cycle_t since = d->cycle - d->cycle_at_stop;
    struct core_view v;

    machine_core(d->m, core, &v);
    fprintf(d->out, "core %d, %lld cycles, %lld since the last stop\n", core,
            (long long)d->cycle, (long long)since);
    fprintf(d->out, "  %-16s %12s %7s %12s\n", "", "cycles", "share", "last");
    fprintf(d->out, "  %-16s %12lld %6.1f%%\n", "issue", (long long)v.issued,
            percent(v.issued, d->cycle));
    for (int i = 0; i < STALL_COUNT; i++) {
        cycle_t cycles = machine_stall_cycles(d->m, core, (enum stall_reason)i);

        if (cycles > 0)
            fprintf(d->out, "  %-16s %12lld %6.1f%% %12lld\n", stall_name((enum stall_reason)i),
                    (long long)cycles, percent(cycles, d->cycle),
                    (long long)(cycles - d->stalls_at_stop[core][i]));
    }
    if (v.activity == CORE_WAITS)
        fprintf(d->out, "  %-16s %12lld %6.1f%%\n", "(waits now)",
                (long long)(d->cycle - v.now), percent(d->cycle - v.now, d->cycle));
}

static int info_stalls(struct debugger *d, const char *text, struct err *e)
{
    char word[DEBUG_WORD_MAX];

    if (!debug_next_word(&text, word)) {
        print_stalls(d, d->core);
        return 0;
    }
    if (strcmp(word, "all") != 0)
        return err_set(e, "info stalls \"%s\"; info stalls, or info stalls all", word);
    if (debug_expect_end(text, e))
        return -1;
    for (int i = 0; i < d->core_count; i++)
        if (machine_program(d->m, i))
            print_stalls(d, i);
    return 0;
}

static int info_counters(struct debugger *d, const char *text, struct err *e)
{
    int64_t count[OP_COUNT];
    struct core_view v;

    if (debug_expect_end(text, e))
        return -1;
    machine_core(d->m, d->core, &v);
    machine_op_counts(d->m, d->core, count);
    fprintf(d->out, "  %-28s %14s\n", "bundles", text_thousands(v.issued).text);
    fprintf(d->out, "  %-28s %14s\n", "copies",
            text_thousands(machine_copies_issued(d->m, d->core)).text);
    for (int i = 0; i < OP_COUNT; i++)
        if (count[i] > 0)
            fprintf(d->out, "  %-28s %14s\n", isa_info((enum isa_opcode)i)->mnemonic,
                    text_thousands(count[i]).text);
    return 0;
}

static const struct {
    const char *name;
    int (*show)(struct debugger *d, const char *text, struct err *e);
} tables[] = {
    {"breaks", debug_info_breaks}, {"cores", info_cores}, {"counters", info_counters},
    {"dma", info_dma}, {"fifos", info_fifos}, {"flags", info_flags}, {"stalls", info_stalls},
    {"units", info_units},
};

int debug_command_info(struct debugger *d, const struct debug_args *args, struct err *e)
{
    const char *names[COUNT_OF(tables)], *at = args->text;
    char word[DEBUG_WORD_MAX];
    int found;

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        names[i] = tables[i].name;
    if (!debug_next_word(&at, word))
        return err_set(e, "info about what? breaks, cores, counters, dma, fifos, flags, stalls or "
                       "units");
    found = debug_find_name(word, "table", names, COUNT_OF(tables), e);
    return found < 0 ? -1 : tables[found].show(d, at, e);
}
