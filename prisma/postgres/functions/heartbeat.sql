-- Extends the leases of runs that the caller still owns, and returns those that it does not, those whose rows
-- are locked, and those that were asked to stop. Also moves their visible_at to the end of the lease, so
-- that thousands of long runs are not at the head of the ready index, and a dead worker's runs
-- become claimable by themselves.
create function oncue.heartbeat(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_ids uuid[], p_runs integer[], p_started boolean[]
) returns table (kind text, lost_id uuid, lost_run integer)
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_rows tid[];
  v_kept uuid[];
  v_kept_runs integer[];
  v_cancelled uuid[];
begin
  -- An expired lease is extended too if no other worker has taken the job. Locked rows are mostly being
  -- settled at this moment, by this worker or by the one that took over. Waiting for them while holding others could
  -- deadlock, so they are returned, and the caller retries them.
  v_rows := array(
    select j.ctid from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'processing' and j.locked_by = p_worker
      and j.id = p_ids[width_bucket(j.id, p_ids)] and j.run = p_runs[width_bucket(j.id, p_ids)]
    for no key update skip locked);
  with beaten as (
    update oncue.jobs j set
      locked_until = v_until, visible_at = v_until, updated = v_now,
      started_at = case when p_started[width_bucket(j.id, p_ids)] then coalesce(j.started_at, v_now) else j.started_at end
    where j.ctid = any (v_rows)
    returning j.id, j.run, j.cancel_at
  )
  select coalesce(array_agg(b.id), '{}'), array_agg(b.run), array_agg(b.id) filter (where b.cancel_at is not null)
    into v_kept, v_kept_runs, v_cancelled from beaten b;
  update oncue.workers w set last_beat = v_now
    where w.id = any (array(select b.id from oncue.workers b where b.id = p_worker for no key update skip locked));
  if cardinality(v_kept) < cardinality(p_ids) then
    return query
    select case when j.id is null then 'lost' else 'locked' end, s.id, s.run
    from (select * from unnest(p_ids, p_runs) except select * from unnest(v_kept, v_kept_runs)) as s(id, run)
    left join oncue.jobs j
      on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing' and j.locked_by = p_worker;
  end if;
  if v_cancelled is not null then
    return query
    select 'cancel', s.id, s.run from unnest(p_ids, p_runs) as s(id, run) where s.id = any (v_cancelled);
  end if;
end $$;
