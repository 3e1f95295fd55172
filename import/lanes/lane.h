/*
 * Lanes: the types of C that elements are computed in. Elements that C has no type for (bf16, f8,
 * s4, ..) are widened to a lane of more bits, computed, and narrowed to what their type holds.
 */
#ifndef IMPORT_EVAL_LANE_H
#define IMPORT_EVAL_LANE_H
#include "base/complex_parts.h"
#include "import/program/program.h"

enum lane {
    LANE_PRED, LANE_S8, LANE_S16, LANE_S32, LANE_S64, LANE_U8, LANE_U16, LANE_U32, LANE_U64,
    LANE_F32, LANE_F64, LANE_C64, LANE_C128, LANE_COUNT
};
enum { LANE_BYTES_MAX = 16 };

typedef float _Complex lane_c64;
typedef double _Complex lane_c128;

enum lane lane_of(enum hlo_element e);          /* LANE_COUNT of tuples and tokens */
size_t lane_bytes(enum lane l);
bool lane_is_float(enum lane l);
bool lane_is_complex(enum lane l);
/* is an array of `e` something else than an array of its lane, or has fewer values? */
bool lane_is_narrow(enum hlo_element e);

/* n elements of an array <-> n of its lane; narrowing rounds floats, wraps integers */
void lane_widen(enum hlo_element e, void *lane, const void *from, int64_t n);
void lane_narrow(enum hlo_element e, void *to, const void *lane, int64_t n);
/* values of lanes become values that their type has */
void lane_round(enum hlo_element e, void *lane, int64_t n);

/* n elements of one type to n of another: floats to integers towards zero, at the ends of the range
 * where they are outside, 0 of a NaN; complex to real and pred by its real part; to pred by x != 0 */
void lane_convert(enum hlo_element to_type, void *to, enum hlo_element from_type, const void *from,
                  int64_t n);
/* the same from values of lanes to values of lanes */
void lane_convert_wide(enum hlo_element to_type, void *to, enum hlo_element from_type,
                       const void *from, int64_t n);
/* the same between the lanes' own types */
void lane_cast(enum lane to_lane, void *to, enum lane from_lane, const void *from, int64_t n);

#ifdef __clang__                        /* which has no such word that does not warn */
#define LANE_IVDEP
#else
#define LANE_IVDEP _Pragma("GCC ivdep")
#endif
#endif
