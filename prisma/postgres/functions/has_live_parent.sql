-- planner: none
-- Whether a live job has spawned this one, and may still ask for its result.
create function oncue.has_live_parent(p_id uuid) returns boolean
  language sql stable
  return exists (
    select from oncue.children c join oncue.jobs j on j.id = any (array[c.parent_id]) where c.child_id = p_id);
