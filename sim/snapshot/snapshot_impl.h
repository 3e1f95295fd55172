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
void core_archive(struct core *c, struct archive *a);
void fault_archive(struct fault *f, struct archive *a);
uint32_t core_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_units.c: FIFOs, cross-lane and matrix units */
void units_archive(struct core *c, struct archive *a);
uint32_t units_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_dma.c: copies under way, copies complete, the ports of a core */
void copies_archive(struct core *c, struct archive *a);
void ports_archive(const struct chip *chip, struct core_ports *p, struct archive *a);
/* of bytes below `limit` */
void ranges_archive(struct ranges *r, int64_t limit, struct archive *a);
void events_archive(const struct machine *m, struct event_list *l, struct archive *a);
uint32_t copies_archive_crc(uint32_t crc);

/* sim/snapshot/snapshot_checks.c */
void checks_archive(struct core *c, struct archive *a);
uint32_t checks_archive_crc(uint32_t crc);
#endif
