/*
 * Inside snapshots: each function saves or loads a part of a machine, and its
 * _crc counterpart takes the tables of fields into the layout's checksum.
 */
#ifndef SIM_SNAPSHOT_IMPL_H
#define SIM_SNAPSHOT_IMPL_H
#include "base/archive.h"
#include "sim/machine/machine_impl.h"

#define WALK(a, table, p) archive_fields(a, table, COUNT_OF(table), p)

/* sim/snapshot/snapshot_core.c */
void snapshot_core_archive(struct core *c, struct archive *a);
void snapshot_fault_archive(struct fault *f, struct archive *a);
uint32_t snapshot_core_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_units.c: FIFOs, cross-lane and matrix units */
void snapshot_units_archive(struct core *c, struct archive *a);
uint32_t snapshot_units_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_dma.c: copies under way, copies complete, the ports of a core */
void snapshot_copies_archive(struct core *c, struct archive *a);
void snapshot_ports_archive(const struct chip *chip, struct core_ports *p, struct archive *a);
/* of bytes below `limit` */
void snapshot_ranges_archive(struct ranges *r, int64_t limit, struct archive *a);
void snapshot_events_archive(const struct machine *m, struct event_list *l, struct archive *a);
uint32_t snapshot_copies_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_checks.c */
void snapshot_checks_archive(struct core *c, struct archive *a);
uint32_t snapshot_checks_archive_crc(uint32_t crc);
#endif
