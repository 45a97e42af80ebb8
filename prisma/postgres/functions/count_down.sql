-- Counts down how many parents jobs wait for: each as often as it is named. Those that wait for none are ready.
create function oncue.count_down(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_queues text[];
  v_ready uuid[];
begin
  with counted as (
    select m.job_id, count(*)::integer as n from unnest(p_ids) as m(job_id) group by m.job_id
  ), released as (
    update oncue.jobs j set
      deps_left = j.deps_left - c.n,
      status = case when j.deps_left = c.n then 'pending' else j.status end,
      visible_at = case when j.deps_left = c.n then greatest(j.run_at, p_now) end,
      updated = p_now
    from counted c
    where j.id = any (array[c.job_id]) and j.status = 'blocked'
    returning j.id, j.queue, j.status
  )
  select array_agg(distinct r.queue), array_agg(r.id) into v_queues, v_ready from released r where r.status = 'pending';
  -- Waiting workers are notified at the commit.
  perform pg_notify('oncue', q) from unnest(v_queues) as q;
  if v_ready is not null then
    perform oncue.decide_batches(p_now, v_ready);
  end if;
end $$;
