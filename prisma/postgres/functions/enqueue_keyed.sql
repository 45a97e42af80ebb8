-- Jobs with a key: the row in `keys`, which two enqueues cannot both insert, decides whether a job is created. Those
-- that reserve_keys has taken the key for are written together, the others one by one. p_jobs is a JSON array of
-- {id, queue and the other columns of a new job, by their names, big, uniqueMs, onConflict, ifRunning,
--  onceKey, onceMs, sameQueue, runAt, delayMs, after};
-- JSON columns are text in it, because a null inside JSON would read as missing. big is a payload over the inline
-- limit. onceKey is an idempotency key or one of Oncue's own. Returns the resulting job for each, and whether it was
-- created, existed or was replaced. Other builds call it through enqueue_jobs: fields may be added, and missing ones
-- are null.
create function oncue.enqueue_keyed(p_now timestamptz, p_jobs json)
  returns table (n integer, job_id uuid, outcome text)
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v record;
  v_due timestamptz;
  v_key oncue.keys;
  v_status oncue."Status";
  v_waits boolean;
  v_runs uuid;
  v_deps integer;
  v_keys record;
begin
  v_keys := oncue.reserve_keys(v_now, p_jobs);
  if v_keys.taken <> '{}' then
    with v as (
      select j.*, coalesce(j."runAt", v_now + j."delayMs" * interval '1 millisecond') as due,
        coalesce(jsonb_array_length(j.after), 0) as deps
      from json_to_recordset(p_jobs)
        as j({{enqueue_types}}, big text, "runAt" timestamptz, "delayMs" bigint, after jsonb)
      where v_keys.all_taken or j.id = any (v_keys.taken)
    ), big as (
      insert into oncue.payloads (job_id, part, data)
      select v.id, 'payload', v.big::json from v where v.big is not null
    )
    insert into oncue.jobs
      ({{enqueue_columns}},
       created, updated, run_at, visible_at, status, deps_left)
    select
       {{enqueue_values}},
       v_now, v_now, v.due,
       case when v.deps = 0 then v.due end,
       (case when v.deps = 0 then 'pending' else 'blocked' end)::oncue."Status", v.deps
    from v;
    perform oncue.index_meta(j.id) from oncue.jobs j where j.id = any (v_keys.taken) and j.meta is not null;
    return query select j.n, j.id, 'created' from (
        select row_number() over ()::integer - 1 as n, j.id from json_to_recordset(p_jobs) as j(id uuid)
      ) j
      where v_keys.all_taken or j.id = any (v_keys.taken);
    if v_keys.all_taken then return; end if;
  end if;
  for v in
    select row_number() over () - 1 as n, j.* from json_to_recordset(p_jobs) as j(
      {{enqueue_types}}, big text, "uniqueMs" bigint, "onConflict" text, "ifRunning" text, "onceKey" text,
      "onceMs" bigint, "sameQueue" boolean, "runAt" timestamptz, "delayMs" bigint, after jsonb)
  loop
    n := v.n; job_id := v.id; outcome := 'created';
    continue when v.id = any (v_keys.taken);
    v_due := coalesce(v."runAt", v_now + v."delayMs" * interval '1 millisecond');
    v_runs := null;

    if v."onceKey" is not null then
      v_key := oncue.take_key(v_now, v.topic, v."onceKey", v.id, v."onceMs", false);
      if v_key.job_id <> v.id then
        if v."sameQueue" then
          perform oncue.assert_queue(v_key.job_id, v.queue);
        end if;
        job_id := v_key.job_id; outcome := 'existing';
        return next;
        continue;
      end if;
    end if;

    if v.unique_key is not null then
      v_key := oncue.take_key(v_now, case when v.unique_scope = 'all' then '' else v.topic end, 'u:' || v.unique_key,
        v.id, v."uniqueMs", v."onConflict" = 'replace');
      if v_key.job_id <> v.id then
        if v."sameQueue" then
          perform oncue.assert_queue(v_key.job_id, v.queue);
        end if;
        if v."onConflict" = 'reject' then
          raise exception 'Job % holds this unique key', v_key.job_id using errcode = 'OC001', detail = 'UNIQUE_KEY_LIVE',
            hint = 'Another job holds this unique key: wait for it, replace it, or use its id.';
        end if;
        v_status := null;
        if v."onConflict" = 'replace' then
          -- Locked by take_key, unless it has ended.
          select j.status, j.waits is not null or j.ending is not null into v_status, v_waits from oncue.jobs j where j.id = v_key.job_id;
          if v_waits and v_status <> 'processing' then
            raise exception 'Job % holds this unique key, and is suspended or has something to undo: it cannot be replaced', v_key.job_id
              using errcode = 'OC001', detail = 'UNIQUE_KEY_LIVE',
              hint = 'It has run: let it go on, cancel it, or use its id.';
          end if;
        end if;

        if v."onConflict" = 'existing' or v_status in ('pending', 'blocked') then
          job_id := v_key.job_id; outcome := 'existing';
          -- The idempotency key that was just taken must name the existing job, not the one that is not created.
          update oncue.keys k set job_id = v_key.job_id
            where k.topic = v.topic and k.key = v."onceKey" and k.job_id = v.id;
          if v."onConflict" = 'replace' then
            outcome := 'replaced';
            perform oncue.replace(v_now, v_key.job_id, v_due, v.big, {{replace_arguments}});
            update oncue.keys k set until = v_now + v."uniqueMs" * interval '1 millisecond'
              where k.topic = v_key.topic and k.key = v_key.key;
          end if;
          return next;
          continue;
        end if;

        -- It already runs, or has ended: the new job replaces it.
        update oncue.keys k set job_id = v.id, until = v_now + v."uniqueMs" * interval '1 millisecond'
          where k.topic = v_key.topic and k.key = v_key.key;
        if v_status = 'processing' then
          update oncue.jobs j set replaced_by = v.id, updated = v_now
            where j.id = v_key.job_id and j.ending ->> 'status' is null;
          perform oncue.append_event(v_now, array[v_key.job_id], 'replaced', array[json_build_object('jobId', v.id)]);
          if v."ifRunning" = 'wait' then
            v_runs := v_key.job_id;
          end if;
        end if;
      end if;
    end if;

    v_deps := coalesce(jsonb_array_length(v.after), 0)
      + (v_runs is not null and not coalesce(v.after ? v_runs::text, false))::integer;
    insert into oncue.jobs
      ({{enqueue_columns}},
       created, updated, run_at, visible_at, status, deps_left)
    values
      ({{enqueue_values}},
       v_now, v_now, v_due,
       case when v_deps = 0 then v_due end,
       (case when v_deps = 0 then 'pending' else 'blocked' end)::oncue."Status", v_deps);
    if v_runs is not null then
      -- The end of that run releases it, like every dependant. The run cannot have ended: its row is locked.
      insert into oncue.deps (job_id, parent_id, policy) values (v.id, v_runs, 'go_on');
    end if;
    if v.meta is not null then
      perform oncue.index_meta(v.id);
    end if;
    if v.big is not null then
      insert into oncue.payloads (job_id, part, data) values (v.id, 'payload', v.big::json);
    end if;
    return next;
  end loop;
  if v_keys.reserved is not null then
    -- Reserved keys that were not needed.
    delete from oncue.keys k where k.job_id = v_keys.reserved and k.until = '-infinity';
  end if;
end $$;
