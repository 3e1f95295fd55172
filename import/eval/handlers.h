/* Who carries out which operation: handlers.def, declared. Private to import/eval. */
#ifndef IMPORT_EVAL_HANDLERS_H
#define IMPORT_EVAL_HANDLERS_H
#include "import/eval/eval_impl.h"
#include "import/lanes/stride.h"

#define HANDLER(op, function) int function(struct call *c);
#define GROUP(op, function) int function(struct frame *f, int index);
#include "import/eval/handlers.def"
#endif
