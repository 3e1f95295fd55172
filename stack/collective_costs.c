/* What operations cost on a chip, and what formulas count in its place. */
#include "hbm/hbm.h"
#include "stack/collective_steps.h"

#include "base/units.h"

#define STREAM_BYTES (4 * MIB)
#define PIECE_BYTES 4096

/* bytes per nanosecond of a long read, asked piece by piece, ahead of need */
static double streaming_gbps(const struct chip *chip)
{
    struct hbm_config config = chip_hbm_config(chip, 2 * STREAM_BYTES);
    struct hbm *hbm = hbm_create(&config);
    ps_t first = 0, last = 0;

    for (int64_t at = 0; at < STREAM_BYTES; at += PIECE_BYTES) {
        last = hbm_access(hbm, 0, at, PIECE_BYTES, false);
        first = at == 0 ? last : first;
    }
    hbm_destroy(hbm);
    return (double)(STREAM_BYTES - PIECE_BYTES) * PS_PER_NS / (double)(last - first);
}

void collective_costs_of(const struct chip *chip, enum collective_type type,
                         struct collective_costs *out)
{
    *out = (struct collective_costs){
        .clock_mhz = chip->chip_clock_mhz, .resume_cycles = chip->sync_resume_cycles,
        .core_gbps = chip->dma_core_gbps, .local_gbps = chip->dma_local_gbps,
        .vector_bytes = (int)chip->dma_vector_bytes, .chunk_bytes = chip->dma_chunk_bytes,
        .hbm_gbps = streaming_gbps(chip), .read_ps = chip->dma_read_ns * PS_PER_NS,
        .write_ps = chip->dma_write_ns * PS_PER_NS, .local_ps = chip->dma_local_ns * PS_PER_NS,
        .queue_depth = (int)chip->dma_queue_depth, .link_gbps = chip->ici_link_gbps,
        .packet_bytes = (int)chip->ici_packet_bytes,
        .packet_overhead_bytes = (int)chip->ici_packet_overhead_bytes,
        .hop_ps = chip->ici_hop_ns * PS_PER_NS, .series = 1};
    collective_program_overheads(chip, type, &out->program);
}
