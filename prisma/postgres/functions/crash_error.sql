-- planner: none
-- p_ending is the error with which a job that was being undone would have ended.
create function oncue.crash_error(p_topic text, p_ending json default null) returns json
  language sql immutable
  return json_strip_nulls(json_build_object('class', 'WorkerCrashed', 'code', 'WORKER_CRASHED',
    'fingerprint', 'WORKER_CRASHED:' || p_topic,
    'message', 'The worker that ran this job crashed or lost its lease',
    'causes', case when p_ending is not null then json_build_array(p_ending::jsonb - 'causes' - 'fingerprint') end));
