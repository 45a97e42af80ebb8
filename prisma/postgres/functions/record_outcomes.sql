-- Records what later runs of jobs may rely on. p_updates is a JSON array, sorted by id, of
-- {id, run, after, outcomes: [{key, kind, data, dueAt, signal, seen, children}]}: the first record of a key stands. One with `dueAt`
-- is recorded if that moment has come, one with `signal` if none of that name came after `seen`: a delivered signal
-- precedes a timeout; one with `children` if these have all ended. An `ask` is no outcome: it opens a question. An `undo` marks the job as one
-- that is undone if it ends badly. Returns, of each run, what was recorded after `after`, in that order, without the data that this call
-- recorded; of a run that the caller no longer owns a row without `seq`.
--
-- Row by row: see record_progress.
create function oncue.record_outcomes(p_now timestamptz, p_updates json, p_worker uuid default null)
  returns table (job_id uuid, run integer, seq integer, key text, kind text, name text, data json)
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_update record;
  v_outcome record;
  v_new text[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  for v_update in
    select * from json_to_recordset(p_updates) as u(id uuid, run integer, after integer, outcomes json)
  loop
    perform from oncue.jobs j
    where j.id = v_update.id and j.run = v_update.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker)
    for no key update;
    if not found then
      return query select v_update.id, v_update.run, null::integer, null::text, null::text, null::text, null::json;
      continue;
    end if;
    perform oncue.deliver_signals(v_now, v_update.id);
    v_new := '{}';
    for v_outcome in
      select * from json_to_recordset(v_update.outcomes)
        as o(key text, kind text, data text, "dueAt" timestamptz, signal text, seen integer, children json)
    loop
      if v_outcome.kind = 'ask' then
        perform oncue.open_ask(v_now, v_update.id, v_outcome.key, v_outcome.data::json);
        continue;
      end if;
      if v_outcome.children is not null then
        if not exists (
            select from json_array_elements_text(v_outcome.children) as c(id)
            join oncue.jobs j on j.id = any (array[c.id::uuid]))
        then
          perform oncue.record_children(v_now, v_update.id, v_outcome.key);
        end if;
        continue;
      end if;
      insert into oncue.outcomes (job_id, key, seq, kind, data, created)
      select v_update.id, v_outcome.key,
        1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = v_update.id order by o.seq desc limit 1), 0),
        v_outcome.kind, v_outcome.data::json, v_now
      where (v_outcome."dueAt" is null or v_outcome."dueAt" <= v_now)
        and (v_outcome.signal is null or not exists (
          select from oncue.outcomes s
          where s.job_id = v_update.id and s.seq > v_outcome.seen and s.kind = 'signal' and s.name = v_outcome.signal))
      on conflict do nothing;
      if found then
        v_new := v_new || v_outcome.key;
        if v_outcome.kind = 'undo' then
          update oncue.jobs j set ending = '{}' where j.id = v_update.id and j.ending is null;
        end if;
        if v_outcome.kind = 'timeout' and v_outcome.key like 'ask:%' then
          update oncue.asks a set closed = v_now where a.job_id = v_update.id and 'ask:' || a.name = v_outcome.key;
        end if;
      end if;
    end loop;
    return query
    select v_update.id, v_update.run, o.seq, o.key, o.kind, o.name, case when o.key <> all (v_new) then o.data end
    from oncue.outcomes o where o.job_id = v_update.id and o.seq > v_update.after order by o.seq;
  end loop;
end $$;
