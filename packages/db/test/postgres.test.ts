import { inject } from 'vitest'
import { describeStore } from './conformance/index.ts'
import { borrowPostgresDatabase } from './support/index.ts'
import { transactions, withClient } from './support/postgres-transactions.ts'

describeStore({
  name: 'Postgres',
  createDatabase: () => borrowPostgresDatabase(inject('postgresUrl')),
  transactions,
  cutPresence: (url, worker) =>
    withClient(url, async (client) => {
      const { rowCount } = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncue presence ' || $1::text`,
        [worker],
      )
      if (rowCount !== 1) throw new Error(`found ${rowCount} presence connections of that worker`)
    }),
})
