/* What the files that read shardings share: the place in the text, axes by number. */
#ifndef IMPORT_SHARDING_IMPL_H
#define IMPORT_SHARDING_IMPL_H
#include "import/program/sharding.h"

#define SHARDING_DIMS_MAX 64

struct sharding_reader {
    const struct hlo_module *module;
    const char *start, *at, *end;
    struct err *err;
};

struct sharding_axis { int axis; int64_t before, size; };       /* "x":(before)size of a mesh */
struct sharding_axes {
    int count;
    struct sharding_axis item[SHARDING_DIMS_MAX];
};

/* The array's dimensions over axes of a mesh, and axes that have another meaning. */
struct sharding_named {
    struct hlo_mesh mesh;
    int rank;
    struct sharding_axes dim[SHARDING_DIMS_MAX], manual, unreduced;
    bool is_open[SHARDING_DIMS_MAX];
};

int sharding_fail(struct sharding_reader *r, const char *what);         /* -1, with the text */
bool sharding_accept(struct sharding_reader *r, const char *word);
int sharding_expect(struct sharding_reader *r, const char *word);
/* a number of at least 0 */
int sharding_read_int(struct sharding_reader *r, int64_t *value);
/* numbers up to `close`, which is taken, in the module's arena */
int sharding_read_ints(struct sharding_reader *r, const char *close, struct hlo_ints *list);
/* `[dims]<=[..]T(..)` without what stands before `<=`: a permutation of 0 .. n - 1 */
int sharding_read_iota(struct sharding_reader *r, struct hlo_ints *ids);
/* from `mesh[` or `<@name` on, to the end of one sharding of names */
int sharding_read_named(struct sharding_reader *r, struct hlo_sharding *s);
int sharding_read_axes(struct sharding_reader *r, const struct hlo_mesh *mesh, const char *close,
                       struct sharding_axes *axes, bool *is_open);
/* a quoted name, in the module's arena */
int sharding_read_name(struct sharding_reader *r, const char **name);
/* an axis by its quoted name; behind `part` stands `before)size` */
int sharding_read_axis(struct sharding_reader *r, const struct hlo_mesh *mesh, const char *part,
                       struct sharding_axis *a);
/* @name of the module's, or mesh<["x"=2], device_ids=[0, 1]> */
int sharding_read_mesh(struct sharding_reader *r, struct hlo_mesh *mesh);
int sharding_of_names(struct sharding_reader *r, const struct sharding_named *n,
                      struct hlo_sharding *s);
#endif
