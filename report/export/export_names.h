/* Texts of an export, each once; and the texts of programs, made when first asked for. */
#ifndef REPORT_EXPORT_NAMES_H
#define REPORT_EXPORT_NAMES_H
#include "report/export/export_model.h"

struct export_names *export_names_create(void);
void export_names_destroy(struct export_names *n);

/* all NULL or 0 where there is nothing to say */
struct export_programs *export_programs_create(struct ntrace *t, struct export_names *n,
                                               struct arena *a);
/* of core `core`: the mnemonic of operation op - 1, its text, a bundle's mnemonics and place */
uint32_t export_op_name(struct export_programs *p, int core, uint32_t op);
uint32_t export_op_text(struct export_programs *p, int core, uint32_t op);
uint32_t export_bundle_name(struct export_programs *p, int core, uint32_t bundle);
uint32_t export_bundle_source(struct export_programs *p, int core, uint32_t bundle);
uint32_t export_bundle_note(struct export_programs *p, int core, uint32_t bundle);
uint32_t export_note_name(struct export_programs *p, int core, uint32_t note);
uint32_t export_program_name(struct export_programs *p, int core);
/* from 1 on; equal programs share it */
int export_program_id(struct export_programs *p, int core);
#endif
