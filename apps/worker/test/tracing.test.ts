import {
  Cancel,
  type EnqueueOptions,
  type JobContext,
  OncueError,
  PermanentError,
  prepareJob,
  type RunningJob,
  Snooze,
} from '@oncue/core'
import { context, trace as otel, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { currentTraceparent, tracing } from '../src/index.ts'
import { type Bench, describeBoth } from './harness.ts'

type Handler = (job: RunningJob, ctx: JobContext) => unknown

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN_ID = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`

/** Runs one job, and the jobs that it enqueues. */
async function run(bench: Bench, handler: Handler, options: EnqueueOptions = {}) {
  const store = await bench.open()
  const workers = { traced: handler, child: () => null }
  const worker = await bench.start({ store, workers, use: [tracing] })
  const [id = ''] = await store.enqueue([prepareJob('traced', null, { maxRetries: 0, ...options })])
  await worker.drain()
  return { store, id }
}

describeBoth('spans of runs', (bench) => {
  const exporter = new InMemorySpanExporter()
  beforeEach(() => {
    exporter.reset()
    otel.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    )
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterEach(() => {
    otel.disable()
    context.disable()
  })
  const spans = () => exporter.getFinishedSpans()

  it('name the job, by the conventions for messaging', async () => {
    const { id } = await run(bench, () => null, { queue: 'default' })
    expect(spans()).toMatchObject([
      {
        name: 'process traced',
        kind: SpanKind.CONSUMER,
        status: { code: SpanStatusCode.UNSET },
        parentSpanContext: undefined,
        attributes: {
          'messaging.system': 'oncue',
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.destination.name': 'default',
          'messaging.message.id': id,
          'oncue.topic': 'traced',
          'oncue.run': 1,
          'oncue.attempt': 1,
        },
      },
    ])
  })

  it('belong to the trace of the code that enqueued the job', async () => {
    await run(bench, () => null, { trace: TRACEPARENT })
    const [span] = spans()
    expect(span?.spanContext().traceId).toBe(TRACE_ID)
    expect(span?.parentSpanContext).toMatchObject({ spanId: SPAN_ID, isRemote: true, traceFlags: 1 })
  })

  it.each(['nonsense', `00-${'0'.repeat(32)}-${SPAN_ID}-01`, `ff-${TRACE_ID}-${SPAN_ID}-01`])(
    'begin a new trace when the job has none that is valid: %s',
    async (trace) => {
      await run(bench, () => null, { trace })
      expect(spans()).toMatchObject([{ parentSpanContext: undefined }])
    },
  )

  it('are active while the handler runs, and passed on to the jobs that it enqueues', async () => {
    const seen: (string | undefined)[] = []
    const { store } = await run(
      bench,
      async (_job, ctx) => {
        await new Promise(setImmediate)
        seen.push(currentTraceparent())
        await ctx.enqueue('child', null)
        await ctx.spawn('child', null)
      },
      { trace: TRACEPARENT },
    )
    const [own] = spans().filter((span) => span.name === 'process traced')
    const traceparent = `00-${TRACE_ID}-${own?.spanContext().spanId}-01`
    expect(seen).toEqual([traceparent])
    const { items } = await store.list({ topic: 'child' })
    const children = await Promise.all(items.map((item) => store.get(item.id)))
    expect(children.map((child) => child?.trace)).toEqual([traceparent, traceparent])
    const spansOfChildren = spans().filter((span) => span.name === 'process child')
    expect(spansOfChildren.map((span) => span.parentSpanContext?.spanId)).toEqual([
      own?.spanContext().spanId,
      own?.spanContext().spanId,
    ])
  })

  it('do not mix when several run at once', async () => {
    const store = await bench.open()
    const seen: (string | undefined)[] = []
    const workers = {
      async traced() {
        for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
        seen.push(currentTraceparent()?.split('-')[2])
      },
    }
    await store.enqueue(Array.from({ length: 20 }, () => prepareJob('traced', null)))
    const worker = await bench.start({ store, workers, use: [tracing] })
    await worker.drain()
    expect(new Set(seen)).toEqual(new Set(spans().map((span) => span.spanContext().spanId)))
    expect(seen).toHaveLength(20)
  })

  it.each<[string, unknown, string, string]>([
    ['an error', new TypeError('userId is missing'), 'TypeError', 'userId is missing'],
    ['a permanent error', new PermanentError('no such user'), 'PermanentError', 'no such user'],
    ['an error with a code', new OncueError('STORE_CLOSED', 'closed'), 'STORE_CLOSED', 'closed'],
    ['a value that is not an error', 'just a text', 'string', 'just a text'],
  ])('record %s', async (_, thrown, type, message) => {
    await run(bench, () => {
      throw thrown
    })
    const [span] = spans()
    expect(span).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message },
      attributes: { 'error.type': type },
    })
    expect(span?.events).toMatchObject([{ name: 'exception', attributes: { 'exception.message': message } }])
  })

  it.each<[string, Error]>([
    ['snooze', new Snooze(60_000)],
    ['cancel', new Cancel('not wanted')],
  ])('do not count a %s as an error', async (signal, thrown) => {
    await run(bench, () => {
      throw thrown
    })
    expect(spans()).toMatchObject([
      { status: { code: SpanStatusCode.UNSET }, events: [], attributes: { 'oncue.signal': signal } },
    ])
  })
})

describeBoth('without a tracer provider', (bench) => {
  it('jobs run as before, and keep the trace that they carry', async () => {
    const { store } = await run(bench, (_job, ctx) => ctx.spawn('child', null), { trace: TRACEPARENT })
    expect(currentTraceparent()).toBeUndefined()
    const [child] = (await store.list({ topic: 'child' })).items
    expect((await store.get(child?.id ?? ''))?.trace).toBe(TRACEPARENT)
  })
})
