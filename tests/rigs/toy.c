#include "tests/rigs/toy.h"

#include "tests/test.h"

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

static void toy_chip(struct chip *c)
{
    snprintf(c->chip_name, sizeof(c->chip_name), "Toy");
    c->chip_cores = 1;
    c->chip_clock_mhz = 1000;
    c->launch_program_ns = 2000;
    c->host_dispatch_us = 100;
    c->host_pcie_gbps = 16;
    c->mxu_count = 1;
    c->mxu_size = 128;
    c->mxu_matmul_f32_cycles = 8;
    c->slots_load = c->slots_store = c->slots_scalar = c->slots_valu = 1;
    c->slots_eup = c->xlu_count = 1;
    c->ici_link_gbps = 100;
    c->hbm_channels = 4;
    c->hbm_burst_bytes = 32;
    c->hbm_burst_ps = 1000;             /* 4 x 32 B per ns: 128 GB/s a chip */
}

static void toy_unit(struct core_counters *c, int track, const char *name, cycle_t busy,
                     cycle_t waiting, int64_t ops, int slots)
{
    c->unit[track] = (struct unit_counters){
        .name = name,
        .busy_cycles = busy,
        .waiting_cycles = waiting,
        .idle_cycles = c->cycles - busy - waiting,
        .op_count = ops,
        .slot_cycles = c->cycles * slots,
    };
}

static void toy_core(struct core_counters *c)
{
    c->cycles = 10000;
    c->issue_cycles = 4000;
    c->idle_cycles = 500;
    c->unit_count = TRACK_COUNT;
    toy_unit(c, TRACK_SCALAR, "scalar", 3000, 0, 4000, 2);
    toy_unit(c, TRACK_VALU, "valu", 2000, 500, 2500, 2);
    toy_unit(c, TRACK_LOAD, "load", 1000, 0, 1000, 1);
    toy_unit(c, TRACK_MXU, "mxu0", 4800, 1000, 600, 1);
    toy_unit(c, TRACK_PUSH, "mxu0.push", 2600, 0, 320, 1);
    toy_unit(c, TRACK_DMA, "dma", 5000, 0, 20, 1);
    c->op_count[OP_VMATMUL] = 600;
    c->op_count[OP_VLD] = 1000;
    c->matmul_flops = 600LL * 2 * 8 * 128 * 128;
    c->ici_sent_bytes = c->ici_received_bytes = 40960;
}

void toy_init(struct toy *t)
{
    memset(t, 0, sizeof(*t));
    toy_chip(&t->chip);
    t->slice = (struct slice){.name = "toy-2", .chip_name = "toy", .dims = 2, .dim = {2, 1, 1},
                              .chip_count = 2, .core_count = 2};
    for (int i = 0; i < 2; i++) {
        toy_core(&t->counters[i]);
        t->memory[i] = (struct hbm_stats){.read_bytes = 300000, .write_bytes = 100000,
                                          .run_count = 1000, .row_hits = 900, .row_closed = 60,
                                          .row_conflicts = 40, .busy_ps = 12500000};
        t->wire[i] = (struct net_link_stats){i, 1 - i, 40960, 45056, 1000000 * (i + 1)};
        t->core[i] = &t->counters[i];
        t->hbm[i] = &t->memory[i];
        t->link[i] = &t->wire[i];
    }
    t->counters[0].stall_cycles[STALL_OPERAND] = 500;
    t->counters[0].stall_cycles[STALL_MXU] = 1000;
    t->counters[0].stall_cycles[STALL_RESULT] = 500;
    t->counters[0].stall_cycles[STALL_HBM] = 2000;
    t->counters[0].stall_cycles[STALL_ICI] = 1000;
    t->counters[0].stall_cycles[STALL_BRANCH] = 500;
    t->counters[1].stall_cycles[STALL_HBM] = 4000;
    t->counters[1].stall_cycles[STALL_ICI] = 1000;
    t->counters[1].stall_cycles[STALL_SYNC] = 500;
    t->note[0] = "dot.1";
    t->note[1] = "add \"two\"";
    for (uint32_t i = 0; i < 4; i++)
        t->bundle[i] = (struct isa_bundle){.line = i + 10, .note = i < 2 ? 1 : i < 3 ? 2 : 0};
    t->bundle[1].op_count = t->bundle[2].op_count = 1;
    t->bundle[2].first_op = 1;
    t->op[0] = (struct isa_op){.code = OP_VMATMUL, .pred = ISA_PRED_ALWAYS};
    t->op[1] = (struct isa_op){.code = OP_VLD, .pred = ISA_PRED_ALWAYS};
    t->executed[0] = 600;
    t->executed[1] = 1000;
    t->done[0] = (struct view_bundle){.count = 2000, .stall_cycles = 500};
    t->done[1] = (struct view_bundle){.count = 600, .stall_cycles = 1500};
    t->done[2] = (struct view_bundle){1000, 3000, {.bytes = 440960, .hbm_bytes = 400000,
                                                   .ici_bytes = 40960, .stall_cycles = 3000}};
    t->done[3] = (struct view_bundle){.count = 400, .stall_cycles = 500};
    t->program = (struct isa_program){.name = "toy", .bundle = t->bundle, .bundle_count = 4,
                                      .op = t->op, .op_count = 2,
                                      .note = t->note, .note_count = 2};
    t->view = (struct report_view){
        .chip = &t->chip, .slice = &t->slice, .program = &t->program, .model_flops = 100000000,
        .parameter_bytes = 40000, .input_bytes = 64000, .cycles = 10000, .core_count = 2,
        .core = t->core, .active_count = 2, .active_chip_count = 2,
        .title = "one step", .chip_count = 2, .hbm = t->hbm, .link_count = 2, .link = t->link,
        .ops_program = &t->program, .bundle = t->done, .executed = t->executed,
    };
}

static const struct report_epoch epochs[] = {
    {1, 0.5, 0.85, 0.9, 1, 10000, 10000, 10.0, 51200000.0, 0.25},
    {2, 0.25, 0.93, 0.9375, 1, 10000, 10000, 10.0, 51200000.0, 0.25},
};
static const struct report_step_row rows[] = {
    {1, 1, 1, 2.302585093, 0.125, 10000},
    {2, 1, 1, 1.5, 0.5, 10000},
};
static const struct report_option options[] = {
    {"train", "batch", "512", "command line"},
    {"train", "seed", "1", "default"},
    {"model", "path", "a\nb.json", "command line"},
};

struct report_run toy_run(void)
{
    return (struct report_run){
        .option = options, .option_count = 3, .epoch = epochs, .epoch_count = 2, .row = rows,
        .row_count = 2, .host_seconds = 0.75,
    };
}

char *toy_read_text(const char *path)
{
    gzFile f = gzopen(path, "rb");      /* reads what is not gzipped as it is */
    size_t room = 1 << 20, used = 0;
    char *text = malloc(room);
    int got;

    assert_non_null(f);
    while ((got = gzread(f, text + used, (unsigned)(room - used - 1))) > 0) {
        used += (size_t)got;
        if (room - used < 4096)
            text = realloc(text, room *= 2);
        assert_non_null(text);
    }
    assert_int_equal(got, 0);
    text[used] = '\0';
    gzclose(f);
    return text;
}

char *toy_make_folder(char *path, size_t path_bytes)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, path_bytes, "%s/systole_report_XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

int toy_remove_folder(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    char name[600];
    int count = 0;

    assert_non_null(d);
    while ((entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        assert_int_equal(remove(name), 0);
        count++;
    }
    closedir(d);
    assert_int_equal(rmdir(path), 0);
    return count;
}

json_int_t toy_get_int(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

double toy_get_real(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    assert_true(json_is_real(value));
    return json_real_value(value);
}
