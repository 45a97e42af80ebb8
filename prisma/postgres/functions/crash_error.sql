-- planner: none
create function oncue.crash_error(p_topic text) returns json
  language sql immutable
  return json_build_object('class', 'WorkerCrashed', 'code', 'WORKER_CRASHED', 'fingerprint', 'WORKER_CRASHED:' || p_topic,
    'message', 'The worker that ran this job crashed or lost its lease');
