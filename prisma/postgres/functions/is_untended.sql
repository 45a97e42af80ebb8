-- planner: enable_seqscan = off, enable_bitmapscan = off, jit = off
-- Whether tend has something to do.
create function oncue.is_untended() returns boolean
  language plpgsql
as $$
begin
  return exists (select from oncue.deps d where not d.checked) or exists (select from oncue.slots)
    or exists (select from oncue.signals) or exists (select from oncue.children c where c.orphaned);
end $$;
