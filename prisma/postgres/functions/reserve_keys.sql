-- Calls that take the same keys in different orders would deadlock, and a key may change hands
-- while its row is waited for, so row locks alone give no order. So calls with several keys, and calls that replace,
-- exclude each other by an advisory lock for each key, taken in order; beyond 64 keys by one of 512, because the lock
-- table of a server is small. A call with one key that does not replace waits only for that key.
--
-- Then a call with more than one key reserves all of them: free ones as rows that have expired already, then,
-- because a settle too locks the job before its key, the jobs that it may replace, then the keys that it may take over.
-- A free key of a job that has no other key is not reserved but taken at once.
--
-- `reserved`: the id under which keys are reserved; null: none are. `taken`: the jobs that have their key. `all_taken`:
-- no job is left.
create function oncue.reserve_keys(p_now timestamptz, p_jobs json, out reserved uuid, out taken uuid[], out all_taken boolean)
  language plpgsql
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
