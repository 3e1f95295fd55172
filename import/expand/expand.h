/*
 * A program rewritten into one of operations and types that the compiler knows (stack/hlo/graph.h):
 * random generators, special functions, batch norms, linear algebra and Fourier transforms become
 * arithmetic and loops; complex numbers, integers of 64 bits, narrow integers and floats, and arrays
 * of a bounded size become arrays of f32, bf16, s32, u32, s8, u8 and pred.
 *
 * Structure stays as it is: tuples, calls, regions, loops and conditionals are import/lower's. An
 * array that becomes several is a tuple of them in its place, so tuples become deeper, and a
 * computation that reduces, scatters or sorts takes all first parts behind each other as scalars.
 *
 * Parameters and results of the entry change in the same way. The leaves that stand for one leaf of
 * the program as it was read are neighbours, in the order of struct expand_leaf.
 */
#ifndef IMPORT_EXPAND_H
#define IMPORT_EXPAND_H
#include "import/program/program.h"

/* How an element is written in `parts` arrays of the same dimensions */
enum expand_form {
    EXPAND_SAME,                        /* 1: as it was */
    EXPAND_WIDE,                        /* 1: its value in a wider type: s2, s4, u2, u4 -> s8, u8; */
                                        /* s16, u16 -> s32, u32; f16, f8, f6, f4 -> f32, exactly */
    EXPAND_WORDS,                       /* 2 u32: low, high word of s64, u64 */
    EXPAND_COMPLEX,                     /* 2 f32: real, imaginary part of c64 */
    EXPAND_SUM,                         /* 2 f32: of f64 the nearest f32, and the nearest f32 to */
                                        /* the rest */
    EXPAND_COMPLEX_SUM                  /* 4 f32: c128, real part as EXPAND_SUM, then imaginary */
};

/*
 * A leaf of an entry parameter or result as it was read, and what stands for it: `parts` leaves
 * from number `first` on, then, where it is_bounded, an s32 scalar for each bounded dimension in
 * rising order, its size. Leaves are counted over all parameters, or over the result, from 0.
 */
struct expand_leaf {
    struct hlo_type type;               /* as it was read */
    enum expand_form form;
    enum hlo_element part;              /* element type of each part */
    int first, parts, sizes;
    int parameter;                      /* number of the parameter that it lies in; -1: a result */
};

struct expand_boundary {
    int parameter_count, result_count;
    struct expand_leaf *parameter, *result;
};

/*
 * `made` is uninitialised and lives in `a`, as the boundary does; `old` is left as it is and must be
 * verified. 0, or -1 with the instruction that nothing here expands.
 */
int expand_program(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                   struct expand_boundary *boundary, struct err *e);

/* The form of an element; *part and *parts as in struct expand_leaf. */
enum expand_form expand_form_of(enum hlo_element e, enum hlo_element *part, int *parts);

/*
 * An array of the host (dense, hlo_element_bytes each) to its parts and back; part[i] are arrays of
 * the same count. Sizes and strides of bounded arrays are the caller's.
 */
void expand_split(enum hlo_element e, int64_t count, const void *from, void *const *part);
void expand_join(enum hlo_element e, int64_t count, const void *const *part, void *to);
#endif
