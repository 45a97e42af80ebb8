-- Ends runs. Every write is fenced by (id, run) and status, and by the worker if one is given: after a failover that
-- lost commits, the run number of a lost claim is issued again. Completions come as arrays sorted by id,
-- because they are the most frequent, and a row finds its index in them by bisection (width_bucket); all other
-- outcomes as one JSON array of
-- {id, run, kind: retry | fail | snooze | release | cancel | suspend | undone, delayMs, error, fingerprint}.
-- p_big_* are results over the inline limit. Returns a row of kind 's' for each stale entry, and one of kind 'x'
-- for each run whose job would have continued and is cancelled, and of kind 'u' for each whose job is undone before it ends.
create function oncue.settle(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[], p_worker uuid default null
) returns setof oncue.work_row
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_done uuid[];
  v_again uuid[];
  v_keyed uuid[];
  v_others uuid[];
  v_family uuid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  -- An enqueue that replaces several jobs locks them in the order of their ids. So does each of the statements below. Jobs
  -- that are suspended are locked with those that spawned the ones which end here: another settle may lock both.
  if p_others is not null and cardinality(p_ids) + json_array_length(p_others) > 1 then
    v_others := array(select (o ->> 'id')::uuid from json_array_elements(p_others) as o);
    v_family := array(
      select (o ->> 'id')::uuid from json_array_elements(p_others) as o where o ->> 'kind' = 'suspend'
      union all
      select c.parent_id from oncue.children c where c.child_id = any (p_ids || v_others));
    perform from oncue.jobs j
      where j.id = any (p_ids || v_others || v_family) and (j.unique_key is not null or j.id = any (v_family))
      order by j.id for update;
  end if;
  if cardinality(p_ids) > 0 then
    for v_try in 1..100 loop
      begin
        with done as (
          delete from oncue.jobs j
          where j.id = any (p_ids) and j.status = 'processing'
            and j.id = p_ids[width_bucket(j.id, p_ids)] and j.run = p_runs[width_bucket(j.id, p_ids)]
            and (p_worker is null or j.locked_by = p_worker)
          returning j.*, p_results[width_bucket(j.id, p_ids)] as result
        ), kept as (
          insert into oncue.history
            ({{history_columns}},
             crashes, started_at, finished_at, locked_by, status, result, last_error, fingerprint)
          select
             {{history_values}},
             crashes, coalesce(started_at, v_now), v_now, locked_by, 'completed', result, last_error, fingerprint
          from done
        ), counted as (
          insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
          select gen_random_uuid(), date_trunc('minute', v_now), queue, topic, count(*), 0, 0,
            string_agg(oncue.bucket(coalesce(started_at, v_now) - run_at), ''),
            string_agg(oncue.bucket(v_now - coalesce(started_at, v_now)), ''),
            sum(date_part('epoch', v_now - coalesce(started_at, v_now)) * 1000)::bigint
          from done group by queue, topic
        )
        select coalesce(array_agg(id), '{}'), array_agg(id) filter (where unique_key is not null) into v_done, v_keyed from done;
        exit;
      exception when unique_violation then
        -- A job was enqueued again after it had finished: its first record is kept. An ON CONFLICT would
        -- cost every completion a WAL record of 48 bytes; this costs them nothing.
        with again as (
          delete from oncue.jobs j
          where j.id = any (p_ids) and j.status = 'processing' and j.run = p_runs[width_bucket(j.id, p_ids)]
            and (p_worker is null or j.locked_by = p_worker)
            and j.id = any (array(select h.id from oncue.history h where h.id = any (p_ids)))
          returning j.id
        )
        select v_again || array_agg(a.id) into v_again from again a;
      end;
    end loop;
    if v_done is null then
      raise exception 'Too many concurrent requeues of the settled jobs' using errcode = 'serialization_failure';
    end if;

    if cardinality(p_big_ids) > 0 then
      insert into oncue.payloads (job_id, part, data)
      select s.id, 'result', s.data
      from unnest(p_big_ids, p_big_runs, p_big_data) as s(id, run, data)
      join oncue.history h on h.id = any (array[s.id]) and h.run = s.run and h.status::text = 'completed'
      where s.id = any (v_done)
      on conflict (job_id, part) do update set data = excluded.data;
    end if;
    perform oncue.after_finish(v_now, v_done || v_again, true, v_keyed || v_again);
    if cardinality(v_done) < cardinality(p_ids) then
      -- A settle that is sent again after a lost connection finds its own work done, and is not stale.
      return query
      select (oncue.run_row('s', s.id, s.run)).* from unnest(p_ids, p_runs) as s(id, run)
      where not exists (
        select from oncue.history h
        where h.id = any (array[s.id]) and h.run = s.run and h.status::text = 'completed'
          and (p_worker is null or h.locked_by = p_worker));
    end if;
  end if;
  if p_others is not null then
    return query select (oncue.run_row(s.kind, s.id, s.run)).* from oncue.settle_others(v_now, p_others, p_worker) as s;
  end if;
end $$;
