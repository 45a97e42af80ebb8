import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { openStore } from '../src/open.ts'
import { aJob, anError, claimOne, complete } from './conformance/harness.ts'
import { connectPostgres, createPostgresDatabase, type TestDatabase } from './support/index.ts'

/** More specific than the functions of Postgres, which take any type or any number of arguments. */
const BETTER = [
  'json_build_object(text, text)',
  'json_build_object(text, uuid)',
  'unnest(uuid[])',
  'unnest(text[])',
  'cardinality(uuid[])',
  'cardinality(text[])',
  'cardinality(tid[])',
  'array_length(uuid[], integer)',
  'to_json(text)',
  'jsonb_build_object(text, text)',
]

let database: TestDatabase
beforeEach(async () => {
  database = await createPostgresDatabase(inject('postgresUrl'))
  const guest = await connectPostgres(database.url)
  for (const signature of BETTER) {
    const returns = signature.startsWith('unnest') ? 'setof integer' : 'integer'
    await guest.query(
      `create function public.${signature} returns ${returns} language plpgsql
       as $$ begin raise exception 'a function of a guest was called'; end $$`,
    )
  }
  await guest.end()
})
afterEach(() => database.drop())

it('functions that another role has put into the schema public are not called', async () => {
  const store = await openStore(database.url)
  const ids = await store.enqueue([
    aJob({ unique: { key: 'a', onConflict: 'replace' }, meta: { a: 1 } }),
    aJob({ concurrencyKey: 'k' }),
    aJob({ idempotencyKey: 'b' }),
  ])
  await store.enqueue([aJob({ after: [ids[1] ?? ''] as never })])
  await store.settle([complete(await claimOne(store))])
  const { id, run } = await claimOne(store)
  await store.settle([{ kind: 'fail', id, run, error: anError }])
  await store.cancel(ids, { by: 'an admin' })
  await store.requeue(ids, { by: 'an admin' })
  await store.rescue()
  await store.rollUp()
  expect((await store.list({ meta: { a: 1 } })).items).toHaveLength(1)
  expect(await store.stats()).toBeDefined()
  await store.close()
})

it('nor are they by the SQL API, with the search path of its caller', async () => {
  const client = await connectPostgres(database.url)
  await client.query(`select oncue.enqueue('mail', '{}', '{"unique": {"key": "a"}, "meta": {"a": 1}}')`)
  await client.end()
})
