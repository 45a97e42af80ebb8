import { OncueError } from '../errors.ts'
import type { FlowPlace, NewJob } from './job.ts'
import { LIMITS } from './limits.ts'
import { assertText, quote } from './text.ts'

/** Two nodes of a flow: the second starts when the first has completed. */
export type FlowEdge<Name extends string = string> = readonly [from: Name, to: Name]

/**
 * The jobs of a batch as one enqueue: theirs, then `then`, then `onFailure`. Both wait for all of them; `onFailure`
 * whatever becomes of them, because the store decides at the end whether it is needed.
 */
export function toBatch(
  jobs: readonly NewJob[],
  then: NewJob | undefined,
  onFailure: NewJob | undefined,
): NewJob[] {
  if (!then && !onFailure)
    throw new OncueError('INVALID_INPUT', 'A batch needs `then` or `onFailure`', {
      hint: 'Use enqueueMany for jobs that nothing follows.',
    })
  if (jobs.length === 0) throw new OncueError('INVALID_INPUT', 'A batch needs at least one job')
  refuseMore(jobs.length, LIMITS.batchJobs, 'jobs', 'a batch')
  if (onFailure && onFailure.onParentFailure !== 'wait')
    throw new OncueError('INVALID_INPUT', 'onFailure: options.onParentFailure cannot be set')
  const flowId = (then ?? onFailure ?? jobs[0])?.id ?? ''
  const after = jobs.map(({ id }) => id)
  const place = (kind: FlowPlace['kind'], at: number, name: string | null = null) => ({
    flow: { flowId, place: at, kind, name, after: kind === 'job' ? null : [] },
  })
  return [
    ...jobs.map((job, n) => ({ ...job, ...place('job', n) })),
    // Before the others in the order of the flow, so that a read of its first thousand has them.
    ...(then ? [{ ...assertFree('then', then), after, ...place('then', -2, 'then') }] : []),
    ...(onFailure
      ? [
          {
            ...assertFree('onFailure', onFailure),
            ...{ after, onParentFailure: 'go_on' as const },
            ...place('on_failure', -1, 'onFailure'),
          },
        ]
      : []),
  ]
}

/** The jobs of a flow as one enqueue, in the order of the nodes. */
export function toFlow(nodes: ReadonlyMap<string, NewJob>, edges: readonly FlowEdge[]): NewJob[] {
  const names = [...nodes.keys()]
  const jobs = [...nodes.values()]
  if (jobs.length === 0) throw new OncueError('INVALID_INPUT', 'A flow needs at least one node')
  const parentsOf = checkFlow(names, edges)
  // One that waits, because it is new: it has no key.
  const flowId = jobs.find((_, place) => parentsOf[place]?.size)?.id
  if (flowId === undefined) return jobs
  return jobs.map((job, place) => {
    const parents = [...(parentsOf[place] ?? [])]
    const after = parents.length > 0 ? parents : null
    const flow: FlowPlace = { flowId, place, kind: 'node', name: names[place] ?? null, after }
    const ids = parents.flatMap((parent) => jobs[parent]?.id ?? [])
    return { ...job, after: [...new Set([...job.after, ...ids])], flow }
  })
}

/** What a caller gives for a job of a batch or flow. */
type Keyed = { readonly unique?: unknown; readonly idempotencyKey?: unknown }

/** Refuses the keys of a job that waits for others: a key may stand for a job that exists, and does not wait for these. */
export function refuseKeys(at: string, { unique, idempotencyKey }: Keyed): void {
  if (unique === undefined && idempotencyKey === undefined) return
  throw new OncueError('INVALID_INPUT', `${at} waits for other jobs, so it cannot have a key`, {
    hint: 'Remove unique and idempotencyKey: the key may belong to a job that does not wait for these.',
  })
}

/** The same for the nodes to which an edge leads. */
export function refuseKeysOfNodes(nodes: Readonly<Record<string, Keyed>>, edges: readonly FlowEdge[]): void {
  for (const [, to] of edges) if (Object.hasOwn(nodes, to)) refuseKeys(`nodes.${to}`, nodes[to] ?? {})
}

/** Returns the places of the parents of each node. */
function checkFlow(names: readonly string[], edges: readonly FlowEdge[]): Set<number>[] {
  refuseMore(names.length, LIMITS.flowNodes, 'nodes', 'a flow')
  refuseMore(edges.length, LIMITS.flowEdges, 'edges', 'a flow')
  for (const name of names) {
    assertText(name, 'The name of a node')
    if (name.length < 1 || name.length > LIMITS.flowNameLength)
      throw new OncueError(
        'INVALID_INPUT',
        `The name of a node has 1 to ${LIMITS.flowNameLength} characters, not ${name.length}`,
      )
  }
  const placeOf = new Map(names.map((name, place) => [name, place]))
  const find = (name: string, at: string) => {
    const place = placeOf.get(name)
    if (place !== undefined) return place
    throw new OncueError('INVALID_INPUT', `${at} names ${quote(name)}, which is not one of the nodes`, {
      hint: 'Add the node, or correct the edge.',
    })
  }
  const parents = names.map(() => new Set<number>())
  edges.forEach(([from, to], n) => {
    parents[find(to, `edges[${n}]`)]?.add(find(from, `edges[${n}]`))
  })
  refuseCycle(names, parents)
  return parents
}

function refuseCycle(names: readonly string[], parents: readonly ReadonlySet<number>[]): void {
  const children = names.map((): number[] => [])
  parents.forEach((of, child) => {
    for (const parent of of) children[parent]?.push(child)
  })
  const left = parents.map((of) => of.size)
  const ready = names.flatMap((_, n) => (left[n] === 0 ? [n] : []))
  // The list grows during the walk: a node follows once all its parents were visited.
  for (const node of ready)
    for (const child of children[node] ?? []) {
      left[child] = (left[child] ?? 0) - 1
      if (left[child] === 0) ready.push(child)
    }
  if (ready.length === names.length) return
  const cycle = names.filter((_, n) => (left[n] ?? 0) > 0)
  throw new OncueError(
    'DEPENDENCY_CYCLE',
    `These nodes wait in a cycle, or for one: ${cycle.slice(0, 10).join(', ')}`,
    {
      details: { nodes: cycle.slice(0, 10) },
    },
  )
}

function assertFree(at: string, job: NewJob): NewJob {
  if (job.after.length > 0) throw new OncueError('INVALID_INPUT', `${at}: options.after cannot be set`)
  return job
}

function refuseMore(count: number, limit: number, what: string, where: string): void {
  if (count > limit)
    throw new OncueError('BATCH_TOO_LARGE', `There are ${count} ${what}, more than the ${limit} of ${where}`)
}
