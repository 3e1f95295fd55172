/* Fills the table of hooks by which cores and machines call whoever listens (sim/core/hooks.h). */
#include "sim/core/hooks.h"

#include "sim/check/checks.h"
#include "sim/check/race.h"
#include "sim/fastpath/launch_log.h"
#include "sim/fastpath/launch_memo.h"
#include "sim/fastpath/memo.h"
#include "sim/fastpath/origins.h"
#include "sim/fastpath/replay.h"
#include "sim/launch/launch.h"
#include "sim/observe/host_watch.h"
#include "sim/observe/record.h"
#include "sim/observe/tracing.h"

static int work_begin(struct core *c, enum core_work work)
{
    return (int)host_part_begin(c, work == CORE_MULTIPLIES ? HOST_MXU : HOST_COPY);
}

static void work_end(struct core *c, int before)
{
    host_part_end(c, (enum host_part)before);
}

const struct core_hooks launch_hooks = {
    .checks = {checks_touch, checks_issue, checks_arrived, checks_host_write},
    .race = {race_arrive, race_complete, race_learn, race_overwrite},
    .memo = {memo_visit},
    .recorder = {record_stall, record_live, record_mark, record_accesses, record_jump, record_halt},
    .tracing = {tracing_names_sender, tracing_tells_copy},
    .hbm_log = {launch_memo_hbm_read, launch_memo_hbm_write, launch_memo_hbm_unknown,
                launch_memo_hbm_give_up},
    .log = {launch_log_read, launch_log_answer, launch_log_issue, launch_log_done,
            launch_log_kernel},
    .origins = {origins_bundle, origins_arrive},
    .replay = {replay_run_values, replay_issue, replay_kernel},
    .watch = {host_core_begin, host_core_end, host_execute, work_begin, work_end,
              host_transfer_begin, host_transfer_end},
};
