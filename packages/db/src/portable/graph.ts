import { type JobId, OncueError } from '@oncue/core'

export type Node = { readonly id: JobId; readonly after: readonly JobId[] }

/**
 * Jobs of one call, each behind those of them that it waits for; DEPENDENCY_CYCLE if that cannot be.
 * Jobs outside of the call are there already and wait for nobody in it, so they close no circle.
 */
export function inOrder<N extends Node>(nodes: readonly N[]): N[] {
  const waiting = new Map(nodes.map((node) => [node.id, 0]))
  const children = new Map<JobId, N[]>()
  for (const node of nodes) {
    for (const parent of node.after) {
      if (!waiting.has(parent)) continue
      waiting.set(node.id, (waiting.get(node.id) ?? 0) + 1)
      const siblings = children.get(parent)
      if (siblings) siblings.push(node)
      else children.set(parent, [node])
    }
  }
  const ordered = nodes.filter((node) => waiting.get(node.id) === 0)
  // It grows while it is walked: whoever has waited for enough comes next.
  for (const { id } of ordered) {
    for (const child of children.get(id) ?? []) {
      const left = (waiting.get(child.id) ?? 0) - 1
      waiting.set(child.id, left)
      if (left === 0) ordered.push(child)
    }
  }
  if (ordered.length < nodes.length) throw cycle(nodes, waiting)
  return ordered
}

function cycle(nodes: readonly Node[], waiting: ReadonlyMap<JobId, number>): OncueError {
  const jobIds = nodes.map((node) => node.id).filter((id) => (waiting.get(id) ?? 0) > 0)
  return new OncueError('DEPENDENCY_CYCLE', 'Some of these jobs wait for each other in a circle', {
    details: { jobIds: jobIds.slice(0, 10) },
  })
}
