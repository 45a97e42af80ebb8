-- planner: none
-- After jobs were put back: the jobs of their batches and flows that still wait for others wait for these again. Each has
-- an edge left, which says by which policy.
create function oncue.await_requeued(p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_waiting uuid[];
begin
  if not exists (select from oncue.flow_places f where f.job_id = any (p_ids)) then return; end if;
  v_waiting := array(
    select w.job_id from oncue.flow_places f
    join oncue.flow_places w on w.flow_id = f.flow_id and w.after is not null
    where f.job_id = any (p_ids));
  -- As a settle locks them, which may release one of them at this moment: then it waits no longer.
  v_waiting := array(
    select j.id from oncue.jobs j where j.id = any (v_waiting) and j.status = 'blocked' order by j.id for update);
  with again as (
    insert into oncue.deps as d (job_id, parent_id, policy)
    select distinct w.job_id, f.job_id, e.policy
    from oncue.flow_places f
    join oncue.flow_places w on w.flow_id = f.flow_id and w.job_id = any (v_waiting) and w.after is not null
      and (f.kind = 'job' or f.place::text in (select json_array_elements_text(w.after)))
    cross join lateral (select o.policy from oncue.deps o where o.job_id = w.job_id limit 1) e
    where f.job_id = any (p_ids) and f.kind in ('job', 'node')
    on conflict do nothing
    returning d.job_id
  )
  update oncue.jobs j set deps_left = j.deps_left + a.n
  from (select a.job_id, count(*)::integer as n from again a group by a.job_id) a
  where j.id = any (array[a.job_id]);
end $$;
