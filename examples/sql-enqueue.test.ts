import { randomUUID } from 'node:crypto'
import { defineJobs, defineWorkers, job } from '@oncue/core'
import { openStore } from '@oncue/db'
import { createPostgresDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { silentLogger, startWorker } from '@oncue/worker'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { z } from 'zod'
import { blocksOf } from './markdown.ts'

test('the trigger of docs/guides/transactions.md wakes an idle worker, at the commit', async () => {
  const database = await createPostgresDatabase(inject('postgresUrl'))
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query('create table orders (id uuid primary key, paid boolean not null default false)')
  const [trigger] = blocksOf('docs/guides/transactions.md').filter(({ info }) => info === 'sql')
  await client.query(trigger?.code ?? '')

  const store = await openStore(database.url)
  const sent: { orderId: string; atMs: number }[] = []
  const jobs = defineJobs({
    send_receipt: job({ input: z.object({ orderId: z.uuid() }), queue: 'receipts', priority: 5 }),
  })
  const workers = defineWorkers(jobs, {
    send_receipt: ({ payload }) => void sent.push({ ...payload, atMs: performance.now() }),
  })
  const pollMs = 60_000
  const worker = await startWorker({ store, workers, pollMs, log: silentLogger })
  await worker.drain()

  const id = randomUUID()
  await client.query('insert into orders (id) values ($1)', [id])
  const pay = () => client.query('update orders set paid = true where id = $1', [id])
  await client.query('begin')
  await pay()
  await client.query('rollback')
  await client.query('begin')
  await pay()
  expect(sent).toEqual([])
  await client.query('commit')
  const committed = performance.now()
  await eventually(() => expect(sent).toMatchObject([{ orderId: id }]))
  expect((sent[0]?.atMs ?? 0) - committed).toBeLessThan(pollMs / 4)

  await client.query(`select oncue.enqueue('send_receipt', json_build_object('orderId', $1::uuid))`, [id])
  await eventually(() => expect(sent).toHaveLength(2))
  await expect.poll(() => store.stats()).toMatchObject({ completed: 2 })
  const { rows } = await client.query('select distinct queue, priority from oncue.history')
  expect(rows).toEqual([{ queue: 'receipts', priority: 5 }])
  await worker.stop()
  await store.close()
  await client.end()
  await database.drop()
})

test('the trigger of docs/guides/transactions.md calls no function of the role that fires it', async () => {
  const database = await createPostgresDatabase(inject('postgresUrl'))
  const client = new pg.Client(database.url)
  await client.connect()
  const role = `shop_${randomUUID().slice(0, 8)}`
  await client.query(`
    create table orders (id bigint primary key, paid boolean not null default false);
    create table stolen (by name);
    create role ${role} login; create schema ${role} authorization ${role};
    grant select, update on orders to ${role}; insert into orders values (7)`)
  const [trigger] = blocksOf('docs/guides/transactions.md').filter(({ info }) => info === 'sql')
  await client.query(trigger?.code ?? '')

  const url = new URL(database.url)
  url.username = role
  const shop = new pg.Client(url.href)
  await shop.connect()
  await shop.query(`
    create function ${role}.steal() returns boolean language plpgsql as $$
    begin
      if current_user <> session_user then insert into public.stolen values (current_user); end if;
      return true;
    end $$;
    create domain pg_temp.jsonb as pg_catalog.jsonb check (${role}.steal());
    create function ${role}.jsonb_typeof(pg_catalog.jsonb) returns text language plpgsql as $$
    begin
      perform ${role}.steal();
      return pg_catalog.jsonb_typeof($1);
    end $$;
    set search_path = ${role}, pg_catalog, public`)
  await shop.query('update public.orders set paid = true')
  const { rows } = await client.query(`
    select j.topic, k.key, (select count(*)::int from stolen) as stolen
    from oncue.jobs j join oncue.keys k on k.job_id = j.id`)
  expect(rows).toEqual([{ topic: 'send_receipt', key: 'i:7', stolen: 0 }])
  await shop.end()
  await client.query(`drop owned by ${role}; drop role ${role}`)
  await client.end()
  await database.drop()
})
