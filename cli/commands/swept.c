/*
 * Lists the options of each command that `systole sweep` can vary, asked from that command's own
 * parser.
 */
#include "cli/commands/swept.h"

#include "base/units.h"
#include "cli/common/options.h"
#include "cli/train/train.h"

static void list_train(sweep_option tell, void *context)
{
    for (int i = 0; i < OPT_COUNT; i++)
        tell(context, train_option_name((enum train_option)i),
             train_option_arg((enum train_option)i));
}

static void list_gemm(sweep_option tell, void *context)
{
    cli_walk_options(&cmd_gemm_options, tell, context);
}

static void list_run(sweep_option tell, void *context)
{
    cli_walk_options(&cmd_run_options, tell, context);
}

const struct sweep_command swept_commands[] = {
    {"train", list_train}, {"gemm", list_gemm}, {"run", list_run},
};
const size_t swept_count = COUNT_OF(swept_commands);
