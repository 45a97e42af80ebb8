-- The reverse of index_meta, for jobs that are about to be removed: their meta shows which rows are theirs.
create function oncue.forget_meta(p_ids uuid[]) returns void
  language plpgsql
as $$
begin
  delete from oncue.job_meta m using (
    select e.key, e.value, j.created, j.id from (
      select j.id, j.created, j.meta from oncue.jobs j where j.id = any (p_ids) and j.meta is not null
      union all
      select h.id, h.created, h.meta from oncue.history h where h.id = any (p_ids) and h.meta is not null
    ) j, oncue.meta_entries(j.meta) e offset 0
  ) g
  where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
    and m.job_id = any (array[g.id]);
end $$;
