import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import {
  type EnqueueOptions,
  isJobId,
  isOncueError,
  type JobId,
  type NewJob,
  OncueError,
  prepareJob,
} from '@oncue/core'
import { readPolicy, type TopicPolicy } from '@oncue/core/internal'
import { openStore, type Store } from '@oncue/db'
import { count, type Output, toDuration, toWhole } from '@oncue/db/cli'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { type Meta, toJson, toMeta, toMoment } from './arguments.ts'
import { payloadChecker } from './check-payload.ts'
import { type Call, implement, withProgress } from './command.ts'

interface Options {
  readonly queue?: string
  readonly priority?: number
  readonly delay?: number
  readonly at?: Date
  readonly maxRetries?: number
  readonly timeout?: number
  readonly unique?: string
  readonly idempotencyKey?: string
  readonly concurrencyKey?: string
  readonly concurrencyLimit?: number
  readonly after?: JobId[]
  readonly meta?: Meta
  readonly lines?: true
}

const BATCH = 1_000

export function addEnqueue(program: Command): void {
  const command = program
    .command('enqueue')
    .summary('add a job')
    .description('add a job; queue, retries and timeout default to what a worker announced for the topic')
    .argument('<topic>', 'what kind of job')
    .addArgument(new Argument('[payload]', 'JSON, or - to read standard input').default('{}', '{}'))
    .option('--queue <queue>', 'the queue it waits in')
    .option('--priority <number>', 'higher runs first', toWhole(-32_768, 32_767))
    .option('--delay <time>', 'start after this time: 30s, 5m', toDuration)
    .option('--at <time>', 'start at or after: 2026-01-31T09:00:00Z', toMoment)
    .option('--max-retries <number>', 'instead of ONCUE_RETRY_MAX, or 3', toWhole(0, 1_000))
    .option('--timeout <time>', 'how long a run may take', toDuration)
    .option('--unique <key>', 'allow at most one live job of the topic with this key')
    .option('--idempotency-key <key>', 'the same call for the topic within a day returns the same id')
    .option('--concurrency-key <key>', 'jobs that share it share a limit')
    .option('--concurrency-limit <number>', 'how many of them run at once (default: 1)', toWhole(1, 32_767))
    .option('--after <id>', 'wait until this job has completed; repeat to wait for several', toIds)
    .option('--meta <name=value>', 'for filters; may be repeated', toMeta)
    .option('--lines', 'read one payload per line from standard input')
  implement<Options>(
    command,
    [
      `mail_digest '{"userId":"123"}'`,
      `check_payment '{"orderId":"456"}' --delay 15m --queue high`,
      'import_row --lines < rows.ndjson',
    ],
    enqueue,
  )
}

async function enqueue(call: Call<Options>): Promise<Output> {
  const topic = String(call.args[0])
  return withProgress('enqueueing', async (say) => {
    const store = await openStore(call.url, { schema: call.schema, poolSize: 2 })
    try {
      const announced = await announcedPolicy(store, topic)
      const options = toOptions(call, announced ?? {})
      const check = announced ? await payloadChecker(store, call.note) : () => {}
      const prepare = (payload: unknown) => {
        check(topic, payload)
        return prepareJob(topic, payload, options, announced)
      }
      const ids: JobId[] = []
      for await (const jobs of prepared(call, prepare)) {
        ids.push(...(await store.enqueue(jobs)))
        say(count(ids.length, 'job'))
      }
      if (!announced) call.note(`note: no worker has announced the topic ${topic} yet`)
      return call.options.lines
        ? { text: `${count(ids.length, 'job')} enqueued`, json: { ids } }
        : { text: String(ids[0]), json: { id: ids[0] } }
    } finally {
      await store.close()
    }
  })
}

/** In batches, so that a file of any size needs the memory of one. Batches before an invalid line are enqueued. */
async function* prepared(
  { options: { lines }, args }: Call<Options>,
  prepare: (payload: unknown) => NewJob,
): AsyncGenerator<NewJob[]> {
  if (!lines) {
    const payload = args[1] === '-' ? await text(process.stdin) : String(args[1])
    yield [prepare(readPayload(payload, 'payload'))]
    return
  }
  let batch: NewJob[] = []
  let number = 0
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++
    if (line.trim() === '') continue
    batch.push(ofLine(number, () => prepare(readPayload(line, 'payload'))))
    if (batch.length === BATCH) {
      yield batch
      batch = []
    }
  }
  if (batch.length) yield batch
}

/** Says in which line what went wrong. */
function ofLine<T>(number: number, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!isOncueError(cause)) throw cause
    const { code, message, details } = cause
    throw new OncueError(code, `line ${number}: ${message}`, { cause, details })
  }
}

function readPayload(json: string, where: string): unknown {
  try {
    return toJson(json)
  } catch (cause) {
    throw new OncueError('INVALID_PAYLOAD', `${where}: ${(cause as Error).message}`, { cause })
  }
}

/** What a worker announced about the topic. Undefined: none has. */
async function announcedPolicy(store: Store, topic: string): Promise<TopicPolicy | undefined> {
  const found = (await store.topics()).find((row) => row.topic === topic)
  return found && readPolicy(found.policy)
}

function toOptions({ options, config }: Call<Options>, announced: TopicPolicy): EnqueueOptions {
  return {
    queue: options.queue,
    priority: options.priority,
    delay: options.delay,
    runAt: options.at,
    maxRetries: options.maxRetries ?? announced.maxRetries ?? config.maxRetries,
    timeoutMs: options.timeout,
    unique: options.unique === undefined ? undefined : { key: options.unique },
    idempotencyKey: options.idempotencyKey,
    concurrencyKey: options.concurrencyKey,
    concurrencyLimit: options.concurrencyLimit,
    after: options.after,
    meta: options.meta,
  }
}

function toIds(id: string, before: readonly JobId[] = []): JobId[] {
  if (!isJobId(id)) throw new InvalidArgumentError('Not a job id.')
  return [...before, id]
}
