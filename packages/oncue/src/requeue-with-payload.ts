import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type JobId, OncueError } from '@oncue/core'
import { encodeJson, formatPath } from '@oncue/core/internal'
import { diffJson, type JsonChange } from '@oncue/core/wire'
import type { Store } from '@oncue/db'
import { count, EXIT, type Output, plain } from '@oncue/db/cli'
import { toJson } from './arguments.ts'
import { checkPayload } from './check-payload.ts'
import { ask, type Call, canAsk } from './command.ts'

interface Options {
  readonly payload?: string
  readonly yes?: true
  readonly by: string
}

/** Changes that are shown, and characters of each value. */
const MAX_CHANGES = 50
const MAX_VALUE = 120
/** Fields that the job's event names. */
const MAX_PATHS = 20

/** `requeue <id> --payload …`: shows what would change, and does it after a yes. */
export async function requeueWithPayload(
  store: Store,
  { options, note }: Call<Options>,
  ids: readonly JobId[],
): Promise<Output> {
  const [id] = ids
  if (id === undefined || ids.length > 1)
    throw new OncueError('INVALID_INPUT', '--payload needs exactly one job id', {
      hint: 'See oncue requeue --help.',
    })
  const payload = encodeJson(await readPayload(options.payload ?? ''), 'payload')
  const job = await store.get(id)
  if (!job) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
  await checkPayload(store, note, job.topic, JSON.parse(payload))
  const diff = diffJson(job.payload, JSON.parse(payload), MAX_CHANGES)
  const changes = diff.changes.map((change) => ({ ...change, path: formatPath('payload', change.path) }))
  const shown = changes.length > 0 ? changes.flatMap(linesOf).join('\n') : 'The payload is the same.'
  const lines = diff.more > 0 ? `${shown}\nand ${count(diff.more, 'more change')}` : shown
  const asks = !options.json && canAsk()
  const isWanted =
    options.yes ?? (asks && (await ask(`${lines}\nRequeue ${job.topic} ${id} with this payload?`)))
  const json = { id, changes, more: diff.more }
  if (!isWanted)
    return {
      text: asks ? 'nothing was changed' : `${lines}\nadd --yes to requeue the job with this payload`,
      json: { ...json, done: 0 },
      exit: EXIT.usage,
    }
  const { run, updated } = job
  // Everyone who sees the job sees its events. Which inner keys are masked is known to the API alone.
  const fields = new Set(diff.changes.map(({ path }) => formatPath('payload', path.slice(0, 1))))
  const paths = [...fields].slice(0, MAX_PATHS)
  await store.requeueWithPayload({ id, run, updated, payload, by: options.by, paths })
  return { text: `${options.yes ? `${lines}\n` : ''}1 job requeued`, json: { ...json, done: 1 } }
}

async function readPayload(given: string): Promise<unknown> {
  const json =
    given === '-' ? await text(process.stdin) : given.startsWith('@') ? await readText(given.slice(1)) : given
  try {
    return toJson(json)
  } catch (cause) {
    throw new OncueError('INVALID_PAYLOAD', `--payload: ${(cause as Error).message}`, { cause })
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new OncueError('INVALID_INPUT', `--payload: ${path} cannot be read: ${(cause as Error).message}`, {
      hint: 'Use JSON, @ and the path of a file, or - for standard input.',
      cause,
    })
  }
}

function linesOf(change: Omit<JsonChange, 'path'> & { readonly path: string }): string[] {
  const lines: string[] = []
  if ('before' in change) lines.push(`- ${plain(change.path)}: ${jsonOf(change.before)}`)
  if ('after' in change) lines.push(`+ ${plain(change.path)}: ${jsonOf(change.after)}`)
  return lines
}

const jsonOf = (value: unknown) => plain(JSON.stringify(value) ?? '', MAX_VALUE)
