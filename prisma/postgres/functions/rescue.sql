-- planner: jit = off
-- Frees the runs of workers whose presence lock and heartbeats have been gone for p_gone_ms; when most workers
-- are missing, for p_most_ms, because the network or a failover is the likelier reason. No worker is declared
-- dead within p_settle_ms of the server's own start, nor within p_grace_ms: the caller has lost connections
-- itself, and the others have to reconnect first. A row without a worker comes last: if a worker is missing and not
-- dead yet it says when to check again, and whether there is anything to tend.
--
-- Behind a transaction pooler there is no lock. The row of a worker there that has been silent for an hour is
-- removed; its leases have long expired.
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
    where w.missing_since is not null and greatest(w.missing_since, w.last_beat) <= v_now - v_patience
      and w.id is distinct from p_worker and clock_timestamp() >= v_may_die_at
    for update skip locked
  loop
    -- The live table has no index by worker (a claim would have to write it), so this is a scan:
    -- once per death, not once per job.
    select array_agg(c.id) into v_ids
      from (select j.id from oncue.jobs j where j.locked_by = v_dead for update skip locked) c;
    select c.released, c.failed into released, failed from oncue.crash(v_now, coalesce(v_ids, '{}')) c;
    -- A skipped row is locked by the dead worker's last statement; the next poll tries again.
    if not exists (select from oncue.jobs j where j.locked_by = v_dead) then
      delete from oncue.workers w where w.id = v_dead;
      delete from oncue.leaders l where l.held_by = v_dead::text;
    end if;
    worker := v_dead;
    return next;
  end loop;

  return query
  select null::uuid, null::integer, null::integer, case when count(*) > 0 then ceil(1000 * extract(epoch from greatest(
      min(greatest(w.missing_since, w.last_beat)) + v_patience - v_now,
      v_may_die_at - clock_timestamp(),
      interval '100 milliseconds')))::integer end, oncue.is_untended()
  from oncue.workers w where w.missing_since is not null and w.id is distinct from p_worker;
  -- A locked row is being checked by another rescue, which must not be waited for while holding other rows.
  update oncue.workers w set last_beat = v_now
    where w.id = any (array(
      select b.id from oncue.workers b
      where b.id = p_worker and b.last_beat <= v_now - interval '5 seconds' for no key update skip locked));
  -- Not right after an outage: the others may have been as silent as the caller.
  if clock_timestamp() >= v_may_die_at then
    delete from oncue.workers w
      where w.id = any (array(
        select b.id from oncue.workers b
        where b.presence is null and b.last_beat <= v_now - interval '1 hour' for update skip locked));
  end if;
end $$;
