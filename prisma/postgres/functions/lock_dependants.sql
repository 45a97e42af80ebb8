-- Locks the dependants of ended parents, and the jobs that spawned these, if they are not locked by others, and returns
-- the ended ones of those that are. For a parent that did not complete, only the dependants that do not keep waiting for it.
create function oncue.lock_dependants(p_parents uuid[], p_unsuccessful uuid[]) returns uuid[]
  language plpgsql
as $$
declare
  v_ids constant uuid[] := array(
    select d.job_id from oncue.deps d where d.parent_id = any (p_parents)
    union
    select d.job_id from oncue.deps d where d.parent_id = any (p_unsuccessful) and d.policy <> 'wait'
    union
    select c.parent_id from oncue.children c where c.child_id = any (p_parents || p_unsuccessful));
  v_locked constant uuid[] := array(
    select j.id from oncue.jobs j where j.id = any (v_ids) order by j.id for update skip locked);
  v_left constant uuid[] := array(select unnest(v_ids) except select unnest(v_locked));
begin
  return array(
    select distinct d.parent_id from oncue.deps d
    where d.job_id = any (array(select j.id from oncue.jobs j where j.id = any (v_left)))
      and d.parent_id = any (p_parents || p_unsuccessful)
    union
    select c.child_id from oncue.children c
    where c.parent_id = any (array(select j.id from oncue.jobs j where j.id = any (v_left)))
      and c.child_id = any (p_parents || p_unsuccessful));
end $$;
