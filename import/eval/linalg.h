/* Factorizations that custom calls name. Private to import/eval. */
#ifndef IMPORT_EVAL_LINALG_H
#define IMPORT_EVAL_LINALG_H
#include "import/eval/handlers.h"

int linalg_qr(struct call *c);                  /* -> packed, factors */
int linalg_householder_product(struct call *c); /* packed, factors -> Q */
int linalg_lu(struct call *c);                  /* -> packed, pivots, permutation */
int linalg_eigh(struct call *c);                /* -> vectors, values */
#endif
