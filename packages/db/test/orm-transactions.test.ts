import { MikroORM } from '@mikro-orm/postgresql'
import createKnex from 'knex'
import postgres from 'postgres'
import { DataSource } from 'typeorm'
import { describe, expect, test } from 'vitest'
import { fromKnex, fromMikroOrm, fromPostgresJs, fromTypeOrm } from '../src/queue/orm-transactions.ts'
import { createQueue } from '../src/queue/queue.ts'
import { jobs } from './support/queue-hosts.ts'

const NOWHERE = 'postgres://127.0.0.1:9/none'
const source = new DataSource({ type: 'postgres', url: NOWHERE })
const PAYMENT = { orderId: '456' }

describe('what is not in a transaction is refused, before anything is sent:', () => {
  test.each<[string, () => unknown, string]>([
    [
      'sql of postgres.js',
      () => fromPostgresJs(postgres(NOWHERE) as never),
      'the `sql` of postgres.js itself',
    ],
    ['knex', () => fromKnex(createKnex({ client: 'pg' }) as never), 'the Knex database itself'],
    ['the manager of a DataSource', () => fromTypeOrm(source.manager), 'a TypeORM manager outside'],
    [
      'the EntityManager of a MikroORM',
      () =>
        fromMikroOrm(
          new MikroORM({ clientUrl: NOWHERE, entities: [], discovery: { warnWhenNoEntities: false } }).em,
        ),
      'an EntityManager outside of a transaction',
    ],
  ])('%s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'UNSUPPORTED_TRANSACTION' }))
    expect(make).toThrow(message)
  })

  test("TypeORM's own objects as `tx`: a DataSource has a query too", async () => {
    const queue = createQueue({ jobs, transaction: async () => {} })
    for (const tx of [source, source.manager]) {
      const enqueued = queue.enqueue('check_payment', PAYMENT, { tx })
      await expect(enqueued).rejects.toThrow('pass fromTypeOrm(manager)')
    }
  })
})

test('a `transaction` that does not wait for its work is refused', async () => {
  const queue = createQueue({ jobs, transaction: async () => {} })
  await expect(queue.enqueue('check_payment', PAYMENT)).rejects.toThrow('`transaction` ended before its work')
})
