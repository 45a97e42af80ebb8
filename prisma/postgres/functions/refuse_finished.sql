-- For an insert of jobs whose ids may have been used before: raises an error if a job with one of these ids has finished.
-- A separate function sees rows that were committed while the insert waited for another transaction with the same id.
create function oncue.refuse_finished(p_ids uuid[]) returns void
  language plpgsql volatile
as $$
begin
  if exists (select from oncue.history h where h.id = any (p_ids)) then
    raise exception 'A job with one of these ids has finished' using errcode = 'OC005';
  end if;
end $$;
