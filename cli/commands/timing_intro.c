/* Holds the text that opens docs/timing.md. */
#include "cli/commands/timing_intro.h"

#include <stddef.h>

const char *const timing_introduction[] = {
    "# Timing: every number of every generation\n\n",
    "Written by `systole chips --timing-doc` from `sim/chip/params.def` and `sim/chips/*.ini`;\n"
    "change those. A number is followed by the letter of its source: **P** published by\n"
    "Google, **D** read from public compiler dumps, **M** measured and published, **C**\n"
    "computed from other lines, **U** our default; below each table stands where it comes\n"
    "from or why it was chosen. The teaching chip `tiny` is made up and left out. `systole\n"
    "chips v6e` prints one generation, `--set mxu.count=8` changes one number for a what-if.\n\n",
    "The scheduling latencies of v6e are the only ones known of any generation; where another\n"
    "generation has no source of its own it takes them, as U. They are what a compiler\n"
    "believes, which need not be what silicon does. No number was fitted to a workload.\n\n",
    "## How the numbers act\n\n",
    "**Issue.** A core issues one bundle per cycle, in order. A bundle issues as a whole, at\n"
    "the first cycle at which everything that any of its operations needs is there:\n"
    "registers, units, queues, flags. The whole wait is charged to the need that was met last\n"
    "([engine.md](engine.md)). Vector and scalar side run in lockstep (`core.vif_depth` = 0).\n\n",
    "**Latency and occupancy.** A latency (`alu_cycles`, `latency_cycles`, `sld_cycles`) is\n"
    "the distance from the issue of an operation to the first bundle that may use its result.\n"
    "An occupancy (`issue_cycles`, `matmul_bf16_cycles`, `push_bf16_cycles`) is how long the\n"
    "operation keeps its unit from the next one. Operations without an occupancy are limited\n"
    "by the slots of a bundle alone.\n\n",
    "**Interlocks.** A consumer in the next bundle is legal and waits: no latency is exposed\n"
    "to the program. The public listings show it: consumers of two-cycle additions in the\n"
    "next bundle, pops right behind their push. A program that places its operations well\n"
    "runs faster, not differently.\n\n",
    "**Branches** are the exception: `core.branch_delay_bundles` bundles behind a branch\n"
    "execute whether it is taken or not, and the branch costs nothing else. They may do\n"
    "useful work; those that cannot stay empty.\n\n",
    "**Slots.** `slots.*` says how many operations of a kind fit into a bundle. With\n"
    "`slots.misc_load` or `slots.misc_store` the misc slot may serve as one more load or\n"
    "store; a DMA takes a slot of its own and beside it `slots.dma_scalar` and\n"
    "`slots.dma_misc` of the others.\n\n",
    "**Scalar unit.** Integer operations take `scalar.alu_cycles`, a compare `cmp_cycles`\n"
    "until its predicate guards anything, a load from SMEM `sld_cycles`. A word from the\n"
    "vector side takes `v2s_cycles` through a FIFO of `v2s_depth`.\n\n",
    "**Vector ALU.** Up to `slots.valu` operations per cycle on 8x128 words each.\n"
    "Transcendental functions (EUP) take one of these slots, occupy their unit for\n"
    "`eup.issue_cycles` and deliver into a FIFO after `eup.latency_cycles`.\n\n",
    "**XLU.** Reductions over lanes, rotations and permutes occupy a cross-lane unit for\n"
    "`xlu.issue_cycles` and can be popped after `reduce_cycles` or `permute_cycles`. A\n"
    "transpose is pushed tile by tile, `xpose_issue_cycles` each (packed tiles\n"
    "`xpose_packed_issue_cycles`), the first tiles of two transposes at least\n"
    "`xpose_gap_cycles` apart; its first result comes `xpose_cycles` after the last push, the\n"
    "others `xpose_pop_cycles` apart. With `xlu.count` units the pushes may alternate.\n\n",
    "**MXU.** Two resources per unit: the array, held by each push of left-hand rows for\n"
    "`matmul_TYPE_cycles`, and the staging port, held by each push of weights for\n"
    "`push_TYPE_cycles` (times `push_xpose_factor`). A tile holds 8 rows of f32, 16 of bf16,\n"
    "32 of an 8-bit, 64 of a 4-bit type, so f32 operands stream at the rate of bf16 but need\n"
    "twice the pushes. Loading the array from a staging register takes `latch_cycles` and\n"
    "waits for its last push. Results come `latency_cycles` after their rows, into a FIFO of\n"
    "`fifo_depth` tiles or into accumulators ([mxu.md](mxu.md)). Cycles of 0 mean that the\n"
    "unit does not take the type.\n\n",
    "**VMEM.** A load is usable after `vmem.load_cycles`; a load of rows that a store touched\n"
    "less than `store_to_load_cycles` ago waits. Strided accesses with several rows in one of\n"
    "the `vmem.banks` take a cycle for each row too many.\n\n",
    "**DMA and flags.** A copy takes a place among `dma.queue_depth`, a fixed `read_ns`,\n"
    "`write_ns` or `local_ns`, and the time of its bytes through the core's port\n"
    "(`core_gbps`) and the HBM; of the copies that a port has queued the first `turn_copies`\n"
    "share it by chunks, the others wait. Runs take whole vectors of `vector_bytes`; what a port has\n"
    "asked for and not yet got back is bounded by `staging_bytes`. The two cores of a chip are\n"
    "joined by a link of `peer_gbps` each way, `peer_ns` long. A core that waits for a\n"
    "flag goes on `sync.resume_cycles` after the flag is satisfied. Copies from and to the\n"
    "host go at `host.pcie_gbps` and take `host.latency_ns`.\n\n",
    "**CMEM** (v4): a memory of the chip between HBM and VMEM, reached by copies at `read_gbps`\n"
    "and `write_gbps`, `latency_ns` for the first byte.\n\n",
    "**HBM.** Pseudo-channels with banks, rows and the usual constraints between commands\n"
    "([memory.md](memory.md)). `burst_ps` is the data bus alone, so the peak is channels x\n"
    "burst bytes / burst time; what streaming reaches of it follows from rows, turnaround and\n"
    "refresh.\n\n",
    "**ICI.** A message takes `ici.hop_ns` per hop and its bytes, in whole flits, plus\n"
    "`packet_overhead_bytes` per packet, through each link at `link_gbps`\n"
    "([network.md](network.md)). An axis closes to\n"
    "a ring if it is at least `wrap_min` chips long and every axis of the slice is a multiple\n"
    "of `wrap_multiple`: v5e and v6e close axes of 16, v4, v5p and v7x slices of whole 4x4x4\n"
    "cubes.\n\n",
    "**Around a program**: `launch.program_ns` once, `launch.kernel_ns` between kernels,\n"
    "`launch.collective_ns` at the start of a collective (`stack/collective/collective_program.h`),\n"
    "`host.dispatch_us` on the host.\n\n",
    "Not modelled: the vector instruction queue, SparseCore, power.\n",
    NULL
};
