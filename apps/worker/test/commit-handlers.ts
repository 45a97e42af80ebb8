import { defineJobs, defineWorkers, job } from '@oncue/core'
import { type CommitService, insertOf, openCommitService } from '@oncue/db/testing/commit-service'
import { nap } from '@oncue/testing'
import { z } from 'zod'

/** What a child process gets of the environment. */
export const URL_VARIABLE = 'ONCUE_TEST_URL'

/** Handlers that write rows of their own with their outcomes; made to be killed, so little is loaded. */
export function commitWorkers(url: string, { isIsolated }: { readonly isIsolated: boolean }) {
  const service = openCommitService(url)
  return { workers: workersOf(service, isIsolated && { env: [URL_VARIABLE] }), close: () => service.close() }
}

function workersOf({ postgres, sqlite }: CommitService, isolate: false | { env: string[] }) {
  const jobs = defineJobs({
    commit_row: job({ input: z.unknown(), isolate, retry: { max: 1_000 } }),
    complete_row: job({ input: z.unknown(), isolate, retry: { max: 1_000 } }),
  })
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

const soon = () => nap(Math.random() * 3)
