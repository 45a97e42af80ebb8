-- Written by generate.ts from functions/*.sql. Do not edit.
-- `migrate` installs each of these under its name and the hash of this file.

create function oncue.after_finish(p_now timestamptz, p_ids uuid[], p_completed boolean, p_keyed uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  perform oncue.release_dependants(p_now, p_ids, p_completed);
  perform oncue.free_slots(p_now, p_ids);
  if p_keyed is not null then
    delete from oncue.keys k where k.job_id = any (p_keyed) and k.until is null;
  end if;
end $$;

create function oncue.aged_levels(p_now timestamptz, p_queue text, p_ageing_ms integer,
    out priorities smallint[], out dues timestamptz[])
  language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set jit = off
begin atomic
  with recursive level as (
    (select j.priority, j.visible_at from oncue.jobs j
     where j.queue = p_queue and j.visible_at is not null and j.status = 'pending'
     order by j.priority desc, j.visible_at limit 1)
    union all
    select n.priority, n.visible_at from level l, lateral (
      select j.priority, j.visible_at from oncue.jobs j
      where j.queue = p_queue and j.visible_at is not null and j.priority < l.priority and j.status = 'pending'
      order by j.priority desc, j.visible_at limit 1) n
  ), aged as (
    select l.priority, l.priority + extract(epoch from p_now - l.visible_at) * 1000 / p_ageing_ms as rank
    from level l where l.visible_at <= p_now
  ), ordered as (
    select a.priority, row_number() over w as n,
      coalesce(p_now - greatest(0, lead(a.rank) over w - a.priority) * p_ageing_ms * interval '1 millisecond', p_now) as due
    from aged a window w as (order by a.rank desc, a.priority desc)
  )
  select array_agg(o.priority order by o.n), array_agg(o.due order by o.n) from ordered o;
end;

create function oncue.answer(p_now timestamptz, p_id uuid, p_name text, p_data json) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  perform from oncue.jobs j where j.id = p_id for no key update;
  if not found then return false; end if;
  update oncue.asks a set closed = v_now where a.job_id = p_id and a.name = p_name and a.closed is null;
  if not found then return false; end if;
  insert into oncue.outcomes (job_id, key, seq, kind, name, data, created)
  select p_id, 'ask:' || p_name,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'answer', p_name, p_data, v_now;
  perform oncue.wake(v_now, p_id);
  return true;
end $$;

create function oncue.append_event(p_now timestamptz, p_ids uuid[], p_type text, p_data json[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ids uuid[] := p_ids;
  v_data json[] := p_data;
begin
  for v_try in 1..100 loop
    exit when coalesce(cardinality(v_ids), 0) = 0;
    with wanted as (
      select w.id, w.data, 1 + coalesce(
        (select e.version from oncue.events e where e.job_id = w.id order by e.version desc limit 1), 0) as version
      from unnest(v_ids, v_data) as w(id, data)
    ), written as (
      insert into oncue.events (job_id, version, type, data, created)
      select w.id, w.version, p_type, w.data, p_now from wanted w
      on conflict (job_id, version) do nothing
      returning job_id
    )
    select coalesce(array_agg(w.id), '{}'), array_agg(w.data) into v_ids, v_data
    from wanted w where w.id not in (select job_id from written);
  end loop;
  if cardinality(v_ids) > 0 then
    raise exception 'Too many concurrent appends to the events of job %', v_ids[1] using errcode = 'serialization_failure';
  end if;
end $$;

create function oncue.assert_queue(p_id uuid, p_queue text) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  if exists (select from oncue.jobs j where j.id = p_id and j.queue <> p_queue)
    or exists (select from oncue.history h where h.id = p_id and h.queue <> p_queue) then
    raise exception 'A job in another queue has this key, and the caller may not enqueue into that queue'
      using errcode = 'OC004';
  end if;
end $$;

create function oncue.await_children(p_now timestamptz, p_id uuid, p_waits json) returns void
  language plpgsql
as $$
begin
  -- Of an earlier suspension.
  delete from oncue.child_waits w where w.parent_id = p_id;
  insert into oncue.child_waits (child_id, parent_id, wait)
  select j.id, p_id, w.key
  from json_to_recordset(p_waits) as w(kind text, key text, children json)
  cross join json_array_elements_text(w.children) as c(id)
  join oncue.jobs j on j.id = any (array[c.id::uuid])
  where w.kind = 'children'
  on conflict do nothing;
  perform oncue.record_children(p_now, p_id, w.key)
  from json_to_recordset(p_waits) as w(kind text, key text)
  where w.kind = 'children'
    and not exists (select from oncue.child_waits o where o.parent_id = p_id and o.wait = w.key);
end $$;

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

create function oncue.begin_spawn(p_id uuid, p_run integer, p_worker uuid, p_key text) returns text
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  perform from oncue.jobs j
  where j.id = p_id and j.run = p_run and j.status = 'processing' and (p_worker is null or j.locked_by = p_worker)
  for no key update;
  if not found then return 'stale'; end if;
  return case when exists (select from oncue.outcomes o where o.job_id = p_id and o.key = p_key) then 'known' else 'new' end;
end $$;

create function oncue.begin_undo(p_now timestamptz, p_ids uuid[], p_statuses text[], p_errors json[]) returns void
  language plpgsql
as $$
begin
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find it.
  update oncue.jobs j set
    status = 'pending', run_at = p_now, visible_at = p_now, updated = p_now, waits = null, retries = 0, crashes = 0,
    locked_until = null, locked_by = null, started_at = null, cancel_at = null, replaced_by = null,
    last_error = coalesce(u.error, j.last_error), fingerprint = coalesce(u.error ->> 'fingerprint', j.fingerprint),
    ending = json_strip_nulls(json_build_object('since', oncue.iso_time(p_now), 'status', u.status,
      'error', coalesce(u.error, j.last_error), 'fingerprint', coalesce(u.error ->> 'fingerprint', j.fingerprint)))
  from unnest(p_ids, p_statuses, p_errors) as u(id, status, error)
  where j.id = any (array[u.id]);
  delete from oncue.child_waits w where w.parent_id = any (p_ids);
  update oncue.asks a set closed = p_now where a.job_id = any (p_ids) and a.closed is null;
  -- That of a run that failed is told by its own event.
  perform oncue.append_event(p_now, p_ids, 'undoing', (
    select array_agg(json_strip_nulls(json_build_object('status', u.status,
      'error', case when u.status = 'cancelled' then u.error end)) order by u.n)
    from unnest(p_statuses, p_errors) with ordinality as u(status, error, n)));
  perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (p_ids)) q;
end $$;

create function oncue.bucket(p_duration interval) returns text
  language sql immutable parallel safe
  return chr(48 + least(47, floor(2 * ln(1 + greatest(0, date_part('epoch', p_duration) * 1000)) / 0.6931471805599453))::integer);

create function oncue.cancel(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, busy uuid[])
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_locked uuid[];
  v_waiting uuid[];
  v_running uuid[];
  v_event constant json := json_build_object('by', p_by);
begin
  select coalesce(array_agg(l.id), '{}'), array_agg(l.id) filter (where l.status <> 'processing'),
      array_agg(l.id) filter (where l.status = 'processing')
    into v_locked, v_waiting, v_running
    from (
      select j.id, j.status from oncue.jobs j
      where j.id = any (p_ids)
        and (p_as_of is null or j.created <= p_as_of and not oncue.requeued_since(j, p_as_of))
        and j.ending ->> 'status' is null
      for update skip locked
    ) l;
  if v_waiting is not null then
    perform oncue.append_event(v_now, v_waiting, 'cancelled', (select array_agg(v_event) from unnest(v_waiting)));
    perform oncue.release_dependants(v_now, oncue.end_rows(v_now, v_waiting, 'cancelled', null), false);
  end if;
  if v_running is not null then
    perform oncue.append_event(v_now, v_running, 'cancel_requested', (select array_agg(v_event) from unnest(v_running)));
    update oncue.jobs j set cancel_at = v_now, updated = v_now where j.id = any (v_running);
  end if;
  return query select 'done', cardinality(v_locked), null::uuid[];
  return query
  select s.reason, count(*)::integer, array_agg(s.id) from (
    select i.id, case
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (
          select from oncue.jobs j where j.id = any (array[i.id])
            and (j.created > p_as_of or oncue.requeued_since(j, p_as_of))) then 'CHANGED'
      when exists (select from oncue.jobs j where j.id = any (array[i.id]) and j.ending ->> 'status' is not null) then 'UNDOING'
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'BUSY'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_locked)
  ) s group by s.reason;
end $$;

create function oncue.cancel_orphans(p_now timestamptz, p_parents uuid[] default null) returns uuid[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_orphans uuid[];
  v_waiting uuid[];
  v_running uuid[];
  v_event constant json := '{"by":null,"reason":"its parent was cancelled"}';
begin
  if p_parents is not null then
    update oncue.children c set orphaned = true
    from oncue.history h
    where c.parent_id = any (p_parents) and c.cancels and h.id = any (array[c.parent_id]) and h.status::text = 'cancelled';
    if not found then return '{}'; end if;
  end if;
  v_orphans := array(
    select c.child_id from oncue.children c
    where c.orphaned and (p_parents is null or c.parent_id = any (p_parents)) limit 10000);
  select array_agg(l.id) filter (where l.status <> 'processing'), array_agg(l.id) filter (where l.status = 'processing')
    into v_waiting, v_running
    from (
      select j.id, j.status from oncue.jobs j
      -- Not a job of someone else that the parent found by a unique key.
      where j.id = any (v_orphans) and exists (
        select from oncue.children c where c.child_id = j.id and c.parent_id = j.parent_id and c.orphaned)
        and j.ending ->> 'status' is null
      for update skip locked
    ) l;
  if v_running is not null then
    perform oncue.append_event(p_now, v_running, 'cancel_requested', (select array_agg(v_event) from unnest(v_running)));
    update oncue.jobs j set cancel_at = p_now, updated = p_now where j.id = any (v_running);
  end if;
  if v_waiting is not null then
    perform oncue.append_event(p_now, v_waiting, 'cancelled', (select array_agg(v_event) from unnest(v_waiting)));
    v_waiting := oncue.end_rows(p_now, v_waiting, 'cancelled', null);
  end if;
  update oncue.children c set orphaned = false
  where c.orphaned and c.child_id = any (v_orphans)
    and (c.child_id = any (v_running) or not exists (
      select from oncue.jobs j
      where j.id = any (array[c.child_id]) and j.parent_id = c.parent_id and j.ending ->> 'status' is null));
  return coalesce(v_waiting, '{}');
end $$;

create function oncue.check_fields(p_path text, p_value jsonb, p_known text[]) returns void
  language plpgsql
as $$
declare
  v_unknown text;
begin
  if jsonb_typeof(p_value) <> 'object' then
    perform oncue.refuse('INVALID_INPUT', format('%s must be an object, not %s', p_path, jsonb_typeof(p_value)),
      'Correct the field named in the message.');
  end if;
  select k into v_unknown from jsonb_object_keys(p_value) as k where k <> all (p_known) limit 1;
  if found then
    perform oncue.refuse('INVALID_INPUT', format('%s.%s is unknown', p_path, left(v_unknown, 60)),
      'Known are ' || array_to_string(p_known, ', ') || '.');
  end if;
end $$;

create function oncue.check_name(p_kind text, p_name text) returns void
  language plpgsql
as $$
declare
  c_part constant text := '[A-Za-z0-9_][A-Za-z0-9_./-]*';
  c_length constant integer := case p_kind when 'topic' then 128 else 128 end;
  v_fault constant text := case
    when p_name is null then 'is missing'
    when p_name = '' then 'is empty'
    when length(p_name) > c_length then format('has %s characters, at most %s are allowed', length(p_name), c_length)
    when p_kind = 'topic' and p_name ~ ('^(' || c_part || ':)?' || c_part || '$') then null
    when p_kind = 'queue' and p_name ~ ('^' || c_part || '$') then null
    else 'is not a valid name' end;
begin
  if p_kind = 'topic' and p_name like 'oncue:%' then
    perform oncue.refuse('TOPIC_NOT_ALLOWED', format('The topic %s is reserved for Oncue', left(p_name, 60)),
      'Use another name: topics with this prefix are Oncue''s own.');
  elsif p_kind = 'queue' and p_name || ':' = 'oncue:' then
    perform oncue.refuse('INVALID_QUEUE', format('queue: "%s" is reserved for Oncue''s own jobs', p_name), 'Use another name.');
  end if;
  if v_fault is null then return; end if;
  perform oncue.refuse('INVALID_' || upper(p_kind), concat_ws(' ', p_kind, to_json(left(p_name, 60))::text, v_fault),
    format('Use letters, digits and _ . - /, at most %s', c_length) || case p_kind when 'topic' then ', with at most one "app:" prefix.' else '.' end);
end $$;

create function oncue.check_payload(p_json text, p_what text, p_bytes integer default null) returns void
  language plpgsql
as $$
declare
  c_code constant text := case p_what when 'payload' then 'INVALID_PAYLOAD' else 'INVALID_INPUT' end;
  c_hint constant text := case p_what when 'payload' then 'Send plain JSON that fits the input schema of the topic.'
    else 'Correct the field named in the message.' end;
  v_text text;
  v_number record;
begin
  if octet_length(p_json) > p_bytes then
    perform oncue.refuse(upper(p_what) || '_TOO_LARGE',
      format('%s is %s bytes of JSON, at most %s are allowed', p_what, octet_length(p_json), p_bytes),
      case p_what when 'meta' then 'Put only what you filter by into meta, and the rest into the payload.'
        else 'Store the data elsewhere and send a reference to it.' end);
  end if;
  if length(p_json) - length(translate(p_json, '[{', '')) <= 200
    and p_json !~ '\\u|__proto__|\d{16}|(?:^|[\s:,[])-?[\d.]+[eE][\d+]' then return; end if;

  -- An escaped backslash does not begin an escape.
  v_text := replace(p_json, '\\', '  ');
  if strpos(v_text, '\u0000') > 0 then
    perform oncue.refuse('INVALID_TEXT', format('%s contains a NUL character', p_what),
      'Remove NUL characters and lone surrogates; send binary data as base64.');
  end if;
  if regexp_replace(v_text, '\\u[dD][89abAB]..\\u[dD][c-fC-F]', ' ', 'g') ~ '\\u[dD][89a-fA-F]' then
    perform oncue.refuse('INVALID_TEXT', format('%s contains a lone surrogate', p_what),
      'Remove NUL characters and lone surrogates; send binary data as base64.');
  end if;
  if v_text ~ ('(?<!\\)"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])'
    || '(?:_|\\u005[fF]){2}"\s*:') then
    perform oncue.refuse(c_code, format('%s has a property "__proto__", which replaces the prototype of a copy', p_what), c_hint);
  end if;

  v_text := regexp_replace(v_text, '"(?:[^"\\]|\\.)*"', '""', 'g');
  -- A number is 0.digits * 10 ^ size.
  select left(n.number, 60) as number, n.size > 309 or n.size = 309 and n.start >= 17976931348623158 as is_infinite
    into v_number
    from (
      select m[1] as number, rpad(left(d.digits, 17), 17, '0')::bigint as start,
        length(d.digits) - coalesce(length(m[3]), 0)
          + case when m[4] like '-%' then -1 else 1 end * concat('0', left(ltrim(m[4], '+-0'), 8))::integer as size
      from regexp_matches(v_text, '(-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?)', 'g') as m,
        lateral (select ltrim(concat(m[2], m[3]), '0') as digits) d
      where (length(m[2]) > 15 or m[4] is not null) and d.digits <> '') n
    where n.size > 16 or n.size = 16 and n.start >= 90071992547409915
    limit 1;
  if v_number.is_infinite then
    perform oncue.refuse(c_code, format('%s has the number %s, which JavaScript reads as Infinity', p_what, v_number.number), c_hint);
  elsif v_number.number is not null then
    perform oncue.refuse('UNSAFE_NUMBER', format('%s has the number %s, which JSON readers would round', p_what, v_number.number),
      'Send it as a string: JSON readers lose digits of integers beyond 2^53 - 1.');
  end if;
  if (select max(d.depth) from (
    select sum(case when b.m[1] in ('[', '{') then 1 else -1 end) over (order by b.n) as depth
    from regexp_matches(v_text, '[][{}]', 'g') with ordinality as b(m, n)) d) > 200 then
    perform oncue.refuse(c_code, format('%s is nested deeper than 200 levels', p_what), c_hint);
  end if;
end $$;

create type oncue.work_row as (
  kind "char", id uuid, run integer, now timestamptz, due timestamptz, jobs text, data json
);

create function oncue.claim(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
  set enable_sort = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_left integer := p_limit;
  v_looks integer := 0;
  v_next_due timestamptz;
  v_stopped text[] := '{}';
  v_skipped text[] := '{}';
  v_row oncue.work_row;
  v_queue record;
  v_limit record;
  v_room integer;
  v_aged smallint[];
  v_dues timestamptz[];
  v_served integer;
  v_below integer;
  v_level record;
  v_ready record;
  v_taken record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  for v_queue in
    -- Nested loops, which are all that the settings allow, keep the order of the array. A sort costs as much as the rest.
    select n.name, q.paused_at is not null and coalesce(q.paused_until > v_now, true) as is_paused, q.paused_until,
      q.ageing_ms, s.key is not null as is_limited
    from unnest(p_queues) as n(name)
    left join oncue.queues q on q.name = n.name
    left join oncue.slots s on s.key = 'q:' || n.name
  loop
    exit when v_left = 0;
    v_room := case when v_queue.is_paused then 0 else v_left end;
    if v_queue.is_limited and v_room > 0 then
      v_limit := oncue.queue_room(v_now, v_queue.name);
      v_room := least(v_left, v_limit.room);
      v_next_due := least(v_next_due, v_limit.again);
    end if;
    if v_queue.is_paused then
      v_next_due := least(v_next_due, v_queue.paused_until);
    end if;
    if v_room = 0 then
      v_stopped := v_stopped || v_queue.name;
      continue;
    end if;

    v_aged := '{}';
    if v_queue.ageing_ms is not null then
      select a.priorities, a.dues into v_aged, v_dues from oncue.aged_levels(v_now, v_queue.name, v_queue.ageing_ms) a;
    end if;
    v_served := 0;
    v_below := 32768;
    <<levels>>
    loop
      if v_served < cardinality(v_aged) then
        v_served := v_served + 1;
        select v_aged[v_served] as priority, v_dues[v_served] as due, '-infinity'::timestamptz as mark_at,
            '00000000-0000-0000-0000-000000000000'::uuid as mark_id
          into v_level;
      else
        select l.priority, v_now as due, l.mark_at, l.mark_id into v_level
          from oncue.next_level(v_queue.name, v_below, p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) l;
        v_below := v_level.priority;
      end if;
      exit when v_level.priority is null;

      loop
        v_ready := oncue.ready(
          v_now, v_until, v_queue.name, p_topics, v_level.priority, v_level.due, v_level.mark_at, v_level.mark_id, v_room);
        if cardinality(v_ready.rows) > 0 then
          if v_queue.is_limited then
            perform oncue.take_slots(v_now, v_until, v_limit.slot, v_ready.rows);
          end if;
          v_taken := oncue.take(v_now, v_until, p_worker, v_ready.rows, p_start - (p_limit - v_left));
          if v_taken.big is not null then
            return query select 'p'::"char", p.job_id, null::integer, null::timestamptz, null::timestamptz, null::text, p.data
              from oncue.payloads p where p.job_id = any (v_taken.big) and p.part = 'payload';
          end if;
          v_row.kind := 'j';
          v_row.jobs := v_taken.jobs;
          return next v_row;
          v_left := v_left - cardinality(v_ready.rows);
          v_room := v_room - cardinality(v_ready.rows);
        end if;
        if v_ready.expired is not null then
          -- After a first crash a job can be claimed again at once.
          perform oncue.crash(v_now, v_ready.expired);
        end if;
        if v_ready.again is not null then
          v_next_due := least(v_next_due, v_ready.again);
          v_skipped := v_skipped || v_queue.name;
        end if;
        exit levels when v_room = 0;
        exit when not v_ready.cleared;
        -- Jobs were throttled: search this level again, a limited number of times.
        v_looks := v_looks + 1;
        if v_looks > 20 then
          v_next_due := v_now;
          v_skipped := v_skipped || v_queue.name;
          exit levels;
        end if;
      end loop;

      if v_left = p_limit then
        v_next_due := least(v_next_due, (
          select j.visible_at from oncue.jobs j
          where j.queue = v_queue.name and j.priority = v_level.priority and j.visible_at > v_now
          order by j.visible_at limit 1));
      end if;
    end loop;
    if v_room = 0 and v_queue.ageing_ms is not null then
      -- Levels were served out of order: the last job says nothing about the levels above it.
      v_skipped := v_skipped || v_queue.name;
    elsif v_room = 0 and v_left > 0 then
      v_stopped := v_stopped || v_queue.name;
    end if;
  end loop;
  v_row.kind := 'c';
  v_row.jobs := null;
  v_row.now := v_now;
  if v_left = p_limit then
    v_row.due := v_next_due;
  end if;
  if cardinality(v_stopped || v_skipped) > 0 then
    v_row.data := json_build_object('stopped', v_stopped, 'skipped', v_skipped);
  end if;
  return next v_row;
end $$;

create function oncue.commit_outcome(
  p_now timestamptz, p_id uuid, p_run integer, p_worker uuid, p_key text, p_data json
) returns text
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  perform from oncue.jobs j
  where j.id = p_id and j.run = p_run and j.status = 'processing' and (p_worker is null or j.locked_by = p_worker)
  for no key update;
  if not found then return 'stale'; end if;
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, p_key,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'step', p_data, coalesce(p_now, oncue.clock())
  on conflict do nothing;
  return case when found then 'recorded' else 'known' end;
end $$;

create function oncue.count_down(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
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

create function oncue.crash(p_now timestamptz, p_ids uuid[], out released integer, out failed integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ids uuid[] := p_ids;
  v_started uuid[];
  v_data json[];
  v_failed uuid[];
  v_keyed uuid[];
  v_undoing uuid[];
  v_statuses text[];
  v_errors json[];
begin
  if exists (select from oncue.deps) or exists (select from oncue.children) then
    v_ids := array(select unnest(p_ids) except select unnest(oncue.lock_dependants('{}', p_ids)));
  end if;
  select array_agg(j.id) filter (where j.started_at is not null),
      array_agg(json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(j.started_at)))
        filter (where j.started_at is not null),
      array_agg(j.id) filter (where j.ending is not null and j.ending ->> 'status' is null and oncue.is_last_crash(j))
    into v_started, v_data, v_undoing
    from oncue.jobs j where j.id = any (v_ids);
  if v_started is not null then
    perform oncue.append_event(p_now, v_started, 'run_crashed', v_data);
  end if;
  if v_undoing is not null then
    select array_agg(case when j.cancel_at is null and j.replaced_by is null then 'failed' else 'cancelled' end),
        array_agg(case when j.started_at is not null then oncue.crash_error(j.topic) end), array_agg(j.id)
      into v_statuses, v_errors, v_undoing
      from oncue.jobs j where j.id = any (v_undoing);
    perform oncue.begin_undo(p_now, v_undoing, v_statuses, v_errors);
    v_ids := array(select unnest(v_ids) except select unnest(v_undoing));
  end if;

  with gone as (
    delete from oncue.jobs j
    where j.id = any (v_ids) and oncue.is_last_crash(j)
    returning j.*,
      (case when j.cancel_at is null and j.replaced_by is null then 'failed' else 'cancelled' end)::oncue."Status" as new_status
  ), kept as (
    insert into oncue.history
      (id, run, queue, topic, payload, priority, run_at, created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes, started_at, finished_at, locked_by, status, last_error, fingerprint)
    select
       id, run, queue, topic, payload, priority, nullif(run_at, created), created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes + (started_at is not null)::integer, coalesce(started_at, p_now), p_now, locked_by, new_status,
       case when started_at is null then last_error else oncue.crash_error(topic, ending -> 'error') end,
       case when started_at is null then fingerprint else 'WORKER_CRASHED:' || topic end
    from gone
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((new_status = 'failed')::integer),
      sum((new_status = 'cancelled')::integer), '', '', 0
    from gone where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(id), array_agg(id) filter (where unique_key is not null) into v_failed, v_keyed from gone;
  failed := coalesce(cardinality(v_failed), 0);

  update oncue.jobs j set
    status = 'pending', locked_until = null, locked_by = null, started_at = null, cancel_at = null, updated = p_now,
    waits = null, crashes = j.crashes + (j.started_at is not null)::int,
    visible_at = p_now + case when j.started_at is null then 0 else least(j.crashes::integer ^ 2, 43200) end * interval '1 minute',
    last_error = case when j.started_at is null then j.last_error else oncue.crash_error(j.topic) end,
    fingerprint = case when j.started_at is null then j.fingerprint else 'WORKER_CRASHED:' || j.topic end
  where j.id = any (v_ids);
  get diagnostics released = row_count;
  released := released + coalesce(cardinality(v_undoing), 0);

  if v_failed is not null then
    perform oncue.after_finish(p_now, v_failed, false, v_keyed);
  end if;
  perform oncue.free_slots(p_now, v_ids);
end $$;

create function oncue.crash_error(p_topic text, p_ending json default null) returns json
  language sql immutable
  return json_strip_nulls(json_build_object('class', 'WorkerCrashed', 'code', 'WORKER_CRASHED',
    'fingerprint', 'WORKER_CRASHED:' || p_topic,
    'message', 'The worker that ran this job crashed or lost its lease',
    'causes', case when p_ending is not null then json_build_array(p_ending::jsonb - 'causes' - 'fingerprint') end));

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

create function oncue.delete(p_now timestamptz, p_ids uuid[], p_as_of timestamptz)
  returns table (reason text, count integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_live uuid[];
  v_done uuid[];
begin
  select array_agg(l.id) into v_live from (
    select j.id from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'pending' and j.waits is null and j.ending is null
      and (p_as_of is null or j.created <= p_as_of and not oncue.requeued_since(j, p_as_of))
      and not exists (select from oncue.deps d where d.parent_id = any (array[j.id]))
      and not oncue.has_live_parent(j.id) and not oncue.is_awaited(j.id)
    for update skip locked
  ) l;
  -- Checked again, now that the rows are locked: an edge may have been committed and checked meanwhile.
  v_live := array(select unnest(v_live) except select d.parent_id from oncue.deps d where d.parent_id = any (v_live));
  perform oncue.forget_meta(v_live);
  delete from oncue.jobs j where j.id = any (v_live);
  perform from oncue.history h where h.id = any (p_ids) and h.status::text = 'failed' order by h.id for update;
  with gone as (
    delete from oncue.history h
    where h.id = any (p_ids) and h.status::text = 'failed' and (p_as_of is null or h.finished_at <= p_as_of)
      and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
      and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
    returning h.*
  ), metas as (
    delete from oncue.job_meta m using (
      select e.key, e.value, o.created, o.id from gone o, oncue.meta_entries(o.meta) e offset 0
    ) g
    where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
      and m.job_id = any (array[g.id])
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', v_now), g.queue, g.topic, 0, -count(*), 0, '', '', 0 from gone g group by g.queue, g.topic
  )
  select coalesce(array_agg(g.id), '{}') || v_live into v_done from gone g;
  perform oncue.forget(v_now, v_done);
  return query select 'done', cardinality(v_done);
  return query
  select s.reason, count(*)::integer from (
    select case
      when not exists (select from oncue.jobs j where j.id = any (array[i.id]))
        and not exists (select from oncue.history h where h.id = any (array[i.id]))
        then 'JOB_NOT_FOUND'
      when exists (select from oncue.deps d where d.parent_id = any (array[i.id])) or oncue.has_live_parent(i.id)
        or oncue.is_awaited(i.id)
        then 'HAS_DEPENDANTS'
      when exists (
          select from oncue.jobs j where j.id = any (array[i.id]) and j.status = 'pending' and j.waits is null and j.ending is null
            and (j.created > p_as_of or oncue.requeued_since(j, p_as_of)))
        or exists (
          select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'failed' and h.finished_at > p_as_of)
        then 'CHANGED'
      else 'INVALID_STATE' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_done)
  ) s group by s.reason;
end $$;

create function oncue.deliver(p_now timestamptz, p_id uuid default null) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_id uuid;
begin
  if p_id is not null then
    perform from oncue.jobs j where j.id = p_id for no key update;
    if found then
      perform oncue.deliver_signals(v_now, p_id);
      perform oncue.wake(v_now, p_id);
    end if;
    return;
  end if;
  for v_id in select distinct s.job_id from oncue.signals s limit 1000 loop
    -- Delivered meanwhile by another: a claim that comes now must not find the row locked.
    continue when not exists (select from oncue.signals s where s.job_id = v_id);
    perform from oncue.jobs j where j.id = v_id for no key update skip locked;
    if found then
      perform oncue.deliver_signals(v_now, v_id);
      perform oncue.wake(v_now, v_id);
    elsif not exists (select from oncue.jobs j where j.id = v_id) then
      perform from oncue.history h where h.id = v_id for no key update skip locked;
      if found then
        perform oncue.deliver_signals(v_now, v_id);
      else
        -- One statement, so that a job that is requeued meanwhile is seen in one place.
        delete from oncue.signals s where s.job_id = v_id
          and not exists (select from oncue.jobs j where j.id = v_id)
          and not exists (select from oncue.history h where h.id = v_id);
      end if;
    end if;
  end loop;
end $$;

create function oncue.deliver_signals(p_now timestamptz, p_id uuid) returns void
  language plpgsql
as $$
begin
  if not exists (select from oncue.signals s where s.job_id = p_id) then return; end if;
  with sent as (
    delete from oncue.signals s where s.job_id = p_id returning s.*
  )
  insert into oncue.outcomes (job_id, key, seq, kind, name, data, created)
  select p_id, 'signal:' || s.name || ':' || coalesce('key:' || s.key, s.id::text),
    coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0)
      + row_number() over (order by s.created, s.id),
    'signal', s.name, s.data, p_now
  from sent s
  on conflict do nothing;
end $$;

create function oncue.end_rows(p_now timestamptz, p_ids uuid[], p_status oncue."Status", p_error json) returns uuid[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ended uuid[];
  v_replacing uuid[];
  v_runs uuid[];
  v_undoing uuid[];
begin
  with gone as (
    delete from oncue.jobs j where j.id = any (p_ids) and j.status in ('blocked', 'pending') and j.ending is null
    returning j.*
  ), kept as (
    insert into oncue.history
      (id, run, queue, topic, payload, priority, run_at, created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes, finished_at, status, last_error, fingerprint)
    select
       id, run, queue, topic, payload, priority, nullif(run_at, created), created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes, p_now, p_status, coalesce(p_error, last_error), coalesce(p_error->>'fingerprint', fingerprint)
    from gone
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((p_status = 'failed')::integer),
      sum((p_status = 'cancelled')::integer), '', '', 0
    from gone where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(id) into v_ended from gone;
  if coalesce(cardinality(v_ended), 0) < cardinality(p_ids) then
    select array_agg(j.id) into v_undoing from oncue.jobs j
      where j.id = any (p_ids) and j.status in ('blocked', 'pending') and j.ending is not null and j.ending ->> 'status' is null;
    if v_undoing is not null then
      perform oncue.begin_undo(p_now, v_undoing, array_fill(p_status::text, array[cardinality(v_undoing)]),
        array_fill(p_error, array[cardinality(v_undoing)]));
    end if;
  end if;
  -- A job that waited for the run that it replaces gives the key back to that run, which holds it until it ends.
  select array_agg(d.job_id), array_agg(j.id) into v_replacing, v_runs
    from oncue.deps d join oncue.jobs j on j.id = any (array[d.parent_id]) and j.replaced_by = d.job_id
    where d.job_id = any (v_ended);
  if v_replacing is not null then
    update oncue.keys k set job_id = v_runs[array_position(v_replacing, k.job_id)]
      where k.job_id = any (v_replacing) and k.key like 'u:%';
  end if;
  delete from oncue.deps d where d.job_id = any (v_ended);
  delete from oncue.child_waits w where w.parent_id = any (v_ended);
  delete from oncue.keys k where k.job_id = any (v_ended) and k.until is null;
  return coalesce(v_ended, '{}');
end $$;

create function oncue.enqueue_keyed(p_now timestamptz, p_jobs json)
  returns table (n integer, job_id uuid, outcome text)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
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
        as j(id uuid, queue text, topic text, payload text, priority smallint, max_retries smallint, timeout_ms integer, retry text, unique_key text, unique_scope text, concurrency_key text, concurrency_limit smallint, parent_id uuid, trace text, meta text, big text, "runAt" timestamptz, "delayMs" bigint, after jsonb)
      where v_keys.all_taken or j.id = any (v_keys.taken)
    ), big as (
      insert into oncue.payloads (job_id, part, data)
      select v.id, 'payload', v.big::json from v where v.big is not null
    )
    insert into oncue.jobs
      (id, queue, topic, payload, priority, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, trace, meta,
       created, updated, run_at, visible_at, status, deps_left)
    select
       v.id, v.queue, v.topic, v.payload::json, v.priority, v.max_retries, v.timeout_ms, v.retry::json, v.unique_key, v.unique_scope, v.concurrency_key, v.concurrency_limit, v.parent_id, v.trace, v.meta::jsonb,
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
      id uuid, queue text, topic text, payload text, priority smallint, max_retries smallint, timeout_ms integer, retry text, unique_key text, unique_scope text, concurrency_key text, concurrency_limit smallint, parent_id uuid, trace text, meta text, big text, "uniqueMs" bigint, "onConflict" text, "ifRunning" text, "onceKey" text,
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
            perform oncue.replace(v_now, v_key.job_id, v_due, v.big, v.payload, v.priority, v.trace, v.meta);
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
      (id, queue, topic, payload, priority, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, trace, meta,
       created, updated, run_at, visible_at, status, deps_left)
    values
      (v.id, v.queue, v.topic, v.payload::json, v.priority, v.max_retries, v.timeout_ms, v.retry::json, v.unique_key, v.unique_scope, v.concurrency_key, v.concurrency_limit, v.parent_id, v.trace, v.meta::jsonb,
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

create function oncue.enqueue_one(p_topic text, p_payload json, p_options json) returns uuid
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := oncue.clock();
  v_payload constant text := coalesce(p_payload::text, 'null');
  v jsonb;
  v_meta text;
  v_unique jsonb;
  v_after jsonb;
  v_policy json;
  v_queue text;
  v_retry record;
  v_max_retries bigint;
  v_run_at timestamptz;
  v_delay bigint;
  v_concurrency_key text;
  v_concurrency_limit bigint;
  v_on_conflict text;
  v_job json;
  v_made record;
  v_parents uuid[];
  v_on_parent_failure text;
begin
  perform oncue.check_name('topic', p_topic);
  perform oncue.check_payload(v_payload, 'payload', 1048576);
  perform oncue.check_payload(p_options::text, 'options');
  begin
    v := coalesce(p_options::jsonb, '{}');
  exception when data_exception then
    -- Such as 1e-20000.
    perform oncue.refuse('INVALID_INPUT', 'options: ' || sqlerrm, 'Correct the value named in the message.');
  end;
  v_meta := p_options ->> 'meta';
  v_unique := nullif(v -> 'unique', 'null');
  v_after := nullif(v -> 'after', 'null');
  perform oncue.check_fields('options', v, array['queue', 'priority', 'retry', 'timeoutMs', 'runAt', 'delay', 'maxRetries',
    'unique', 'idempotencyKey', 'concurrencyKey', 'concurrencyLimit', 'after', 'onParentFailure', 'parentId', 'trace', 'meta']);
  select t.policy into v_policy from oncue.topics t where t.topic = p_topic;

  v_queue := coalesce(oncue.text_option('options.queue', v -> 'queue', 128), v_policy ->> 'queue', 'default');
  perform oncue.check_name('queue', v_queue);
  v_retry := oncue.retry_option(v -> 'retry');
  v_max_retries := oncue.integer_option('options.maxRetries', v -> 'maxRetries', 0, 1000);
  if v_max_retries is not null and v_retry.max_retries is not null then
    perform oncue.refuse('INVALID_INPUT', 'options.maxRetries and options.retry.max cannot be combined', 'Send one of them.');
  end if;
  v_run_at := oncue.run_at_option(v -> 'runAt');
  v_delay := oncue.integer_option('options.delay', v -> 'delay', 0, 315360000000);
  if v_run_at is not null and v_delay is not null then
    perform oncue.refuse('INVALID_INPUT', 'options.runAt and options.delay cannot be combined', 'Send one of them.');
  end if;
  v_concurrency_key := oncue.text_option('options.concurrencyKey', v -> 'concurrencyKey', 255);
  v_concurrency_limit := oncue.integer_option('options.concurrencyLimit', v -> 'concurrencyLimit', 1, 32767);
  if v_concurrency_limit is not null and v_concurrency_key is null then
    perform oncue.refuse('INVALID_INPUT', 'options.concurrencyLimit needs options.concurrencyKey', 'Send both, or neither.');
  end if;
  if v_unique is not null then
    perform oncue.check_fields('options.unique', v_unique, '{key,scope,within,onConflict,ifRunning}');
    if v_unique ->> 'key' is null then
      perform oncue.refuse('INVALID_INPUT', 'options.unique.key is missing', 'Send a string of 1 to 255 characters.');
    end if;
    v_on_conflict := coalesce(
      oncue.text_option('options.unique.onConflict', v_unique -> 'onConflict', 0, '{existing,replace,reject}'), 'existing');
    if v_unique ->> 'ifRunning' is not null and v_on_conflict <> 'replace' then
      perform oncue.refuse('INVALID_INPUT', 'options.unique.ifRunning needs onConflict: replace', 'Send both, or neither.');
    end if;
    -- A payload is valid only for the schema of its own topic.
    if v_unique ->> 'scope' = 'all' and v_on_conflict = 'replace' then
      perform oncue.refuse('INVALID_INPUT', 'options.unique: a key with scope all cannot replace, because its job may be of another topic',
        'Use the scope topic, or another onConflict.');
    end if;
  end if;
  if v_meta is not null then
    if jsonb_typeof(v -> 'meta') <> 'object' then
      perform oncue.refuse('INVALID_INPUT', 'options.meta must be an object', 'Correct the field named in the message.');
    end if;
    perform oncue.check_payload(v_meta, 'meta', 8192);
  end if;
  if v_after is not null then
    if jsonb_typeof(v_after) <> 'array' or jsonb_array_length(v_after) > 1000 then
      perform oncue.refuse('INVALID_INPUT', 'options.after must be a list of at most 1000 job ids', 'Correct the field named in the message.');
    end if;
    if v_after @> '[null]' then
      perform oncue.refuse('INVALID_INPUT', 'options.after must be a job id, not null', 'Omit null ids.');
    end if;
    v_parents := array(select distinct oncue.job_id_option('options.after', a) from jsonb_array_elements(v_after) as a);
  end if;
  v_on_parent_failure := coalesce(
    oncue.text_option('options.onParentFailure', v -> 'onParentFailure', 0, '{wait,stop,go_on,cancel}'), 'wait');

  v_job := json_build_object(
    'id', oncue.new_job_id(v_now),
    'queue', v_queue,
    'topic', p_topic,
    'payload', case when octet_length(v_payload) <= 2048 then v_payload end,
    'big', case when octet_length(v_payload) > 2048 then v_payload end,
    'priority', coalesce(oncue.integer_option('options.priority', v -> 'priority', -32768, 32767),
      (v_policy ->> 'priority')::bigint, 0),
    'max_retries', coalesce(v_max_retries, v_retry.max_retries, (v_policy ->> 'maxRetries')::bigint, 3),
    'retry', coalesce(v_retry.retry, (v_policy -> 'retry')::jsonb),
    'timeout_ms', coalesce(oncue.integer_option('options.timeoutMs', v -> 'timeoutMs', 1, 604800000),
      (v_policy ->> 'timeoutMs')::bigint, 600000),
    'runAt', v_run_at,
    'delayMs', coalesce(v_delay, 0),
    'unique_key', oncue.text_option('options.unique.key', v_unique -> 'key', 255),
    'unique_scope', nullif(oncue.text_option('options.unique.scope', v_unique -> 'scope', 0, '{topic,all}'), 'topic'),
    'uniqueMs', oncue.integer_option('options.unique.within', v_unique -> 'within', 1, 315360000000),
    'onConflict', v_on_conflict,
    'ifRunning', coalesce(oncue.text_option('options.unique.ifRunning', v_unique -> 'ifRunning', 0, '{wait,start}'), 'wait'),
    'onceKey', 'i:' || oncue.text_option('options.idempotencyKey', v -> 'idempotencyKey', 255),
    'onceMs', 86400000,
    'concurrency_key', v_concurrency_key,
    'concurrency_limit', case when v_concurrency_key is not null then coalesce(v_concurrency_limit, 1) end,
    'after', to_json(v_parents),
    'parent_id', oncue.job_id_option('options.parentId', v -> 'parentId'),
    'trace', oncue.text_option('options.trace', v -> 'trace', 255),
    'meta', v_meta);
  select e.job_id, e.outcome into v_made from oncue.enqueue_keyed(v_now, json_build_array(v_job)) e;
  if v_made.outcome = 'created' and v_parents <> '{}' then
    insert into oncue.deps (job_id, parent_id, policy)
      select v_made.job_id, p, v_on_parent_failure from unnest(v_parents) as p on conflict do nothing;
    perform oncue.link(v_now, array[v_made.job_id]);
    -- If a parent ends before this is committed, only a poll finds the job: a worker that rests needs to poll.
    perform pg_notify('oncue', ':later');
  elsif coalesce(v_run_at <= v_now + interval '1 second', coalesce(v_delay, 0) = 0) then
    -- Idle workers are notified at the commit.
    perform pg_notify('oncue', v_queue);
  else
    -- A worker that rests needs to know when the job is due.
    perform pg_notify('oncue', ':later');
  end if;
  return v_made.job_id;
end $$;

create function oncue.forget(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  delete from oncue.events e where e.job_id = any (p_ids);
  delete from oncue.payloads p where p.job_id = any (p_ids);
  delete from oncue.keys k where k.job_id = any (p_ids);
  delete from oncue.outcomes o where o.job_id = any (p_ids);
  delete from oncue.asks a where a.job_id = any (p_ids);
  delete from oncue.signals s where s.job_id = any (p_ids);
  delete from oncue.children c where c.parent_id = any (p_ids);
  delete from oncue.child_waits w where w.child_id = any (p_ids);
  delete from oncue.child_waits w where w.parent_id = any (p_ids);
  delete from oncue.flow_places f where f.job_id = any (p_ids);
  delete from oncue.deps d where d.job_id = any (p_ids);
end $$;

create function oncue.forget_from(p_id uuid, p_seq integer) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  delete from oncue.children c
  where c.parent_id = p_id and c.key = any (array(
    select json_object_keys(o.data) from oncue.outcomes o
    where o.job_id = p_id and o.kind = 'spawn' and o.seq >= p_seq));
  delete from oncue.outcomes o where o.job_id = p_id and o.seq >= p_seq;
  delete from oncue.signals s where s.job_id = p_id;
  delete from oncue.asks a
  where a.job_id = p_id and not exists (
    select from oncue.outcomes o where o.job_id = p_id and o.key = 'ask:' || a.name and o.kind = 'answer');
end $$;

create function oncue.forget_meta(p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  delete from oncue.job_meta m using (
    select e.key, e.value, j.created, j.id from (
      select j.id, j.created, j.meta from oncue.jobs j where j.id = any (p_ids) and j.meta is not null
      union all
      select h.id, h.created, h.meta from oncue.history h where h.id = any (p_ids) and h.meta is not null
    ) j, oncue.meta_entries(j.meta) e offset 0
  ) g
  where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
    and m.job_id = any (array[g.id]);
end $$;

create function oncue.forget_undecided(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ids uuid[];
  v_lasts integer[];
  v_first uuid[];
  v_data json[];
begin
  delete from oncue.outcomes o
  where o.job_id = any (p_ids)
    and (o.kind in ('step_failed', 'timeout', 'wait', 'children')
      or o.kind = 'timer' and (o.key like 'retry:%' or o.key like 'undo_retry:%'));
  v_ids := array(select distinct o.job_id from oncue.outcomes o where o.job_id = any (p_ids) and o.kind = 'undone');
  if v_ids <> '{}' then
    v_lasts := array(
      select coalesce((
        select max(u.seq) from oncue.outcomes u
        where u.job_id = i.id and u.kind = 'undo' and not exists (
          select from oncue.outcomes d where d.job_id = u.job_id and d.key = 'undone:' || substr(u.key, 6))), 0)
      from unnest(v_ids) with ordinality as i(id, n) order by i.n);
    select array_agg(i.id), array_agg(json_build_object('by', null, 'from', substr(f.key, 6))) into v_first, v_data
      from unnest(v_ids, v_lasts) as i(id, last)
      cross join lateral (
        select o.key from oncue.outcomes o
        where o.job_id = i.id and o.kind = 'step' and o.seq > i.last order by o.seq limit 1) f;
    if v_first is not null then
      perform oncue.append_event(p_now, v_first, 'steps_forgotten', v_data);
    end if;
    delete from oncue.outcomes o using unnest(v_ids, v_lasts) as i(id, last)
    where o.job_id = any (array[i.id]) and o.kind <> 'signal' and o.seq > i.last;
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

create function oncue.free_overdue(p_now timestamptz, p_slot oncue.slots, p_crash boolean) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ids constant uuid[] := array(
    select r.job_id from oncue.slot_runs r
    where r.key = p_slot.key and r.taken >= coalesce(p_slot.since, '-infinity') and r.until < p_now limit 100
    for update skip locked);
  v_expired uuid[];
begin
  if v_ids = '{}' then return false; end if;
  if p_crash then
    select array_agg(l.id) into v_expired from (
      select j.id from oncue.jobs j
      where j.id = any (v_ids) and j.status = 'processing' and j.locked_until < p_now for update skip locked) l;
    if v_expired is not null then
      perform oncue.crash(p_now, v_expired);
    end if;
  end if;
  update oncue.slot_runs r set until = j.locked_until from oncue.jobs j
    where r.job_id = any (v_ids) and r.key = p_slot.key
      and j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing' and j.locked_until >= p_now;
  delete from oncue.slot_runs r
    where r.job_id = any (v_ids) and r.key = p_slot.key and not exists (
      select from oncue.jobs j where j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing');
  return found or v_expired is not null;
end $$;

create function oncue.free_slots(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_keys text[];
  v_waiting text[];
  v_key text;
  v_count integer;
begin
  -- Checked by its size: a search for a first row would walk rows that vacuum has not removed yet.
  if pg_relation_size('oncue.slot_runs') = 0 then return; end if;
  with freed as (
    delete from oncue.slot_runs r where r.job_id = any (p_ids) returning r.key
  )
  select array_agg(key order by key) into v_keys from freed where key like 'k:%';
  if v_keys is null then return; end if;
  -- Waits for claims that have locked this key, so that the jobs they throttle are seen and promoted.
  select array_agg(l.key) into v_waiting
    from (select s.key, s.waiting from oncue.slots s where s.key = any (v_keys) order by s.key for update) l
    where l.waiting;
  for v_key, v_count in
    select k, count(*) from unnest(v_keys) as k where k = any (v_waiting) group by k order by k
  loop
    perform oncue.promote(p_now, p_now, v_key, v_count, null);
  end loop;
end $$;

create function oncue.has_live_parent(p_id uuid) returns boolean
  language sql stable
  return exists (
    select from oncue.children c join oncue.jobs j on j.id = any (array[c.parent_id]) where c.child_id = p_id);

create function oncue.heartbeat(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_ids uuid[], p_runs integer[], p_started boolean[]
) returns table (kind text, lost_id uuid, lost_run integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
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

create function oncue.hold_back(
  p_now timestamptz, p_until timestamptz, p_queue text, p_rows tid[], out rows tid[], out held boolean, out again timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_refused tid[] := '{}';
  v_group record;
  v_slot oncue.slots;
  v_room integer;
  v_taken integer;
  v_start bigint;
begin
  held := false;
  for v_group in
    select 'k:' || j.concurrency_key as key, min(j.concurrency_limit)::integer as max, min(j.visible_at) as first,
      array_agg(c.tid order by c.n) as rows
    from unnest(p_rows) with ordinality as c(tid, n)
    -- The offset keeps the condition out of the lookup, which could otherwise become a walk along jobs_keyed.
    cross join lateral (select * from oncue.jobs j where j.ctid = c.tid offset 0) j
    where j.concurrency_key is not null
    group by 1 order by 1
  loop
    select * into v_slot from oncue.slots s where s.key = v_group.key for update skip locked;
    -- Does not wait for another claim that creates the same slot: that one may wait for a slot of this claim.
    if not found and pg_try_advisory_xact_lock('oncue.slots'::regclass::int, hashtext(v_group.key)) then
      insert into oncue.slots (key, since) values (v_group.key, p_now) on conflict do nothing returning * into v_slot;
    end if;
    if not found then
      v_refused := v_refused || v_group.rows;
      again := least(again, p_now + interval '5 milliseconds');
      continue;
    end if;
    select r.room into v_room from oncue.room(p_now, v_slot, v_group.max) r;
    if v_room < cardinality(v_group.rows) and oncue.free_overdue(p_now, v_slot, false) then
      select r.room into v_room from oncue.room(p_now, v_slot, v_group.max) r;
    end if;
    v_taken := least(v_room, cardinality(v_group.rows));
    if v_taken > 0 then
      perform oncue.take_slots(p_now, p_until, v_slot, v_group.rows[1:v_taken]);
    end if;
    if v_taken < cardinality(v_group.rows) then
      -- Further jobs of this key behind those in hand are throttled with them: each once, however many there are.
      -- Only of this queue: a ready job in another queue shows that it is not claimed there (promote).
      update oncue.jobs j set visible_at = null
      where j.ctid = any (v_group.rows[v_taken + 1:] || array(
        select h.ctid from oncue.jobs h
        where h.concurrency_key = substr(v_group.key, 3) and h.queue = p_queue
          and h.visible_at between v_group.first and p_now and h.status = 'pending' and h.ctid <> all (v_group.rows)
        limit 1000 for update skip locked));
      update oncue.slots s set waiting = true where s.key = v_group.key and not s.waiting;
      v_refused := v_refused || v_group.rows[v_taken + 1:];
      held := true;
    end if;
    -- Each start under a rate has a successor, for the moment when its own place in the interval is free again.
    if v_slot.rate_count is not null then
      if v_taken > 0 then
        perform oncue.promote(
          p_now, p_now + v_slot.rate_ms * interval '1 millisecond', v_group.key, v_taken, p_queue);
      end if;
      -- Runs that started before any job was throttled have none.
      if not v_slot.waiting then
        foreach v_start in array oncue.recent_starts(p_now, v_slot) loop
          perform oncue.promote(
            p_now, to_timestamp((v_start + v_slot.rate_ms) / 1000.0), v_group.key, 1, p_queue);
        end loop;
      end if;
    end if;
    if v_slot.waiting and v_room > v_taken then
      perform oncue.promote(p_now, p_now, v_group.key, v_room - v_taken, p_queue);
    end if;
  end loop;
  rows := case when v_refused = '{}' then p_rows else array(
    select c.tid from unnest(p_rows) with ordinality as c(tid, n) where c.tid <> all (v_refused) order by c.n) end;
end $$;

create function oncue.index_meta(p_id uuid) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  insert into oncue.job_meta (key, value, created, job_id)
  select e.key, e.value, j.created, j.id from oncue.jobs j, oncue.meta_entries(j.meta) e where j.id = p_id
  on conflict do nothing;
end $$;

create function oncue.integer_option(p_path text, p_value jsonb, p_min bigint, p_max bigint) returns bigint
  language plpgsql
as $$
begin
  if p_value is null or p_value = 'null' then return null; end if;
  -- Nested, because the casts would fail for a text.
  if jsonb_typeof(p_value) = 'number' then
    if trunc(p_value::numeric) = p_value::numeric and p_value::numeric between p_min and p_max then
      return p_value::numeric::bigint;
    end if;
  end if;
  perform oncue.refuse('INVALID_INPUT',
    format('%s must be a whole number from %s to %s, not %s', p_path, p_min, p_max, left(p_value::text, 60)),
    'Correct the field named in the message.');
end $$;

create function oncue.is_awaited(p_id uuid) returns boolean
  language sql stable
  return exists (
    select from oncue.flow_places f
    join oncue.flow_places w on w.flow_id = f.flow_id and w.after is not null and w.job_id <> f.job_id
    join oncue.jobs j on j.id = any (array[w.job_id])
    where f.job_id = p_id and f.kind in ('job', 'node'));

create function oncue.is_last_crash(p_job oncue.jobs) returns boolean
  language sql immutable
as $$
  select p_job.cancel_at is not null or p_job.replaced_by is not null
    or p_job.started_at is not null and case when p_job.ending ->> 'status' is null
      then p_job.crashes + 1 >= p_job.max_retries and (p_job.crashes > 0 or p_job.max_retries = 0)
      else p_job.crashes + 1 >= greatest(p_job.max_retries, 3) end
$$;

create function oncue.is_untended() returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set jit = off
as $$
begin
  return exists (select from oncue.deps d where not d.checked) or exists (select from oncue.slots)
    or exists (select from oncue.signals) or exists (select from oncue.children c where c.orphaned);
end $$;

create function oncue.iso_time(p_time timestamptz) returns text
  language sql immutable parallel safe
  return to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create function oncue.job_id_option(p_path text, p_value jsonb) returns uuid
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
begin
  if v_text is null or v_text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
    return v_text::uuid;
  end if;
  perform oncue.refuse('INVALID_INPUT', format('%s must be a job id, not %s', p_path, left(p_value::text, 60)),
    'A job id is a UUID v7 in lower case, as oncue.enqueue returns it.');
end $$;

create function oncue.keep_spawned(p_now timestamptz, p_id uuid, p_key text, p_spawned json) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, p_key,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'spawn', (select json_object_agg(s.key, json_build_array(s.id, s.hash))
      from json_to_recordset(p_spawned) as s(key text, id uuid, hash text)), coalesce(p_now, oncue.clock());
  insert into oncue.children (parent_id, key, child_id, cancels)
  select p_id, s.key, s.id, s.cancels
  from json_to_recordset(p_spawned) as s(key text, id uuid, child boolean, cancels boolean)
  where s.child
  on conflict do nothing;
end $$;

create function oncue.link(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_unknown uuid;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
begin
  select d.parent_id into v_unknown from oncue.deps d
    where d.job_id = any (p_ids)
      and not exists (select from oncue.jobs j where j.id = any (array[d.parent_id]))
      and not exists (select from oncue.history h where h.id = any (array[d.parent_id]))
    limit 1;
  if found then
    raise exception 'There is no job % to wait for', v_unknown using errcode = 'OC002', detail = 'UNKNOWN_PARENT',
      hint = 'Enqueue the parent first, or in the same call.';
  end if;
  with met as (
    delete from oncue.deps d
    where d.job_id = any (p_ids) and exists (
      select from oncue.history h
      where h.id = any (array[d.parent_id]) and (h.status::text = 'completed' or d.policy = 'go_on'))
    returning d.job_id
  )
  select array_agg(m.job_id) into v_met from met m;
  if v_met is not null then
    perform oncue.count_down(v_now, v_met);
  end if;
  select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
         array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
    into v_stopped, v_cancelled
    from oncue.deps d
    where d.job_id = any (p_ids) and d.policy in ('stop', 'cancel')
      and exists (select from oncue.history h where h.id = any (array[d.parent_id]));
  if v_stopped is not null or v_cancelled is not null then
    -- Only new jobs can wait for new jobs.
    perform oncue.release_dependants(v_now,
      oncue.end_rows(v_now, v_stopped, 'failed', oncue.parent_failed())
        || oncue.end_rows(v_now, v_cancelled, 'cancelled', null), false);
  end if;
end $$;

create function oncue.lock_dependants(p_parents uuid[], p_unsuccessful uuid[]) returns uuid[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ids constant uuid[] := array(
    select d.job_id from oncue.deps d where d.parent_id = any (p_parents)
    union
    select d.job_id from oncue.deps d where d.parent_id = any (p_unsuccessful) and d.policy <> 'wait'
    union
    select c.parent_id from oncue.children c where c.child_id = any (p_parents || p_unsuccessful));
  v_locked constant uuid[] := array(
    select j.id from oncue.jobs j where j.id = any (v_ids) order by j.id for update skip locked);
  v_left constant uuid[] := array(select unnest(v_ids) except select unnest(v_locked));
begin
  return array(
    select distinct d.parent_id from oncue.deps d
    where d.job_id = any (array(select j.id from oncue.jobs j where j.id = any (v_left)))
      and d.parent_id = any (p_parents || p_unsuccessful)
    union
    select c.child_id from oncue.children c
    where c.parent_id = any (array(select j.id from oncue.jobs j where j.id = any (v_left)))
      and c.child_id = any (p_parents || p_unsuccessful));
end $$;

create function oncue.new_job_id(p_now timestamptz) returns uuid
  language sql volatile
begin atomic
  select (left(t.hex, 8) || '-' || right(t.hex, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid
  from (select lpad(to_hex((extract(epoch from p_now) * 1000)::bigint), 12, '0') as hex) t;
end;

create function oncue.next_level(
  p_queue text, p_below integer,
  p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[])
  returns table (priority smallint, mark_at timestamptz, mark_id uuid)
  language sql
  stable
as $$
  select coalesce(n.priority, m.priority), coalesce(k.at, '-infinity'), coalesce(k.id, '00000000-0000-0000-0000-000000000000')
  from (
    select max(k.priority) as priority from unnest(p_mark_queue, p_mark_priority) as k(queue, priority)
    where k.queue = p_queue and k.priority < p_below
  ) m
  left join lateral (
    select j.priority from oncue.jobs j
    where j.queue = p_queue and j.visible_at is not null
      and j.priority < p_below and j.priority > coalesce(m.priority, -32769)
    order by j.priority desc limit 1
  ) n on true
  left join lateral unnest(p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) as k(queue, priority, at, id)
    on n.priority is null and k.queue = p_queue and k.priority = m.priority
$$;

create function oncue.open_ask(p_now timestamptz, p_id uuid, p_key text, p_ask json) returns void
  language plpgsql
as $$
begin
  update oncue.outcomes o set
    key = 'refused:' || (p_ask ->> 'name') || '#' || o.seq, kind = 'refused',
    data = json_build_object('value', o.data -> 'value', 'by', o.data -> 'by', 'reason', p_ask -> 'reason')
  where o.job_id = p_id and o.key = p_key and o.kind = 'answer' and o.seq = (p_ask ->> 'refuses')::integer;
  if exists (select from oncue.outcomes o where o.job_id = p_id and o.key = p_key) then return; end if;

  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, 'wait:' || p_key,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'wait', to_json(oncue.iso_time(p_now + (p_ask ->> 'delayMs')::bigint * interval '1 millisecond')), p_now
  where p_ask ->> 'delayMs' is not null
  on conflict do nothing;

  insert into oncue.asks as a (job_id, name, question, schema, role, until, refused, created)
  values (p_id, p_ask ->> 'name', p_ask ->> 'question', p_ask -> 'schema', p_ask ->> 'role',
    (select (o.data #>> '{}')::timestamptz from oncue.outcomes o where o.job_id = p_id and o.key = 'wait:' || p_key),
    p_ask ->> 'reason', p_now)
  on conflict (job_id, name) do update set
    question = excluded.question, schema = excluded.schema, role = excluded.role, until = excluded.until,
    refused = coalesce(excluded.refused, a.refused), closed = null,
    created = case when a.closed is null or excluded.refused is not null then a.created else excluded.created end;
end $$;

create function oncue.parent_failed() returns json
  language sql immutable
  return '{"class":"ParentFailed","message":"A job that this one waits for did not complete",'
    '"code":"PARENT_FAILED","fingerprint":"PARENT_FAILED"}'::json;

create function oncue.promote(p_now timestamptz, p_at timestamptz, p_key text, p_count integer, p_claiming text) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_key constant text := substr(p_key, 3);
  v_rows tid[];
begin
  with recursive queues(name) as (
    -- Steps from one distinct queue to the next, instead of walking their jobs.
    (select h.queue from oncue.jobs h where h.concurrency_key = v_key and h.visible_at is null order by h.queue limit 1)
    union all
    select (
      select h.queue from oncue.jobs h
      where h.concurrency_key = v_key and h.visible_at is null and h.queue > q.name order by h.queue limit 1)
    from queues q where q.name is not null
  ), held as (
    select h.tid, q.has_ready, row_number() over (partition by q.has_ready order by h.priority desc, h.run_at, h.id) as n
    from (
      select q.name, q.name is distinct from p_claiming and (
          select true from oncue.jobs r
          where r.concurrency_key = v_key and r.queue = q.name and r.visible_at <= p_now and r.status = 'pending'
          order by r.visible_at limit 1) is not null as has_ready
      from queues q where q.name is not null
    ) q
    cross join lateral (
      -- Locked first, then changed: one statement for both would miss a row that another transaction has just changed.
      select j.ctid as tid, j.priority, j.run_at, j.id from oncue.jobs j
      where j.concurrency_key = v_key and j.queue = q.name and j.visible_at is null and j.status = 'pending'
      order by j.priority desc, j.run_at, j.id limit p_count
      for update skip locked
    ) h
  )
  select coalesce(array_agg(h.tid), '{}') into v_rows from held h where h.has_ready or h.n <= p_count;
  update oncue.jobs j set visible_at = greatest(p_at, j.run_at) where j.ctid = any (v_rows);
  if cardinality(v_rows) < p_count then
    update oncue.slots s set waiting = false
    where s.key = p_key and s.waiting and not exists (
      select from oncue.jobs h where h.concurrency_key = v_key and h.visible_at is null and h.status = 'pending');
  end if;
end $$;

create function oncue.prune(
  p_now timestamptz, p_queue text, p_topic text, p_status oncue."Status", p_before timestamptz, p_limit integer
) returns integer
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_ids uuid[];
begin
  -- Twice, because a plan for every status could use neither of the two partial indexes.
  if p_status = 'completed' then
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status = 'completed' and h.queue = p_queue and h.topic = p_topic
        and (hashtext(h.queue) >> 24)::"char" = (hashtext(p_queue) >> 24)::"char"
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
        and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  else
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status <> 'completed' and h.status = p_status and h.queue = p_queue and h.topic = p_topic
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
        and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  end if;
  -- Checked again, now that the rows are locked: an edge may have been committed and checked meanwhile.
  v_ids := array(select unnest(v_ids) except select d.parent_id from oncue.deps d where d.parent_id = any (v_ids));
  if cardinality(v_ids) = 0 then return 0; end if;
  perform oncue.forget_meta(v_ids);
  delete from oncue.history h where h.id = any (v_ids);
  perform oncue.forget(v_now, v_ids);
  insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    values (gen_random_uuid(), date_trunc('minute', v_now), p_queue, p_topic,
      case when p_status = 'completed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'failed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'cancelled' then -cardinality(v_ids) else 0 end, '', '', 0);
  return cardinality(v_ids);
end $$;

create function oncue.queue_room(
  p_now timestamptz, p_queue text, out room integer, out again timestamptz, out slot oncue.slots)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  select * into slot from oncue.slots s where s.key = 'q:' || p_queue for update skip locked;
  if not found then
    room := 0;
    again := p_now + interval '5 milliseconds';
    return;
  end if;
  select r.room, r.again into room, again from oncue.room(p_now, slot, null) r;
  -- Claims skip a full queue, so they would not find the expired leases in it.
  if room = 0 and again is null and oncue.free_overdue(p_now, slot, true) then
    select r.room, r.again into room, again from oncue.room(p_now, slot, null) r;
  end if;
end $$;

create function oncue.ready(
  p_now timestamptz, p_until timestamptz, p_queue text, p_topics text[],
  p_priority smallint, p_due timestamptz, p_mark_at timestamptz, p_mark_id uuid, p_limit integer,
  out rows tid[], out expired uuid[], out cleared boolean, out again timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
  set enable_sort = off
as $$
declare
  v_keyed boolean;
  v_held boolean;
begin
  select array_agg(c.tid) filter (where c.status = 'pending'), array_agg(c.id) filter (where c.status = 'processing'),
      bool_or(c.concurrency_key is not null)
    into rows, expired, v_keyed
    from (
      select j.ctid as tid, j.id, j.status, j.concurrency_key from oncue.jobs j
      where j.queue = p_queue and j.priority = p_priority
        and (j.visible_at, j.id) > (p_mark_at, p_mark_id) and j.visible_at <= p_due
        and (j.locked_until is null or j.locked_until < p_now)
        and (p_topics is null or j.topic = any (p_topics))
      order by j.visible_at, j.id
      limit p_limit
      for update skip locked
    ) c;
  cleared := expired is not null;
  if v_keyed and rows is not null then
    select h.rows, h.held, h.again into rows, v_held, again from oncue.hold_back(p_now, p_until, p_queue, rows) h;
    cleared := cleared or v_held and again is null;
  end if;
end $$;

create function oncue.recent_starts(p_now timestamptz, p_slot oncue.slots) returns bigint[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_ms constant bigint := extract(epoch from p_now) * 1000;
begin
  return array(
    select t.ms::bigint from jsonb_array_elements_text(coalesce(p_slot.starts, '[]')) as t(ms)
    where t.ms::bigint > v_ms - p_slot.rate_ms and t.ms::bigint <= v_ms + p_slot.rate_ms
    order by t.ms::bigint);
end $$;

create function oncue.record_children(p_now timestamptz, p_id uuid, p_wait text) returns void
  language plpgsql
as $$
begin
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, p_wait,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'children', json_build_object('failed', coalesce((
      select json_agg(json_build_array(c.child_id, coalesce(h.status::text, 'gone'), h.last_error::jsonb - 'stack' - 'causes'))
      from oncue.children c left join oncue.history h on h.id = any (array[c.child_id])
      where c.parent_id = p_id and h.status::text is distinct from 'completed'
        and not exists (select from oncue.jobs j where j.id = any (array[c.child_id]))), '[]')), p_now
  on conflict do nothing;
end $$;

create function oncue.record_outcomes(p_now timestamptz, p_updates json, p_worker uuid default null)
  returns table (job_id uuid, run integer, seq integer, key text, kind text, name text, data json)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
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

create function oncue.record_progress(p_now timestamptz, p_updates json, p_worker uuid default null)
  returns table (stale_id uuid, stale_run integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_update record;
  v_ids uuid[] := '{}';
  v_events json[] := '{}';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  for v_update in
    select * from json_to_recordset(p_updates) as n(id uuid, run integer, progress text, cursor text, events json)
  loop
    -- None of these is indexed, so it is a heap-only update.
    update oncue.jobs j set
      progress = coalesce(v_update.progress::json, j.progress), cursor = coalesce(v_update.cursor::json, j.cursor),
      updated = v_now
    where j.id = v_update.id and j.run = v_update.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker);
    if not found then
      stale_id := v_update.id;
      stale_run := v_update.run;
      return next;
    elsif json_array_length(v_update.events) > 0 then
      v_ids := v_ids || v_update.id;
      v_events := v_events || v_update.events;
    end if;
  end loop;
  if v_ids = '{}' then
    return;
  end if;
  -- The events of a run must keep their order, so all of them are retried together.
  for v_try in 1..100 loop
    begin
      insert into oncue.events (job_id, version, type, data, created)
      select k.id, l.version + e.n, e.event ->> 0, (e.event ->> 1)::json,
        v_now - (e.event ->> 2)::integer * interval '1 millisecond'
      from unnest(v_ids, v_events) as k(id, events)
      cross join lateral (
        select coalesce(max(o.version), 0) as version from oncue.events o where o.job_id = k.id
      ) l
      cross join lateral json_array_elements(k.events) with ordinality as e(event, n);
      return;
    exception when unique_violation then
      -- Another writer appended meanwhile.
    end;
  end loop;
  raise exception 'Too many concurrent appends to the events of job %', v_ids[1] using errcode = 'serialization_failure';
end $$;

create function oncue.refuse(p_code text, p_message text, p_hint text) returns void
  language plpgsql
as $$
begin
  raise exception using errcode = 'invalid_parameter_value', message = p_message, detail = p_code, hint = p_hint;
end $$;

create function oncue.refuse_finished(p_ids uuid[]) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  if exists (select from oncue.history h where h.id = any (p_ids)) then
    raise exception 'A job with one of these ids has finished' using errcode = 'OC005';
  end if;
end $$;

create function oncue.refuse_isolation() returns void
  language plpgsql
as $$
begin
  raise exception 'The isolation of this transaction is %, not read committed', current_setting('transaction_isolation')
    using errcode = 'OC003';
end $$;

create function oncue.release_dependants(
  p_now timestamptz, p_parents uuid[], p_completed boolean, p_ended_before boolean default false
) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_parents uuid[] := p_parents;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
  v_family constant boolean := exists (select from oncue.children);
  v_ended_before boolean := p_ended_before;
begin
  if not v_family and not exists (select from oncue.deps) then return; end if;
  while cardinality(v_parents) > 0 loop
    -- Sorted by id, because the last two parents of one job may end at the same moment.
    perform from oncue.jobs j
      where j.id = any (array(
        select d.job_id from oncue.deps d where d.parent_id = any (v_parents) and (p_completed or d.policy <> 'wait')
        union all select c.parent_id from oncue.children c where v_family and c.child_id = any (v_parents)))
      order by j.id for update;

    if v_family then
      perform oncue.wake_parents(p_now, v_parents);
    end if;
    with met as (
      delete from oncue.deps d
      where d.parent_id = any (v_parents) and (p_completed or d.policy = 'go_on')
      returning d.job_id
    )
    select array_agg(m.job_id) into v_met from met m;
    if v_met is not null then
      perform oncue.count_down(p_now, v_met);
    end if;
    exit when p_completed;

    select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
           array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
      into v_stopped, v_cancelled
      from oncue.deps d where d.parent_id = any (v_parents) and d.policy in ('stop', 'cancel');
    v_parents := oncue.end_rows(p_now, v_stopped, 'failed', oncue.parent_failed())
      || oncue.end_rows(p_now, v_cancelled, 'cancelled', null)
      || case when v_family and not v_ended_before then oncue.cancel_orphans(p_now, v_parents) else '{}' end;
    v_ended_before := false;
  end loop;
end $$;

create function oncue.replace(
  p_now timestamptz, p_id uuid, p_due timestamptz, p_big text, p_payload text, p_priority smallint, p_trace text, p_meta text
) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  perform oncue.forget_meta(array_agg(j.id)) from oncue.jobs j
    where j.id = p_id and j.meta is distinct from p_meta::jsonb;
  update oncue.jobs j set
    payload = p_payload::json, priority = p_priority, trace = p_trace, meta = p_meta::jsonb, cursor = null, progress = null, run_at = p_due, updated = p_now,
    -- A job that is throttled by a full concurrency key stays so only if it is due: freeing a slot does not check that.
    visible_at = case when j.status = 'blocked' or j.visible_at is null and p_due <= p_now then null else p_due end
  where j.id = p_id;
  perform oncue.index_meta(p_id);
  delete from oncue.payloads p where p.job_id = p_id and p.part = 'payload';
  if p_big is not null then
    insert into oncue.payloads (job_id, part, data) values (p_id, 'payload', p_big::json);
  end if;
  -- Signals that were sent before the first run are still to be received.
  delete from oncue.outcomes o
    where o.job_id = p_id and (o.kind <> 'signal' or exists (select from oncue.jobs j where j.id = p_id and j.run > 0));
  delete from oncue.asks a where a.job_id = p_id;
  perform oncue.append_event(p_now, array[p_id], 'replaced', array[null::json]);
end $$;

create function oncue.requeue(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, done uuid[])
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_ids uuid[];
  v_done uuid[];
  v_live uuid[];
begin
  select array_agg(f.id) into v_ids from (
    select h.id from oncue.history h
    where h.id = any (p_ids) and (p_as_of is null or h.finished_at <= p_as_of)
      -- A job that was enqueued again after it had finished is live.
      and not exists (select from oncue.jobs j where j.id = any (array[h.id]))
      and not (h.status::text = 'completed' and oncue.has_live_parent(h.id))
    -- A row that a poll has share-locked is not skipped: the delete below waits for it.
    for no key update skip locked
  ) f;

  with wanted as (
    select h.id, case when h.unique_scope = 'all' then '' else h.topic end as topic, 'u:' || h.unique_key as key
    from oncue.history h where h.id = any (v_ids) and h.unique_key is not null
  ), taken as (
    insert into oncue.keys as k (topic, key, job_id, until)
    -- Of several jobs with one key, the one that holds it, or else the first.
    select distinct on (w.key, w.topic) w.topic, w.key, w.id, null::timestamptz from wanted w
    order by w.key, w.topic, exists (
      select from oncue.keys h where h.topic = w.topic and h.key = w.key and h.job_id = w.id and h.until > v_now) desc, w.id
    on conflict (topic, key) do update set job_id = excluded.job_id, until = null
      where k.job_id = excluded.job_id or k.until <= v_now
    returning k.job_id
  )
  select array_agg(w.id) into v_live from wanted w where w.id not in (select t.job_id from taken t);

  with back as (
    delete from oncue.history h where h.id = any (v_ids) and h.id <> all (coalesce(v_live, '{}')) returning h.*
  ), results as (
    delete from oncue.payloads p where p.part = 'result' and p.job_id = any (array(select b.id from back b))
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', v_now), b.queue, b.topic, -sum((b.status = 'completed')::integer),
      -sum((b.status = 'failed')::integer), -sum((b.status = 'cancelled')::integer), '', '', 0
    from back b group by b.queue, b.topic
  ), moved as (
    insert into oncue.jobs
      (id, run, queue, topic, payload, priority, created, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, last_error, trace, meta, updated, status, run_at, visible_at)
    select b.id, b.run, b.queue, b.topic, b.payload, b.priority, b.created, b.max_retries, b.timeout_ms, b.retry, b.unique_key, b.unique_scope, b.concurrency_key, b.concurrency_limit, b.parent_id, b.cursor, b.progress, b.last_error, b.trace, b.meta, v_now, 'pending', v_now, v_now
    from back b
  )
  select array_agg(b.id) into v_done from back b;
  if v_done is not null then
    perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (v_done)) q;
    perform oncue.append_event(v_now, v_done, 'requeued',
      (select array_agg(json_build_object('by', p_by)) from unnest(v_done)));
    perform oncue.forget_undecided(v_now, v_done);
    perform oncue.await_requeued(v_done);
    perform oncue.requeue_family(v_now, v_done, p_by);
  end if;
  return query select 'done', coalesce(cardinality(v_done), 0), v_done;
  return query select 'UNIQUE_KEY_LIVE', cardinality(v_live), null::uuid[] where v_live is not null;
  return query
  select s.reason, count(*)::integer, null::uuid[] from (
    select case
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (
          select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'completed')
        and oncue.has_live_parent(i.id) then 'PARENT_LIVE'
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'CHANGED'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id)
    where i.id <> all (coalesce(v_done, '{}') || coalesce(v_live, '{}'))
  ) s group by s.reason;
end $$;

create function oncue.requeue_family(p_now timestamptz, p_ids uuid[], p_by text) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_more uuid[];
begin
  if not exists (select from oncue.children) then return; end if;
  perform from oncue.jobs j
    where j.id = any (array(select c.parent_id from oncue.children c where c.child_id = any (p_ids)))
    order by j.id for no key update;
  insert into oncue.child_waits (child_id, parent_id, wait)
  select c.child_id, j.id, w.key
  from oncue.children c
  join oncue.jobs j on j.id = any (array[c.parent_id])
  cross join json_to_recordset(j.waits -> 'for') as w(kind text, key text)
  where c.child_id = any (p_ids) and j.status in ('blocked', 'pending') and w.kind = 'children'
  on conflict do nothing;
  v_more := array(
    select h.id from oncue.children c join oncue.history h on h.id = any (array[c.parent_id])
    where c.child_id = any (p_ids) and h.status::text = 'failed' and h.last_error ->> 'code' = 'CHILDREN_FAILED'
      and not exists (select from oncue.outcomes o where o.job_id = h.id and o.kind = 'undone')
    union
    select h.id from oncue.children c join oncue.history h on h.id = any (array[c.child_id])
    where c.parent_id = any (p_ids) and h.status::text <> 'completed');
  if cardinality(v_more) > 0 then
    perform oncue.requeue(p_now, v_more, null, p_by);
  end if;
end $$;

create function oncue.requeue_from(p_now timestamptz, p_id uuid, p_step text, p_by text) returns text
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_seq integer;
  v_reason text;
begin
  perform from oncue.history h where h.id = p_id for no key update;
  if not found then
    return case when exists (select from oncue.jobs j where j.id = p_id) then 'INVALID_STATE' else 'JOB_NOT_FOUND' end;
  end if;
  if p_step is not null then
    select o.seq into v_seq from oncue.outcomes o where o.job_id = p_id and o.key = 'step:' || p_step;
    if not found then
      return 'STEP_NOT_FOUND';
    end if;
  end if;
  begin
    -- What was undone goes too, as with every requeue: it must not be kept without the record of its undo.
    perform oncue.forget_undecided(v_now, array[p_id]);
    -- First, so that children that it forgets are not requeued with it.
    perform oncue.forget_from(p_id, coalesce(v_seq, 0));
    select r.reason into v_reason from oncue.requeue(v_now, array[p_id], null, p_by) r where r.count > 0;
    if v_reason <> 'done' then
      raise exception using errcode = 'OQ001';
    end if;
  exception when sqlstate 'OQ001' then
    return v_reason;
  end;
  if p_step is null then
    update oncue.jobs j set cursor = null, progress = null where j.id = p_id;
  end if;
  perform oncue.append_event(v_now, array[p_id], 'steps_forgotten', array[json_build_object('by', p_by, 'from', p_step)]);
  return 'done';
end $$;

create function oncue.requeue_with_payload(
  p_now timestamptz, p_id uuid, p_run integer, p_updated timestamptz, p_payload text, p_big text, p_by text, p_paths text
) returns text
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_job oncue.jobs;
  v_reason text;
begin
  select j.* into v_job from oncue.jobs j where j.id = p_id for update;
  if found then
    if v_job.run <> p_run or v_job.updated <> p_updated then
      return 'CHANGED';
    elsif v_job.status <> 'pending' or v_job.visible_at is null or v_job.fingerprint is null
        or v_job.waits is not null or v_job.ending ->> 'status' is not null then
      return 'INVALID_STATE';
    end if;
    -- Visible from now on, never earlier: claims that start at a low-water mark find it.
    update oncue.jobs j set retries = 0, crashes = 0, fingerprint = null, run_at = v_now, visible_at = v_now, updated = v_now
    where j.id = p_id;
    perform oncue.forget_undecided(v_now, array[p_id]);
    perform pg_notify('oncue', v_job.queue);
    perform oncue.append_event(v_now, array[p_id], 'requeued', array[json_build_object('by', p_by)]);
  else
    perform from oncue.history h
    where h.id = p_id and h.run = p_run and h.finished_at = p_updated for no key update;
    if not found then
      return case when exists (select from oncue.history h where h.id = p_id)
        or exists (select from oncue.jobs j where j.id = p_id) then 'CHANGED' else 'JOB_NOT_FOUND' end;
    end if;
    select r.reason into v_reason from oncue.requeue(v_now, array[p_id], null, p_by) r where r.count > 0;
    if v_reason <> 'done' then
      return v_reason;
    end if;
  end if;
  update oncue.jobs j set payload = p_payload::json where j.id = p_id;
  delete from oncue.payloads p where p.job_id = p_id and p.part = 'payload';
  if p_big is not null then
    insert into oncue.payloads (job_id, part, data) values (p_id, 'payload', p_big::json);
  end if;
  perform oncue.append_event(v_now, array[p_id], 'payload_changed',
    array[json_build_object('by', p_by, 'paths', p_paths::json)]);
  return 'done';
end $$;

create function oncue.requeued_since(p_job oncue.jobs, p_as_of timestamptz) returns boolean
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  return p_job.updated > p_as_of and exists (
    select from oncue.events e where e.job_id = p_job.id and e.type = 'requeued' and e.created > p_as_of);
end $$;

create function oncue.rescue(
  p_now timestamptz, p_gone_ms integer, p_most_ms integer, p_settle_ms integer, p_grace_ms integer, p_worker uuid
) returns table (worker uuid, released integer, failed integer, look_again_ms integer, untended boolean)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set jit = off
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

create function oncue.reserve_keys(p_now timestamptz, p_jobs json, out reserved uuid, out taken uuid[], out all_taken boolean)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_keys text[];
  v_topics text[];
  v_replaces boolean[];
  v_lone boolean[];
  v_firsts uuid[];
  v_ms bigint[];
begin
  taken := '{}';
  select array_agg(k.key order by k.topic, k.key), array_agg(k.topic order by k.topic, k.key),
      array_agg(k.replaces order by k.topic, k.key), array_agg(k.lone order by k.topic, k.key),
      array_agg(k.first order by k.topic, k.key), array_agg(k.ms order by k.topic, k.key)
    into v_keys, v_topics, v_replaces, v_lone, v_firsts, v_ms
    from (
      select k.key, k.topic, bool_or(k.replaces) as replaces, bool_and(j.unique_key is null) as lone,
        (array_agg(j.id order by j.n))[1] as first, (array_agg(j."onceMs" order by j.n))[1] as ms
      from (select row_number() over () as n, j.* from json_to_recordset(p_jobs)
        as j(id uuid, topic text, "onceKey" text, "onceMs" bigint, unique_key text, unique_scope text, "onConflict" text)) j,
        lateral (values
          (j."onceKey", j.topic, false),
          ('u:' || j.unique_key, case when j.unique_scope = 'all' then '' else j.topic end, j."onConflict" = 'replace')
        ) as k(key, topic, replaces)
      where k.key is not null
      group by k.key, k.topic
    ) k;
  if cardinality(v_keys) >= 2 or true = any (v_replaces) then
    perform pg_advisory_xact_lock('oncue.keys'::regclass::int, l.lock) from (
      select distinct hashtext(w.topic || ' ' || w.key) & case when cardinality(v_keys) <= 64 then -1 else 511 end as lock
      from unnest(v_topics, v_keys) as w(topic, key) order by 1) l;
  end if;
  if coalesce(cardinality(v_keys), 0) < 2 then return; end if;
  reserved := p_jobs -> 0 ->> 'id';
  with new as (
    insert into oncue.keys (topic, key, job_id, until)
    select w.topic, w.key, case when w.lone then w.first else reserved end,
      case when w.lone then p_now + w.ms * interval '1 millisecond' else '-infinity' end
    from unnest(v_topics, v_keys, v_lone, v_firsts, v_ms) with ordinality as w(topic, key, lone, first, ms, n)
    order by w.n
    on conflict do nothing
    returning job_id, until
  )
  select coalesce(array_agg(n.job_id) filter (where n.until <> '-infinity'), '{}'),
    count(*) filter (where n.until <> '-infinity') = json_array_length(p_jobs) into taken, all_taken from new n;
  if all_taken then return; end if;
  perform from oncue.jobs j
    where j.id = any (array(
      select k.job_id from unnest(v_topics, v_keys, v_replaces) as w(topic, key, replaces)
      join oncue.keys k on k.topic = any (array[w.topic]) and k.key = any (array[w.key])
      where w.replaces and (k.until is null or k.until > p_now)))
    -- In the order of a settle: first running jobs, then the jobs that wait for them.
    order by j.status <> 'processing', j.id for update;
  perform from unnest(v_topics, v_keys, v_replaces) with ordinality as w(topic, key, replaces, n)
    join oncue.keys k on k.topic = any (array[w.topic]) and k.key = any (array[w.key])
    where (w.replaces or k.until <= p_now) and k.until is distinct from '-infinity'
    order by w.n for update of k;
end $$;

create function oncue.retry_option(p_value jsonb, out max_retries integer, out retry jsonb)
  language plpgsql
as $$
declare
  v_delay text;
begin
  if p_value is null or p_value = 'null' then return; end if;
  if p_value = 'false' then
    max_retries := 0;
    return;
  end if;
  perform oncue.check_fields('options.retry', p_value, '{strategy,baseDelay,minDelay,maxDelay,max}');
  max_retries := oncue.integer_option('options.retry.max', p_value -> 'max', 0, 1000);
  perform oncue.text_option('options.retry.strategy', p_value -> 'strategy', 0, '{quadratic,exponential,exponential_jitter,fixed}');
  foreach v_delay in array '{baseDelay,minDelay,maxDelay}'::text[] loop
    perform oncue.integer_option('options.retry.' || v_delay, p_value -> v_delay, 0, 2592000000);
  end loop;
  if (p_value ->> 'minDelay')::numeric > (p_value ->> 'maxDelay')::numeric then
    perform oncue.refuse('INVALID_INPUT', 'options.retry.minDelay is greater than maxDelay', 'Correct the field named in the message.');
  end if;
  retry := jsonb_strip_nulls(p_value - 'max');
  retry := case when retry <> '{}' then '{"strategy": "quadratic"}' || retry end;
end $$;

create function oncue.room(p_now timestamptz, p_slot oncue.slots, p_limit integer, out room integer, out again timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_max constant integer := coalesce(p_slot.max_running, p_limit);
  v_running integer;
  v_oldest timestamptz;
  v_recent bigint[];
begin
  room := 1000000;
  if v_max is not null then
    select count(*), min(r.taken) into v_running, v_oldest
      from oncue.slot_runs r where r.key = p_slot.key and r.taken >= coalesce(p_slot.since, '-infinity');
    room := greatest(0, v_max - v_running);
    -- The next count begins at the oldest run. Not written each time, because old versions of the slot cost reads too.
    v_oldest := least(v_oldest, p_now);
    if v_oldest > coalesce(p_slot.since, '-infinity') + interval '3 seconds' then
      update oncue.slots s set since = v_oldest where s.key = p_slot.key;
    end if;
  end if;
  if p_slot.rate_count is null then return; end if;
  v_recent := oncue.recent_starts(p_now, p_slot);
  if cardinality(v_recent) >= p_slot.rate_count then
    again := to_timestamp((v_recent[1 + cardinality(v_recent) - p_slot.rate_count] + p_slot.rate_ms) / 1000.0);
    room := 0;
  else
    room := least(room, p_slot.rate_count - cardinality(v_recent));
  end if;
end $$;

create function oncue.run_at_option(p_value jsonb) returns timestamptz
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
  v_at timestamptz;
begin
  if v_text is null then return null; end if;
  -- Postgres would also accept now, tomorrow, and dates in the order of the session's DateStyle.
  if v_text ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$' then
    begin
      v_at := date_trunc('milliseconds', v_text::timestamptz);
    exception when data_exception then
      -- Such as February 30: refused below.
    end;
  end if;
  if v_at between '1970-01-01Z' and '9999-12-31 23:59:59.999Z' then return v_at; end if;
  perform oncue.refuse('INVALID_INPUT',
    format('options.runAt must be an ISO 8601 time with Z or an offset, between 1970-01-01 and 9999-12-31, not %s', left(p_value::text, 60)),
    'Send it as 2027-01-31T09:00:00Z or 2027-01-31T09:00:00+01:00.');
end $$;

create function oncue.run_now(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, ids uuid[])
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_done uuid[];
begin
  select coalesce(array_agg(l.id), '{}') into v_done from (
    select j.id from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'pending' and j.run_at > v_now and j.visible_at is not null
      and j.waits is null
      and (p_as_of is null or j.created <= p_as_of)
    for update skip locked
  ) l;
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find them.
  update oncue.jobs j set run_at = v_now, visible_at = v_now, updated = v_now where j.id = any (v_done);
  if v_done <> '{}' then
    perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (v_done)) q;
    perform oncue.append_event(v_now, v_done, 'run_now',
      (select array_agg(json_build_object('by', p_by)) from unnest(v_done)));
  end if;
  return query select 'done', cardinality(v_done), v_done;
  return query
  select s.reason, count(*)::integer, array_agg(s.id) from (
    select i.id, coalesce((
      select case
        when j.status = 'processing' then 'RUNNING'
        when j.waits is not null and (j.status = 'blocked' or j.run_at > v_now) then 'SUSPENDED'
        when j.status = 'blocked' then 'BLOCKED'
        when j.visible_at is null then 'THROTTLED'
        when j.run_at <= v_now then 'ALREADY_DUE'
        when j.created > p_as_of then 'CHANGED'
        else 'BUSY' end
      from oncue.jobs j where j.id = any (array[i.id])
    ), (select 'FINISHED' from oncue.history h where h.id = any (array[i.id])), 'JOB_NOT_FOUND') as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_done)
  ) s group by s.reason;
end $$;

create function oncue.run_row(p_kind "char", p_id uuid, p_run integer) returns oncue.work_row
  language plpgsql immutable
as $$
declare
  v_row oncue.work_row;
begin
  v_row.kind := p_kind;
  v_row.id := p_id;
  v_row.run := p_run;
  return v_row;
end $$;

create function oncue.settle(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[], p_worker uuid default null
) returns setof oncue.work_row
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
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
            (id, run, queue, topic, payload, priority, run_at, created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
             crashes, started_at, finished_at, locked_by, status, result, last_error, fingerprint)
          select
             id, run, queue, topic, payload, priority, nullif(run_at, created), created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
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

create function oncue.settle_and_claim(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[],
  p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row
  language plpgsql
  set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from oncue.settle(p_now, p_ids, p_runs, p_results, p_others, p_big_ids, p_big_runs, p_big_data,
                                             p_worker);
  return query select * from oncue.claim(p_now, p_worker, p_lease_ms, p_queues, p_topics, p_limit, p_start,
                                            p_mark_queue, p_mark_priority, p_mark_at, p_mark_id);
end $$;

create function oncue.settle_others(p_now timestamptz, p_others json, p_worker uuid)
  returns table (kind "char", id uuid, run integer)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
#variable_conflict use_column
declare
  v_back uuid[];
  v_ended uuid[];
  v_keyed uuid[];
  v_runs integer[];
  v_cancelled uuid[];
  v_ids uuid[];
  v_data json[];
  v_snoozed uuid[];
  v_snoozed_data json[];
  v_interrupted uuid[];
  v_interrupted_data json[];
  v_suspended record;
  v_slept uuid[];
  v_slept_runs integer[];
  v_undoing uuid[];
  v_undoing_runs integer[];
  v_statuses text[];
  v_errors json[];
begin
  -- First, because every run that is left over below ends: also one that would be suspended, if its job was asked to stop.
  for v_suspended in
    select j.id, j.run, s.waits, s.progressed, s.error,
      json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)),
        'for', (select json_agg(json_build_object('kind', w.kind, 'name', w.name))
          from json_to_recordset(s.waits) as w(kind text, name text)), 'error', s.error) as data
    from json_to_recordset(p_others) as s(id uuid, run integer, kind text, waits json, progressed boolean, error json)
    join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
    where s.kind = 'suspend' and (p_worker is null or j.locked_by = p_worker)
      and j.cancel_at is null and j.replaced_by is null
    for update of j
  loop
    perform oncue.suspend(p_now, v_suspended.id, v_suspended.waits, v_suspended.progressed, v_suspended.error);
    v_slept := v_slept || v_suspended.id;
    v_slept_runs := v_slept_runs || v_suspended.run;
    -- Also the failure of an attempt, as of a run.
    if v_suspended.error is not null or coalesce((
      select e.version from oncue.events e where e.job_id = v_suspended.id order by e.version desc limit 1), 0) < 1000
    then
      perform oncue.append_event(p_now, array[v_suspended.id], 'run_suspended', array[v_suspended.data]);
    end if;
  end loop;
  -- What the row will no longer show once it runs again: each run that failed, snoozed or was interrupted, in
  -- the job's event stream. A job that snoozes for ever does not fill it: beyond 1,000 events only failures are kept.
  -- A prefetched run that ended before its first heartbeat has no recorded start, and was short, as in history.
  select array_agg(f.id) filter (where f.type = 'run_failed'), array_agg(f.data) filter (where f.type = 'run_failed'),
      array_agg(f.id) filter (where f.type = 'run_snoozed'), array_agg(f.data) filter (where f.type = 'run_snoozed'),
      array_agg(f.id) filter (where f.type = 'run_interrupted'), array_agg(f.data) filter (where f.type = 'run_interrupted')
    into v_ids, v_data, v_snoozed, v_snoozed_data, v_interrupted, v_interrupted_data
    from (
      select j.id,
        case s.kind when 'snooze' then 'run_snoozed' when 'release' then 'run_interrupted' else 'run_failed' end as type,
        case s.kind
          when 'snooze' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)), 'delayMs', s."delayMs")
          when 'release' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)))
          else json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)), 'error', s.error)
        end as data
      from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, interrupted boolean)
      join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      where (p_worker is null or j.locked_by = p_worker) and (s.kind in ('retry', 'fail')
        or (s.kind = 'snooze' or s.interrupted) and j.cancel_at is null and j.replaced_by is null and coalesce(
          (select e.version from oncue.events e where e.job_id = j.id order by e.version desc limit 1), 0) < 1000)
      for update of j
    ) f;

  with back as (
    update oncue.jobs j set
      status = 'pending', locked_until = null, locked_by = null, started_at = null, cancel_at = null, updated = p_now,
      retries = j.retries + (s.kind = 'retry')::int,
      run_at = case when s.kind = 'release' then j.run_at else p_now + s."delayMs" * interval '1 millisecond' end,
      visible_at = p_now + coalesce(s."delayMs", 0) * interval '1 millisecond',
      last_error = coalesce(s.error, j.last_error),
      waits = null,
      fingerprint = case when s.kind = 'snooze' then null else coalesce(s.fingerprint, j.fingerprint) end
    from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, fingerprint text)
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker)
      and (s.kind in ('snooze', 'release') or s.kind = 'retry'
        and j.retries < case when j.ending ->> 'status' is null then j.max_retries else greatest(j.max_retries, 3) end)
      and j.cancel_at is null and j.replaced_by is null
    returning j.id, j.run, j.queue, j.topic, s.kind
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, 0, 0, count(*)::integer, '', '', 0
    from back where kind = 'retry' group by queue, topic
  )
  select v_slept || array_agg(b.id), v_slept_runs || array_agg(b.run) into v_back, v_runs from back b;

  with ended as (
    delete from oncue.jobs j
    using json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json, fingerprint text)
    -- The rest: runs that end their job, and those that would continue but were asked to stop, or whose job was replaced.
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker) and (j.ending is null or j.ending ->> 'status' is not null)
    returning j.*,
      (case when s.kind = 'undone' then coalesce(j.ending ->> 'status', 'failed') when s.kind = 'fail' or s.kind = 'retry' and j.cancel_at is null and j.replaced_by is null
        then 'failed' else 'cancelled' end)::oncue."Status" as new_status,
      s.kind, s.error, s.fingerprint as new_fingerprint
  ), kept as (
    insert into oncue.history
      (id, run, queue, topic, payload, priority, run_at, created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes, started_at, finished_at, locked_by, status, last_error, fingerprint)
    select
       id, run, queue, topic, payload, priority, nullif(run_at, created), created, retries, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta,
       crashes, coalesce(started_at, p_now), p_now, locked_by, new_status,
       case when kind = 'undone' and ending is not null then ending -> 'error' else coalesce(error, last_error) end,
       case when kind = 'undone' and ending is not null then ending ->> 'fingerprint' else coalesce(new_fingerprint, fingerprint) end
    from ended
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((new_status = 'failed')::integer),
      sum((new_status = 'cancelled')::integer),
      string_agg(oncue.bucket(coalesce(started_at, p_now) - run_at), ''),
      string_agg(oncue.bucket(p_now - coalesce(started_at, p_now)), ''),
      sum(date_part('epoch', p_now - coalesce(started_at, p_now)) * 1000)::bigint
    from ended where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(e.id), v_runs || array_agg(e.run), array_agg(e.id) filter (where e.unique_key is not null),
      array_agg(e.id) filter (where e.new_status = 'cancelled' and e.kind not in ('cancel', 'undone'))
    into v_ended, v_runs, v_keyed, v_cancelled from ended e;

  if v_ids is not null then
    perform oncue.append_event(p_now, v_ids, 'run_failed', v_data);
  end if;
  if v_snoozed is not null then
    perform oncue.append_event(p_now, v_snoozed, 'run_snoozed', v_snoozed_data);
  end if;
  if v_interrupted is not null then
    perform oncue.append_event(p_now, v_interrupted, 'run_interrupted', v_interrupted_data);
  end if;
  if v_ended is not null then
    perform oncue.after_finish(p_now, v_ended, false, v_keyed);
  end if;
  if v_back is not null then
    perform oncue.free_slots(p_now, v_back);
  end if;
  if coalesce(cardinality(v_back || v_ended), 0) < json_array_length(p_others) then
    select array_agg(u.id), array_agg(u.run), array_agg(u.status), array_agg(u.error)
      into v_undoing, v_undoing_runs, v_statuses, v_errors
      from (
        select j.id, j.run, s.error,
          case when s.kind in ('fail', 'undone') or s.kind = 'retry' and j.cancel_at is null and j.replaced_by is null
            then 'failed' else 'cancelled' end as status
        from json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json)
        join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
        where (p_worker is null or j.locked_by = p_worker)
        for update of j
      ) u;
    if v_undoing is not null then
      perform oncue.begin_undo(p_now, v_undoing, v_statuses, v_errors);
      perform oncue.free_slots(p_now, v_undoing);
      v_ended := v_ended || v_undoing;
      v_runs := v_runs || v_undoing_runs;
    end if;
  end if;

  return query
  select 's'::"char", s.id, s.run from json_to_recordset(p_others) as s(id uuid, run integer)
  where not exists (select from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = s.id and d.run = s.run);
  if v_cancelled is not null then
    return query
    select 'x'::"char", d.id, d.run from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = any (v_cancelled);
  end if;
  if v_undoing is not null then
    return query select 'u'::"char", u.id, u.run from unnest(v_undoing, v_undoing_runs) as u(id, run);
  end if;
end $$;

create function oncue.suspend(p_now timestamptz, p_id uuid, p_waits json, p_progressed boolean, p_error json)
  returns void
  language plpgsql
as $$
declare
  v_for json;
  v_until timestamptz;
  v_due boolean;
begin
  perform oncue.deliver_signals(p_now, p_id);
  perform oncue.await_children(p_now, p_id, p_waits);
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, 'wait:' || w.key,
    coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0) + row_number() over (),
    'wait', to_json(oncue.iso_time(coalesce(w.until, p_now + w."delayMs" * interval '1 millisecond'))), p_now
  from json_to_recordset(p_waits) as w(key text, until timestamptz, "delayMs" bigint)
  where w.until is not null or w."delayMs" is not null
  on conflict do nothing;

  select json_agg(json_strip_nulls(json_build_object('kind', w.kind, 'name', w.name, 'until', oncue.iso_time(w.until), 'after', w.after,
        'key', case when w.kind = 'children' then w.key end, 'total', json_array_length(w.children)))),
      min(w.until), coalesce(bool_or(w.is_due), false)
    into v_for, v_until, v_due
    from (
      select w.kind, w.name, w.after, w.key, w.children,
        (select (o.data #>> '{}')::timestamptz from oncue.outcomes o where o.job_id = p_id and o.key = 'wait:' || w.key) as until,
        w.kind = 'signal' and exists (
          select from oncue.outcomes o
          where o.job_id = p_id and o.seq > w.after and o.kind = 'signal' and o.name = w.name)
          or w.kind in ('ask', 'children') and exists (
            select from oncue.outcomes o where o.job_id = p_id and o.key = w.key) as is_due
      from json_to_recordset(p_waits) as w(kind text, name text, key text, after integer, children json)
    ) w;

  update oncue.jobs j set
    status = (case when v_due or v_until is not null then 'pending' else 'blocked' end)::oncue."Status",
    run_at = case when v_due then p_now else greatest(v_until, p_now) end,
    visible_at = case when v_due then p_now when v_until is not null then greatest(v_until, p_now) end,
    waits = json_build_object('since', oncue.iso_time(p_now), 'for', case when v_due then '[]' else v_for end),
    locked_until = null, locked_by = null, started_at = null, updated = p_now,
    last_error = coalesce(p_error, j.last_error),
    fingerprint = case when exists (select from json_to_recordset(p_waits) as w(kind text) where w.kind = 'retry')
      then coalesce(p_error ->> 'fingerprint', j.fingerprint) end,
    retries = case when p_progressed then 0 else j.retries end, crashes = case when p_progressed then 0 else j.crashes end
  where j.id = p_id;
end $$;

create function oncue.take(p_now timestamptz, p_until timestamptz, p_worker uuid, p_rows tid[], p_start integer,
    out jobs text, out big uuid[])
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_started constant tid[] := p_rows[1:p_start];
begin
  with taken as (
    update oncue.jobs j set
      status = 'processing', locked_until = p_until, locked_by = p_worker, run = j.run + 1,
      started_at = case when p_start >= cardinality(p_rows) or j.ctid = any (v_started) then p_now end
    where j.ctid = any (p_rows)
    returning
      -- A payload that is null is no field at all, so it is the last one.
      concat_ws(E'\x1f', j.id, j.run, j.queue, j.topic, j.priority, coalesce(nullif(j.run_at, j.visible_at)::text, ''), j.visible_at, coalesce(nullif(j.created, j.visible_at)::text, ''), j.retries, j.max_retries, j.crashes, j.timeout_ms,
        case when num_nonnulls(j.retry, j.unique_key, j.concurrency_key, j.parent_id, j.waits, j.ending, j.cursor, j.trace, j.meta) > 0 then json_build_object('retry', j.retry, 'uniqueKey', j.unique_key, 'concurrencyKey', j.concurrency_key, 'parentId', j.parent_id, 'waits', j.waits, 'ending', j.ending, 'cursor', j.cursor, 'trace', j.trace, 'meta', j.meta)::text else '' end,
        j.payload) as job,
      case when j.payload is null then j.id end as big
  )
  select string_agg(t.job, E'\x1e'), array_agg(t.big) filter (where t.big is not null) into jobs, big from taken t;
end $$;

create function oncue.take_key(
  p_now timestamptz, p_topic text, p_key text, p_id uuid, p_ms bigint, p_replaces boolean
) returns oncue.keys
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_until constant timestamptz := p_now + p_ms * interval '1 millisecond';
  v_key oncue.keys;
begin
  for v_try in 1..100 loop
    insert into oncue.keys (topic, key, job_id, until) values (p_topic, p_key, p_id, v_until)
      on conflict do nothing returning * into v_key;
    if found then return v_key; end if;
    select * into v_key from oncue.keys k where k.topic = p_topic and k.key = p_key;
    continue when not found;
    if v_key.until <= p_now then
      update oncue.keys k set job_id = p_id, until = v_until
        where k.topic = p_topic and k.key = p_key and k.until <= p_now returning * into v_key;
      if found then return v_key; end if;
      continue;
    end if;
    if not p_replaces or v_key.job_id = p_id then return v_key; end if;
    perform from oncue.jobs j where j.id = v_key.job_id for update;
    select * into v_key from oncue.keys k
      where k.topic = p_topic and k.key = p_key and k.job_id = v_key.job_id and (k.until is null or k.until > p_now)
      for update;
    if found then return v_key; end if;
  end loop;
  raise exception 'Too many concurrent changes of the holder of key %', p_key using errcode = 'serialization_failure';
end $$;

create function oncue.take_slots(p_now timestamptz, p_until timestamptz, p_slot oncue.slots, p_rows tid[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
begin
  insert into oncue.slot_runs (key, job_id, run, taken, until)
  select p_slot.key, j.id, j.run + 1, greatest(p_now, p_slot.since), p_until from oncue.jobs j where j.ctid = any (p_rows)
  on conflict (job_id, key) do update set run = excluded.run, taken = excluded.taken, until = excluded.until;
  if p_slot.rate_count is null then return; end if;
  update oncue.slots s set starts = to_jsonb(oncue.recent_starts(p_now, s)
    || array_fill((extract(epoch from p_now) * 1000)::bigint, array[cardinality(p_rows)]))
  where s.key = p_slot.key;
end $$;

create function oncue.tend(p_now timestamptz) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_parents uuid[];
  v_completed uuid[];
  v_other uuid[];
  v_gone uuid[];
  v_busy uuid[];
  v_live uuid[];
  v_failed uuid[];
  v_edges tid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  if not pg_try_advisory_xact_lock('oncue.deps'::regclass::int, 0) then return; end if;

  -- A parent may have ended after an edge to it was written and before it was committed: then neither
  -- saw the other. So each edge is checked again. A parent that was deleted meanwhile did not complete,
  -- and cannot be requeued: there is nothing to wait for.
  v_parents := array(
    select distinct d.parent_id from (select u.parent_id from oncue.deps u where not u.checked limit 1000) d);
  if cardinality(v_parents) > 0 then
    v_completed := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text = 'completed');
    v_other := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text <> 'completed');
    v_gone := array(
      select p.id from unnest(v_parents) as p(id)
      except select j.id from oncue.jobs j where j.id = any (v_parents)
      except select h.id from oncue.history h where h.id = any (v_parents));
    if cardinality(v_completed || v_other || v_gone) > 0 then
      v_busy := oncue.lock_dependants(v_completed || v_gone, v_other);
      v_completed := array(select unnest(v_completed) except select unnest(v_busy));
      v_other := array(select unnest(v_other) except select unnest(v_busy));
      v_gone := array(select unnest(v_gone) except select unnest(v_busy));
      perform oncue.release_dependants(v_now, v_completed, true);
      update oncue.deps d set policy = 'stop' where d.parent_id = any (v_gone) and d.policy = 'wait';
      perform oncue.release_dependants(v_now, v_other || v_gone, false, true);
    end if;
  end if;

  if exists (select from oncue.children c where c.orphaned) then
    perform oncue.release_dependants(v_now, oncue.cancel_orphans(v_now), false);
  end if;

  perform oncue.tend_slots(v_now);

  if exists (select from oncue.signals) then
    perform oncue.deliver(v_now);
  end if;

  -- A live parent whose row is not being deleted at this moment: a transaction that ends it from now on sees the edge.
  if cardinality(v_parents) > 0 then
    v_live := array(
      select l.id from (select j.id from oncue.jobs j where j.id = any (v_parents) for key share skip locked) l);
    -- The same for one that did not complete: a transaction that requeues or removes it from now on sees the edge.
    v_failed := array(
      select l.id from (
        select h.id from oncue.history h where h.id = any (v_other) and h.status::text <> 'completed'
        for key share skip locked) l);
    v_edges := array(
      select e.ctid from oncue.deps e
      -- Behind a parent that did not complete, only edges that wait for its requeue. Any other edge was committed
      -- after the release above and is left to the next poll.
      where not e.checked and (e.parent_id = any (v_live) or e.parent_id = any (v_failed) and e.policy = 'wait')
      for update skip locked);
    update oncue.deps d set checked = true where d.ctid = any (v_edges);
  end if;
end $$;

create function oncue.tend_slots(p_now timestamptz) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan
  set jit = off
as $$
declare
  c_some constant integer := 200;
  v_after text;
  v_keys text[];
  v_slot oncue.slots;
  v_limit integer;
  v_room integer;
begin
  v_after := coalesce(current_setting('oncue.slots_after', true), '');
  v_keys := array(select s.key from oncue.slots s where s.key > v_after order by s.key limit c_some);
  if cardinality(v_keys) < c_some and v_after <> '' then
    v_keys := v_keys || array(select s.key from oncue.slots s where s.key <= v_after order by s.key limit c_some - cardinality(v_keys));
  end if;
  perform set_config('oncue.slots_after', case when cardinality(v_keys) < c_some then '' else v_keys[c_some] end, false);
  -- An unused slot without a configured limit is recreated when needed. Locked first, then checked again: a claim
  -- may have taken it meanwhile.
  v_keys := array(
    select i.key from oncue.slots i
    where i.key = any (v_keys) and i.key like 'k:%' and not i.waiting and i.max_running is null and i.rate_count is null
      and not exists (
        select from oncue.slot_runs r where r.key = any (array[i.key]) and r.taken >= coalesce(i.since, '-infinity'))
    for update skip locked);
  delete from oncue.slots s where s.key = any (v_keys)
    and not exists (select from oncue.slot_runs r where r.key = any (array[s.key]) and r.taken >= coalesce(s.since, '-infinity'));

  v_after := coalesce(current_setting('oncue.waiting_after', true), '');
  v_keys := array(select s.key from oncue.slots s where s.waiting and s.key > v_after order by s.key limit c_some);
  if cardinality(v_keys) < c_some and v_after <> '' then
    v_keys := v_keys || array(
      select s.key from oncue.slots s where s.waiting and s.key <= v_after order by s.key limit c_some - cardinality(v_keys));
  end if;
  perform set_config('oncue.waiting_after', case when cardinality(v_keys) < c_some then '' else v_keys[c_some] end, false);
  for v_slot in select * from oncue.slots s where s.key = any (v_keys) for update skip locked loop
    v_limit := (
      select h.concurrency_limit from oncue.jobs h
      where h.concurrency_key = substr(v_slot.key, 3) and h.visible_at is null and h.status = 'pending' limit 1);
    select r.room into v_room from oncue.room(p_now, v_slot, v_limit) r;
    -- Also runs of queues that are paused or have no worker: no claim would find them there.
    if v_room = 0 and oncue.free_overdue(p_now, v_slot, true) then
      select r.room into v_room from oncue.room(p_now, v_slot, v_limit) r;
    end if;
    if v_room > 0 then
      perform oncue.promote(p_now, p_now, v_slot.key, v_room, null);
    end if;
  end loop;
end $$;

create function oncue.text_option(p_path text, p_value jsonb, p_max integer, p_choices text[] default null) returns text
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
begin
  if v_text is null then return null; end if;
  if jsonb_typeof(p_value) = 'string' and v_text <> '' and (length(v_text) <= p_max or v_text = any (p_choices)) then
    return v_text;
  end if;
  perform oncue.refuse('INVALID_INPUT', format('%s must be %s, not %s', p_path,
      coalesce('one of ' || array_to_string(p_choices, ', '), format('a string of 1 to %s characters', p_max)),
      left(p_value::text, 60)),
    'Correct the field named in the message.');
end $$;

create function oncue.wake(p_now timestamptz, p_id uuid) returns void
  language plpgsql
as $$
declare
  v_queue text;
begin
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find it.
  update oncue.jobs j set
    status = 'pending', run_at = p_now, visible_at = p_now, updated = p_now, waits = '{"for":[]}'
  where j.id = p_id and j.waits is not null and (j.status = 'blocked' or j.status = 'pending' and j.visible_at > p_now)
    and exists (
      select from json_to_recordset(j.waits -> 'for') as w(kind text, name text, key text, after integer)
      where w.kind = 'signal' and exists (
          select from oncue.outcomes o
          where o.job_id = p_id and o.seq > w.after and o.kind = 'signal' and o.name = w.name)
        or w.kind = 'ask' and exists (select from oncue.outcomes o where o.job_id = p_id and o.key = 'ask:' || w.name)
        or w.kind = 'children' and exists (select from oncue.outcomes o where o.job_id = p_id and o.key = w.key))
  returning j.queue into v_queue;
  if found then
    perform pg_notify('oncue', v_queue);
  end if;
end $$;

create function oncue.wake_parents(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_parents uuid[];
  v_waits text[];
  v_over record;
begin
  with met as (
    delete from oncue.child_waits w where w.child_id = any (p_ids) returning w.parent_id, w.wait
  )
  select array_agg(m.parent_id), array_agg(m.wait) into v_parents, v_waits
    from (select distinct m.parent_id, m.wait from met m) m;
  if v_parents is null then return; end if;
  for v_over in
    select m.parent_id, m.wait from unnest(v_parents, v_waits) as m(parent_id, wait)
    where exists (select from oncue.jobs j where j.id = any (array[m.parent_id]))
      and not exists (select from oncue.child_waits w where w.parent_id = m.parent_id and w.wait = m.wait)
  loop
    perform oncue.record_children(p_now, v_over.parent_id, v_over.wait);
    perform oncue.wake(p_now, v_over.parent_id);
  end loop;
end $$;

-- The SQL API, by these names. It calls the newest set that is installed.

create or replace function oncue.enqueue(topic text, payload json, options json default '{}') returns uuid
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select oncue.enqueue_one(topic, payload, options) $$;

create or replace function oncue.enqueue_jobs(p_now timestamptz, p_jobs json)
  returns table (n integer, job_id uuid, outcome text)
  language plpgsql
  set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query select * from oncue.enqueue_keyed(p_now, p_jobs);
end $$;

create or replace function oncue.link_jobs(p_now timestamptz, p_ids uuid[]) returns void
  language sql volatile
  set search_path = pg_catalog, pg_temp
  as $$ select oncue.link(p_now, p_ids) $$;
