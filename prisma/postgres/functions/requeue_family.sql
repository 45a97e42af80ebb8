-- After jobs were put back: a live parent that waits for children waits for these again, a parent that failed because of
-- its children is put back too, unless it was undone: it would spawn these again, beside those that were put back. So are
-- the failed children of those that were.
create function oncue.requeue_family(p_now timestamptz, p_ids uuid[], p_by text) returns void
  language plpgsql
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
