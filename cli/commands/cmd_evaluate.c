/* `systole evaluate`: loss and metrics of a model that is there. */
#include "cli/commands/cli.h"
#include "cli/train/train.h"

int cmd_evaluate(int argc, char **argv) { return train_run(argc, argv, TASK_EVALUATE); }
