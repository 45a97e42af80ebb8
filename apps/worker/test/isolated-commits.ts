import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  defineJobs,
  defineWorkers,
  type JobContext,
  job,
  PermanentError,
  type Transactions,
} from '@oncue/core'
import { openCommitService } from '@oncue/db/testing/commit-service'
import type { TransactionService } from '@oncue/db/testing/transactions'
import { until } from '@oncue/testing'
import { z } from 'zod'

// The modules of a service whose isolated handlers commit by any of the libraries.
/** Of a child process: database, library, dialect. */
export const VARIABLES = ['ONCUE_TEST_URL', 'ONCUE_TEST_HOST', 'ONCUE_TEST_DIALECT']

const isolate = { env: VARIABLES }
const input = z.object({ id: z.string(), file: z.string().optional() })
const plain = () => job({ input, isolate })

const jobs = defineJobs({
  remembers: job({ input, isolate, signals: { go: z.null() } }),
  throws: plain(),
  loses: plain(),
  dies: plain(),
  ends: job({ input, output: z.object({ booked: z.string() }), isolate }),
  ends_badly: plain(),
  ends_unawaited: plain(),
  ends_and_dies: plain(),
  ends_wrong: job({ input, output: z.object({ booked: z.string() }), isolate }),
  ends_early: plain(),
  is_undone: plain(),
  nests: plain(),
  survives: plain(),
  returns_much: plain(),
})

/** For libraries that are synchronous: no await before the end. */
const andThen = (ran: unknown, next: () => unknown): unknown =>
  typeof ran === 'object' && ran !== null && 'then' in ran ? Promise.resolve(ran).then(next) : next()

const codeOf = (error: unknown) => (error as { code?: string }).code

const die = () => {
  process.kill(process.pid, 'SIGKILL')
  // The signal may be delivered later.
  return new Promise<never>(() => {})
}

/** All libraries together take two seconds to load. */
async function openLibrary(url: string, name: string, dialect: string): Promise<TransactionService> {
  const { sqlite, postgres, close } = openCommitService(url)
  if (sqlite && name === 'better-sqlite3') {
    const run = (_: unknown, sql: string) => void sqlite.database.prepare(sql).run()
    return { transactions: sqlite.transactions as Transactions, run, close }
  }
  if (postgres && name === 'pg') {
    const run = (tx: unknown, sql: string) => (tx as typeof postgres.pool).query(sql)
    return { transactions: postgres.transactions as Transactions, run, close }
  }
  await close()
  const { transactionHosts } = await import('@oncue/db/testing/transactions')
  const host = transactionHosts.find((each) => each.name === name && each.dialect === dialect)
  if (!host) throw new Error(`no host ${name} on ${dialect}`)
  return host.open(url)
}

export async function openService(url: string, name: string, dialect: string) {
  const service = await openLibrary(url, name, dialect)
  // The compiler knows only one of the two modes; the other is refused at run time.
  const transactions = service.transactions as Transactions<unknown, 'async'>
  const insert = (tx: unknown, id: string) => service.run(tx, `insert into taken values ('${id}')`)
  /** Its rows and what comes next in one transaction. */
  const book = (id: string, next: () => unknown) => (tx: unknown) => andThen(insert(tx, id), next) as never
  const end = (ctx: JobContext, id: string, result: unknown, next: () => unknown = () => {}) => {
    const complete = ctx.complete as (tx: unknown, result: unknown) => Promise<void>
    return transactions.open((tx) =>
      andThen(insert(tx, id), () => {
        const completing = complete(tx, result)
        return transactions.mode === ('sync' as string) ? next() : completing.then(next)
      }),
    )
  }

  const workers = defineWorkers(
    jobs,
    {
      async remembers({ payload }, ctx) {
        const pid = await ctx.commit(
          'row',
          book(payload.id, () => process.pid),
        )
        const nothing = await ctx.commit(
          'nothing',
          book('second', () => undefined),
        )
        await ctx.receive('go')
        return { isOther: pid !== process.pid, nothing: nothing === undefined }
      },

      async throws({ payload }, ctx) {
        const refuse = () => {
          if (ctx.attempt === 1) throw new TypeError('no')
          return 'yes'
        }
        return ctx.commit('row', book(payload.id, refuse))
      },

      async loses({ payload: { id, file = '' } }, ctx) {
        ctx.progress('ready')
        await until(() => existsSync(file))
        return ctx
          .commit(
            'row',
            book(id, () => 1),
          )
          .catch(codeOf)
      },

      async dies({ payload }, ctx) {
        // Synchronous: no statement after it is sent.
        const crash = () => (ctx.attempt === 1 ? die() : ctx.attempt)
        return ctx.commit('row', book(payload.id, crash))
      },

      async ends({ payload: { id } }, ctx) {
        await ctx.step('before', () => 1)
        ctx.log.info('booking')
        await end(ctx, id, { booked: id })
        ctx.log.info('booked')
        return { booked: 'is ignored' }
      },

      async ends_badly({ payload: { id } }, ctx) {
        const refuse = () => {
          if (ctx.attempt === 1) throw new Error('no')
        }
        await end(ctx, id, { booked: id }, refuse).catch(() => {})
      },

      async ends_unawaited({ payload: { id } }, ctx) {
        let completing: unknown
        const rolledBack = transactions.open((tx) =>
          andThen(insert(tx, id), () => {
            completing = (ctx.complete as (tx: unknown) => Promise<void>)(tx)
            throw new Error('no')
          }),
        )
        await rolledBack.catch(() => {})
        await Promise.resolve(completing).catch(() => {})
      },

      async ends_and_dies({ payload: { id } }, ctx) {
        await end(ctx, id, ctx.attempt)
        return die()
      },

      async ends_wrong({ payload: { id } }, ctx) {
        await end(ctx, id, { booked: 5 })
        return { booked: id }
      },

      async ends_early({ payload: { id } }, ctx) {
        const slow = new AbortController()
        const step = ctx.step('slow', () => once(slow.signal, 'abort').then(() => 1))
        const child = ctx.spawn('ends', { id: 'child' })
        // It runs when its turn has come.
        await child
        const refused = await end(ctx, id, null).catch((error: Error) => `${codeOf(error)}: ${error.message}`)
        slow.abort()
        await step
        await end(ctx, id, refused)
      },

      async is_undone({ payload: { id } }, ctx) {
        await ctx.undo('unbook', () => {
          if (ctx.job.run !== 2) throw new Error(`undone by run ${ctx.job.run}`)
        })
        const refused = await end(ctx, id, null, () => {
          throw new PermanentError('sold out')
        }).catch((error: Error) => error)
        throw refused
      },

      async nests(_, ctx) {
        const codes: Record<string, unknown> = {}
        const within = {
          step: () => ctx.step('inner', () => 1),
          commit: () => ctx.commit('inner', () => 1),
          sleep: () => ctx.sleep('inner', 10),
          spawn: () => ctx.spawn('ends', { id: 'b' }),
          undo: () => ctx.undo('inner', () => {}),
          emit: () => ctx.emit('told'),
          checkpoint: () => ctx.checkpoint(1),
        }
        const pending: Promise<unknown>[] = []
        const callAll = (tx: unknown) => {
          for (const [name, call] of Object.entries(within))
            pending.push(
              call().catch((error) => {
                codes[name] = codeOf(error)
              }),
            )
          try {
            const complete = ctx.complete as (tx: unknown) => Promise<void>
            pending.push(
              complete(tx).catch((error) => {
                codes.complete = codeOf(error)
              }),
            )
          } catch (error) {
            codes.complete = codeOf(error)
          }
        }
        await ctx.commit('outer', callAll as never)
        await Promise.all(pending)
        codes.again = await ctx.commit('outer', () => 1).catch(codeOf)
        codes.used = await ctx.step('outer', () => 1).catch(codeOf)
        codes.name = await ctx.commit('', () => 1).catch(codeOf)
        codes.inStep = await ctx.step('a step', () => ctx.commit('in it', () => 1).catch(codeOf))
        return codes
      },

      async survives({ payload }, ctx) {
        const refuse = () => {
          throw new TypeError('no')
        }
        const failed = ctx.commit('row', book(payload.id, refuse))
        const said = await failed.catch(
          (error: Error) => `${error.name}: ${error.message}, ${error instanceof TypeError}`,
        )
        await ctx.sleep('rest', '1h')
        return said
      },

      async returns_much({ payload }, ctx) {
        await ctx.commit(
          'big',
          book(payload.id, () => 'x'.repeat(2 ** 21)),
        )
      },
    },
    { transactions },
  )
  return { ...service, workers }
}
