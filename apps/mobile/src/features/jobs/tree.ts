import type { JobStatus, Outputs } from '@oncue/sdk'

type Whole = Outputs['jobs']['tree']
type Known =
  | 'id'
  | 'topic'
  | 'queue'
  | 'status'
  | 'name'
  | 'parentId'
  | 'after'
  | 'isSuspended'
  | 'waits'
  | 'ending'

/** A job of a family, as far as it is drawn. */
export type TreeJob = Pick<Whole['jobs'][number], Known> & {
  readonly error: { readonly class: string; readonly message: string } | null
}

export interface Tree extends Pick<Whole, 'id' | 'isComplete' | 'childrenAreComplete'> {
  readonly jobs: readonly TreeJob[]
}

export interface Twig {
  readonly job: TreeJob
  readonly depth: number
  /** Of the jobs that it waits for, those that are named beside it. */
  readonly after: readonly TreeJob[]
}

/** Each job below the one that spawned it; without that below what it waited for first, in the order of their ids. */
export function arranged({ jobs }: Pick<Tree, 'jobs'>): readonly Twig[] {
  const byId = new Map(jobs.map((job) => [job.id, job]))
  const below = new Map<string | null, TreeJob[]>()
  for (const job of jobs) {
    const above = job.parentId !== null && byId.has(job.parentId) ? job.parentId : null
    below.set(above, [...(below.get(above) ?? []), job])
  }
  const twigs: Twig[] = []
  const walk = (above: string | null, depth: number) => {
    for (const job of inOrder(below.get(above) ?? [])) {
      twigs.push({ job, depth, after: job.after.flatMap((id) => byId.get(id) ?? []) })
      walk(job.id, depth + 1)
    }
  }
  walk(null, 0)
  return twigs
}

/** What others wait for comes before them. */
function inOrder(jobs: readonly TreeJob[]): readonly TreeJob[] {
  const left = new Map(jobs.map((job) => [job.id, job]))
  const ordered: TreeJob[] = []
  const put = (job: TreeJob) => {
    if (!left.delete(job.id)) return
    for (const id of job.after) {
      const before = left.get(id)
      if (before) put(before)
    }
    ordered.push(job)
  }
  for (const job of jobs) put(job)
  return ordered
}

type TreeState = JobStatus | 'suspended' | 'undoing'

/** A suspended one is neither waiting nor blocked, and one that is being undone neither waiting nor running. */
export function stateOf({
  status,
  isSuspended,
  ending,
}: Pick<TreeJob, 'status' | 'isSuspended' | 'ending'>): TreeState {
  if (ending) return 'undoing'
  return isSuspended ? 'suspended' : status
}

const ORDER = [
  'failed',
  'undoing',
  'processing',
  'suspended',
  'pending',
  'blocked',
  'completed',
  'cancelled',
] as const

/** Each state that there is, and how many jobs are in it. */
export function countsOf(jobs: readonly TreeJob[]): readonly (readonly [TreeState, number])[] {
  const counts = ORDER.map((state) => [state, jobs.filter((job) => stateOf(job) === state).length] as const)
  return counts.filter(([, many]) => many > 0)
}
