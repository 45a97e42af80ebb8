-- planner: none
-- Opens a question of a job whose row is locked by the caller. p_ask is {name, question, schema, role, delayMs, refuses,
-- reason}. A later run asks again, perhaps in other words: the latest stand, with the first end of the wait. An answer
-- that the handler refuses, by its number, is kept for the story and no longer answers. A question that has its answer
-- stays closed.
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
