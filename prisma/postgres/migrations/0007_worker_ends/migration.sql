-- Workers that stopped or were found dead, and what they held.
-- needs: 0002_on_call

create table oncue.worker_ends (
  id          uuid not null,
  host        text not null,
  pid         integer not null,
  queues      jsonb not null,
  concurrency integer not null,
  version     text not null,
  started_at  timestamptz(3) not null,
  last_beat   timestamptz(3) not null,
  ended_at    timestamptz(3) not null,
  how         text not null,
  released    integer not null,
  failed      integer not null,
  -- [{id, queue, topic, run, outcome}, …], the first 100
  runs        json not null,
  constraint worker_ends_pkey primary key (id),
  constraint worker_ends_how check (how in ('stopped', 'lost'))
);
create index worker_ends_at on oncue.worker_ends (ended_at, id);
