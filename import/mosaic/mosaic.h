/*
 * Mosaic kernels out of programs: a `tpu_custom_call` becomes a kernel (stack/mosaic/mosaic.h).
 *
 * Its backend_config is JSON (config.c), in which the body stands in base64: MLIR bytecode of version
 * 0 whose operations are named "stable_mosaic.", in serialization versions 1 to
 * MOSAIC_VERSION_MAX. body.c makes the operations, upgrade.c brings those of older versions up to
 * date, function.c reads grid and windows. docs/mosaic.md.
 */
#ifndef IMPORT_MOSAIC_H
#define IMPORT_MOSAIC_H
#include "import/program/program.h"
#include "stack/mosaic/mosaic.h"

bool mosaic_is_call(const struct hlo_instruction *i);   /* a custom call to this target */

/*
 * The kernel that instruction i of computation c calls, in the arena, verified; NULL with the place
 * in the program, or in the Python source where the body says one. `file` of the program.
 */
const struct mosaic_kernel *mosaic_of_call(const struct hlo_computation *c,
                                           const struct hlo_instruction *i, const char *file,
                                           struct arena *a, struct err *e);

/* A body by itself: bytecode as it stands in the config, decoded. */
struct mosaic_kernel *mosaic_read_body(const void *bytes, size_t count, const char *file,
                                       struct arena *a, struct err *e);
/* The same with its locations apart, as newer compilers have them (NULL: they are in the body). */
struct mosaic_kernel *mosaic_read_located(const void *bytes, size_t count, const void *locations,
                                          size_t location_bytes, const char *file, struct arena *a,
                                          struct err *e);
#endif
