-- planner: none
-- For jobs that run when a batch has not completed, now that each job of it has ended once: those that are not needed are
-- cancelled. A job of the batch that was requeued meanwhile is waited for again. The rows of p_ids are locked by the caller.
create function oncue.decide_batches(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_batch record;
  v_jobs uuid[];
  v_left integer;
begin
  for v_batch in
    select f.job_id, f.flow_id from oncue.flow_places f where f.job_id = any (p_ids) and f.kind = 'on_failure'
  loop
    v_jobs := array(select f.job_id from oncue.flow_places f where f.flow_id = v_batch.flow_id and f.kind = 'job');
    insert into oncue.deps (job_id, parent_id, policy)
    select v_batch.job_id, j.id, 'go_on' from oncue.jobs j where j.id = any (v_jobs)
    on conflict do nothing;
    get diagnostics v_left = row_count;
    if v_left > 0 then
      update oncue.jobs j set status = 'blocked', visible_at = null, deps_left = v_left where j.id = v_batch.job_id;
    elsif not exists (
      select from unnest(v_jobs) as i(id)
      where not exists (
        select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'completed'))
    then
      perform oncue.append_event(p_now, array[v_batch.job_id], 'cancelled',
        array['{"by":null,"reason":"all jobs of its batch completed"}'::json]);
      perform oncue.release_dependants(p_now,
        oncue.end_rows(p_now, array[v_batch.job_id], 'cancelled', null), false);
    end if;
  end loop;
end $$;
