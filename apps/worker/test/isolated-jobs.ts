import { once } from 'node:events'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { defineJobs, defineWorkers, type JobContext, job, PermanentError, Snooze } from '@oncue/core'
import { nap } from '@oncue/testing'
import { z } from 'zod'

/** How often this process has set the module up. */
let setups = 0
export function setup(): void {
  setups += 1
}
/** The file to which a job wants the close of the module reported. */
let closed: string | undefined
export async function close(): Promise<void> {
  if (closed) await writeFile(closed, 'closed')
}

export class RateLimited extends Error {
  readonly code = 'E429'
}

const isolated = (isolate: boolean | { memoryMb?: number; env?: string[] } = true) =>
  job({ input: z.unknown(), isolate })

const jobs = defineJobs({
  doubles: job({
    input: z.object({ n: z.string().transform(Number) }),
    output: z.object({ doubled: z.number(), pid: z.number() }),
    isolate: true,
  }),
  measures: job({ input: z.unknown(), progress: z.object({ done: z.number() }), isolate: true }),
  fails: job({ input: z.unknown(), isolate: true, retry: { retryOn: [RateLimited] } }),
  permanent: isolated(),
  snoozes: isolated(),
  map: isolated(),
  charges: isolated(),
  retries_step: isolated(),
  pauses_step: isolated(),
  ready: isolated(),
  environment: isolated(),
  named_environment: isolated({ env: ['ONCUE_TEST_KEY'] }),
  exits: job({ input: z.unknown(), isolate: true, retry: { retryOn: [RateLimited] } }),
  throws_later: isolated(),
  hungry: isolated({ memoryMb: 32 }),
  spins: isolated(),
  waits: isolated(),
  everything: isolated(),
  sleeps: job({ input: z.unknown(), isolate: true, signals: { bank: z.object({ ok: z.boolean() }) } }),
  asks: isolated(),
  agent: isolated(),
  sleeps_twice: isolated(),
  holds: isolated(),
  late: isolated(),
  commits: isolated(),
  undoes: job({
    input: z.object({ file: z.string() }),
    isolate: true,
    retry: false,
    signals: { go: z.null() },
  }),
  local: job({ input: z.unknown() }),
})

const asked = ({ signal }: JobContext) => new Promise((resolve) => signal.addEventListener('abort', resolve))

// biome-ignore lint/style/noProcessEnv: what a child process gets is the question.
const environment = () => process.env

/** What a run tried after its end, for the next run in the same process to report. */
let refused: Promise<unknown> | undefined

export const workers = defineWorkers(jobs, {
  /** Notes what is undone in a file. One undo takes too long at first, one kills its process. */
  async undoes({ payload: { file } }, ctx) {
    const note = (what: string) => appendFile(file, `${what}\n`)
    let booked = 'nothing'
    await ctx.undo('unbook', () => note(`unbook ${booked}`))
    booked = await ctx.step('book', () => 'a seat')
    const crash = async () => {
      const isFirst = !(await readFile(file, 'utf8')).includes('crash')
      await note('crash')
      if (isFirst) process.exit(3)
    }
    await ctx.undo('crash', crash)
    let attempts = 0
    const slow = async (signal: AbortSignal) => {
      attempts += 1
      if (attempts === 1) await once(signal, 'abort')
      else await note(`slow ${attempts}, ${await ctx.sleep('again', 1).catch(({ code }) => code)}`)
    }
    await ctx.undo('slow', slow, { timeout: 100, retry: { strategy: 'fixed', baseDelay: 0 } })
    ctx.defer(() => note('released'))
    await ctx.receive('go')
  },

  doubles: ({ payload }) => ({ doubled: payload.n * 2, pid: process.pid }),
  fails: () => {
    throw new RateLimited('too many', { cause: new TypeError('429', { cause: 'the server' }) })
  },
  permanent: () => {
    throw new PermanentError('gone')
  },
  snoozes: () => {
    throw new Snooze(5_000)
  },
  map: () => new Map(),
  charges: async (_job, ctx) => {
    await ctx
      .step('charge', () => 1n as unknown)
      .catch((cause) => {
        throw new Error('could not charge', { cause })
      })
  },
  retries_step: async (_job, ctx) => {
    let attempts = 0
    const charge = () => {
      attempts += 1
      if (attempts === 1) throw new RateLimited('too many')
      return attempts
    }
    return ctx.step('charge', charge, { retry: { strategy: 'fixed', baseDelay: 0 } })
  },
  pauses_step: (_job, ctx) => {
    const charge = () => Promise.reject(new RateLimited('too many'))
    return ctx.step('charge', charge, { retry: { max: 1, strategy: 'fixed', baseDelay: 3_600_000 } })
  },
  environment,
  named_environment: environment,
  ready: ({ payload }) => {
    closed = (payload as { closed: string }).closed
    return setups
  },
  exits: () => process.exit(7),
  throws_later: () =>
    new Promise(() => {
      setImmediate(() => {
        throw new RangeError('nobody caught me')
      })
    }),
  hungry: () => {
    const kept: number[][] = []
    for (;;) kept.push(new Array(100_000).fill(kept.length))
  },
  spins: (_job, ctx) => {
    ctx.progress('spinning')
    for (;;);
  },
  measures: (_job, ctx) => {
    ctx.progress({ done: 1 })
    ctx.progress({ done: 'two' as never })
  },
  waits: async (_job, ctx) => {
    ctx.progress('waiting')
    await asked(ctx)
    throw ctx.signal.reason
  },
  everything: async (running, ctx) => {
    ctx.log.info('here', { error: new TypeError('odd') })
    ctx.progress({ pid: process.pid })
    await ctx.checkpoint({ page: 3 })
    await ctx.emit('tool_called', { tool: 'hammer' })
    const made = await ctx.step('charge', () => ctx.attempt)
    const child = await ctx.spawn('local', { from: running.id }, { runAt: new Date(Date.UTC(2030, 0, 1)) })
    const wrong = await ctx.enqueue('doubles', { n: 5 as never }).catch((error: Error) => error.message)
    if (ctx.attempt === 1) throw new Error('once more')
    return { made, child, wrong, cursor: running.cursor, created: running.created instanceof Date }
  },
  sleeps: async (_job, ctx) => {
    const first = await ctx.step('charge', () => process.pid)
    const nested = await ctx.step('nested', () => ctx.sleep('x', 5).catch((error) => error.code as string))
    await ctx.sleep('settle', '1h')
    const said = await ctx.receive('bank')
    return { isOther: first !== process.pid, nested, said }
  },
  holds: async ({ payload, run }, ctx) => {
    const { file } = payload as { file: string }
    ctx.defer(() => appendFile(file, `${run} first\n`))
    ctx.defer(() => Promise.reject(new Error('no matter')))
    ctx.defer(() => appendFile(file, `${run} last\n`))
    await ctx.step.each('half', [1, 2], (n) => n / 2, { concurrency: 2 })
    await ctx.sleep('settle', '1h')
    return ctx.step.each('half of', [3], (n) => n / 2)
  },
  commits: async (_job, ctx) => {
    const { commit, complete } = ctx as unknown as Record<string, () => Promise<unknown>>
    return Promise.all([commit, complete].map((call) => call?.().catch((error) => error.code as string)))
  },
  asks: async (_job, ctx) => {
    const even = z.number().refine((n) => n % 2 === 0)
    return { ...(await ctx.ask('approve', 'How many?', even)), pid: process.pid }
  },
  agent: async (_job, ctx) => {
    const todo = await ctx.plan('plan', () => ['a'])
    await ctx.node('node', () => 1)
    const called = await ctx.tool('search', { todo }, (args) => ({
      hits: args.todo.length,
      pid: process.pid,
    }))
    return called
  },
  sleeps_twice: async (_job, ctx) => {
    const first = ctx.sleep('first', '1h')
    // The worker hears of the first before it is asked for the second.
    await nap(100)
    await Promise.all([first, ctx.sleep('second', '1h')])
  },
  late: async (_job, ctx) => {
    const before = await refused
    // Not awaited, and refused: that must not end the process.
    void nap(50).then(() => void ctx.emit('forgotten'))
    // Runs after the end of this run.
    refused = nap(50).then(() => ctx.emit('too_late').catch((error) => error.code))
    return before ?? 'first'
  },
  local: () => process.pid,
})
