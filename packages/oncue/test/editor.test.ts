import { describe, expect, it } from 'vitest'
import { Editor } from './editor.ts'

const DEFINITIONS = `
import { createQueue, defineJobs, defineWorkers, job, type Store, startWorker } from 'oncue'
import { createClient } from 'oncue/client'
import { z } from 'zod'

declare const store: Store
const jobs = defineJobs({
  /** Sends the digest of a day. */
  mail_digest: job({
    input: z.object({ userId: z.string(), format: z.enum(['html', 'text']).optional() }),
    output: z.object({ sent: z.number() }),
    progress: z.object({ done: z.number() }),
    signals: { bank: z.object({ ok: z.boolean() }) },
    queue: 'mail',
    priority: 5,
    retry: { max: 5 },
  }),
  check_payment: job({ input: z.object({ orderId: z.string() }), cron: '@daily', cronPayload: { orderId: '' } }),
  tidy: job({ input: z.object({ days: z.number() }), output: z.object({ state: z.enum(['done', 'open']) }) }),
})
const queue = createQueue({ store, jobs })
const client = createClient({ url: '/', jobs })
`

const MISTAKES = {
  enqueue: [
    `queue.enqueue('mail_digest', {})`,
    `queue.enqueue('mail_digest', { userId: 1 })`,
    `queue.enqueue('mail_digest', { userId: '1', user: '1' })`,
    `queue.enqueue('mail_digest', { userId: '1', format: 'pdf' })`,
    `queue.enqueue('mail_digset', { userId: '1' })`,
    `queue.enqueue('mail_digest')`,
    `queue.enqueue('mail_digest', { userId: '1' }, { prio: 1 })`,
    `queue.enqueue('mail_digest', { userId: '1' }, { priority: 'high' })`,
    `queue.enqueue('mail_digest', { userId: '1' }, { tx: 'tx' })`,
    `queue.enqueueMany([{ topic: 'mail_digest', payload: {} }])`,
    `queue.enqueueMany([{ topic: 'mail_digest', payload: { userId: 1 } }])`,
    `queue.enqueueMany([{ topic: 'mail_digset', payload: { userId: '1' } }])`,
    `queue.enqueueMany([{ topic: 'mail_digest', payload: { userId: '1' }, prio: 1 }])`,
    `queue.batch([{ topic: 'tidy', payload: { days: 1 } }], { then: { topic: 'tidy', payload: {} } })`,
    `queue.flow({ nodes: { a: { topic: 'tidy', payload: { days: '1' } } } })`,
    `queue.flow({ nodes: { a: { topic: 'tidi', payload: { days: 1 } } } })`,
    `queue.signal('id', 'bank', { ok: 'yes' })`,
    `queue.signal('id', 'bank', {})`,
    `queue.signal('id', 'visa', { ok: true })`,
    `queue.signal('id', 'bank')`,
    `queue.signal('id', 'bank', { ok: true }, { by: 'me' })`,
  ],
  client: [
    `client.jobs.enqueue('mail_digest', {})`,
    `client.jobs.enqueue('mail_digest', { userId: 1 })`,
    `client.jobs.enqueue('mail_digset', { userId: '1' })`,
    `client.jobs.enqueue('mail_digest')`,
    `client.jobs.enqueue('mail_digest', { userId: '1' }, { prio: 1 })`,
    `client.jobs.enqueueMany([{ topic: 'mail_digest', payload: { userId: 1 } }])`,
    `client.jobs.enqueueMany([{ topic: 'mail_digset', payload: { userId: '1' } }])`,
    `client.jobs.chain(['mail_digest', { userId: 1 }], ['check_payment', { orderId: '1' }])`,
    `client.jobs.batch([{ topic: 'tidy', payload: { days: 1 } }], { then: { topic: 'tidy', payload: {} } })`,
    `client.jobs.flow({ nodes: { a: { topic: 'tidi', payload: { days: 1 } } } })`,
    `client.jobs.signal('id', 'bank', { ok: 'yes' })`,
    `client.jobs.signal('id', 'visa', { ok: true })`,
    `client.jobs.wait('id', { topic: 'mail_digset' })`,
    `client.schedules.save({ name: 'a', cron: '@daily', topic: 'mail_digest', payload: { userId: 1 } })`,
  ],
  handlers: [
    `defineWorkers(jobs, { async mail_digest() { return { sent: '1' } } })`,
    `defineWorkers(jobs, { mail_digest: async () => ({}) })`,
    `defineWorkers(jobs, { async tidy() { return { state: 'closed' } } })`,
    `defineWorkers(jobs, { async tidy() {} })`,
    `defineWorkers(jobs, { async mail_digset() { return { sent: 1 } } })`,
    `defineWorkers(jobs, { async check_payment({ payload }) { payload.order } })`,
    `defineWorkers(jobs, { async check_payment() {} }, { complete: true })`,
    `defineWorkers(jobs, { async check_payment() {} }, { complet: true })`,
    `defineWorkers(jobs, { async check_payment(_, ctx) { ctx.spawn('tidi', { days: 1 }) } })`,
    `defineWorkers(jobs, { async check_payment(_, ctx) { ctx.spawn('tidy', { days: '1' }) } })`,
    `defineWorkers(jobs, { async check_payment(_, ctx) { await ctx.receive('bank') } })`,
    `defineWorkers(jobs, { async mail_digest(_, ctx) { ctx.progress({ done: 'x' }); return { sent: 1 } } })`,
    `startWorker({ store, workers: defineWorkers(jobs, {}), queue: 'mail' })`,
  ],
  definitions: [
    `job({ input: z.object({}), qeue: 'mail' })`,
    `job({ input: z.object({}), priority: 'high' })`,
    `job({ input: 'text' })`,
    `job({ output: z.object({}) })`,
    `job({ input: z.object({}), retry: { strategy: 'exponentail' } })`,
    `job({ input: z.object({ n: z.number() }), cron: '@daily', cronPayload: { n: '1' } })`,
    `createQueue({ jobs, pool: 'pool' })`,
  ],
}

const USES = `
queue.enqueue('mail_digest', { userId: '1' }, { priority: 5 })
client.jobs.enqueue('mail_digest', { userId: '1' })
queue.signal('id', 'bank', { ok: true })
jobs.mail_digest
jobs.check_payment
const ref = client.jobs.enqueue('mail_digest', { userId: '1' })
const result = await client.jobs.wait(await ref)
defineWorkers(jobs, {
  async mail_digest({ payload }, ctx) {
    const received = await ctx.receive('bank')
    ctx.progress({ done: 1 })
    const child = ctx.spawn('tidy', { days: 1 })
    return { sent: payload.userId.length }
  },
})
`

// One program for all of it: what takes time is to read the packages.
const editor = new Editor([DEFINITIONS, USES, ...Object.values(MISTAKES).flat(), ''].join('\n'))
const mistakes = editor.mistakes()

/** As editors underline. Some lines are long; how long, TypeScript decides. */
const shown = (lines: readonly string[]) =>
  lines
    .map((line) => {
      const [found, ...more] = mistakes.filter((mistake) => mistake.line === line)
      if (!found || more.length > 0)
        throw new Error(`${more.length + Number(found !== undefined)} mistakes: ${line}`)
      const [first, ...rest] = found.message.split('\n')
      const indent = ' '.repeat(found.column)
      return [line, `${indent}${'~'.repeat(found.underlined.length)}`, first, ...rest].join('\n')
    })
    .join('\n\n')

describe('a mistake is underlined where it is, with a short message', () => {
  it('there is no other mistake, and none is said of a whole call or of overloads', () => {
    const lines = Object.values(MISTAKES).flat()
    expect(mistakes.filter(({ line }) => !lines.includes(line))).toEqual([])
    expect(mistakes.filter(({ message }) => message.includes('overload'))).toEqual([])
    expect(mistakes.filter(({ underlined, line }) => underlined === line)).toEqual([])
    expect(mistakes.filter(({ message }) => message.split('\n').length > 6)).toEqual([])
  })

  it('queue', () => {
    expect(shown(MISTAKES.enqueue)).toMatchInlineSnapshot(`
      "queue.enqueue('mail_digest', {})
                                   ~~
      Argument of type '{}' is not assignable to parameter of type '{ userId: string; format?: "html" | "text" | undefined; }'.
        Property 'userId' is missing in type '{}' but required in type '{ userId: string; format?: "html" | "text" | undefined; }'.

      queue.enqueue('mail_digest', { userId: 1 })
                                     ~~~~~~
      Type 'number' is not assignable to type 'string'.

      queue.enqueue('mail_digest', { userId: '1', user: '1' })
                                                  ~~~~
      Object literal may only specify known properties, and 'user' does not exist in type '{ userId: string; format?: "html" | "text" | undefined; }'.

      queue.enqueue('mail_digest', { userId: '1', format: 'pdf' })
                                                  ~~~~~~
      Type '"pdf"' is not assignable to type '"html" | "text" | undefined'.

      queue.enqueue('mail_digset', { userId: '1' })
                    ~~~~~~~~~~~~~
      Argument of type '"mail_digset"' is not assignable to parameter of type '"mail_digest" | "check_payment" | "tidy"'.

      queue.enqueue('mail_digest')
            ~~~~~~~
      Expected 2-3 arguments, but got 1.

      queue.enqueue('mail_digest', { userId: '1' }, { prio: 1 })
                                                      ~~~~
      Object literal may only specify known properties, and 'prio' does not exist in type 'EnqueueOptions & EnqueueIn'.

      queue.enqueue('mail_digest', { userId: '1' }, { priority: 'high' })
                                                      ~~~~~~~~
      Type 'string' is not assignable to type 'number'.

      queue.enqueue('mail_digest', { userId: '1' }, { tx: 'tx' })
                                                      ~~
      Type 'string' is not assignable to type 'Transaction | undefined'.

      queue.enqueueMany([{ topic: 'mail_digest', payload: {} }])
                                                 ~~~~~~~
      Type '{}' is not assignable to type '{ userId: string; format?: "html" | "text" | undefined; } | { orderId: string; } | { days: number; }'.

      queue.enqueueMany([{ topic: 'mail_digest', payload: { userId: 1 } }])
                                                            ~~~~~~
      Type 'number' is not assignable to type 'string'.

      queue.enqueueMany([{ topic: 'mail_digset', payload: { userId: '1' } }])
                           ~~~~~
      Type '"mail_digset"' is not assignable to type '"mail_digest" | "check_payment" | "tidy"'. Did you mean '"mail_digest"'?

      queue.enqueueMany([{ topic: 'mail_digest', payload: { userId: '1' }, prio: 1 }])
                                                                           ~~~~
      Object literal may only specify known properties, and 'prio' does not exist in type 'JobOf<"mail_digest", { userId: string; format?: "html" | "text" | undefined; }>'.

      queue.batch([{ topic: 'tidy', payload: { days: 1 } }], { then: { topic: 'tidy', payload: {} } })
                                                                                      ~~~~~~~
      Property 'days' is missing in type '{}' but required in type '{ days: number; }'.

      queue.flow({ nodes: { a: { topic: 'tidy', payload: { days: '1' } } } })
                                                           ~~~~
      Type 'string' is not assignable to type 'number'.

      queue.flow({ nodes: { a: { topic: 'tidi', payload: { days: 1 } } } })
                                 ~~~~~
      Type '"tidi"' is not assignable to type '"mail_digest" | "check_payment" | "tidy"'.

      queue.signal('id', 'bank', { ok: 'yes' })
                                   ~~
      Type 'string' is not assignable to type 'boolean'.

      queue.signal('id', 'bank', {})
                                 ~~
      Argument of type '{}' is not assignable to parameter of type '{ ok: boolean; }'.
        Property 'ok' is missing in type '{}' but required in type '{ ok: boolean; }'.

      queue.signal('id', 'visa', { ok: true })
                         ~~~~~~
      Argument of type '"visa"' is not assignable to parameter of type '"bank"'.

      queue.signal('id', 'bank')
            ~~~~~~
      Expected 3-4 arguments, but got 2.

      queue.signal('id', 'bank', { ok: true }, { by: 'me' })
                                                 ~~
      Object literal may only specify known properties, and 'by' does not exist in type 'SignalOptions'."
    `)
  })

  it('client', () => {
    expect(shown(MISTAKES.client)).toMatchInlineSnapshot(`
      "client.jobs.enqueue('mail_digest', {})
                                         ~~
      Argument of type '{}' is not assignable to parameter of type '{ userId: string; format?: "html" | "text" | undefined; }'.
        Property 'userId' is missing in type '{}' but required in type '{ userId: string; format?: "html" | "text" | undefined; }'.

      client.jobs.enqueue('mail_digest', { userId: 1 })
                                           ~~~~~~
      Type 'number' is not assignable to type 'string'.

      client.jobs.enqueue('mail_digset', { userId: '1' })
                          ~~~~~~~~~~~~~
      Argument of type '"mail_digset"' is not assignable to parameter of type '"mail_digest" | "check_payment" | "tidy"'.

      client.jobs.enqueue('mail_digest')
                  ~~~~~~~
      Expected 2-3 arguments, but got 1.

      client.jobs.enqueue('mail_digest', { userId: '1' }, { prio: 1 })
                                                            ~~~~
      Object literal may only specify known properties, and 'prio' does not exist in type 'EnqueueOptions & CallOptions'.

      client.jobs.enqueueMany([{ topic: 'mail_digest', payload: { userId: 1 } }])
                                                                  ~~~~~~
      Type 'number' is not assignable to type 'string'.

      client.jobs.enqueueMany([{ topic: 'mail_digset', payload: { userId: '1' } }])
                                 ~~~~~
      Type '"mail_digset"' is not assignable to type '"mail_digest" | "check_payment" | "tidy"'. Did you mean '"mail_digest"'?

      client.jobs.chain(['mail_digest', { userId: 1 }], ['check_payment', { orderId: '1' }])
                                          ~~~~~~
      Type 'number' is not assignable to type 'string'.

      client.jobs.batch([{ topic: 'tidy', payload: { days: 1 } }], { then: { topic: 'tidy', payload: {} } })
                                                                                            ~~~~~~~
      Property 'days' is missing in type '{}' but required in type '{ days: number; }'.

      client.jobs.flow({ nodes: { a: { topic: 'tidi', payload: { days: 1 } } } })
                                       ~~~~~
      Type '"tidi"' is not assignable to type '"mail_digest" | "check_payment" | "tidy"'.

      client.jobs.signal('id', 'bank', { ok: 'yes' })
                                         ~~
      Type 'string' is not assignable to type 'boolean'.

      client.jobs.signal('id', 'visa', { ok: true })
                               ~~~~~~
      Argument of type '"visa"' is not assignable to parameter of type '"bank"'.

      client.jobs.wait('id', { topic: 'mail_digset' })
                               ~~~~~
      Type '"mail_digset"' is not assignable to type '"mail_digest" | "check_payment" | "tidy" | undefined'. Did you mean '"mail_digest"'?

      client.schedules.save({ name: 'a', cron: '@daily', topic: 'mail_digest', payload: { userId: 1 } })
                                                                                          ~~~~~~
      Type 'number' is not assignable to type 'string'."
    `)
  })

  it('handlers', () => {
    expect(shown(MISTAKES.handlers)).toMatchInlineSnapshot(`
      "defineWorkers(jobs, { async mail_digest() { return { sent: '1' } } })
                                  ~~~~~~~~~~~
      Type '() => Promise<{ sent: string; }>' is not assignable to type 'HandlerOf<"mail_digest", { userId: string; format?: "html" | "text" | undefined; }, { sent: number; }, JobContext<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { ...; }; ... 4 more ...; retry: { ...; }; }, ZodObject<...>, ZodObject<...>, NoInfer<{ ...;...'.
        Type 'Promise<{ sent: string; }>' is not assignable to type '{ sent: number; } | Promise<{ sent: number; }>'.
          Type 'Promise<{ sent: string; }>' is not assignable to type 'Promise<{ sent: number; }>'.
            Type '{ sent: string; }' is not assignable to type '{ sent: number; }'.
              Types of property 'sent' are incompatible.
                Type 'string' is not assignable to type 'number'.

      defineWorkers(jobs, { mail_digest: async () => ({}) })
                            ~~~~~~~~~~~
      Type '() => Promise<{}>' is not assignable to type 'HandlerOf<"mail_digest", { userId: string; format?: "html" | "text" | undefined; }, { sent: number; }, JobContext<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { ...; }; ... 4 more ...; retry: { ...; }; }, ZodObject<...>, ZodObject<...>, NoInfer<{ ...;...'.
        Type 'Promise<{}>' is not assignable to type '{ sent: number; } | Promise<{ sent: number; }>'.
          Type 'Promise<{}>' is not assignable to type 'Promise<{ sent: number; }>'.
            Property 'sent' is missing in type '{}' but required in type '{ sent: number; }'.

      defineWorkers(jobs, { async tidy() { return { state: 'closed' } } })
                                  ~~~~
      Type '() => Promise<{ state: "closed"; }>' is not assignable to type 'HandlerOf<"tidy", { days: number; }, { state: "done" | "open"; }, JobContext<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { sent: number; }; signals: { bank: { ok: boolean; }; }; progress: { ...; }; queue: "mail"; priority: 5; retry: { ...; }; }, ZodO...'.
        Type 'Promise<{ state: "closed"; }>' is not assignable to type '{ state: "done" | "open"; } | Promise<{ state: "done" | "open"; }>'.
          Type 'Promise<{ state: "closed"; }>' is not assignable to type 'Promise<{ state: "done" | "open"; }>'.
            Type '{ state: "closed"; }' is not assignable to type '{ state: "done" | "open"; }'.
              Types of property 'state' are incompatible.
                Type '"closed"' is not assignable to type '"done" | "open"'.

      defineWorkers(jobs, { async tidy() {} })
                                  ~~~~
      Type '() => Promise<void>' is not assignable to type 'HandlerOf<"tidy", { days: number; }, { state: "done" | "open"; }, JobContext<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { sent: number; }; signals: { bank: { ok: boolean; }; }; progress: { ...; }; queue: "mail"; priority: 5; retry: { ...; }; }, ZodO...'.
        Type 'Promise<void>' is not assignable to type '{ state: "done" | "open"; } | Promise<{ state: "done" | "open"; }>'.
          Type 'Promise<void>' is not assignable to type 'Promise<{ state: "done" | "open"; }>'.
            Type 'void' is not assignable to type '{ state: "done" | "open"; }'.

      defineWorkers(jobs, { async mail_digset() { return { sent: 1 } } })
                                  ~~~~~~~~~~~
      Object literal may only specify known properties, but 'mail_digset' does not exist in type 'Handlers<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { sent: number; }; signals: { bank: { ok: boolean; }; }; progress: { done: number; }; queue: "mail"; priority: 5; retry: { ...; }; }, ZodObject<...>, ZodObject<...>, NoInfer<{ ...; }>, NoInfer<ZodO...'. Did you mean to write 'mail_digest'?

      defineWorkers(jobs, { async check_payment({ payload }) { payload.order } })
                                                                       ~~~~~
      Property 'order' does not exist on type '{ orderId: string; }'. Did you mean 'orderId'?

      defineWorkers(jobs, { async check_payment() {} }, { complete: true })
                          ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      Argument of type '{ check_payment(): Promise<void>; }' is not assignable to parameter of type 'NoInfer<Handlers<{ readonly mail_digest: DefinedJob<{ input: { userId: string; format?: "html" | "text" | undefined; }; output: { sent: number; }; signals: { bank: { ok: boolean; }; }; progress: { done: number; }; queue: "mail"; priority: 5; retry: { ...; }; }, ZodObject<...>, ZodObject<...>, NoInfer<{ ...; }>, NoIn...'.
        Type '{ check_payment(): Promise<void>; }' is missing the following properties from type '{ readonly mail_digest: object; readonly check_payment: object; readonly tidy: object; }': mail_digest, tidy

      defineWorkers(jobs, { async check_payment() {} }, { complet: true })
                                                          ~~~~~~~
      Object literal may only specify known properties, but 'complet' does not exist in type '{ readonly complete?: false; readonly transactions?: undefined; }'. Did you mean to write 'complete'?

      defineWorkers(jobs, { async check_payment(_, ctx) { ctx.spawn('tidi', { days: 1 }) } })
                                                                    ~~~~~~
      Argument of type '"tidi"' is not assignable to parameter of type '"mail_digest" | "check_payment" | "tidy"'.

      defineWorkers(jobs, { async check_payment(_, ctx) { ctx.spawn('tidy', { days: '1' }) } })
                                                                              ~~~~
      Type 'string' is not assignable to type 'number'.

      defineWorkers(jobs, { async check_payment(_, ctx) { await ctx.receive('bank') } })
                                                                            ~~~~~~
      Argument of type '"bank"' is not assignable to parameter of type 'never'.

      defineWorkers(jobs, { async mail_digest(_, ctx) { ctx.progress({ done: 'x' }); return { sent: 1 } } })
                                                                       ~~~~
      Type 'string' is not assignable to type 'number'.

      startWorker({ store, workers: defineWorkers(jobs, {}), queue: 'mail' })
                                                             ~~~~~
      Object literal may only specify known properties, but 'queue' does not exist in type 'WorkerOptions'. Did you mean to write 'queues'?"
    `)
  })

  it('definitions', () => {
    expect(shown(MISTAKES.definitions)).toMatchInlineSnapshot(`
      "job({ input: z.object({}), qeue: 'mail' })
                                 ~~~~
      Object literal may only specify known properties, but 'qeue' does not exist in type 'JobConfig<ZodObject<{}, $strip>, ZodUnknown, Readonly<Record<never, never>>, ZodUnknown> & ShownOptions<...>'. Did you mean to write 'queue'?

      job({ input: z.object({}), priority: 'high' })
                                 ~~~~~~~~
      Type 'string' is not assignable to type 'number'.

      job({ input: 'text' })
            ~~~~~
      Type 'string' is not assignable to type 'Schema'.

      job({ output: z.object({}) })
          ~~~~~~~~~~~~~~~~~~~~~~~~
      Argument of type '{ output: z.ZodObject<{}, z.core.$strip>; }' is not assignable to parameter of type 'JobConfig<Schema, ZodObject<{}, $strip>, Readonly<Record<never, never>>, ZodUnknown> & ShownOptions<never, never, never, never, never>'.
        Property 'input' is missing in type '{ output: z.ZodObject<{}, z.core.$strip>; }' but required in type 'JobConfig<Schema, ZodObject<{}, $strip>, Readonly<Record<never, never>>, ZodUnknown>'.

      job({ input: z.object({}), retry: { strategy: 'exponentail' } })
                                          ~~~~~~~~
      Type '"exponentail"' is not assignable to type '"quadratic" | "exponential" | "exponential_jitter" | "fixed" | undefined'. Did you mean '"exponential"'?

      job({ input: z.object({ n: z.number() }), cron: '@daily', cronPayload: { n: '1' } })
                                                                               ~
      Type 'string' is not assignable to type 'number'.

      createQueue({ jobs, pool: 'pool' })
                          ~~~~
      Type 'string' is not assignable to type 'PoolHost'."
    `)
  })
})

describe('what an editor shows', () => {
  it('of a topic: its types, its options, its comment', () => {
    expect(editor.hover('{ ok: true })\njobs.')).toMatchInlineSnapshot(`
      "(property) mail_digest: DefinedJob<{
          input: {
              userId: string;
              format?: "html" | "text" | undefined;
          };
          output: {
              sent: number;
          };
          signals: {
              bank: {
                  ok: boolean;
              };
          };
          progress: {
              done: number;
          };
          queue: "mail";
          priority: 5;
          retry: {
              readonly max: 5;
          };
      }, z.ZodObject<{
          userId: z.ZodString;
          format: z.ZodOptional<z.ZodEnum<{
              html: "html";
              text: "text";
          }>>;
      }, z.core.$strip>, z.ZodObject<{
          sent: z.ZodNumber;
      }, z.core.$strip>, NoInfer<{
          ...;
      }>, NoInfer<z.ZodObject<...>>>
      — Sends the digest of a day."
    `)
  })

  it('of its handler: the same comment, what it gets and returns', () => {
    expect(editor.hover('defineWorkers(jobs, {\n  async ')).toMatchInlineSnapshot(`
      "(property) mail_digest?: HandlerOf<"mail_digest", {
          userId: string;
          format?: "html" | "text" | undefined;
      }, {
          sent: number;
      }, JobContext<{
          readonly mail_digest: DefinedJob<{
              input: {
                  userId: string;
                  format?: "html" | "text" | undefined;
              };
              output: {
                  sent: number;
              };
              signals: {
                  bank: {
                      ok: boolean;
                  };
              };
              progress: {
                  done: number;
              };
              queue: "mail";
              priority: 5;
              retry: {
                  readonly max: 5;
              };
          }, z.ZodObject<{
              userId: z.ZodString;
              format: z.ZodOptional<z.ZodEnum<{
                  html: "html";
                  text: "text";
              }>>;
          }, z.core.$strip>, z.ZodObject<{
              sent: z.ZodNumber;
          }, z.core.$strip>, NoInfer<{
              ...;
          }>, NoInfer<z.ZodObject<...>>>;
          readonly check_payment: DefinedJob<...>;
          readonly tidy: DefinedJob<...>;
      }, "mail_digest", undefined>> | undefined
      — Sends the digest of a day."
    `)
  })

  it('of calls: the types of one topic, and no definitions', () => {
    const calls = {
      'queue.enqueue': "'/', jobs })\n\n\nqueue.",
      'queue.signal': "{ priority: 5 })\nclient.jobs.enqueue('mail_digest', { userId: '1' })\nqueue.",
      'client.jobs.enqueue': '{ priority: 5 })\nclient.jobs.',
      'ctx.receive': 'received = await ctx.',
      'ctx.progress': "'bank')\n    ctx.",
      'ctx.spawn': 'child = ctx.',
      payload: 'async mail_digest({ ',
      ref: '\njobs.check_payment\nconst ',
      result: "{ userId: '1' })\nconst ",
      received: 'ctx) {\n    const ',
    }
    const shown = Object.values(calls).map((words) => editor.hover(words).replaceAll(/\n\s*/g, ' '))
    expect(shown.join('\n')).toMatchInlineSnapshot(`
      "(method) enqueue<"mail_digest">(topic: "mail_digest", payload: { userId: string; format?: "html" | "text" | undefined; }, options?: EnqueueOptions & EnqueueIn): Promise<JobId> — Returns the id of the job: the new one, or the one that holds its key already.
      (method) signal<"bank">(id: JobId, name: "bank", data: { ok: boolean; }, options?: SignalOptions): Promise<void> — Sends a signal to a live job, which waits for it with \`ctx.receive\`, or will: it is kept until then. Refused, before anything is written: UNKNOWN_SIGNAL, INVALID_SIGNAL, JOB_NOT_FOUND, JOB_FINISHED.
      (method) enqueue<"mail_digest">(topic: "mail_digest", payload: { userId: string; format?: "html" | "text" | undefined; }, options?: EnqueueOptions & CallOptions): Promise<JobRef<{ sent: number; }, { done: number; }>> — Returns the id. Retried if the connection fails; the job is stored once.
      (method) receive<"bank">(name: "bank", options?: { readonly timeout?: Duration | undefined; }): Promise<Received<{ ok: boolean; }>> — Waits for a signal that the topic's definition names, outside of the worker. Signals sent before are kept: each call takes the next one of its name. A second call while one is open is the same wait.
      (method) progress(value: { done: number; }): void — What people should see while the job runs, by the definition's \`progress\`, or any JSON. Written with the next heartbeat.
      (method) spawn<"tidy">(topic: "tidy", payload: { days: number; }, options?: SpawnOptions): Child<{ state: "done" | "open"; }> — Enqueues a child: a job whose \`parentId\` is this one, once for the whole job. A later run gets the same child: the call is known by its \`name\`, or else by its number among the calls with this topic. It must make the same payload then: SPAWN_CHANGED. Resolves with the id; for results, pass what it returns to \`ctx.all\`.
      (parameter) payload: { userId: string; format?: "html" | "text" | undefined; }
      const ref: Promise<JobRef<{ sent: number; }, { done: number; }>>
      const result: { sent: number; }
      const received: Received<{ ok: boolean; }>"
    `)
  })
})
