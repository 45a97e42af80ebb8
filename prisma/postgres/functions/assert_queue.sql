-- Refuses a key that a job of another queue has, live or finished. Does not name the job, which the caller may not see.
create function oncue.assert_queue(p_id uuid, p_queue text) returns void
  language plpgsql
as $$
begin
  if exists (select from oncue.jobs j where j.id = p_id and j.queue <> p_queue)
    or exists (select from oncue.history h where h.id = p_id and h.queue <> p_queue) then
    raise exception 'A job in another queue has this key, and the caller may not enqueue into that queue'
      using errcode = 'OC004';
  end if;
end $$;
