-- Locks the job of a run that is about to spawn others. Returns `new`, `known` if this call was recorded before, or `stale`.
create function oncue.begin_spawn(p_id uuid, p_run integer, p_worker uuid, p_key text) returns text
  language plpgsql
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
