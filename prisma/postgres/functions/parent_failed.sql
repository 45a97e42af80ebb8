-- planner: none
create function oncue.parent_failed() returns json
  language sql immutable
  return '{"class":"ParentFailed","message":"A job that this one waits for did not complete",'
    '"code":"PARENT_FAILED","fingerprint":"PARENT_FAILED"}'::json;
