-- Removes what requeued jobs do not keep: finished steps, sleeps and signals stay. What went wrong, when waits end, and the
-- attempts of a step are decided anew. So are waits for children, which are requeued if they failed. Of a job that was
-- undone, everything goes that was recorded after its last undo that did not run, except signals.
create function oncue.forget_undecided(p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_ids uuid[];
begin
  delete from oncue.outcomes o
  where o.job_id = any (p_ids)
    and (o.kind in ('step_failed', 'timeout', 'wait', 'children')
      or o.kind = 'timer' and (o.key like 'retry:%' or o.key like 'undo_retry:%'));
  v_ids := array(select distinct o.job_id from oncue.outcomes o where o.job_id = any (p_ids) and o.kind = 'undone');
  if v_ids <> '{}' then
    delete from oncue.outcomes o
    where o.job_id = any (v_ids) and o.kind <> 'signal' and o.seq > coalesce((
      select max(u.seq) from oncue.outcomes u
      where u.job_id = o.job_id and u.kind = 'undo' and not exists (
        select from oncue.outcomes d where d.job_id = u.job_id and d.key = 'undone:' || substr(u.key, 6))), 0);
    -- Their spawns are made again.
    delete from oncue.children c
    where c.parent_id = any (v_ids) and not exists (
      select from oncue.outcomes o, json_object_keys(o.data) as k(key)
      where o.job_id = c.parent_id and o.kind = 'spawn' and k.key = c.key);
  end if;
  update oncue.jobs j set ending = '{}'
  where j.id = any (p_ids) and j.ending is null
    and exists (select from oncue.outcomes o where o.job_id = j.id and o.kind = 'undo');
end $$;
