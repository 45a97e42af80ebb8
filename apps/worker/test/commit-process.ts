import { defineJobs, defineWorkers, job } from '@oncue/core'
import { openStore } from '@oncue/db'
import { insertOf, openCommitService } from '@oncue/db/testing/commit-service'
import { silentLogger } from '@oncue/runtime'
import { nap } from '@oncue/testing'
import { z } from 'zod'
import { startWorker } from '../src/index.ts'

// A worker whose handlers write rows of their own with their outcomes; made to be killed, so little is loaded.
const [url = '', aheadMs = '0'] = process.argv.slice(2)

const jobs = defineJobs({
  commit_row: job({ input: z.unknown(), retry: { max: 1_000 } }),
  complete_row: job({ input: z.unknown(), retry: { max: 1_000 } }),
})
const soon = () => nap(Math.random() * 3)

function workersOf({ postgres, sqlite }: ReturnType<typeof openCommitService>) {
  if (postgres)
    return defineWorkers(
      jobs,
      {
        async commit_row({ id, run }, ctx) {
          for (const name of ['one', 'two'])
            await ctx.commit(name, async (tx) => {
              await tx.query(insertOf(id, `step:${name}`, run))
              await soon()
              return run
            })
        },
        async complete_row({ id, run }, ctx) {
          await postgres.transactions.open(async (tx) => {
            await tx.query(insertOf(id, 'complete', run))
            await soon()
            await ctx.complete(tx, run)
          })
          await soon()
        },
      },
      { transactions: postgres.transactions },
    )
  if (!sqlite) throw new Error('no database')
  return defineWorkers(
    jobs,
    {
      async commit_row({ id, run }, ctx) {
        for (const name of ['one', 'two']) {
          await soon()
          await ctx.commit(name, (tx) => {
            tx.exec(insertOf(id, `step:${name}`, run))
            busy(Math.random() * 3)
            return run
          })
        }
      },
      async complete_row({ id, run }, ctx) {
        await soon()
        await sqlite.transactions.open((tx) => {
          tx.exec(insertOf(id, 'complete', run))
          busy(Math.random() * 3)
          void ctx.complete(tx, run)
        })
        await soon()
      },
    },
    { transactions: sqlite.transactions },
  )
}

/** Its transactions are synchronous. */
function busy(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

const clock = () => new Date(Date.now() + Number(aheadMs))
const store = await openStore(url, aheadMs === '0' ? {} : { clock })
await startWorker({
  store,
  workers: workersOf(openCommitService(url)),
  concurrency: 5,
  pollMs: 50,
  lease: 'inline',
  maintenance: false,
  log: silentLogger,
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
