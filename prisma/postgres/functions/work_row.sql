-- What claims and settlements return. By kind:
--   'j': `jobs` is a text with the claimed jobs of one level, separated by U+001E, and their fields by U+001F, which
--        neither JSON nor a name contains. One text for hundreds of jobs: a row and fifteen columns for each took a
--        quarter of the worker's time.
--   'p': `data` is a payload that is stored apart, of the job `id` of the next row of kind 'j'.
--   's': the settlement of (id, run) was refused: the run no longer owned its job.
--   'x': the job of (id, run) would have continued, and is cancelled.
--   'u': the job of (id, run) has ended badly, and is undone first.
--   'c': the last row of a claim. `now` is the clock; `due`, when nothing was claimed, when to claim again; `data`
--        names the queues in which marks must not move.
create type oncue.work_row as (
  kind "char", id uuid, run integer, now timestamptz, due timestamptz, jobs text, data json
);
