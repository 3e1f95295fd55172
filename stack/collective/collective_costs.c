/* Computes what operations cost on a chip, or what a formula counts in its place. */
#include "hbm/hbm.h"
#include "stack/collective/collective_steps.h"

#include "base/units.h"

#define STREAM_BYTES (4 * MIB)
#define PIECE_BYTES 4096

static struct hbm *new_hbm(const struct chip *chip)
{
    struct hbm_config config = chip_hbm_config(chip, 2 * STREAM_BYTES);

    return hbm_create(&config);
}

/* bytes per nanosecond of a long read, or read and write in turns, asked ahead piece by piece */
static double streaming_gbps(const struct chip *chip, bool is_mixed)
{
    struct hbm *hbm = new_hbm(chip);
    ps_t first = 0, last = 0;

    for (int64_t at = 0; at < STREAM_BYTES; at += PIECE_BYTES) {
        bool is_write = is_mixed && at / PIECE_BYTES % 2 == 1;
        int64_t place = is_mixed ? at / (2 * PIECE_BYTES) * PIECE_BYTES : at;

        last = later(last, hbm_access(hbm, 0, place + (is_write ? STREAM_BYTES : 0), PIECE_BYTES,
                                      is_write));
        first = at == 0 ? last : first;
    }
    hbm_destroy(hbm);
    return (double)(STREAM_BYTES - PIECE_BYTES) * PS_PER_NS / (double)(last - first);
}

/* what a piece takes of an idle memory beside its bytes */
static ps_t access_ps(const struct chip *chip, bool is_write, double gbps)
{
    struct hbm *hbm = new_hbm(chip);
    ps_t end = hbm_access(hbm, 0, 0, PIECE_BYTES, is_write);
    ps_t bytes_ps = (ps_t)(PIECE_BYTES * PS_PER_NS / gbps + 0.5);

    hbm_destroy(hbm);
    return end > bytes_ps ? end - bytes_ps : 0;
}

void collective_costs_of(const struct chip *chip, enum collective_type type,
                         struct collective_costs *out)
{
    *out = (struct collective_costs){
        .clock_mhz = chip->chip_clock_mhz, .resume_cycles = chip->sync_resume_cycles,
        .core_gbps = chip->dma_core_gbps, .local_gbps = chip->dma_local_gbps,
        .peer_gbps = chip->dma_peer_gbps, .peer_ps = chip->dma_peer_ns * PS_PER_NS,
        .vector_bytes = (int)chip->dma_vector_bytes, .chunk_bytes = chip->dma_chunk_bytes,
        .hbm_gbps = streaming_gbps(chip, false),
        .hbm_mixed_gbps = streaming_gbps(chip, true), .read_ps = chip->dma_read_ns * PS_PER_NS,
        .write_ps = chip->dma_write_ns * PS_PER_NS, .local_ps = chip->dma_local_ns * PS_PER_NS,
        .queue_depth = (int)chip->dma_queue_depth, .link_gbps = chip->ici_link_gbps,
        .packet_bytes = (int)chip->ici_packet_bytes,
        .packet_overhead_bytes = (int)chip->ici_packet_overhead_bytes,
        .hop_ps = chip->ici_hop_ns * PS_PER_NS, .series = 1};
    out->refresh_period_ps = chip->hbm_trefi_ps;
    if (!chip_refreshes_single_banks(chip) && chip->hbm_trfc_ps < chip->hbm_trefi_ps)
        out->refresh_ps = chip->hbm_trfc_ps;        /* of one bank: the others go on */
    out->hbm_read_ps = access_ps(chip, false, out->hbm_gbps);
    out->hbm_write_ps = access_ps(chip, true, out->hbm_gbps);
    collective_program_overheads(chip, type, &out->program);
}
