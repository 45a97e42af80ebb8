-- planner: none
-- Whether a live job of a batch or flow may still ask how this one of its jobs ended.
create function oncue.is_awaited(p_id uuid) returns boolean
  language sql stable
  return exists (
    select from oncue.flow_places f
    join oncue.flow_places w on w.flow_id = f.flow_id and w.after is not null and w.job_id <> f.job_id
    join oncue.jobs j on j.id = any (array[w.job_id])
    where f.job_id = p_id and f.kind in ('job', 'node'));
