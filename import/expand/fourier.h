/* Fourier transforms of rows [batch, n] of f32, real and imaginary parts by themselves. */
#ifndef EXPAND_FOURIER_H
#define EXPAND_FOURIER_H
#include "import/expand/arith.h"

struct wave { int real, imaginary; };   /* imaginary -1: zero */

/* sign -1: forwards, 1: back, not divided by n */
struct wave fourier_rows(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign);
/* the same for lengths without small factors */
struct wave fourier_chirp(struct hlo_builder *b, struct wave x, int64_t batch, int64_t n, int sign);
/* each element by cosine + i sine, arrays of the same dimensions */
struct wave fourier_turn(struct hlo_builder *b, struct wave x, int cosine, int sine);
#endif
