-- Records the jobs that a run has spawned, in the transaction that stored them: p_spawned is a JSON array of
-- {key, id, hash, child, cancels}. The job's row is locked by the caller.
create function oncue.keep_spawned(p_now timestamptz, p_id uuid, p_key text, p_spawned json) returns void
  language plpgsql
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
