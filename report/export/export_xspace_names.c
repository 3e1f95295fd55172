/* Names planes and lines as XProf does, and describes the device to it. */
#include "report/export/export_xspace.h"

#include "base/units.h"

#include <ctype.h>
#include <string.h>

static const char *const line_names[EXPORT_KIND_COUNT] = {
    [EXPORT_STEPS] = "Steps", [EXPORT_MODULES] = "XLA Modules", [EXPORT_OPS] = "XLA Ops",
    [EXPORT_COPIES] = "Async XLA Ops", [EXPORT_BUNDLES] = "LLO Instructions",
    [EXPORT_STALLS] = "Stalls", [EXPORT_FLAGS] = "Tensor Core Sync Flag",
    [EXPORT_MARKS] = "XLA TraceMe", [EXPORT_COUNTER] = "_counters_",
};

/* "mxu0" -> "MXU0 Instructions", "mxu0.push" -> "MXU0 Push Instructions"; XLUs share a name */
static void name_unit(const char *unit, char *name, size_t name_bytes)
{
    static const char *const known[][2] = {
        {"scalar", "SALU"}, {"valu", "VALU"}, {"eup", "EUP"}, {"load", "VLD"}, {"store", "VST"},
        {"misc", "Misc"}, {"dma", "DMA"},
    };
    char word[32];
    size_t i = 0;

    if (strncmp(unit, "xlu", 3) == 0)
        unit = "xlu";
    for (; unit[i] && unit[i] != '.' && i + 1 < sizeof(word); i++)
        word[i] = (char)toupper((unsigned char)unit[i]);
    word[i] = '\0';
    for (size_t k = 0; k < COUNT_OF(known); k++)
        if (strcmp(unit, known[k][0]) == 0)
            snprintf(word, sizeof(word), "%s", known[k][1]);
    snprintf(name, name_bytes, "%s %sInstructions", word, strstr(unit, ".push") ? "Push " : "");
}

void export_xspace_line_name(const struct export_track *t, char *name, size_t name_bytes)
{
    if (t->kind == EXPORT_UNIT)
        name_unit(t->name, name, name_bytes);
    else if (t->lane > 0 && line_names[t->kind])
        snprintf(name, name_bytes, "%s #%d", line_names[t->kind], t->lane);
    else
        snprintf(name, name_bytes, "%s", line_names[t->kind] ? line_names[t->kind] : t->name);
}

static void describe_core(struct export_xspace *w, int core, struct export_xstats *s)
{
    const struct chip *c = w->r->info->chip;
    double cores = (double)c->chip_cores, ghz = (double)c->chip_clock_mhz * 1e-3;
    double hbm = chip_hbm_peak_bytes_per_second(c) / cores, tile_bytes = 4096.0;

    export_xspace_add_int(w, s, XSTAT_DEVICE_ID, core);
    export_xspace_add_text(w, s, XSTAT_DEVICE_TYPE, c->chip_xprof_name);
    export_xspace_add_double(w, s, XSTAT_PEAK_TERAFLOPS, chip_peak_bf16_tflops(c) / cores);
    export_xspace_add_double(w, s, XSTAT_PEAK_HBM, hbm * 1e-9);
    export_xspace_add_double(w, s, XSTAT_PEAK_VMEM_READ, (double)c->slots_load * tile_bytes * ghz);
    export_xspace_add_double(w, s, XSTAT_PEAK_VMEM_WRITE,
                             (double)c->slots_store * tile_bytes * ghz);
    export_xspace_add_uint(w, s, XSTAT_HAS_MEGACORE, 0);
    export_xspace_add_uint(w, s, XSTAT_HAS_MERGED_VMEM, 0);
    export_xspace_add_uint(w, s, XSTAT_CLOCK_RATE, (uint64_t)c->chip_clock_mhz * 1000);
    export_xspace_add_uint(w, s, XSTAT_CORE_COUNT, 1);
    export_xspace_add_uint(w, s, XSTAT_BANDWIDTH, (uint64_t)hbm);
    export_xspace_add_uint(w, s, XSTAT_MEMORY_SIZE,
                           (uint64_t)(c->hbm_gib * (double)(1 << 30) / cores));
    export_xspace_add_uint(w, s, XSTAT_CHIP_ID, (uint64_t)(core / (int)c->chip_cores));
}

void export_xspace_describe_plane(struct export_xspace *w, const struct export_process *p,
                                  struct export_pb_bytes *to)
{
    XPlane plane = XPLANE__INIT;
    struct export_xstats stats = {.count = 0};
    char name[64];

    if (p->kind == EXPORT_CORE) {
        snprintf(name, sizeof(name), "/device:TPU:%d", p->index);
        describe_core(w, p->index, &stats);
    } else {
        snprintf(name, sizeof(name), "/device:CUSTOM:%s", p->name);
    }
    plane.id = p->id;
    plane.name = name;
    plane.n_stats = stats.count;
    plane.stats = stats.list;
    export_pb_append(to, &plane.base);
}
