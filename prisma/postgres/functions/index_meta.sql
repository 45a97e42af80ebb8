-- Writes the rows by which lists find a live job by its meta.
create function oncue.index_meta(p_id uuid) returns void
  language plpgsql
as $$
begin
  insert into oncue.job_meta (key, value, created, job_id)
  select e.key, e.value, j.created, j.id from oncue.jobs j, oncue.meta_entries(j.meta) e where j.id = p_id
  on conflict do nothing;
end $$;
