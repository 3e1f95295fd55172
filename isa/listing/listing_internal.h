/* Declares what the files that read listings share. */
#ifndef ISA_LISTING_INTERNAL_H
#define ISA_LISTING_INTERNAL_H
#include "isa/listing/listing.h"

/* A part of the blanked text. */
struct listing_piece {
    const char *start;
    size_t length;
};

#define PIECE_MAX 12                    /* operands looked at per operation */

/* what addresses count: copies, loads and stores; and where arrays begin */
#define GRANULE_BYTES 32
#define ROW_BYTES 512
#define TILE_BYTES 4096

/* isa/listing/listing_text.c: comments become blanks; false with *open where one never ends */
bool listing_blank_comments(char *text, size_t bytes, size_t *open);
/* a bundle begins on the line at `at`: "  0x1d LB: > {" */
bool listing_is_bundle_line(const char *text, size_t bytes, size_t at);
const char *listing_find(const char *from, const char *end, const char *what);

/* isa/listing/listing_shape.c: false when `text` is no shape */
bool listing_parse_shape(const char *text, const char *end, struct listing_shape *out);
/* the layouts an undeclared shape may have, the likeliest first; returns their number */
#define LAYOUT_MAX 8
int listing_layouts(const struct listing_shape *s, struct listing_layout out[LAYOUT_MAX]);

/* isa/listing/listing_classify.c: slot, unit, unit_index, is_nothing, code from the mnemonic */
void listing_classify(struct listing_op *op);

/*
 * isa/listing/listing_uses.c: spaces, extents and units of operands and allocations
 * from their uses. allocation[] has room for one per '#' of the text.
 */
void listing_find_uses(struct listing *l);

/*
 * isa/listing/listing_decl.c. A declaration of an operand that is not understood gets
 * a reason; -1: an error was added.
 */
void listing_declare_operand(struct listing *l, struct listing_op *op);
int listing_declare_allocation(struct listing *l, const char *line, const char *end, int number,
                               struct isa_errors *errors);

/* isa/listing/listing_branch.c: branch_delay_most, from branches whose targets are known */
void listing_bound_delay(struct listing *l);

/* isa/listing/listing_pairs.c: pops of unknown pushes, waits for unknown copies… become stand-ins too */
void listing_drop_partners(struct listing *l);

int listing_error(struct isa_errors *errors, const char *file, int line, int col,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
#endif
