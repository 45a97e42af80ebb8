-- planner: default
-- Public. Enqueues a job as part of the transaction, and returns its id: docs/guides/transactions.md.
create or replace function oncue.enqueue(topic text, payload json, options json default '{}') returns uuid
  language sql volatile
  as $$ select oncue.enqueue_one(topic, payload, options) $$;
