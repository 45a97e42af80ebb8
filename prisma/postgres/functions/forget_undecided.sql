-- Removes what requeued jobs do not keep: finished steps, sleeps and signals stay. What went wrong, when waits end, and the
-- attempts of a step are decided anew. So are waits for children, which are requeued if they failed.
create function oncue.forget_undecided(p_ids uuid[]) returns void
  language plpgsql
as $$
begin
  delete from oncue.outcomes o
  where o.job_id = any (p_ids)
    and (o.kind in ('step_failed', 'timeout', 'wait', 'children') or o.kind = 'timer' and o.key like 'retry:%');
end $$;
