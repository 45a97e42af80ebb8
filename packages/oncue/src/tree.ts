import { OncueError } from '@oncue/core'
import type { JobTree, TreeJob } from '@oncue/core/wire'
import { count, plain } from '@oncue/db/cli'
import type { Command } from 'commander'
import { implement, withStore } from './command.ts'
import { styled } from './format.ts'
import { fullId } from './show.ts'
import { retryInWords, waitsInWords } from './waits.ts'

/** More parents of a job are only counted. */
const SHOWN_PARENTS = 3

export function addTree(program: Command): void {
  implement<object>(
    program
      .command('tree')
      .description('show all jobs that a job is connected to: parents, children, batches and flows')
      .argument('<id>', 'job id, or the beginning or the end of one'),
    ['01a2b3c4-…', '5d6e7f80 --json'],
    withStore('reading', async (store, { args: [id] }) => {
      const [tree, now] = await Promise.all([store.tree(await fullId(store, String(id))), store.now()])
      if (!tree) throw new OncueError('JOB_NOT_FOUND', `There is no job ${id}`)
      return { text: describeTree(tree, now), json: tree }
    }),
  )
}

/** Children below their parents, and jobs that wait below the last one that they wait for. */
function describeTree({ id, jobs, counts, isComplete, childrenAreComplete }: JobTree, now: Date): string {
  const known = new Map(jobs.map((job) => [job.id, job]))
  const below = new Map<string | null, TreeJob[]>()
  const depths = new Map<string, number>()
  for (const job of jobs) {
    const parent = parentOf(job, known, depths)
    below.set(parent, [...(below.get(parent) ?? []), job])
  }
  const lines: string[] = []
  const seen = new Set<string>()
  const add = (job: TreeJob, indent: string, branch: string) => {
    seen.add(job.id)
    lines.push(`${indent}${branch}${describe(job, known, { isAsked: job.id === id, now })}`)
    const next = below.get(job.id) ?? []
    const inner = indent + (branch === '' ? '' : branch === '└ ' ? '  ' : '│ ')
    next.forEach((child, n) => {
      if (!seen.has(child.id)) add(child, inner, n === next.length - 1 ? '└ ' : '├ ')
    })
  }
  for (const job of [...(below.get(null) ?? []), ...jobs]) if (!seen.has(job.id)) add(job, '', '')
  const total = Object.entries(counts).flatMap(([status, n]) => (n > 0 ? [`${n} ${status}`] : []))
  return [
    ...lines,
    '',
    `${count(jobs.length, 'job')}: ${total.join(', ')}`,
    ...(isComplete ? [] : ['There are more jobs; these are the nearest.']),
    ...(isComplete && !childrenAreComplete
      ? ['Children that only name it as their parent may be missing: too many jobs were made at that time.']
      : []),
  ].join('\n')
}

/** Where a job is shown: below what spawned it, else below the deepest of those that it waits for. */
function parentOf(
  job: TreeJob,
  known: ReadonlyMap<string, TreeJob>,
  depths: Map<string, number>,
): string | null {
  if (job.parentId !== null && known.has(job.parentId)) return job.parentId
  const [deepest = null] = [...job.after].sort(
    (a, b) => depthOf(b, known, depths) - depthOf(a, known, depths) || (a < b ? 1 : -1),
  )
  return deepest
}

function depthOf(id: string, known: ReadonlyMap<string, TreeJob>, depths: Map<string, number>): number {
  const found = depths.get(id)
  if (found !== undefined) return found
  // Ends a circle of a job that waits for its own child.
  depths.set(id, 0)
  const job = known.get(id)
  const above = job ? [...job.after, ...(job.parentId === null ? [] : [job.parentId])] : []
  const depth = Math.max(0, ...above.map((other) => depthOf(other, known, depths) + 1))
  depths.set(id, depth)
  return depth
}

/** "resize  resize_page  failed  01a2…  Error: too large" */
function describe(
  job: TreeJob,
  known: ReadonlyMap<string, TreeJob>,
  { isAsked, now }: { readonly isAsked: boolean; readonly now: Date },
): string {
  const { name, topic, status, isSuspended, waits, ending, error } = job
  const what = name === null ? plain(topic, 60) : `${plain(name, 60)} (${plain(topic, 60)})`
  const parts = [
    isAsked ? styled('bold', what) : what,
    ending ? 'undoing' : isSuspended ? 'suspended' : status,
    job.id,
    ...(waits && isSuspended ? [retryInWords(job, now) ?? `waits for ${waitsInWords(waits)}`] : []),
    ...(job.after.length > 1 ? [afterInWords(job, known)] : []),
    ...(status === 'failed' && error ? [plain(`${error.class}: ${error.message}`, 80)] : []),
  ]
  return parts.join('  ')
}

function afterInWords({ after }: TreeJob, known: ReadonlyMap<string, TreeJob>): string {
  if (after.length > SHOWN_PARENTS) return `after ${after.length} jobs`
  return `after ${after.map((id) => plain(known.get(id)?.name ?? id, 60)).join(', ')}`
}
