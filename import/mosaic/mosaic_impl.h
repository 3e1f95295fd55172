/* What the files of import/mosaic share. */
#ifndef IMPORT_MOSAIC_IMPL_H
#define IMPORT_MOSAIC_IMPL_H
#include "import/mlir/mlir.h"
#include "import/mosaic/mosaic.h"

struct mosaic_config {                  /* of a backend_config */
    const unsigned char *body;
    size_t body_bytes;
    const unsigned char *locations;     /* apart from the body; NULL: in it */
    size_t location_bytes;
    int64_t vmem_limit_bytes;
    int collective_id;
    bool has_communication, skips_device_barrier;
    struct mosaic_cost cost;
};

/* `text`: as the program has it, quoted or not. -1 with a message without a place. */
int mosaic_config_read(const char *text, struct arena *a, struct mosaic_config *c, struct err *e);
/* bytes of --xla_tpu_scoped_vmem_limit_kib among the flags in LIBTPU_INIT_ARGS; 0: it is not there */
int64_t mosaic_limit_of_flags(const char *flags);
/* base64 of the standard alphabet; NULL: it is none */
unsigned char *mosaic_base64(struct arena *a, const char *text, size_t length, size_t *bytes);

struct mosaic_reader {
    struct arena *arena;
    struct mosaic_kernel *k;
    const char *file;
    struct mosaic_value **value;        /* by number in the tree */
    const struct mlir_attr *locations;  /* apart from the body, in its order; NULL: they are in it */
    int next_location;
    int depth;
    struct err *err;
    bool is_failed;
};

/* Sets the message, unless there is one already; always -1. */
int mosaic_fail(struct mosaic_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct mosaic_type mosaic_read_type(struct mosaic_reader *r, const struct mlir_type *t);
/* an attribute of the tree; false: of a kind that no operation here asks for */
bool mosaic_read_attr(struct mosaic_reader *r, const struct mlir_named *from,
                      struct mosaic_attr *to);
/* what stands between < and > of a dialect's text, "vmem" of "#tpu.memory_space<vmem>" */
const char *mosaic_inner(struct mosaic_reader *r, const struct mlir_attr *a);

struct mosaic_block *mosaic_read_block(struct mosaic_reader *r, const struct mlir_region *region);
/* the rules for operations of an older serialization */
int mosaic_upgrade(struct mosaic_reader *r, struct mosaic_op *op);
/* grid, windows and arguments of the kernel's function */
int mosaic_read_grid(struct mosaic_reader *r, const struct mlir_op *func);
#endif
