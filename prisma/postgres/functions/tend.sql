-- Handles what settles cannot see at the moment they happen. Idempotent; every worker calls it in its poll, one at a
-- time: a second one would have nothing to add. It skips locked rows and leaves them for the next poll, and takes
-- its locks in the order of a settle: dependants, then slots. Parents come last, share-locked, and nothing is
-- waited for after them: a job in the middle of a chain is both, and must not be share-locked first and changed later.
create function oncue.tend(p_now timestamptz) returns void
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_parents uuid[];
  v_completed uuid[];
  v_other uuid[];
  v_gone uuid[];
  v_busy uuid[];
  v_live uuid[];
  v_failed uuid[];
  v_edges tid[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  if not pg_try_advisory_xact_lock('oncue.deps'::regclass::int, 0) then return; end if;

  -- A parent may have ended after an edge to it was written and before it was committed: then neither
  -- saw the other. So each edge is checked again. A parent that was deleted meanwhile did not complete,
  -- and cannot be requeued: there is nothing to wait for.
  v_parents := array(
    select distinct d.parent_id from (select u.parent_id from oncue.deps u where not u.checked limit 1000) d);
  if cardinality(v_parents) > 0 then
    v_completed := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text = 'completed');
    v_other := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text <> 'completed');
    v_gone := array(
      select p.id from unnest(v_parents) as p(id)
      except select j.id from oncue.jobs j where j.id = any (v_parents)
      except select h.id from oncue.history h where h.id = any (v_parents));
    if cardinality(v_completed || v_other || v_gone) > 0 then
      v_busy := oncue.lock_dependants(v_completed || v_gone, v_other);
      v_completed := array(select unnest(v_completed) except select unnest(v_busy));
      v_other := array(select unnest(v_other) except select unnest(v_busy));
      v_gone := array(select unnest(v_gone) except select unnest(v_busy));
      perform oncue.release_dependants(v_now, v_completed, true);
      update oncue.deps d set policy = 'stop' where d.parent_id = any (v_gone) and d.policy = 'wait';
      perform oncue.release_dependants(v_now, v_other || v_gone, false, true);
    end if;
  end if;

  if exists (select from oncue.children c where c.orphaned) then
    perform oncue.release_dependants(v_now, oncue.cancel_orphans(v_now), false);
  end if;

  perform oncue.tend_slots(v_now);

  if exists (select from oncue.signals) then
    perform oncue.deliver(v_now);
  end if;

  -- A live parent whose row is not being deleted at this moment: a transaction that ends it from now on sees the edge.
  if cardinality(v_parents) > 0 then
    v_live := array(
      select l.id from (select j.id from oncue.jobs j where j.id = any (v_parents) for key share skip locked) l);
    -- The same for one that did not complete: a transaction that requeues or removes it from now on sees the edge.
    v_failed := array(
      select l.id from (
        select h.id from oncue.history h where h.id = any (v_other) and h.status::text <> 'completed'
        for key share skip locked) l);
    v_edges := array(
      select e.ctid from oncue.deps e
      -- Behind a parent that did not complete, only edges that wait for its requeue. Any other edge was committed
      -- after the release above and is left to the next poll.
      where not e.checked and (e.parent_id = any (v_live) or e.parent_id = any (v_failed) and e.policy = 'wait')
      for update skip locked);
    update oncue.deps d set checked = true where d.ctid = any (v_edges);
  end if;
end $$;
