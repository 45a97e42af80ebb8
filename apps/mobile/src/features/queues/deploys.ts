import type { Outputs } from '@oncue/sdk'
import type { ChartMark } from '../../components/ui/chart.tsx'

type Worker = Pick<Outputs['workers']['list'][number], 'version' | 'startedAt' | 'queues'>

/** When the first worker of each version appeared, of those that are known still; the oldest first. */
export function deploysOf(workers: readonly Worker[], queue: string | null): ChartMark[] {
  const first = new Map<string, Date>()
  for (const { version, startedAt, queues } of workers) {
    if (queue !== null && !queues.includes(queue)) continue
    const known = first.get(version)
    if (!known || startedAt < known) first.set(version, startedAt)
  }
  return [...first]
    .map(([version, at]) => ({ at, label: `deploy ${version}` }))
    .sort((a, b) => a.at.getTime() - b.at.getTime())
}
