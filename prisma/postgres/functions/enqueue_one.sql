-- The work of the SQL API `oncue.enqueue`: prepareJob of packages/core for callers without packages/core. Options that
-- are absent come from the definition that the topic's workers announced. The worker checks the payload against its
-- schema. An option that is null counts as absent.
create function oncue.enqueue_one(p_topic text, p_payload json, p_options json) returns uuid
  language plpgsql
as $$
declare
  v_now constant timestamptz := oncue.clock();
  v_payload constant text := coalesce(p_payload::text, 'null');
  v jsonb;
  v_meta text;
  v_unique jsonb;
  v_after jsonb;
  v_policy json;
  v_queue text;
  v_retry record;
  v_max_retries bigint;
  v_run_at timestamptz;
  v_delay bigint;
  v_concurrency_key text;
  v_concurrency_limit bigint;
  v_on_conflict text;
  v_job json;
  v_made record;
  v_parents uuid[];
  v_on_parent_failure text;
begin
  perform oncue.check_name('topic', p_topic);
  perform oncue.check_payload(v_payload, 'payload', {{limits.payloadBytes}});
  perform oncue.check_payload(p_options::text, 'options');
  begin
    v := coalesce(p_options::jsonb, '{}');
  exception when data_exception then
    -- Such as 1e-20000.
    perform oncue.refuse('INVALID_INPUT', 'options: ' || sqlerrm, 'Correct the value named in the message.');
  end;
  v_meta := p_options ->> 'meta';
  v_unique := nullif(v -> 'unique', 'null');
  v_after := nullif(v -> 'after', 'null');
  perform oncue.check_fields('options', v, array['queue', 'priority', 'retry', 'timeoutMs', 'runAt', 'delay', 'maxRetries',
    'unique', 'idempotencyKey', 'concurrencyKey', 'concurrencyLimit', 'after', 'onParentFailure', 'parentId', 'trace', 'meta']);
  select t.policy into v_policy from oncue.topics t where t.topic = p_topic;

  v_queue := coalesce(oncue.text_option('options.queue', v -> 'queue', {{limits.queueLength}}), v_policy ->> 'queue', '{{defaults.queue}}');
  perform oncue.check_name('queue', v_queue);
  v_retry := oncue.retry_option(v -> 'retry');
  v_max_retries := oncue.integer_option('options.maxRetries', v -> 'maxRetries', 0, {{limits.maxRetries}});
  if v_max_retries is not null and v_retry.max_retries is not null then
    perform oncue.refuse('INVALID_INPUT', 'options.maxRetries and options.retry.max cannot be combined', 'Send one of them.');
  end if;
  v_run_at := oncue.run_at_option(v -> 'runAt');
  v_delay := oncue.integer_option('options.delay', v -> 'delay', 0, {{limits.delayMs}});
  if v_run_at is not null and v_delay is not null then
    perform oncue.refuse('INVALID_INPUT', 'options.runAt and options.delay cannot be combined', 'Send one of them.');
  end if;
  v_concurrency_key := oncue.text_option('options.concurrencyKey', v -> 'concurrencyKey', {{limits.keyLength}});
  v_concurrency_limit := oncue.integer_option('options.concurrencyLimit', v -> 'concurrencyLimit', 1, {{limits.concurrencyLimit}});
  if v_concurrency_limit is not null and v_concurrency_key is null then
    perform oncue.refuse('INVALID_INPUT', 'options.concurrencyLimit needs options.concurrencyKey', 'Send both, or neither.');
  end if;
  if v_unique is not null then
    perform oncue.check_fields('options.unique', v_unique, '{key,scope,within,onConflict,ifRunning}');
    if v_unique ->> 'key' is null then
      perform oncue.refuse('INVALID_INPUT', 'options.unique.key is missing', 'Send a string of 1 to {{limits.keyLength}} characters.');
    end if;
    v_on_conflict := coalesce(
      oncue.text_option('options.unique.onConflict', v_unique -> 'onConflict', 0, '{existing,replace,reject}'), 'existing');
    if v_unique ->> 'ifRunning' is not null and v_on_conflict <> 'replace' then
      perform oncue.refuse('INVALID_INPUT', 'options.unique.ifRunning needs onConflict: replace', 'Send both, or neither.');
    end if;
    -- A payload is valid only for the schema of its own topic.
    if v_unique ->> 'scope' = 'all' and v_on_conflict = 'replace' then
      perform oncue.refuse('INVALID_INPUT', 'options.unique: a key with scope all cannot replace, because its job may be of another topic',
        'Use the scope topic, or another onConflict.');
    end if;
  end if;
  if v_meta is not null then
    if jsonb_typeof(v -> 'meta') <> 'object' then
      perform oncue.refuse('INVALID_INPUT', 'options.meta must be an object', 'Correct the field named in the message.');
    end if;
    perform oncue.check_payload(v_meta, 'meta', {{limits.metaBytes}});
  end if;
  if v_after is not null then
    if jsonb_typeof(v_after) <> 'array' or jsonb_array_length(v_after) > {{limits.parents}} then
      perform oncue.refuse('INVALID_INPUT', 'options.after must be a list of at most {{limits.parents}} job ids', 'Correct the field named in the message.');
    end if;
    if v_after @> '[null]' then
      perform oncue.refuse('INVALID_INPUT', 'options.after must be a job id, not null', 'Omit null ids.');
    end if;
    v_parents := array(select distinct oncue.job_id_option('options.after', a) from jsonb_array_elements(v_after) as a);
  end if;
  v_on_parent_failure := coalesce(
    oncue.text_option('options.onParentFailure', v -> 'onParentFailure', 0, '{wait,stop,go_on,cancel}'), 'wait');

  v_job := json_build_object(
    'id', oncue.new_job_id(v_now),
    'queue', v_queue,
    'topic', p_topic,
    'payload', case when octet_length(v_payload) <= {{limits.inlineBytes}} then v_payload end,
    'big', case when octet_length(v_payload) > {{limits.inlineBytes}} then v_payload end,
    'priority', coalesce(oncue.integer_option('options.priority', v -> 'priority', {{limits.priorityMin}}, {{limits.priorityMax}}),
      (v_policy ->> 'priority')::bigint, {{defaults.priority}}),
    'max_retries', coalesce(v_max_retries, v_retry.max_retries, (v_policy ->> 'maxRetries')::bigint, {{defaults.maxRetries}}),
    'retry', coalesce(v_retry.retry, (v_policy -> 'retry')::jsonb),
    'timeout_ms', coalesce(oncue.integer_option('options.timeoutMs', v -> 'timeoutMs', 1, {{limits.timeoutMs}}),
      (v_policy ->> 'timeoutMs')::bigint, {{defaults.timeoutMs}}),
    'runAt', v_run_at,
    'delayMs', coalesce(v_delay, 0),
    'unique_key', oncue.text_option('options.unique.key', v_unique -> 'key', {{limits.keyLength}}),
    'unique_scope', nullif(oncue.text_option('options.unique.scope', v_unique -> 'scope', 0, '{topic,all}'), 'topic'),
    'uniqueMs', oncue.integer_option('options.unique.within', v_unique -> 'within', 1, {{limits.delayMs}}),
    'onConflict', v_on_conflict,
    'ifRunning', coalesce(oncue.text_option('options.unique.ifRunning', v_unique -> 'ifRunning', 0, '{wait,start}'), 'wait'),
    'onceKey', 'i:' || oncue.text_option('options.idempotencyKey', v -> 'idempotencyKey', {{limits.keyLength}}),
    'onceMs', {{limits.idempotencyMs}},
    'concurrency_key', v_concurrency_key,
    'concurrency_limit', case when v_concurrency_key is not null then coalesce(v_concurrency_limit, 1) end,
    'after', to_json(v_parents),
    'parent_id', oncue.job_id_option('options.parentId', v -> 'parentId'),
    'trace', oncue.text_option('options.trace', v -> 'trace', {{limits.traceLength}}),
    'meta', v_meta);
  select e.job_id, e.outcome into v_made from oncue.enqueue_keyed(v_now, json_build_array(v_job)) e;
  if v_made.outcome = 'created' and v_parents <> '{}' then
    insert into oncue.deps (job_id, parent_id, policy)
      select v_made.job_id, p, v_on_parent_failure from unnest(v_parents) as p on conflict do nothing;
    perform oncue.link(v_now, array[v_made.job_id]);
    -- If a parent ends before this is committed, only a poll finds the job: a worker that rests needs to poll.
    perform pg_notify('oncue', ':later');
  elsif coalesce(v_run_at <= v_now + interval '1 second', coalesce(v_delay, 0) = 0) then
    -- Idle workers are notified at the commit.
    perform pg_notify('oncue', v_queue);
  else
    -- A worker that rests needs to know when the job is due.
    perform pg_notify('oncue', ':later');
  end if;
  return v_made.job_id;
end $$;
