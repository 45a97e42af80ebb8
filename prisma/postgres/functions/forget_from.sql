-- Removes what was recorded for a finished job from an outcome on: also signals, which were sent to what is repeated now,
-- children, which live on alone, and questions without an answer that is kept.
create function oncue.forget_from(p_id uuid, p_seq integer) returns void
  language plpgsql
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
