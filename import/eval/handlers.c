/* The tables of handlers.def. */
#include "import/eval/handlers.h"

static const eval_handler handlers[OPCODE_COUNT] = {
#define HANDLER(op, function) [OPCODE_##op] = function,
#define GROUP(op, function)
#include "import/eval/handlers.def"
};

static const eval_group_handler group_handlers[OPCODE_COUNT] = {
#define HANDLER(op, function)
#define GROUP(op, function) [OPCODE_##op] = function,
#include "import/eval/handlers.def"
};

eval_handler eval_handler_of(enum hlo_opcode op) { return handlers[op]; }
eval_group_handler eval_group_handler_of(enum hlo_opcode op) { return group_handlers[op]; }
