-- planner: jit = off
-- Frees the runs of workers whose presence lock and heartbeats have been gone for p_gone_ms; when most workers
-- are missing, for p_most_ms, because the network or a failover is the likelier reason. No worker is declared
-- dead within p_settle_ms of the server's own start, nor within p_grace_ms: the caller has lost connections
-- itself, and the others have to reconnect first. A row without a worker comes last: if a worker is missing and not
-- dead yet it tells when to look again, and whether there is anything to tend. A dead worker leaves a row in
-- worker_ends, with what became of the first 100 runs that it held.
--
-- Behind a transaction pooler there is no lock. The row of a worker there that has been silent for an hour is
-- moved to worker_ends; its leases have long ended.
--
-- A worker that rests has written until when it sends no heartbeats: a last_beat in the future. It says nothing about life, so
-- that presence alone decides, and the first poll after the rest resets it.
--
-- Also the heartbeat of a worker without runs: every few seconds is often enough, and saves an idle worker a
-- commit per second. What concurrent settles could not see is left to tend, in a transaction of its own, so that
-- an error there does not undo a rescue. Where there is nothing to tend, a poll is one statement.
create function oncue.rescue(
  p_now timestamptz, p_gone_ms integer, p_most_ms integer, p_settle_ms integer, p_grace_ms integer, p_worker uuid
) returns table (worker uuid, released integer, failed integer, look_again_ms integer, untended boolean)
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_may_die_at constant timestamptz := greatest(
    pg_postmaster_start_time() + p_settle_ms * interval '1 millisecond',
    clock_timestamp() + p_grace_ms * interval '1 millisecond');
  -- Beats of this moment may be later than the time of this statement.
  v_soon constant timestamptz := v_now + interval '10 seconds';
  v_patience interval;
  v_dead uuid;
  v_ids uuid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  update oncue.workers w set missing_since = case when s.seen then null else v_now end
  from (
    select c.id, l.seen
    from oncue.workers c, lateral (
      select exists (
        select from pg_catalog.pg_locks l
        where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
          and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
          and (l.classid::bigint << 32) | l.objid::bigint = c.presence::bigint
      ) as seen
    ) l
    where c.presence is not null and l.seen <> (c.missing_since is null)
    for update of c skip locked
  ) s
  where w.id = s.id;

  -- The caller is alive, whatever its row says: so a single missing worker is never the majority.
  select interval '1 millisecond' * case
      when count(w.missing_since) > greatest(1, count(*) - count(w.missing_since)) then p_most_ms else p_gone_ms end
    into v_patience from oncue.workers w where w.presence is not null;
  for v_dead in
    select w.id from oncue.workers w
    where w.missing_since is not null
      and greatest(w.missing_since, case when w.last_beat < v_soon then w.last_beat end) <= v_now - v_patience
      and w.id is distinct from p_worker and clock_timestamp() >= v_may_die_at
    for update skip locked
  loop
    -- The live table has no index by worker (a claim would have to write it), so this is a scan:
    -- once per death, not once per job.
    select array_agg(c.id) into v_ids
      from (select j.id from oncue.jobs j where j.locked_by = v_dead for update skip locked) c;
    select c.released, c.failed into released, failed from oncue.crash(v_now, coalesce(v_ids, '{}')) c;
    -- A worker with skipped rows is written again next time, with the runs that are freed then.
    insert into oncue.worker_ends as e
      (id, host, pid, queues, concurrency, version, started_at, last_beat, ended_at, how, released, failed, runs)
    select w.id, w.host, w.pid, w.queues, w.concurrency, w.version, w.started_at, least(w.last_beat, v_now), v_now, 'lost',
      released, failed, (
        select coalesce(json_agg(json_build_object(
          'id', f.id, 'queue', f.queue, 'topic', f.topic, 'run', f.run, 'outcome', f.outcome)), '[]')
        from (
          select j.id, j.queue, j.topic, j.run, 'released' as outcome
          from oncue.jobs j where j.id = any (v_ids[1:100]) and j.locked_by is null
          union all
          select h.id, h.queue, h.topic, h.run, h.status::text from oncue.history h where h.id = any (v_ids[1:100])
        ) f)
    from oncue.workers w where w.id = v_dead
    on conflict (id) do update set
      ended_at = excluded.ended_at, last_beat = excluded.last_beat, how = excluded.how,
      released = e.released + excluded.released, failed = e.failed + excluded.failed,
      runs = (select coalesce(json_agg(r.run), '[]') from (
        select run from (select json_array_elements(e.runs) union all select json_array_elements(excluded.runs)) a(run)
        limit 100) r);
    -- A row that was skipped is in the dead worker's last statement; look again next time.
    if not exists (select from oncue.jobs j where j.locked_by = v_dead) then
      delete from oncue.workers w where w.id = v_dead;
      delete from oncue.leaders l where l.held_by = v_dead::text;
    end if;
    worker := v_dead;
    return next;
  end loop;

  return query
  select null::uuid, null::integer, null::integer, case when count(*) > 0 then ceil(1000 * extract(epoch from greatest(
      min(greatest(w.missing_since, case when w.last_beat < v_soon then w.last_beat end)) + v_patience - v_now,
      v_may_die_at - clock_timestamp(),
      interval '100 milliseconds')))::integer end, oncue.is_untended()
  from oncue.workers w where w.missing_since is not null and w.id is distinct from p_worker;
  -- A locked row is being checked by another rescue, which must not be waited for while holding other rows.
  update oncue.workers w set last_beat = v_now
    where w.id = any (array(
      select b.id from oncue.workers b
      where b.id = p_worker and (b.last_beat <= v_now - interval '5 seconds' or b.last_beat >= v_soon) for no key update skip locked));
  -- Not right after an outage: the others may have been as silent as the caller.
  if clock_timestamp() >= v_may_die_at then
    with gone as (
      delete from oncue.workers w
      where w.id = any (array(
        select b.id from oncue.workers b
        where b.presence is null and b.last_beat <= v_now - interval '1 hour' for update skip locked))
      returning w.*
    )
    insert into oncue.worker_ends
      (id, host, pid, queues, concurrency, version, started_at, last_beat, ended_at, how, released, failed, runs)
    select g.id, g.host, g.pid, g.queues, g.concurrency, g.version, g.started_at, g.last_beat, v_now, 'lost', 0, 0, '[]'
    from gone g
    on conflict (id) do update set ended_at = excluded.ended_at, last_beat = excluded.last_beat, how = excluded.how;
  end if;
end $$;
