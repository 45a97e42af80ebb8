-- planner: none
-- Makes a job that is about to be suspended wait for its children: p_waits as for suspend, of which those of the kind
-- `children` count. Its row is locked by the caller, and the statement that ends a child locks it too: so a child has ended before,
-- and is seen here, or it ends later, and sees the edges.
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
