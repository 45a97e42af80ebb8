-- planner: none
-- Records that the children of a wait have all ended, with those of the parent that did not complete: what it says of
-- them stands, whatever becomes of them later. The parent's row is locked by the caller.
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
